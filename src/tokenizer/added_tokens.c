/* SPDX-License-Identifier: MIT
 * Reads added tokens and finds them in texts. The leftmost match is used. If several tokens match at this position, the
 * longest match is used. If two tokens have equal patterns, a special token takes precedence over other tokens;
 * otherwise, the token that was added first is used. If a match is rejected because of the token's flag `single_word`,
 * the search continues after the end of the match, as in Hugging Face tokenizers.
 */
#include "tokenizer/added_tokens.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

/* Returns the code point that precedes s[i], and sets *start to the offset of this code point. i must be at least 1,
 * and s valid UTF-8. */
static uint32_t character_before(const char *s, size_t i, size_t *start) {
    uint32_t cp = 0;
    size_t at = i - 1;
    while (at > 0 && ((unsigned char)s[at] & 0xC0) == 0x80)
        at--;
    (void)aoei_utf8_decode(s + at, i - at, &cp);
    *start = at;
    return cp;
}

static int word_before(const char *s, size_t i) {
    size_t start;
    return i > 0 && aoei_unicode_is_word(character_before(s, i, &start));
}

static int word_after(const char *s, size_t len, size_t i) {
    uint32_t cp = 0;
    return i < len && aoei_utf8_decode(s + i, len - i, &cp) > 0 && aoei_unicode_is_word(cp);
}

static size_t strip_left(const char *s, size_t i, size_t limit) {
    size_t start = i;
    while (i > limit && aoei_unicode_is_space(character_before(s, i, &start)) && start >= limit)
        i = start;
    return i;
}

static size_t strip_right(const char *s, size_t len, size_t i) {
    uint32_t cp = 0;
    size_t bytes;
    while (i < len && (bytes = aoei_utf8_decode(s + i, len - i, &cp)) > 0 && aoei_unicode_is_space(cp))
        i += bytes;
    return i;
}

/* Returns the token of the longest pattern that matches at m->s[at], and sets *len to the length of the match in bytes.
 * Returns NULL if no pattern matches there. */
static const aoei_added_token *longest_match(const aoei_matches *m, size_t at, size_t *len) {
    const aoei_added_token *found = NULL;
    uint32_t node = AOEI_TRIE_ROOT;
    for (size_t i = at; i < m->len && (node = aoei_trie_step(&m->patterns->trie, node, (unsigned char)m->s[i])) != 0;
         i++) {
        if (node & AOEI_TRIE_END) {
            found = &m->tokens->token[aoei_trie_value(&m->patterns->trie, node)];
            *len = i + 1 - at;
        }
    }
    return found;
}

/* Returns the first position at or after i at which a pattern may start, or m->len if no pattern can start there. */
static size_t next_start(const aoei_matches *m, size_t i) {
    const aoei_patterns *p = m->patterns;
    if (p->n_starts == 1) {
        const char *at = memchr(m->s + i, p->only_start, m->len - i);
        return at ? (size_t)(at - m->s) : m->len;
    }
    while (i < m->len && !p->starts[(unsigned char)m->s[i]])
        i++;
    return i;
}

int aoei_matches_next(aoei_matches *m, aoei_match *match) {
    if (m->patterns->n_starts == 0)
        return 0;
    while (m->search < m->len) {
        size_t start = next_start(m, m->search), len = 0;
        if (start == m->len)
            break;
        const aoei_added_token *token = longest_match(m, start, &len);
        if (!token) {
            m->search = start + 1;
            continue;
        }
        size_t end = start + len, left = start;
        m->search = end;
        if (token->flags.single_word && (word_before(m->s, start) || word_after(m->s, m->len, end)))
            continue;
        if (token->flags.lstrip)
            left = strip_left(m->s, start, m->last_end);
        *match = (aoei_match){.token = token,
                              .before_start = m->last_end,
                              .before_end = left > m->last_end ? left : m->last_end,
                              .start = start,
                              .end = end};
        m->last_end = token->flags.rstrip ? strip_right(m->s, m->len, end) : end;
        return 1;
    }
    return 0;
}

static int32_t new_id(const aoei_added_tokens *a, const aoei_vocab *v) {
    int32_t size = (int32_t)v->n_tokens; /* at most AOEI_VOCAB_MAX_ID + 2, so the conversion cannot overflow */
    return a->max_id >= size ? a->max_id + 1 : size;
}

int aoei_added_tokens_add(aoei_added_tokens *a, const aoei_vocab *v, const char *content, size_t len,
                          aoei_added_flags flags, aoe_error *err) {
    if (a->n == 0)
        a->max_id = -1;
    if (len == 0)
        return 0;
    size_t known = aoei_added_tokens_find(a, content, len);
    if (known != (size_t)-1) {
        a->token[known].flags = flags;
        return 0;
    }
    int32_t id = aoei_vocab_id(v, content, len);
    if (id < 0)
        id = new_id(a, v);
    if (id > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EFORMAT,
                         "added token \"%.80s\" would have an id above %d; remove unused added tokens", content,
                         AOEI_VOCAB_MAX_ID);
    if (aoei_grow((void **)&a->token, &a->capacity, a->n, sizeof *a->token))
        return aoei_fail_nomem(err, a->n * 2 * sizeof *a->token);
    char *copy = aoei_strndup(content, len);
    if (!copy)
        return aoei_fail_nomem(err, len);
    int rc = aoei_trie_add(&a->by_content, content, len, (int32_t)a->n, 0, err);
    if (rc) {
        aoei_free(copy);
        return rc;
    }
    a->token[a->n++] = (aoei_added_token){.content = copy, .len = len, .flags = flags, .id = id};
    if (id > a->max_id)
        a->max_id = id;
    return 0;
}

