/* SPDX-License-Identifier: MIT
 * Parses JSON. jansson's parser is not used, because it does not handle failed allocations: it drops a byte and
 * continues, fails an assertion, or reads past the end of a string. Only allocation functions that never fail would
 * prevent this, but jansson's allocation functions belong to the whole process, so a library must not replace them. The
 * parser yyjson is not a package of Debian 12. jansson's functions that create values report failed allocations
 * reliably.
 */
#include "base/json_decode.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"

#define MAX_DEPTH   2048 /* maximum depth of nested values, as in jansson */
#define SHOWN_BYTES 20   /* maximum length of a token that is shown in messages */

/* Kinds of tokens. The kind of a punctuation character is the character. */
enum { TOKEN_END = 256, TOKEN_INVALID, TOKEN_STRING, TOKEN_INTEGER, TOKEN_REAL, TOKEN_TRUE, TOKEN_FALSE, TOKEN_NULL };

typedef struct parser {
    const char *data;    /* [len] the JSON text, borrowed */
    size_t len, flags;   /* arguments of aoei_json_decode */
    size_t start, pos;   /* the current token is data[start .. pos) */
    size_t bytes;        /* length of the character at pos, set by peek */
    size_t depth;        /* number of enclosing values */
    int token;           /* kind of the current token */
    aoei_buffer text;    /* contents of the current string, or text of the current number; owned */
    json_int_t integer;  /* value of the current integer */
    double real;         /* value of the current real number */
    locale_t c;          /* the "C" locale, in which the decimal separator is a point; owned */
    json_error_t *error; /* receives the first error; borrowed */
    int no_memory;       /* 1: an allocation has failed */
} parser;

/* Sets the error, unless there is one already. The message ends with the current token. */
static void fail(parser *p, enum json_error_code code, const char *format, ...) {
    json_error_t *e = p->error;
    const size_t shown = p->pos - p->start, size = sizeof e->text - 1; /* the last byte of e->text is the code */
    if (*e->text)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text, size, format, arguments);
    va_end(arguments);
    const size_t n = strlen(e->text);
    if (shown && shown <= SHOWN_BYTES)
        snprintf(e->text + n, size - n, " near '%.*s'", (int)shown, p->data + p->start);
    else if (!shown && code != json_error_invalid_utf8)
        snprintf(e->text + n, size - n, " near end of file");
    e->text[size] = (char)code;
    e->position = (int)p->pos;
    e->line = 1;
    for (const char *s = p->data; (s = memchr(s, '\n', (size_t)(p->data + p->pos - s))); s++)
        e->line++;
}

/* ------------------------------------------------------------------ tokens */

/* Returns the first byte of the next character, or -1 at the end of the text and before invalid UTF-8, which is an
 * error. */
static int peek(parser *p) {
    uint32_t cp;
    p->bytes = 0;
    if (p->pos == p->len)
        return -1;
    const unsigned char c = (unsigned char)p->data[p->pos];
    p->bytes = c < 0x80 ? 1 : aoei_utf8_decode(p->data + p->pos, p->len - p->pos, &cp);
    if (p->bytes)
        return c;
    fail(p, json_error_invalid_utf8, "unable to decode byte 0x%x", c);
    return -1;
}

static int is_digit(int c) {
    return c >= '0' && c <= '9';
}

