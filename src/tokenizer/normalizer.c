/* SPDX-License-Identifier: MIT
 * Reads the list of normalizers from tokenizer.json and applies it to texts. Each step reads the output of the previous
 * step. The origin of a byte is the offset in the raw text of the character that the byte comes from. After each step,
 * the origins are mapped back through the previous steps, so they are always offsets in the raw text.
 */
#include "tokenizer/normalizer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/json_type.h"
#include "tokenizer/normalizer_unicode.h"
#include "tokenizer/unicode.h"

enum { MAX_DEPTH = 8 }; /* maximum nesting depth of normalizers of the type Sequence */

static int lowercase(const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    for (size_t i = 0; i < len;) {
        uint32_t cp = 0, lower[AOEI_LOWER_MAX];
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp), n = aoei_unicode_lower(cp, lower);
        for (size_t k = 0; k < n; k++)
            if (aoei_normalized_put_cp(out, lower[k], i))
                return aoei_fail_nomem(err, len);
        i += bytes;
    }
    return 0;
}

static int strip(const aoei_normalizer_step *step, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    size_t start = 0, end = 0;
    for (size_t i = 0; i < len;) {
        uint32_t cp = 0;
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        const int space = aoei_unicode_is_space(cp);
        if (space && step->left && start == i)
            start += bytes;
        i += bytes;
        if (!space || !step->right)
            end = i;
    }
    return start < end && aoei_normalized_copy(out, s, start, end, NULL) ? aoei_fail_nomem(err, len) : 0;
}

static int strip_accents(const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    for (size_t i = 0; i < len;) {
        uint32_t cp = 0;
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        if (!aoei_unicode_is_mark(cp) && aoei_normalized_put(out, s + i, bytes, i))
            return aoei_fail_nomem(err, len);
        i += bytes;
    }
    return 0;
}

/* Returns the character by which the normalizer Nmt replaces cp. The result is UINT32_MAX for most control characters,
 * which are removed. It is a space for line ends, invisible characters and some other white space. It is cp for all
 * other characters. */
static uint32_t nmt_form(uint32_t cp) {
    if ((cp >= 1 && cp <= 8) || cp == 0x0B || (cp >= 0x0E && cp <= 0x1F) || cp == 0x7F || cp == 0x8F || cp == 0x9F)
        return UINT32_MAX;
    if (cp == 9 || cp == 0x0A || cp == 0x0C || cp == 0x0D || cp == 0x1680 || (cp >= 0x200B && cp <= 0x200F) ||
        cp == 0x2028 || cp == 0x2029 || cp == 0x2581 || cp == 0xFEFF || cp == 0xFFFD)
        return ' ';
    return cp;
}

static int nmt(const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    for (size_t i = 0; i < len;) {
        uint32_t cp = 0;
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        const uint32_t form = nmt_form(cp);
        if (form != UINT32_MAX && aoei_normalized_put_cp(out, form, i))
            return aoei_fail_nomem(err, len);
        i += bytes;
    }
    return 0;
}

/* Replaces all matches of the step's pattern with step->content. As in Hugging Face tokenizers, the origin of the
 * inserted bytes is the last character of the match. */
static int replace(const aoei_normalizer_step *step, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    aoei_pattern_search search = {.n_matches = 0};
    size_t last = 0, start, end;
    int rc;
    aoei_pattern_begin(&search, &step->pattern, s, len);
    while ((rc = aoei_pattern_next(&search, &start, &end, err)) > 0) {
        size_t origin = end > start ? end - 1 : start < len ? start : len - 1;
        while (origin > start && ((unsigned char)s[origin] & 0xC0) == 0x80)
            origin--;
        if (aoei_normalized_copy(out, s, last, start, NULL) ||
            aoei_normalized_put(out, step->content, step->content_len, origin)) {
            rc = aoei_fail_nomem(err, len);
            break;
        }
        last = end;
    }
    if (rc == 0 && aoei_normalized_copy(out, s, last, len, NULL))
        rc = aoei_fail_nomem(err, len);
    aoei_pattern_end(&search);
    return rc;
}

static int prepend(const aoei_normalizer_step *step, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    if (len == 0)
        return 0;
    return aoei_normalized_put(out, step->content, step->content_len, 0) || aoei_normalized_copy(out, s, 0, len, NULL)
               ? aoei_fail_nomem(err, len)
               : 0;
}

/* Replaces each byte with the character that represents it in byte-level BPE. */
static int byte_level(const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    for (size_t i = 0, start = 0; i < len; i++) {
        if (((unsigned char)s[i] & 0xC0) != 0x80)
            start = i;
        if (aoei_normalized_put_cp(out, aoei_byte_letter((unsigned char)s[i]), start))
            return aoei_fail_nomem(err, len);
    }
    return 0;
}

/* Sets the origin of the first character of `out` to 0. Hugging Face tokenizers do so for steps that replace
 * characters, even if the step has removed or reordered the first characters of the text. A pre-tokenizer that treats
 * the first piece of the text differently depends on this origin. */