static int read_flag(unsigned char *flag, const json_t *object, const char *key, const char *file, aoe_error *err) {
    int value = *flag;
    int rc = aoei_json_bool(object, key, &value, file, err);
    *flag = value != 0;
    return rc;
}

int aoei_added_flags_read(aoei_added_flags *flags, const json_t *object, const char *file, aoe_error *err) {
    int rc;
    if ((rc = read_flag(&flags->single_word, object, "single_word", file, err)) ||
        (rc = read_flag(&flags->lstrip, object, "lstrip", file, err)) ||
        (rc = read_flag(&flags->rstrip, object, "rstrip", file, err)) ||
        (rc = read_flag(&flags->special, object, "special", file, err)))
        return rc;
    flags->normalized = !flags->special;
    return read_flag(&flags->normalized, object, "normalized", file, err);
}

int aoei_added_tokens_read(aoei_added_tokens *a, const aoei_vocab *v, const json_t *array, const char *file,
                           aoe_error *err) {
    if (!array || json_is_null(array))
        return 0;
    if (!json_is_array(array))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"added_tokens\" is not an array; download the file again", file);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        const char *content = NULL;
        size_t len = 0;
        aoei_added_flags flags = {0};
        int rc;
        if ((rc = aoei_json_string(object, "content", &content, &len, file, err)) ||
            (rc = aoei_added_flags_read(&flags, object, file, err)))
            return rc;
        if (!content)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: entry %zu of \"added_tokens\" has no \"content\"; download the file again", file, i);
        if ((rc = aoei_added_tokens_add(a, v, content, len, flags, err))) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    return 0;
}

static int add_pattern(aoei_patterns *p, const char *s, size_t len, size_t token, aoe_error *err) {
    unsigned char first = (unsigned char)s[0];
    p->n_starts += !p->starts[first];
    p->starts[first] = 1;
    p->only_start = first;
    return aoei_trie_add(&p->trie, s, len, (int32_t)token, 1, err);
}

/* Adds the content of token i, normalized by n, to `patterns`. `form` is a buffer. */
static int add_normalized(const aoei_added_tokens *a, aoei_patterns *patterns, size_t i, const aoei_normalizer *n,
                          aoei_normalized *form, const char *file, aoe_error *err) {
    const aoei_added_token *t = &a->token[i];
    const int rc = aoei_normalize(n, t->content, t->len, form, err);
    if (rc)
        return rc;
    return form->len
               ? add_pattern(patterns, form->data, form->len, i, err)
               : aoei_fail(err, AOE_EFORMAT,
                           "%s: added token \"%.80s\" is empty after normalization and would match everywhere; set its "
                           "\"normalized\" to false",
                           file, t->content);
}

int aoei_added_tokens_finish(aoei_added_tokens *a, const aoei_normalizer *n, const aoei_normalizer *lowercased,
                             const char *file, aoe_error *err) {
    aoei_normalized form = {0};
    int rc = 0;
    if (a->n == 0)
        a->max_id = -1;
    for (int special = 1; special >= 0; special--) {
        for (size_t i = 0; i < a->n && !rc; i++) {
            const aoei_added_token *t = &a->token[i];
            if (t->flags.special != special)
                continue;
            if (!t->flags.normalized)
                rc = add_pattern(&a->raw, t->content, t->len, i, err);
            else if (!(rc = add_normalized(a, &a->normalized, i, n, &form, file, err)))
                rc = add_normalized(a, &a->lowercased, i, lowercased, &form, file, err);
        }
    }
    aoei_normalized_free(&form);
    return rc;
}

size_t aoei_added_tokens_find(const aoei_added_tokens *a, const char *content, size_t len) {
    int32_t i = aoei_trie_find(&a->by_content, content, len);
    return i < 0 ? (size_t)-1 : (size_t)i;
}

size_t aoei_added_tokens_find_id(const aoei_added_tokens *a, int32_t id) {
    for (size_t i = a->n; i-- > 0;)
        if (a->token[i].id == id)
            return i;
    return (size_t)-1;
}

void aoei_added_tokens_free(aoei_added_tokens *a) {
    for (size_t i = 0; i < a->n; i++)
        aoei_free(a->token[i].content);
    aoei_free(a->token);
    aoei_trie_free(&a->by_content);
    aoei_trie_free(&a->raw.trie);
    aoei_trie_free(&a->normalized.trie);
    aoei_trie_free(&a->lowercased.trie);
    memset(a, 0, sizeof *a);
}