static int is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the value of a hexadecimal digit, or -1 if c is another character. */
static int hex_value(int c) {
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Skips the escape sequence of a string that begins at p->pos. Returns 1, or 0 if it is invalid. */
static int skip_escape(parser *p) {
    p->pos++;
    const int c = peek(p);
    if (c > 0 && strchr("\"\\/bfnrtu", c)) {
        int digits = c == 'u' ? 4 : 0;
        for (p->pos++; digits && hex_value(peek(p)) >= 0; digits--)
            p->pos++;
        if (!digits)
            return 1;
    }
    p->pos += p->bytes;
    fail(p, json_error_invalid_syntax, "invalid escape");
    return 0;
}

/* Returns the value of the escape sequence uXXXX at s. */
static uint32_t code_unit(const char *s) {
    uint32_t v = 0;
    for (size_t i = 1; i <= 4; i++)
        v = v << 4 | (uint32_t)hex_value(s[i]);
    return v;
}

/* Appends the character of a valid escape sequence to p->text. s: the text after the backslash. Returns the text after
 * the sequence, or NULL if the sequence is an incomplete surrogate pair. */
static const char *unescape(parser *p, const char *s) {
    static const char escapes[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    char utf8[4];
    if (*s != 'u') {
        (void)aoei_buffer_putc(&p->text, characters[strchr(escapes, *s) - escapes]);
        return s + 1;
    }
    uint32_t cp = code_unit(s);
    s += 5;
    if (cp >= 0xD800 && cp <= 0xDBFF && s[0] == '\\' && s[1] == 'u') {
        const uint32_t low = code_unit(s + 1);
        if (low < 0xDC00 || low > 0xDFFF) {
            fail(p, json_error_invalid_syntax, "invalid Unicode '\\u%04X\\u%04X'", cp, low);
            return NULL;
        }
        cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        s += 6;
    }
    const size_t bytes = aoei_utf8_encode(cp, utf8);
    if (bytes) {
        (void)aoei_buffer_append(&p->text, utf8, bytes);
        return s;
    }
    fail(p, json_error_invalid_syntax, "invalid Unicode '\\u%04X'", cp);
    return NULL;
}

/* Reads a string, whose contents are then in p->text. */
static void scan_string(parser *p) {
    int c;
    p->token = TOKEN_INVALID;
    for (p->pos++; (c = peek(p)) != '"';) {
        if (c >= 0x20 && c != '\\') {
            p->pos += p->bytes;
        } else if (c != '\\') {
            if (c < 0)
                fail(p, json_error_premature_end_of_input, "premature end of input");
            else
                fail(p, json_error_invalid_syntax, c == '\n' ? "unexpected newline" : "control character 0x%x",
                     (unsigned)c);
            return;
        } else if (!skip_escape(p)) {
            return;
        }
    }
    const char *s = p->data + p->start + 1, *end = p->data + p->pos;
    p->pos++;
    aoei_buffer_clear(&p->text);
    do { /* also for an empty string, which needs a NUL */
        const char *escape = memchr(s, '\\', (size_t)(end - s)), *to = escape ? escape : end;
        (void)aoei_buffer_append(&p->text, s, (size_t)(to - s));
        s = escape ? unescape(p, escape + 1) : end;
    } while (s && s < end);
    p->no_memory |= p->text.failed;
    if (s && !p->no_memory)
        p->token = TOKEN_STRING;
}

/* Skips digits. Returns 1 if there was at least one. */
static int skip_digits(parser *p) {
    const size_t first = p->pos;
    while (is_digit(peek(p)))
        p->pos++;
    return p->pos > first;
}

/* Converts the current token to an integer or a real number. */
static void convert_number(parser *p, int is_real) {
    aoei_buffer_clear(&p->text);
    if (aoei_buffer_append(&p->text, p->data + p->start, p->pos - p->start)) {
        p->no_memory = 1;
        return;
    }
    errno = 0;
    if (is_real) {
        p->real = strtod_l(p->text.data, NULL, p->c);
        p->token = TOKEN_REAL;
    } else {
        p->integer = strtoll(p->text.data, NULL, 10);
        p->token = TOKEN_INTEGER;
    }
    if (is_real ? !isinf(p->real) : errno != ERANGE)
        return;
    p->token = TOKEN_INVALID;
    fail(p, json_error_numeric_overflow,
         is_real          ? "real number overflow"
         : p->integer < 0 ? "too big negative integer"
                          : "too big integer");
}

static void scan_number(parser *p) {
    int is_real = (p->flags & JSON_DECODE_INT_AS_REAL) != 0;
    p->token = TOKEN_INVALID;
    if (peek(p) == '-')
        p->pos++;
    if (peek(p) == '0') {
        p->pos++;
        if (is_digit(peek(p)))
            return;
    } else if (!skip_digits(p)) {
        return;
    }
    if (peek(p) == '.') {
        p->pos++;
        if (!skip_digits(p))
            return;
        is_real = 1;
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->pos++;
        if (peek(p) == '+' || peek(p) == '-')
            p->pos++;
        if (!skip_digits(p))
            return;
        is_real = 1;
    }
    convert_number(p, is_real);
}

static void scan_word(parser *p) {
    static const char *const words[] = {"true", "false", "null"};
    while (is_letter(peek(p)))
        p->pos++;
    const size_t n = p->pos - p->start;
    p->token = TOKEN_INVALID;
    for (int i = 0; i < 3; i++)
        if (n == strlen(words[i]) && !memcmp(p->data + p->start, words[i], n))
            p->token = TOKEN_TRUE + i;
}

/* Reads the next token. */
static void scan(parser *p) {
    while (p->pos < p->len && memchr(" \t\n\r", p->data[p->pos], 4))
        p->pos++;
    p->start = p->pos;
    const int c = peek(p);
    if (c < 0) {
        p->token = p->pos == p->len ? TOKEN_END : TOKEN_INVALID;
    } else if (c == '"') {
        scan_string(p);
    } else if (c == '-' || is_digit(c)) {
        scan_number(p);
    } else if (is_letter(c)) {
        scan_word(p);
    } else {
        p->token = memchr("{}[]:,", c, 6) ? c : TOKEN_INVALID;
        p->pos += p->bytes;
    }
}

/* ------------------------------------------------------------------ values */

static json_t *parse_value(parser *p);

/* Parses a key and its value and adds them to the object. Returns 0, or -1 if it fails. */
static int parse_member(parser *p, json_t *object) {
    const char *name = p->text.data;
    if (p->token != TOKEN_STRING)
        fail(p, json_error_invalid_syntax, "string or '}' expected");
    else if (memchr(name, 0, p->text.len))
        fail(p, json_error_null_byte_in_key, "NUL byte in object key not supported");
    else if ((p->flags & JSON_REJECT_DUPLICATES) && json_object_get(object, name))
        fail(p, json_error_duplicate_key, "duplicate object key");
    if (*p->error->text)
        return -1;
    char *key = aoei_strdup(name);
    json_t *value = NULL;
    p->no_memory |= !key;
    scan(p);
    if (p->token != ':') {
        fail(p, json_error_invalid_syntax, "':' expected");
    } else {
        scan(p);
        value = parse_value(p);
    }
    const int bad = !key || !value || json_object_set_nocheck(object, key, value);
    p->no_memory |= value && bad;
    json_decref(value);
    aoei_free(key);
    return bad ? -1 : 0;
}

static int parse_element(parser *p, json_t *array) {
    json_t *value = parse_value(p);
    const int bad = !value || json_array_append(array, value);
    p->no_memory |= value && bad;
    json_decref(value);
    return bad ? -1 : 0;
}

/* Parses an object or an array, whose opening bracket is the current token. close: its closing bracket. parse: parses
 * one member or element. Returns NULL if it fails. */
static json_t *parse_container(parser *p, json_t *container, char close, int (*parse)(parser *p, json_t *container)) {
    int bad = !container;
    p->no_memory |= bad;
    scan(p);
    if (!bad && p->token == close)
        return container;
    while (!bad && !(close == ']' && p->token == TOKEN_END) && !(bad = parse(p, container))) {
        scan(p);
        if (p->token != ',')
            break;
        scan(p);
    }
    if (!bad && p->token == close)
        return container;
    if (!bad)
        fail(p, json_error_invalid_syntax, "'%c' expected", close);
    json_decref(container);
    return NULL;
}

/* Parses a string, a number, true, false or null. Returns NULL if it fails. */
static json_t *parse_scalar(parser *p) {
    json_t *value = NULL;
    switch (p->token) {
    case TOKEN_STRING:
        if (!(p->flags & JSON_ALLOW_NUL) && memchr(p->text.data, 0, p->text.len)) {
            fail(p, json_error_null_character, "\\u0000 is not allowed without JSON_ALLOW_NUL");
            return NULL;
        }
        value = json_stringn_nocheck(p->text.data, p->text.len);
        break;
    case TOKEN_INTEGER:
        value = json_integer(p->integer);
        break;
    case TOKEN_REAL:
        value = json_real(p->real);
        break;
    case TOKEN_TRUE:
        return json_true();
    case TOKEN_FALSE:
        return json_false();
    case TOKEN_NULL:
        return json_null();
    default:
        fail(p, json_error_invalid_syntax, p->token == TOKEN_INVALID ? "invalid token" : "unexpected token");
        return NULL;
    }
    p->no_memory |= !value;
    return value;
}

/* Parses the value that begins with the current token. Returns NULL if it fails. */
static json_t *parse_value(parser *p) {
    json_t *value;
    if (p->depth == MAX_DEPTH) {
        fail(p, json_error_stack_overflow, "maximum parsing depth reached");
        return NULL;
    }
    p->depth++;
    if (p->token == '{')
        value = parse_container(p, json_object(), '}', parse_member);
    else if (p->token == '[')
        value = parse_container(p, json_array(), ']', parse_element);
    else
        value = parse_scalar(p);
    p->depth--;
    return value;
}

/* Parses the whole text. Returns NULL if it fails. */
static json_t *parse_text(parser *p) {
    scan(p);
    if (!(p->flags & JSON_DECODE_ANY) && p->token != '[' && p->token != '{') {
        fail(p, json_error_invalid_syntax, "'[' or '{' expected");
        return NULL;
    }
    json_t *value = parse_value(p);
    if (!value)
        return NULL;
    scan(p);
    if (p->token == TOKEN_END)
        return value;
    fail(p, json_error_end_of_input_expected, "end of file expected");
    json_decref(value);
    return NULL;
}

json_t *aoei_json_decode(const char *data, size_t len, size_t flags, json_error_t *error, int *no_memory) {
    *error = (json_error_t){.line = -1, .column = -1};
    parser p = {.data = data ? data : "", .len = len, .flags = flags, .error = error};
    p.c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc returns a static object, so this is cheap */
    p.no_memory = !p.c || aoei_buffer_reserve(&p.text, 0);
    json_t *value = p.no_memory ? NULL : parse_text(&p);
    if (p.c)
        freelocale(p.c);
    aoei_buffer_free(&p.text);
    *no_memory = p.no_memory;
    if (!p.no_memory)
        return value;
    json_decref(value);
    return NULL;
}
