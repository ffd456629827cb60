/* SPDX-License-Identifier: MIT
 * Reads the pre-tokenizers of tokenizer.json and converts them to steps. The names and default values are the ones that
 * Hugging Face tokenizers use.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/json_type.h"
#include "tokenizer/pretokenizer_read.h"

enum { MAX_DEPTH = 8 }; /* maximum nesting depth of pre-tokenizers of the type Sequence */

/* The regular expression with which GPT-2 splits text into words. */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static aoei_pretokenizer_step *append(aoei_pretokenizer *p, aoe_error *err) {
    if (aoei_grow((void **)&p->step, &p->capacity, p->n, sizeof *p->step)) {
        aoei_fail_nomem(err, p->n * 2 * sizeof *p->step);
        return NULL;
    }
    p->step[p->n] = (aoei_pretokenizer_step){.prefix = AOEI_PREFIX_NEVER};
    p->byte_level = 0;
    return &p->step[p->n++];
}

static int append_split(aoei_pretokenizer *p, aoei_split_at at, aoei_split_behavior behavior, aoe_error *err) {
    aoei_pretokenizer_step *step = append(p, err);
    if (!step)
        return AOE_ENOMEM;
    step->split.at = at;
    step->split.behavior = behavior;
    return 0;
}

int aoei_pretokenizer_add_bert(aoei_pretokenizer *p, aoe_error *err) {
    p->bert = p->n == 0;
    int rc = append_split(p, AOEI_SPLIT_SPACE, AOEI_SPLIT_REMOVED, err);
    return rc ? rc : append_split(p, AOEI_SPLIT_PUNCTUATION, AOEI_SPLIT_ISOLATED, err);
}

int aoei_pretokenizer_add_regex(aoei_pretokenizer *p, const char *expression, aoe_error *err) {
    int rc = append_split(p, AOEI_SPLIT_PATTERN, AOEI_SPLIT_ISOLATED, err);
    return rc ? rc : aoei_pattern_regex(&p->step[p->n - 1].split.pattern, expression, strlen(expression), err);
}

int aoei_pretokenizer_add_byte_level(aoei_pretokenizer *p, int add_prefix_space, int use_regex, aoe_error *err) {
    int rc = use_regex ? aoei_pretokenizer_add_regex(p, gpt2, err)
                       : append_split(p, AOEI_SPLIT_NOWHERE, AOEI_SPLIT_ISOLATED, err);
    if (rc)
        return rc;
    aoei_pretokenizer_step *step = &p->step[p->n - 1];
    step->prefix = add_prefix_space ? AOEI_PREFIX_ALWAYS : AOEI_PREFIX_NEVER;
    step->letter[0] = ' ';
    step->letter_len = 1;
    step->bytes = p->byte_level = 1;
    strcpy(p->space, AOEI_BYTE_LETTER_SPACE);
    return 0;
}

static int read_byte_level(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int prefix = 1, regex = 1, rc;
    if ((rc = aoei_json_bool(section, "add_prefix_space", &prefix, file, err)) ||
        (rc = aoei_json_bool(section, "use_regex", &regex, file, err)))
        return rc;
    return aoei_pretokenizer_add_byte_level(p, prefix, regex, err);
}

/* Reads the string under `key`, which must consist of one character. */
static int read_character(char out[5], size_t *len, const json_t *section, const char *key, const char *file,
                          aoe_error *err) {
    const char *s = NULL;
    uint32_t cp;
    *len = 0;
    int rc = aoei_json_string(section, key, &s, len, file, err);
    if (rc)
        return rc;
    if (!s || *len == 0 || aoei_utf8_decode(s, *len, &cp) != *len)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" of a pre_tokenizer is not one character; correct the value",
                         file, key);
    memcpy(out, s, *len);
    out[*len] = 0;
    return 0;
}

/* Reads "prepend_scheme", or the older "add_prefix_space" if "prepend_scheme" is missing. */
static int read_scheme(aoei_prefix *prefix, const json_t *section, const char *file, aoe_error *err) {
    static const char *const names[] = {
        [AOEI_PREFIX_NEVER] = "never", [AOEI_PREFIX_ALWAYS] = "always", [AOEI_PREFIX_FIRST] = "first"};
    const char *scheme = NULL;
    int add = 1, rc;
    if ((rc = aoei_json_string(section, "prepend_scheme", &scheme, NULL, file, err)) ||
        (rc = aoei_json_bool(section, "add_prefix_space", &add, file, err)))
        return rc;
    *prefix = add ? AOEI_PREFIX_ALWAYS : AOEI_PREFIX_NEVER;
    if (!scheme)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(scheme, names[i]) != 0)
            continue;
        if (!add && i != AOEI_PREFIX_NEVER)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: Metaspace: \"add_prefix_space\" false contradicts \"prepend_scheme\" \"%s\"; remove one of them",
                file, scheme);
        *prefix = (aoei_prefix)i;
        return 0;
    }
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: \"prepend_scheme\" \"%s\" is not supported (supported: always, first, never)", file, scheme);
}

