/* SPDX-License-Identifier: MIT
 * Finds the object "vocab" in the object "model" of a tokenizer.json, and reads its tokens and ids. This is not a full
 * JSON parser. It stops with the return code GIVE_UP if the file contains \u escapes, duplicate keys, duplicate tokens,
 * or ids that are not plain numbers. The parts of the file outside the vocabulary are skipped without checking them.
 */
#include "tokenizer/vocab_scan.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"

enum { GIVE_UP = 1 }; /* return code if the file must be read with the JSON parser */

typedef struct scan {
    const char *s;     /* [len] contents of the file */
    size_t at, len;    /* current position and length in bytes */
    aoei_vocab *vocab; /* receives the tokens */
    aoei_buffer token; /* buffer for a token after its escape sequences were replaced */
    size_t begin, end; /* byte range of the JSON object "vocab" in s */
    aoe_error *err;
} scan;

/* Skips white space and returns the next character without consuming it. Returns 0 at the end of the file. */
static char peek(scan *p) {
    while (p->at < p->len && (p->s[p->at] == ' ' || p->s[p->at] == '\n' || p->s[p->at] == '\r' || p->s[p->at] == '\t'))
        p->at++;
    return p->at < p->len ? p->s[p->at] : 0;
}

/* Skips white space and consumes the character c. Returns 0, or GIVE_UP if the next character is not c. */
static int take(scan *p, char c) {
    if (peek(p) != c)
        return GIVE_UP;
    p->at++;
    return 0;
}

/* Consumes a JSON string. Sets *s and *n to the bytes between the quotes, and sets *escaped to 1 if these bytes contain
 * escape sequences. */
static int take_string(scan *p, const char **s, size_t *n, int *escaped) {
    *escaped = 0;
    if (take(p, '"'))
        return GIVE_UP;
    const size_t start = p->at;
    for (; p->at < p->len && p->s[p->at] != '"'; p->at++) {
        if ((unsigned char)p->s[p->at] < ' ')
            return GIVE_UP;
        if (p->s[p->at] == '\\') {
            *escaped = 1;
            p->at++;
        }
    }
    if (p->at >= p->len)
        return GIVE_UP;
    *s = p->s + start;
    *n = p->at++ - start;
    return 0;
}

/* Skips a JSON value of any type. */
static int skip_value(scan *p) {
    const char *s;
    size_t n, depth = 0;
    int escaped;
    do {
        const char c = peek(p);
        if (c == '"') {
            if (take_string(p, &s, &n, &escaped))
                return GIVE_UP;
            continue;
        }
        if (c == 0 || (depth == 0 && (c == ',' || c == '}' || c == ']')))
            return GIVE_UP;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        p->at++;
        if (depth == 0 && c != '}' && c != ']') /* a number, true, false or null outside arrays and objects */
            while (p->at < p->len && memchr(",}] \t\r\n", p->s[p->at], 8) == NULL)
                p->at++;
    } while (depth > 0);
    return 0;
}

/* Consumes a JSON object, which must contain the key `key` exactly once. The function `inside` reads the value of this
 * key. All other values are skipped. */
static int scan_object(scan *p, const char *key, int (*inside)(scan *p)) {
    int found = 0, more;
    if (take(p, '{'))
        return GIVE_UP;
    do {
        const char *s = NULL;
        size_t n = 0;
        int escaped, rc;
        if (take_string(p, &s, &n, &escaped) || escaped || take(p, ':'))
            return GIVE_UP;
        const int is_key = n == strlen(key) && memcmp(s, key, n) == 0;
        if (is_key && found++)
            return GIVE_UP;
        if ((rc = is_key ? inside(p) : skip_value(p)))
            return rc;
        more = !take(p, ',');
    } while (more);
    return take(p, '}') || !found ? GIVE_UP : 0;
}

/* Reads a non-negative integer of at most nine digits. */
static int take_id(scan *p, int64_t *id) {
    const char first = peek(p);
    const size_t start = p->at;
    *id = 0;
    for (; p->at < p->len && p->s[p->at] >= '0' && p->s[p->at] <= '9'; p->at++) {
        if (p->at - start == 9)
            return GIVE_UP;
        *id = 10 * *id + (p->s[p->at] - '0');
    }
    return p->at == start || (first == '0' && p->at > start + 1) ? GIVE_UP : 0;
}

/* Writes the string s[0, n) to p->token and replaces the escape sequences by the characters that they represent. */
static int resolve(scan *p, const char *s, size_t n) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    aoei_buffer_clear(&p->token);
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '\\') {
            const char *which = memchr(from, s[++i], sizeof from - 1);
            if (!which)
                return GIVE_UP;
            c = to[which - from];
        }
        if (aoei_buffer_append(&p->token, &c, 1))
            return aoei_fail_nomem(p->err, n);
    }
    return 0;
}

/* Reads the JSON object {token: id} into p->vocab, and sets p->begin and p->end to the byte range of this object. */
static int scan_vocab(scan *p) {
    size_t n_entries = 0;
    (void)peek(p);
    p->begin = p->at;
    if (take(p, '{'))
        return GIVE_UP;
    do {
        const char *s = NULL;
        size_t n = 0;
        int escaped, rc;
        int64_t id;
        if (take_string(p, &s, &n, &escaped))
            return GIVE_UP;
        if (escaped) {
            if ((rc = resolve(p, s, n)))
                return rc;
            s = p->token.data;
            n = p->token.len;
        }
        if (take(p, ':') || take_id(p, &id))
            return GIVE_UP;
        if ((rc = aoei_vocab_add(p->vocab, s, n, id, p->err)))
            return rc == AOE_ENOMEM ? rc : GIVE_UP;
        n_entries++;
    } while (!take(p, ','));
    p->end = p->at + 1;
    return take(p, '}') || p->vocab->n_tokens != n_entries ? GIVE_UP : 0;
}

static int scan_model(scan *p) {
    return scan_object(p, "vocab", scan_vocab);
}

int aoei_vocab_scan(aoei_vocab *v, size_t *begin, size_t *end, const char *data, size_t len, aoe_error *err) {
    scan p = {.s = data, .len = len, .vocab = v, .err = err};
    const int rc = scan_object(&p, "model", scan_model);
    aoei_buffer_free(&p.token);
    *begin = p.begin;
    *end = p.end;
    if (rc)
        aoei_vocab_free(v);
    return rc == AOE_ENOMEM ? rc : rc == 0;
}
