/* SPDX-License-Identifier: MIT
 * Reads post-processors from tokenizer.json. Only the template for a single text is used, because the two texts of a pair are
 * always encoded separately. Token type ids are not stored, because they are 0 in a single text.
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

static int add_json_id(aoei_postprocessor *p, int after, const json_t *id, const char *file, aoe_error *err) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a special token of \"post_processor\" has no id from 0 to %d; download the file again", file,
                         AOEI_VOCAB_MAX_ID);
    return aoei_postprocessor_add(p, after, (int32_t)json_integer_value(id), err);
}

/* Adds the tokens of the template entry {"SpecialToken": {"id": NAME}}. `table` is the object "special_tokens", which maps each
 * name to its token ids. */
static int add_special(aoei_postprocessor *p, int after, const json_t *special, const json_t *table, const char *file,
                       aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(special, "id", &name, NULL, file, err);
    if (rc)
        return rc;
    const json_t *ids = name ? json_object_get(json_object_get(table, name), "ids") : NULL;
    if (!json_is_array(ids))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"special_tokens\" of \"post_processor\" has no ids for \"%s\"; download the file again", file,
                         name ? name : "(no id)");
    for (size_t i = 0; i < json_array_size(ids) && !rc; i++)
        rc = add_json_id(p, after, json_array_get(ids, i), file, err);
    return rc;
}

/* Reads the array "single" of TemplateProcessing. It contains the special tokens and the text, which is the sequence A. */
static int read_template(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    const json_t *single = json_object_get(section, "single"), *table = json_object_get(section, "special_tokens");
    int texts = 0, rc;
    if (!json_is_array(single))
        return aoei_fail(err, AOE_EFORMAT, "%s: TemplateProcessing has no array \"single\"; download the file again", file);
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
            "%s: the \"single\" template of TemplateProcessing must contain the sequence A exactly once; correct it", file);
    return 0;
}

/* Reads BertProcessing or RobertaProcessing: {"cls": [NAME, ID], "sep": [NAME, ID]}. */
static int read_bert(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    int rc = add_json_id(p, 0, json_array_get(json_object_get(section, "cls"), 1), file, err);
    return rc ? rc : add_json_id(p, 1, json_array_get(json_object_get(section, "sep"), 1), file, err);
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
    *p = (aoei_postprocessor){
        .id = id, .n_before = outer->n_before + p->n_before, .n_after = p->n_after + outer->n_after, .capacity = n};
    return 0;
}

static int read_step(aoei_postprocessor *p, const json_t *section, int depth, const char *file, aoe_error *err);

static int read_sequence(aoei_postprocessor *p, const json_t *section, int depth, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(section, "processors");
    int rc = 0;
    if (!json_is_array(list))
        return aoei_fail(err, AOE_EFORMAT, "%s: a post_processor Sequence has no \"processors\"; download the file again",
                         file);
    if (depth == MAX_DEPTH)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: post_processor Sequences nested more than %d deep are not supported; use a flat list", file,
                         MAX_DEPTH);
    for (size_t i = 0; i < json_array_size(list) && !rc; i++) {
        aoei_postprocessor next = {.n_before = 0};
        rc = read_step(&next, json_array_get(list, i), depth + 1, file, err);
        if (!rc)
            rc = wrap(p, &next, err);
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
        return read_bert(p, section, file, err);
    if (strcmp(type, "ByteLevel") == 0) /* ByteLevel changes offsets and adds no tokens */
        return 0;
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
    memset(p, 0, sizeof *p);
}
