/* SPDX-License-Identifier: MIT
 * Reads post-processors from tokenizer.json. The token types of the template for a single text are not stored, because
 * the type of all tokens of a single text is 0.
 */
#include "tokenizer/postprocessor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "tokenizer/json_type.h"
#include "tokenizer/vocab.h"

enum { MAX_DEPTH = 8 }; /* maximum nesting depth of post-processors of the type Sequence */

int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id, aoe_error *err) {
    size_t n = p->n_before + p->n_after;
    if (aoei_grow((void **)&p->id, &p->capacity, n, sizeof *p->id))
        return aoei_fail_nomem(err, n * 2 * sizeof *p->id);
    p->id[n] = id;
    if (after)
        p->n_after++;
    else
        p->n_before++;
    return 0;
}

int aoei_postprocessor_add_pair(aoei_postprocessor *p, aoei_pair_part part, int32_t id, uint8_t type, aoe_error *err) {
    if (aoei_grow((void **)&p->pair, &p->pair_capacity, p->n_pair, sizeof *p->pair))
        return aoei_fail_nomem(err, p->n_pair * 2 * sizeof *p->pair);
    p->pair[p->n_pair++] = (aoei_pair_piece){part, id, type};
    return 0;
}

int aoei_postprocessor_add_usual_pair(aoei_postprocessor *p, int32_t cls, int32_t sep, int roberta, aoe_error *err) {
    const uint8_t second = roberta ? 0 : 1;
    int rc;
    if ((rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_SPECIAL, cls, 0, err)) ||
        (rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_FIRST, 0, 0, err)) ||
        (rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_SPECIAL, sep, 0, err)) ||
        (roberta && (rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_SPECIAL, sep, 0, err))) ||
        (rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_SECOND, 0, second, err)))
        return rc;
    return aoei_postprocessor_add_pair(p, AOEI_PAIR_SPECIAL, sep, second, err);
}

int aoei_postprocessor_add_trim(aoei_postprocessor *p, int add_prefix_space, aoe_error *err) {
    if (aoei_grow((void **)&p->trim, &p->trim_capacity, p->n_trims, sizeof *p->trim))
        return aoei_fail_nomem(err, p->n_trims * 2 * sizeof *p->trim);
    p->trim[p->n_trims++] = (aoei_span_trim){add_prefix_space, p->n_before};
    return 0;
}

static int read_id(int32_t *out, const json_t *id, const char *file, aoe_error *err) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a special token of \"post_processor\" has no id from 0 to %d; download the file again",
                         file, AOEI_VOCAB_MAX_ID);
    *out = (int32_t)json_integer_value(id);
    return 0;
}

/* Sets *ids to the array of the token ids of the template entry {"SpecialToken": {"id": NAME}}. `table` is the object
 * "special_tokens", which maps each name to its token ids. */
static int find_special(const json_t **ids, const json_t *special, const json_t *table, const char *file,
                        aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(special, "id", &name, NULL, file, err);
    if (rc)
        return rc;
    *ids = name ? json_object_get(json_object_get(table, name), "ids") : NULL;
    if (json_is_array(*ids))
        return 0;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: \"special_tokens\" of \"post_processor\" has no ids for \"%s\"; download the file again",
                     file, name ? name : "(no id)");
}

/* Adds the tokens of a special token to the template of a single text. */
static int add_special(aoei_postprocessor *p, int after, const json_t *special, const json_t *table, const char *file,
                       aoe_error *err) {
    const json_t *ids = NULL;
    int32_t id = 0;
    int rc = find_special(&ids, special, table, file, err);
    for (size_t i = 0; !rc && i < json_array_size(ids); i++)
        if (!(rc = read_id(&id, json_array_get(ids, i), file, err)))
            rc = aoei_postprocessor_add(p, after, id, err);
    return rc;
}

