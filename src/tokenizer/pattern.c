/* SPDX-License-Identifier: MIT
 * Searches texts for literal strings and for regular expressions. PCRE2 compiles regular expressions to machine code
 * (JIT), which uses a small part of the thread's stack. If an expression needs more stack, PCRE2 interprets the
 * expression. The interpreter's match limit stops expressions from a corrupt tokenizer.json that would otherwise run
 * forever.
 */
#include "tokenizer/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/pattern_syntax.h"

static void *allocate(size_t bytes, void *unused) {
    (void)unused;
    return aoei_malloc(bytes);
}

static void release(void *p, void *unused) {
    (void)unused;
    aoei_free(p);
}

int aoei_pattern_literal(aoei_pattern *p, const char *s, size_t len, aoe_error *err) {
    if (len == 0) /* an empty pattern matches between any two characters, so it is compiled as a regular expression */
        return aoei_pattern_regex(p, s, 0, err);
    p->literal = aoei_strndup(s, len);
    p->literal_len = len;
    return p->literal ? 0 : aoei_fail_nomem(err, len);
}

/* Compiles the regular expression `translated` (PCRE2's syntax). expression[len] is the expression in tokenizer.json,
 * for messages. */
static int compile(aoei_pattern *p, const aoei_buffer *translated, const char *expression, size_t len, aoe_error *err) {
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    const int shown = (int)(len < 80 ? len : 80);
    int code = 0, rc = 0;
    PCRE2_SIZE at = 0;
    (void)aoei_alloc_failed(); /* resets the flag of earlier allocations */
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context = memory ? pcre2_compile_context_create(memory) : NULL;
    if (!context) {
        rc = aoei_fail_nomem(err, len);
        goto done;
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile((PCRE2_SPTR)(translated->data ? translated->data : ""), translated->len, options, &code,
                            &at, context);
    const int no_memory = !p->code && aoei_alloc_failed();
    if (no_memory) {
        rc = aoei_fail_nomem(err, len);
    } else if (!p->code) {
        PCRE2_UCHAR text[120] = {0};
        pcre2_get_error_message(code, text, sizeof text);
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "regular expression \"%.*s\" is not supported: %s", shown, expression,
                       (const char *)text);
    }
    if (rc)
        goto done;
    p->jit = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0; /* fails if PCRE2 or the system does not support it */
    if (aoei_alloc_failed())
        rc = aoei_fail_nomem(err, len);
done:
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    return rc;
}

int aoei_pattern_regex(aoei_pattern *p, const char *expression, size_t len, aoe_error *err) {
    aoei_buffer translated = {0};
    const char *why = NULL;
    int rc = aoei_pattern_translate(&translated, expression, len, &why);
    if (rc == AOE_ENOMEM)
        aoei_fail_nomem(err, len);
    else if (rc)
        aoei_fail(err, rc, "regular expression \"%.*s\" is not supported: %s", (int)(len < 80 ? len : 80), expression,
                  why);
    else
        rc = compile(p, &translated, expression, len, err);
    aoei_buffer_free(&translated);
    return rc;
}

int aoei_pattern_read(aoei_pattern *p, const json_t *pattern, const char *file, aoe_error *err) {
    const char *string = NULL, *regex = NULL;
    size_t string_len = 0, regex_len = 0;
    int rc;
    if ((rc = aoei_json_string(pattern, "String", &string, &string_len, file, err)) ||
        (rc = aoei_json_string(pattern, "Regex", &regex, &regex_len, file, err)))
        return rc;
    if (!string && !regex)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a \"pattern\" is neither {\"String\": ...} nor {\"Regex\": ...}; download the file again",
                         file);
    rc = string ? aoei_pattern_literal(p, string, string_len, err) : aoei_pattern_regex(p, regex, regex_len, err);
    if (rc)
        aoei_error_prefix(err, "%s", file);
    return rc;
}

void aoei_pattern_free(aoei_pattern *p) {
    pcre2_code_free(p->code);
    aoei_free(p->literal);
    memset(p, 0, sizeof *p);
}

void aoei_pattern_begin(aoei_pattern_search *search, const aoei_pattern *p, const char *s, size_t len) {
    search->pattern = p;
    search->s = s;
    search->len = len;
    search->at = search->n_matches = search->last_end = 0;
}

void aoei_pattern_end(aoei_pattern_search *search) {
    pcre2_match_data_free(search->match);
    memset(search, 0, sizeof *search);
}

/* Finds the next occurrence of the literal string and returns 1. Returns 0 if there is no further occurrence. */
static int next_literal(aoei_pattern_search *search, size_t *start, size_t *end) {
    const aoei_pattern *p = search->pattern;
    size_t at = search->at;
    while (search->len - at >= p->literal_len) {
        const char *found = memchr(search->s + at, p->literal[0], search->len - at - (p->literal_len - 1));
        if (!found)
            break;
        at = (size_t)(found - search->s);
        if (memcmp(found, p->literal, p->literal_len) == 0) {
            *start = at;
            *end = search->at = at + p->literal_len;
            return 1;
        }
        at++;
    }
    search->at = search->len + 1;
    return 0;
}

/* Searches from search->at and returns PCRE2's return code, which is at least 0 if there is a match. */
static int match(aoei_pattern_search *search) {
    const aoei_pattern *p = search->pattern;
    const PCRE2_SPTR s = (PCRE2_SPTR)search->s;
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    if (p->jit)
        rc = pcre2_jit_match(p->code, s, search->len, search->at, 0, search->match, NULL);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, s, search->len, search->at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->match, NULL);
    return rc;
}

/* Finds the next match of the regular expression. Returns 1 if there is a match, 0 if there is no further match, or an
 * error code. */
static int next_regex(aoei_pattern_search *search, size_t *start, size_t *end, aoe_error *err) {
    if (!search->match) {
        (void)aoei_alloc_failed(); /* resets the flag of earlier allocations */
        pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
        search->match = memory ? pcre2_match_data_create(1, memory) : NULL;
        pcre2_general_context_free(memory);
        if (!search->match)
            return aoei_fail_nomem(err, search->len);
    }
    while (search->at <= search->len) {
        const int rc = match(search);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc == PCRE2_ERROR_NOMEMORY || rc == PCRE2_ERROR_HEAPLIMIT)
            return aoei_fail_nomem(err, search->len);
        if (rc < 0)
            return aoei_fail(
                err, AOE_EFORMAT,
                "a regular expression of the tokenizer exceeds its match limit (PCRE2 error %d); use shorter texts",
                rc);
        const PCRE2_SIZE *found = pcre2_get_ovector_pointer(search->match);
        *start = found[0];
        *end = found[1];
        if (*start >= *end && search->n_matches && *end == search->last_end) { /* an empty match directly after a match
                                                                                  is skipped */
            size_t bytes = 1;
            uint32_t cp = 0;
            if (search->at < search->len)
                bytes = aoei_utf8_decode(search->s + search->at, search->len - search->at, &cp);
            search->at += bytes;
            continue;
        }
        search->n_matches++;
        search->at = search->last_end = *end;
        return 1;
    }
    search->at = search->len + 1;
    return 0;
}

int aoei_pattern_next(aoei_pattern_search *search, size_t *start, size_t *end, aoe_error *err) {
    if (search->len == 0 || search->at > search->len)
        return 0;
    return search->pattern->literal ? next_literal(search, start, end) : next_regex(search, start, end, err);
}