static void align_first(aoei_normalized *out) {
    for (size_t i = 0; i < out->len && out->track && (i == 0 || ((unsigned char)out->data[i] & 0xC0) == 0x80); i++)
        out->origin[i] = 0;
}

/* Runs one step of the normalizer on s[len] and writes the result to `out`. */
static int run(const aoei_normalizer_step *step, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    int rc = 0;
    switch (step->type) {
    case AOEI_NORMALIZER_BERT:
        return aoei_normalize_bert(&step->bert, s, len, out, err);
    case AOEI_NORMALIZER_UNICODE:
        rc = aoei_normalize_unicode(step->compatible, step->composed, s, len, out, err);
        align_first(out);
        break;
    case AOEI_NORMALIZER_LOWERCASE:
        return lowercase(s, len, out, err);
    case AOEI_NORMALIZER_STRIP:
        return strip(step, s, len, out, err);
    case AOEI_NORMALIZER_STRIP_ACCENTS:
        return strip_accents(s, len, out, err);
    case AOEI_NORMALIZER_NMT:
        return nmt(s, len, out, err);
    case AOEI_NORMALIZER_REPLACE:
        return replace(step, s, len, out, err);
    case AOEI_NORMALIZER_PREPEND:
        return prepend(step, s, len, out, err);
    case AOEI_NORMALIZER_CHARSMAP:
        rc = aoei_charsmap_apply(&step->charsmap, s, len, out, err);
        align_first(out);
        break;
    case AOEI_NORMALIZER_BYTE_LEVEL:
        return byte_level(s, len, out, err);
    }
    return rc;
}

/* Runs all steps except the first. On entry, `out` contains the output of the first step; on return, the output of the
 * last. */
static int run_more(const aoei_normalizer *n, aoei_normalized *out, aoe_error *err) {
    aoei_normalized before = {.track = out->track};
    int rc = 0;
    for (size_t i = 1; i < n->n && !rc; i++) {
        const aoei_normalized swap = before;
        before = *out;
        *out = swap;
        out->len = 0;
        rc = run(&n->step[i], before.data, before.len, out, err);
        for (size_t k = 0; k < out->len && out->track && !rc; k++)
            out->origin[k] = before.origin[out->origin[k]];
    }
    aoei_normalized_free(&before);
    return rc;
}

int aoei_normalize(const aoei_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    int rc = 0;
    out->len = 0;
    if (n->n)
        rc = run(&n->step[0], s, len, out, err);
    else if (aoei_normalized_copy(out, s, 0, len, NULL))
        rc = aoei_fail_nomem(err, len);
    if (!rc && n->n > 1)
        rc = run_more(n, out, err);
    if (!rc && aoei_normalized_end(out))
        rc = aoei_fail_nomem(err, out->len);
    return rc;
}

static aoei_normalizer_step *append(aoei_normalizer *n, aoei_normalizer_type type, aoe_error *err) {
    if (aoei_grow((void **)&n->step, &n->capacity, n->n, sizeof *n->step)) {
        aoei_fail_nomem(err, n->n * 2 * sizeof *n->step);
        return NULL;
    }
    n->step[n->n] = (aoei_normalizer_step){.type = type};
    return &n->step[n->n++];
}

int aoei_normalizer_add_bert(aoei_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents_too,
                             int lowercase_too, aoe_error *err) {
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_BERT, err);
    if (!step)
        return AOE_ENOMEM;
    aoei_bert_normalizer_set(&step->bert, clean_text, handle_chinese_chars, strip_accents_too, lowercase_too);
    return 0;
}

static int add_unicode(aoei_normalizer *n, int compatible, int composed, aoe_error *err) {
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_UNICODE, err);
    if (!step)
        return AOE_ENOMEM;
    step->compatible = compatible != 0;
    step->composed = composed != 0;
    return 0;
}

int aoei_normalizer_add_nfc(aoei_normalizer *n, aoe_error *err) {
    return add_unicode(n, 0, 1, err);
}

static int read_bert(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    int clean = 1, chinese = 1, accents = -1, lower = 1, rc;
    if ((rc = aoei_json_bool(section, "clean_text", &clean, file, err)) ||
        (rc = aoei_json_bool(section, "handle_chinese_chars", &chinese, file, err)) ||
        (rc = aoei_json_bool(section, "strip_accents", &accents, file, err)) ||
        (rc = aoei_json_bool(section, "lowercase", &lower, file, err)))
        return rc;
    return aoei_normalizer_add_bert(n, clean, chinese, accents, lower, err);
}

static int read_strip(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    int left = 1, right = 1, rc;
    if ((rc = aoei_json_bool(section, "strip_left", &left, file, err)) ||
        (rc = aoei_json_bool(section, "strip_right", &right, file, err)))
        return rc;
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_STRIP, err);
    if (!step)
        return AOE_ENOMEM;
    step->left = left != 0;
    step->right = right != 0;
    return 0;
}

