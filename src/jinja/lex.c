/* SPDX-License-Identifier: MIT
 * The lexer follows jinja2.lexer. The text between two tags is found before it is stripped, because the rules for its
 * white space depend on the tag after it.
 */
#include "jinja/lex.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

enum { MAX_NESTING = 200 };

typedef struct lexer {
    aoei_jinja_tokens *out;
    aoei_jinja_arena *arena;
    aoe_text s;    /* source with \n as line end */
    size_t at;     /* next byte */
    unsigned line; /* line of `at` */
    int starting;  /* 1: the previous token ended with a line end */
    const char *name;
    aoe_error *err;
} lexer;

static int push(lexer *x, aoei_jinja_token_type type, aoe_text text) {
    if (aoei_grow((void **)&x->out->token, &x->out->capacity, x->out->n, sizeof *x->out->token))
        return aoei_fail_nomem(x->err, sizeof *x->out->token);
    x->out->token[x->out->n++] = (aoei_jinja_token){type, x->line, text};
    return 0;
}

static int fail(lexer *x, const char *what) {
    return aoei_fail(x->err, AOE_EFORMAT, "%s:%u: %s; correct the chat template", x->name, x->line, what);
}

/* Moves to the position `to` and counts the lines. */
static void move(lexer *x, size_t to) {
    for (; x->at < to; x->at++)
        x->line += x->s.data[x->at] == '\n';
}

static int starts(const lexer *x, size_t at, const char *s) {
    const size_t n = strlen(s);
    return at <= x->s.len && n <= x->s.len - at && !memcmp(x->s.data + at, s, n);
}

/* Returns the position after the white space at `at`. */
static size_t skip_space(const lexer *x, size_t at) {
    const aoe_text rest = {x->s.data + at, x->s.len - at};
    return x->s.len - aoei_jinja_strip(rest, 1).len;
}

/* Sets *end to the position after the end `mark` of a tag at `at` and returns 1, or returns 0 if there is no such end.
 * trim: 1: a line end after the mark belongs to it. */
static int match_end(const lexer *x, size_t at, const char *mark, int trim, size_t *end) {
    const int minus = starts(x, at, "-"), plus = trim && starts(x, at, "+");
    if (!starts(x, at + (minus || plus), mark))
        return 0;
    *end = at + (minus || plus) + strlen(mark);
    if (minus)
        *end = skip_space(x, *end);
    else if (trim && !plus && starts(x, *end, "\n"))
        *end += 1;
    return 1;
}

/* Appends the text [from, to) before a tag with the sign `sign`. */
static int push_text(lexer *x, size_t from, size_t to, char sign, int is_expression) {
    aoe_text text = {x->s.data + from, to - from};
    if (sign == '-') {
        text = aoei_jinja_strip(text, 2);
    } else if (sign != '+' && !is_expression) {
        size_t start = text.len;
        while (start && text.data[start - 1] != '\n')
            start--;
        const aoe_text last = {text.data + start, text.len - start};
        if ((start || x->starting) && !aoei_jinja_strip(last, 1).len)
            text.len = start;
    }
    const int rc = text.len ? push(x, AOEI_JINJA_DATA, text) : 0;
    move(x, to);
    return rc;
}

/* Returns the sign after the opening of a tag, or 0. */
static char sign_at(const lexer *x, size_t at) {
    return starts(x, at, "-") ? '-' : starts(x, at, "+") ? '+' : 0;
}

/* If the tag at `at` is {% word %}, sets *end to the position after it and returns 1. */
static int match_word(const lexer *x, size_t at, const char *word, int trim, size_t *end) {
    if (!starts(x, at, "{%"))
        return 0;
    at = skip_space(x, at + 2 + (sign_at(x, at + 2) != 0));
    if (!starts(x, at, word))
        return 0;
    at = skip_space(x, at + strlen(word));
    if (!trim && starts(x, at, "+"))
        return 0;
    return match_end(x, at, "%}", trim, end);
}

/* Reads the text of {% raw %}, which ends at {% endraw %}. */
static int lex_raw(lexer *x) {
    for (size_t at = x->at, end; at < x->s.len; at++)
        if (match_word(x, at, "endraw", 1, &end)) {
            const int rc = push_text(x, x->at, at, sign_at(x, at + 2), 0);
            move(x, end);
            x->starting = end && x->s.data[end - 1] == '\n';
            return rc;
        }
    return fail(x, "{% raw %} has no end");
}