/* Adds a piece of the array "pair" of TemplateProcessing. */
static int add_pair_piece(aoei_postprocessor *p, const json_t *piece, const json_t *table, const char *file,
                          aoe_error *err) {
    const json_t *special = json_object_get(piece, "SpecialToken"), *sequence = json_object_get(piece, "Sequence");
    const json_t *type = json_object_get(special ? special : sequence, "type_id"), *ids = NULL;
    const char *which = json_string_value(json_object_get(sequence, "id"));
    int32_t id = 0;
    if (type && (!json_is_integer(type) || json_integer_value(type) < 0 || json_integer_value(type) > UINT8_MAX))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a type_id of TemplateProcessing is not from 0 to %d; download the file again", file,
                         UINT8_MAX);
    const uint8_t type_id = (uint8_t)json_integer_value(type);
    if (!special && !which)
        return aoei_fail(err, AOE_EFORMAT, "%s: a piece of the \"pair\" template has no id; download the file again",
                         file);
    if (!special)
        return aoei_postprocessor_add_pair(p, strcmp(which, "A") ? AOEI_PAIR_SECOND : AOEI_PAIR_FIRST, 0, type_id, err);
    int rc = find_special(&ids, special, table, file, err);
    for (size_t i = 0; !rc && i < json_array_size(ids); i++)
        if (!(rc = read_id(&id, json_array_get(ids, i), file, err)))
            rc = aoei_postprocessor_add_pair(p, AOEI_PAIR_SPECIAL, id, type_id, err);
    return rc;
}

/* Reads the array "pair" of TemplateProcessing, if there is one. It must contain each of the sequences A and B once. */
static int read_pair_template(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    const json_t *pair = json_object_get(section, "pair"), *table = json_object_get(section, "special_tokens");
    size_t texts[3] = {0};
    int rc = 0;
    for (size_t i = 0; i < json_array_size(pair) && !rc; i++)
        rc = add_pair_piece(p, json_array_get(pair, i), table, file, err);
    for (size_t i = 0; i < p->n_pair; i++)
        texts[p->pair[i].part]++;
    if (!rc && p->n_pair && (texts[AOEI_PAIR_FIRST] != 1 || texts[AOEI_PAIR_SECOND] != 1))
        rc = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the \"pair\" template of TemplateProcessing must contain the sequences A and B exactly once; "
            "correct it",
            file);
    return rc;
}

/* Reads the array "single" of TemplateProcessing. It contains the special tokens and the text, which is the sequence
 * A. */
static int read_template(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    const json_t *single = json_object_get(section, "single"), *table = json_object_get(section, "special_tokens");
    int texts = 0, rc;
    if (!json_is_array(single))
        return aoei_fail(err, AOE_EFORMAT, "%s: TemplateProcessing has no array \"single\"; download the file again",
                         file);
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *piece = json_array_get(single, i);
        const json_t *special = json_object_get(piece, "SpecialToken"), *sequence = json_object_get(piece, "Sequence");
        if (special) {
            if ((rc = add_special(p, texts > 0, special, table, file, err)))
                return rc;
        } else {
            const char *which = json_string_value(json_object_get(sequence, "id"));
            texts += which && strcmp(which, "A") == 0 ? 1 : 2;
        }
    }
    if (texts != 1)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the \"single\" template of TemplateProcessing must contain the sequence A exactly once; correct it",
            file);
    return read_pair_template(p, section, file, err);
}

/* Reads the settings with which ByteLevel and RobertaProcessing trim the ranges of tokens. */
static int read_trim(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    int trim = 1, prefix = 1, rc;
    if ((rc = aoei_json_bool(section, "trim_offsets", &trim, file, err)) ||
        (rc = aoei_json_bool(section, "add_prefix_space", &prefix, file, err)))
        return rc;
    return trim ? aoei_postprocessor_add_trim(p, prefix, err) : 0;
}

/* Reads BertProcessing or RobertaProcessing: {"cls": [NAME, ID], "sep": [NAME, ID]}. */
static int read_bert(aoei_postprocessor *p, const json_t *section, int roberta, const char *file, aoe_error *err) {
    int32_t cls = 0, sep = 0;
    int rc;
    if ((roberta && (rc = read_trim(p, section, file, err))) ||
        (rc = read_id(&cls, json_array_get(json_object_get(section, "cls"), 1), file, err)) ||
        (rc = read_id(&sep, json_array_get(json_object_get(section, "sep"), 1), file, err)) ||
        (rc = aoei_postprocessor_add(p, 0, cls, err)) || (rc = aoei_postprocessor_add(p, 1, sep, err)))
        return rc;
    return aoei_postprocessor_add_usual_pair(p, cls, sep, roberta, err);
}