/* Reads the string under `key`, which must exist, into step->content. */
static int read_content(aoei_normalizer_step *step, const json_t *section, const char *key, const char *file,
                        aoe_error *err) {
    const char *content = NULL;
    int rc = aoei_json_string(section, key, &content, &step->content_len, file, err);
    if (rc)
        return rc;
    if (!content)
        return aoei_fail(err, AOE_EFORMAT, "%s: a normalizer has no \"%s\"; download the file again", file, key);
    step->content = aoei_strndup(content, step->content_len);
    return step->content ? 0 : aoei_fail_nomem(err, step->content_len);
}

static int read_replace(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_REPLACE, err);
    if (!step)
        return AOE_ENOMEM;
    int rc = read_content(step, section, "content", file, err);
    return rc ? rc : aoei_pattern_read(&step->pattern, json_object_get(section, "pattern"), file, err);
}

static int read_prepend(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_PREPEND, err);
    return step ? read_content(step, section, "prepend", file, err) : AOE_ENOMEM;
}

static int read_charsmap(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    const char *map = NULL;
    size_t len = 0;
    int rc = aoei_json_string(section, "precompiled_charsmap", &map, &len, file, err);
    if (rc)
        return rc;
    aoei_normalizer_step *step = append(n, AOEI_NORMALIZER_CHARSMAP, err);
    if (!step)
        return AOE_ENOMEM;
    return aoei_charsmap_read(&step->charsmap, map, map ? len : 0, file, err);
}

static int read_step(aoei_normalizer *n, const json_t *section, int depth, const char *file, aoe_error *err);

static int read_sequence(aoei_normalizer *n, const json_t *section, int depth, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(section, "normalizers");
    int rc = 0;
    if (!json_is_array(list))
        return aoei_fail(err, AOE_EFORMAT, "%s: a normalizer Sequence has no \"normalizers\"; download the file again",
                         file);
    if (depth == MAX_DEPTH)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: normalizer Sequences nested more than %d deep are not supported; use a flat list", file,
                         MAX_DEPTH);
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = read_step(n, json_array_get(list, i), depth + 1, file, err);
    return rc;
}

static int read_step(aoei_normalizer *n, const json_t *section, int depth, const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        aoei_normalizer_type type;
    } plain[] = {{"Lowercase", AOEI_NORMALIZER_LOWERCASE},
                 {"StripAccents", AOEI_NORMALIZER_STRIP_ACCENTS},
                 {"Nmt", AOEI_NORMALIZER_NMT},
                 {"ByteLevel", AOEI_NORMALIZER_BYTE_LEVEL}};
    static const char *const forms[] = {"NFD", "NFC", "NFKD", "NFKC"};
    static const struct {
        const char *name;
        int (*read)(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err);
    } others[] = {{"BertNormalizer", read_bert},
                  {"Strip", read_strip},
                  {"Replace", read_replace},
                  {"Prepend", read_prepend},
                  {"Precompiled", read_charsmap}};
    const char *type;
    int rc = aoei_json_type(&type, section, "normalizer", file, err);
    if (rc)
        return rc;
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(n, section, depth, file, err);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].name) == 0)
            return append(n, plain[i].type, err) ? 0 : AOE_ENOMEM;
    for (int i = 0; i < 4; i++)
        if (strcmp(type, forms[i]) == 0)
            return add_unicode(n, i / 2, i % 2, err);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i].name) == 0)
            return others[i].read(n, section, file, err);
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: normalizer \"%s\" is not supported; docs/tokenizers.md lists the supported types", file,
                     type);
}

int aoei_normalizer_read(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err) {
    return section && !json_is_null(section) ? read_step(n, section, 0, file, err) : 0;
}

aoe_text aoei_normalizer_space(const aoei_normalizer *n) {
    aoe_text space = {NULL, 0};
    for (size_t i = 0; i < n->n; i++) {
        const aoei_normalizer_step *step = &n->step[i];
        if (step->type == AOEI_NORMALIZER_REPLACE && step->pattern.literal_len == 1 && step->pattern.literal[0] == ' ')
            space = (aoe_text){step->content, step->content_len};
        else if (step->type == AOEI_NORMALIZER_BYTE_LEVEL)
            space = aoe_text_of(AOEI_BYTE_LETTER_SPACE);
    }
    return space;
}

int aoei_normalizer_lowercased(aoei_normalizer *out, const aoei_normalizer *n, aoe_error *err) {
    int found = 0;
    *out = (aoei_normalizer){.step = NULL};
    for (size_t i = 0; i < n->n; i++)
        found |= n->step[i].type == AOEI_NORMALIZER_LOWERCASE;
    if (!found && !append(out, AOEI_NORMALIZER_LOWERCASE, err))
        return AOE_ENOMEM;
    for (size_t i = 0; i < n->n; i++) {
        aoei_normalizer_step *step = append(out, n->step[i].type, err);
        if (!step)
            return AOE_ENOMEM;
        *step = n->step[i];
    }
    return 0;
}

void aoei_normalizer_free(aoei_normalizer *n) {
    for (size_t i = 0; i < n->n; i++) {
        aoei_pattern_free(&n->step[i].pattern);
        aoei_free(n->step[i].content);
        aoei_charsmap_free(&n->step[i].charsmap);
    }
    aoei_free(n->step);
    memset(n, 0, sizeof *n);
}