static int lex_comment(lexer *x) {
    for (size_t at = x->at; at + 1 < x->s.len; at++) {
        size_t end;
        if (match_end(x, at, "#}", 1, &end)) {
            move(x, end);
            x->starting = x->s.data[end - 1] == '\n';
            return 0;
        }
    }
    return fail(x, "a comment has no end");
}

/* Returns the length of the operator at the current position, or 0. */
static size_t operator_length(const lexer *x) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (starts(x, x->at, two[i]))
            return 2;
    return x->at < x->s.len && strchr("+-/*%~[](){}><=.:|,;", x->s.data[x->at]) && x->s.data[x->at];
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_name_start(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int digit_value(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Appends the character of the escape sequence with `digits` digits of base `base` at s[*at], at most `len` bytes
 * long. */
static int put_code(aoei_buffer *b, const char *s, size_t len, size_t *at, int base, size_t digits, int exact) {
    uint32_t cp = 0;
    size_t n = 0;
    char out[4];
    while (n < digits && *at < len && digit_value(s[*at]) < base) {
        cp = cp * (uint32_t)base + (uint32_t)digit_value(s[(*at)++]);
        n++;
    }
    const size_t bytes = (exact && n != digits) ? 0 : aoei_utf8_encode(cp, out);
    if (bytes)
        aoei_buffer_append(b, out, bytes);
    return bytes ? 0 : -1;
}

/* Appends the characters of a string literal, in which escape sequences have the meaning of Python. */
static int unescape(aoei_buffer *b, const char *s, size_t len) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    for (size_t i = 0; i < len;) {
        if (s[i] != '\\' || i + 1 == len) {
            aoei_buffer_putc(b, s[i++]);
            continue;
        }
        const char c = s[i + 1];
        const char *known = strchr(from, c);
        i += 2;
        int bad = 0;
        if (known && c)
            aoei_buffer_putc(b, to[known - from]);
        else if (c == 'x' || c == 'u' || c == 'U')
            bad = put_code(b, s, len, &i, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, 1);
        else if (c >= '0' && c <= '7')
            i--, bad = put_code(b, s, len, &i, 8, 3, 0);
        else if (c == 'N' || (unsigned char)c >= 0x80)
            bad = -1;
        else if (c != '\n') {
            aoei_buffer_putc(b, '\\');
            aoei_buffer_putc(b, c);
        }
        if (bad)
            return -1;
    }
    return 0;
}

static int lex_string(lexer *x) {
    const char quote = x->s.data[x->at];
    size_t end = x->at + 1;
    while (end < x->s.len && x->s.data[end] != quote)
        end += x->s.data[end] == '\\' ? 2 : 1;
    if (end >= x->s.len)
        return fail(x, "a string has no end");
    aoei_buffer b = {0};
    if (unescape(&b, x->s.data + x->at + 1, end - x->at - 1)) {
        aoei_buffer_free(&b);
        return fail(x, "an escape sequence of a string is not supported");
    }
    const aoe_text text = b.failed ? (aoe_text){0} : aoei_jinja_copy(x->arena, (aoe_text){b.len ? b.data : "", b.len});
    aoei_buffer_free(&b);
    const int rc = text.data ? push(x, AOEI_JINJA_TEXT, text) : aoei_fail_nomem(x->err, end - x->at);
    move(x, end + 1);
    return rc;
}

static int lex_number(lexer *x) {
    size_t end = x->at;
    int real = 0;
    while (end < x->s.len && is_digit(x->s.data[end]))
        end++;
    const int after_dot = x->at && x->s.data[x->at - 1] == '.';
    if (!after_dot && starts(x, end, ".") && end + 1 < x->s.len && is_digit(x->s.data[end + 1])) {
        real = 1;
        for (end++; end < x->s.len && is_digit(x->s.data[end]);)
            end++;
    }
    if (end < x->s.len && is_name_start(x->s.data[end]))
        return fail(x, "this notation of a number is not supported");
    const int rc = push(x, real ? AOEI_JINJA_REAL : AOEI_JINJA_WHOLE, (aoe_text){x->s.data + x->at, end - x->at});
    move(x, end);
    return rc;
}

/* Reads one token inside a tag. nesting: the closing brackets that are expected. */
static int lex_token(lexer *x, char *nesting, size_t *depth) {
    const char c = x->s.data[x->at];
    const size_t n = operator_length(x);
    size_t end = x->at;
    if (is_digit(c))
        return lex_number(x);
    if (c == '"' || c == '\'')
        return lex_string(x);
    if (is_name_start(c)) {
        while (end < x->s.len && (is_name_start(x->s.data[end]) || is_digit(x->s.data[end])))
            end++;
    } else if (n) {
        end += n;
        const char *open = n == 1 ? strchr("({[", c) : NULL;
        if (open && *depth == MAX_NESTING)
            return fail(x, "brackets are nested too deeply");
        if (open)
            nesting[(*depth)++] = ")}]"[open - "({["];
        else if (n == 1 && strchr(")}]", c) && (!*depth || nesting[--*depth] != c))
            return fail(x, "unmatched bracket");
    } else {
        return fail(x, "a tag contains an unexpected character");
    }
    const int rc = push(x, n ? AOEI_JINJA_OPERATOR : AOEI_JINJA_NAME, (aoe_text){x->s.data + x->at, end - x->at});
    move(x, end);
    return rc;
}

/* Reads the tokens of a tag up to its end. */
static int lex_tag(lexer *x, int is_expression) {
    char nesting[MAX_NESTING];
    size_t depth = 0, end;
    int rc = push(x, is_expression ? AOEI_JINJA_EXPR : AOEI_JINJA_TAG, (aoe_text){"", 0});
    while (!rc) {
        if (!depth && match_end(x, x->at, is_expression ? "}}" : "%}", !is_expression, &end)) {
            rc = push(x, is_expression ? AOEI_JINJA_EXPR_END : AOEI_JINJA_TAG_END, (aoe_text){"", 0});
            move(x, end);
            x->starting = x->s.data[end - 1] == '\n';
            return rc;
        }
        end = skip_space(x, x->at);
        if (end > x->at)
            move(x, end);
        else if (x->at >= x->s.len)
            return fail(x, "a tag has no end");
        else
            rc = lex_token(x, nesting, &depth);
    }
    return rc;
}

/* Copies the source with \n instead of \r\n and \r, and without the line end at its end. */
static int normalize(lexer *x, aoe_text source) {
    char *to = aoei_jinja_take(x->arena, source.len + 1);
    size_t n = 0;
    if (!to)
        return aoei_fail_nomem(x->err, source.len);
    for (size_t i = 0; i < source.len; i++) {
        to[n++] = source.data[i] == '\r' ? '\n' : source.data[i];
        i += source.data[i] == '\r' && i + 1 < source.len && source.data[i + 1] == '\n';
    }
    n -= n && to[n - 1] == '\n';
    x->s = (aoe_text){to, n};
    return 0;
}

/* Reads the text up to the next tag, and the tag. */
static int lex_next(lexer *x) {
    size_t at = x->at, end;
    while (at < x->s.len && !starts(x, at, "{%") && !starts(x, at, "{{") && !starts(x, at, "{#"))
        at++;
    if (at >= x->s.len) {
        const int rc = push(x, AOEI_JINJA_DATA, (aoe_text){x->s.data + x->at, x->s.len - x->at});
        move(x, x->s.len);
        return rc;
    }
    const char kind = x->s.data[at + 1], sign = sign_at(x, at + 2);
    const int is_raw = match_word(x, at, "raw", 0, &end), rc = push_text(x, x->at, at, sign, kind == '{');
    if (rc)
        return rc;
    move(x, is_raw ? end : at + 2 + (sign != 0));
    if (is_raw) {
        x->starting = x->s.data[end - 1] == '\n';
        return lex_raw(x);
    }
    return kind == '#' ? lex_comment(x) : lex_tag(x, kind == '{');
}

int aoei_jinja_lex(aoei_jinja_tokens *t, aoei_jinja_arena *arena, aoe_text source, const char *name, aoe_error *err) {
    lexer x = {.out = t, .arena = arena, .line = 1, .starting = 1, .name = name, .err = err};
    const size_t bad = aoei_utf8_valid(source.data, source.len);
    if (bad < source.len || memchr(source.data, 0, source.len))
        return aoei_fail(err, AOE_EFORMAT, "%s: the chat template is not valid UTF-8; download it again", name);
    int rc = normalize(&x, source);
    while (!rc && x.at < x.s.len)
        rc = lex_next(&x);
    return rc ? rc : push(&x, AOEI_JINJA_END, (aoe_text){"", 0});
}