static int read_metaspace(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int split = 1, rc;
    aoei_pretokenizer_step *step = append(p, err);
    if (!step)
        return AOE_ENOMEM;
    step->spaces = 1;
    if ((rc = read_character(step->letter, &step->letter_len, section, "replacement", file, err)) ||
        (rc = read_scheme(&step->prefix, section, file, err)) ||
        (rc = aoei_json_bool(section, "split", &split, file, err)))
        return rc;
    p->needs_first |= step->prefix == AOEI_PREFIX_FIRST;
    memcpy(p->space, step->letter, sizeof p->space);
    if (!split)
        return 0;
    step->split.at = AOEI_SPLIT_PATTERN;
    step->split.behavior = AOEI_SPLIT_MERGED_WITH_NEXT;
    return aoei_pattern_literal(&step->split.pattern, step->letter, step->letter_len, err);
}

static int read_behavior(aoei_split *split, const json_t *section, const char *file, aoe_error *err) {
    const char *name = "Isolated";
    int rc = aoei_json_string(section, "behavior", &name, NULL, file, err);
    return rc ? rc : aoei_split_behavior_read(&split->behavior, name, file, err);
}

static int read_split(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    aoei_pretokenizer_step *step = append(p, err);
    int rc;
    if (!step)
        return AOE_ENOMEM;
    step->split.at = AOEI_SPLIT_PATTERN;
    if ((rc = read_behavior(&step->split, section, file, err)) ||
        (rc = aoei_json_bool(section, "invert", &step->split.invert, file, err)))
        return rc;
    return aoei_pattern_read(&step->split.pattern, json_object_get(section, "pattern"), file, err);
}

static int read_delimiter(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    char delimiter[5];
    size_t len;
    aoei_pretokenizer_step *step = append(p, err);
    if (!step)
        return AOE_ENOMEM;
    int rc = read_character(delimiter, &len, section, "delimiter", file, err);
    if (rc)
        return rc;
    step->split.at = AOEI_SPLIT_PATTERN;
    return aoei_pattern_literal(&step->split.pattern, delimiter, len, err);
}

static int read_punctuation(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int rc = append_split(p, AOEI_SPLIT_PUNCTUATION, AOEI_SPLIT_ISOLATED, err);
    return rc ? rc : read_behavior(&p->step[p->n - 1].split, section, file, err);
}

static int read_digits(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int individual = 0;
    int rc = aoei_json_bool(section, "individual_digits", &individual, file, err);
    return rc ? rc : append_split(p, AOEI_SPLIT_NUMERIC, individual ? AOEI_SPLIT_ISOLATED : AOEI_SPLIT_CONTIGUOUS, err);
}

static int read_whitespace_split(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    (void)section;
    (void)file;
    return append_split(p, AOEI_SPLIT_SPACE, AOEI_SPLIT_REMOVED, err);
}

/* Reads the pre-tokenizer Whitespace. Each of its pieces is a run of word characters, or a run of characters that are
 * neither word characters nor white space. */
static int read_whitespace(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int rc = read_whitespace_split(p, section, file, err);
    return rc ? rc : append_split(p, AOEI_SPLIT_WORD, AOEI_SPLIT_CONTIGUOUS, err);
}

static int read_bert(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    (void)section;
    (void)file;
    return aoei_pretokenizer_add_bert(p, err);
}

static int read_step(aoei_pretokenizer *p, const json_t *section, int depth, const char *file, aoe_error *err);

static int read_sequence(aoei_pretokenizer *p, const json_t *section, int depth, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(section, "pretokenizers");
    int rc = 0;
    if (!json_is_array(list))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a pre_tokenizer Sequence has no \"pretokenizers\"; download the file again", file);
    if (depth == MAX_DEPTH)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: pre_tokenizer Sequences nested more than %d deep are not supported; use a flat list",
                         file, MAX_DEPTH);
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = read_step(p, json_array_get(list, i), depth + 1, file, err);
    return rc;
}

static int read_step(aoei_pretokenizer *p, const json_t *section, int depth, const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        int (*read)(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
    } kinds[] = {{"BertPreTokenizer", read_bert},       {"ByteLevel", read_byte_level},
                 {"Metaspace", read_metaspace},         {"Split", read_split},
                 {"Whitespace", read_whitespace},       {"WhitespaceSplit", read_whitespace_split},
                 {"Punctuation", read_punctuation},     {"Digits", read_digits},
                 {"CharDelimiterSplit", read_delimiter}};
    const char *type;
    int rc = aoei_json_type(&type, section, "pre_tokenizer", file, err);
    if (rc)
        return rc;
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(p, section, depth, file, err);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].name) == 0)
            return kinds[i].read(p, section, file, err);
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: pre_tokenizer \"%s\" is not supported; docs/tokenizers.md lists the supported types", file,
                     type);
}

int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    int rc = section && !json_is_null(section) ? read_step(p, section, 0, file, err) : 0;
    p->bert = p->bert && p->n == 2;
    return rc;
}

void aoei_pretokenizer_free(aoei_pretokenizer *p) {
    for (size_t i = 0; i < p->n; i++)
        aoei_pattern_free(&p->step[i].split.pattern);
    aoei_free(p->step);
    memset(p, 0, sizeof *p);
}