/* Gives p the pair template of `outer`, a later part of a Sequence, if outer has one. */
static void take_pair(aoei_postprocessor *p, aoei_postprocessor *outer) {
    p->two_pairs |= outer->two_pairs || (p->n_pair && outer->n_pair);
    if (p->n_pair || !outer->n_pair)
        return;
    p->pair = outer->pair;
    p->n_pair = outer->n_pair;
    p->pair_capacity = outer->pair_capacity;
    outer->pair = NULL;
    outer->n_pair = outer->pair_capacity = 0;
}

/* Adds the trimming steps of `outer`, a later part of a Sequence, which also sees the special tokens of p. */
static int add_trims(aoei_postprocessor *p, const aoei_postprocessor *outer, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < outer->n_trims && !rc; i++)
        if (!(rc = aoei_postprocessor_add_trim(p, outer->trim[i].add_prefix_space, err)))
            p->trim[p->n_trims - 1].n_before += outer->trim[i].n_before;
    return rc;
}

/* Adds the tokens of `outer` before and after the tokens of p. */
static int wrap(aoei_postprocessor *p, const aoei_postprocessor *outer, aoe_error *err) {
    const size_t n_inner = p->n_before + p->n_after, n = n_inner + outer->n_before + outer->n_after;
    if (n == n_inner)
        return 0;
    int32_t *id = aoei_malloc_array(n, sizeof *id);
    if (!id)
        return aoei_fail_nomem(err, n * sizeof *id);
    memcpy(id, outer->id, outer->n_before * sizeof *id);
    if (n_inner)
        memcpy(id + outer->n_before, p->id, n_inner * sizeof *id);
    memcpy(id + outer->n_before + n_inner, outer->id + outer->n_before, outer->n_after * sizeof *id);
    aoei_free(p->id);
    p->id = id;
    p->n_before += outer->n_before;
    p->n_after += outer->n_after;
    p->capacity = n;
    return 0;
}

static int read_step(aoei_postprocessor *p, const json_t *section, int depth, const char *file, aoe_error *err);

static int read_sequence(aoei_postprocessor *p, const json_t *section, int depth, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(section, "processors");
    int rc = 0;
    if (!json_is_array(list))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a post_processor Sequence has no \"processors\"; download the file again", file);
    if (depth == MAX_DEPTH)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: post_processor Sequences nested more than %d deep are not supported; use a flat list",
                         file, MAX_DEPTH);
    for (size_t i = 0; i < json_array_size(list) && !rc; i++) {
        aoei_postprocessor next = {.n_before = 0};
        rc = read_step(&next, json_array_get(list, i), depth + 1, file, err);
        if (!rc && !(rc = add_trims(p, &next, err)))
            rc = wrap(p, &next, err);
        take_pair(p, &next);
        aoei_postprocessor_free(&next);
    }
    return rc;
}

static int read_step(aoei_postprocessor *p, const json_t *section, int depth, const char *file, aoe_error *err) {
    const char *type;
    int rc = aoei_json_type(&type, section, "post_processor", file, err);
    if (rc)
        return rc;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(p, section, file, err);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)
        return read_bert(p, section, strcmp(type, "RobertaProcessing") == 0, file, err);
    if (strcmp(type, "ByteLevel") == 0)
        return read_trim(p, section, file, err);
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(p, section, depth, file, err);
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: post_processor \"%s\" is not supported (supported: TemplateProcessing, BertProcessing, RobertaProcessing, "
        "ByteLevel, Sequence)",
        file, type);
}

int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    return section && !json_is_null(section) ? read_step(p, section, 0, file, err) : 0;
}

void aoei_postprocessor_free(aoei_postprocessor *p) {
    aoei_free(p->id);
    aoei_free(p->pair);
    aoei_free(p->trim);
    memset(p, 0, sizeof *p);
}
