/* SPDX-License-Identifier: MIT
 * Appends JSON text to a buffer. A vector reserves the capacity for all of its components at once, so its components
 * are written without checks. The statuses and names of errors are in one table.
 */
#include "serve/answer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "serve/float_text.h"

/* An aoei_error_kind on the wire. */
typedef struct error_names {
    int tei, other;       /* HTTP status of text-embeddings-inference, and of the other families */
    const char *tei_type; /* "error_type" of text-embeddings-inference, which knows six of them */
    const char *openai_type /* "type" of OpenAI */, *code; /* "code" of OpenAI; NULL: null */
} error_names;

static const error_names errors[] = {
    [AOEI_UNHEALTHY] = {503, 503, "Unhealthy", "server_error", "unavailable"},
    [AOEI_BACKEND] = {424, 400, "Backend", "invalid_request_error", "unsupported_model"},
    [AOEI_OVERLOADED] = {429, 429, "Overloaded", "rate_limit_exceeded", "rate_limit_exceeded"},
    [AOEI_VALIDATION] = {422, 400, "Validation", "invalid_request_error", NULL},
    [AOEI_TOKENIZER] = {422, 400, "Tokenizer", "invalid_request_error", NULL},
    [AOEI_EMPTY] = {400, 400, "Empty", "invalid_request_error", NULL},
    [AOEI_MALFORMED] = {400, 400, "Validation", "invalid_request_error", NULL},
    [AOEI_UNAUTHORIZED] = {401, 401, "Validation", "invalid_request_error", "invalid_api_key"},
    [AOEI_FORBIDDEN] = {403, 403, "Validation", "invalid_request_error", "forbidden"},
    [AOEI_NOT_FOUND] = {404, 404, "Validation", "invalid_request_error", "not_found"},
    [AOEI_METHOD] = {405, 405, "Validation", "invalid_request_error", "method_not_allowed"},
    [AOEI_CONFLICT] = {409, 409, "Validation", "invalid_request_error", "conflict"},
    [AOEI_TOO_LARGE] = {413, 413, "Validation", "invalid_request_error", "request_too_large"},
    [AOEI_INTERNAL] = {500, 500, "Backend", "server_error", NULL},
};

/* Appends a string constant. */
static void put(aoei_buffer *b, const char *s) {
    (void)aoei_buffer_append(b, s, strlen(s));
}

/* ----------------------------------------------------------------- strings */

/* Appends the escape sequence of c, a control character, quotation mark or backslash. */
static void put_escape(aoei_buffer *b, unsigned char c) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *at = c ? strchr(from, c) : NULL;
    const char escape[] = {'\\', at ? to[at - from] : 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    (void)aoei_buffer_append(b, escape, at ? 2 : sizeof escape);
}

void aoei_answer_string(aoei_buffer *b, aoe_text text) {
    size_t begin = 0, i = 0; /* text.data[begin .. i) needs no escape and is not yet appended */
    (void)aoei_buffer_putc(b, '"');
    while (i < text.len) {
        const unsigned char c = (unsigned char)text.data[i];
        uint32_t cp;
        const size_t bytes = c < 0x80 ? 1 : aoei_utf8_decode(text.data + i, text.len - i, &cp);
        if (bytes && c >= 0x20 && c != '"' && c != '\\') {
            i += bytes;
            continue;
        }
        (void)aoei_buffer_append(b, text.data + begin, i - begin);
        if (bytes)
            put_escape(b, c);
        else
            put(b, "\xEF\xBF\xBD");
        begin = ++i;
    }
    (void)aoei_buffer_append(b, text.data + begin, i - begin);
    (void)aoei_buffer_putc(b, '"');
}

void aoei_answer_cstring(aoei_buffer *b, const char *s) {
    if (s)
        aoei_answer_string(b, aoe_text_of(s));
    else
        put(b, "null");
}

void aoei_answer_base64(aoei_buffer *b, const void *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    size_t need;
    if (aoei_mul_size(n / 3 + 1, 4, &need) || aoei_buffer_reserve(b, need + 2)) {
        b->failed = 1;
        return;
    }
    char *to = b->data + b->len;
    *to++ = '"';
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t v = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                           (left > 2 ? (uint32_t)from[i + 2] : 0);
        *to++ = digits[v >> 18];
        *to++ = digits[v >> 12 & 63];
        *to++ = left > 1 ? digits[v >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[v & 63] : '=';
    }
    *to++ = '"';
    *to = 0;
    b->len = (size_t)(to - b->data);
}

/* ----------------------------------------------------------------- numbers */

void aoei_answer_float(aoei_buffer *b, float v) {
    if (!aoei_buffer_reserve(b, AOEI_FLOAT_BYTES))
        b->len += aoei_float_text(b->data + b->len, v);
}

void aoei_answer_double(aoei_buffer *b, double v) {
    if (!aoei_buffer_reserve(b, AOEI_DOUBLE_BYTES))
        b->len += aoei_double_text(b->data + b->len, v);
}

void aoei_answer_vector(aoei_buffer *b, const float *v, size_t n) {
    size_t need;
    if (aoei_mul_size(n, AOEI_FLOAT_BYTES, &need) || aoei_buffer_reserve(b, need + 2)) {
        b->failed = 1;
        return;
    }
    char *to = b->data + b->len;
    *to++ = '[';
    for (size_t i = 0; i < n; i++) {
        if (i)
            *to++ = ',';
        to += aoei_float_text(to, v[i]);
    }
    *to++ = ']';
    *to = 0;
    b->len = (size_t)(to - b->data);
}

/* Appends the i-th element of a list of integers. */
static void put_integer(aoei_buffer *b, size_t i, int value) {
    char text[16];
    const int n = snprintf(text, sizeof text, i ? ",%d" : "%d", value);
    (void)aoei_buffer_append(b, text, (size_t)n);
}

/* Appends v[n] as integers: `offset` plus 127 for the largest magnitude. A component that is not finite becomes
 * `offset`. */
static void put_bytes(aoei_buffer *b, const float *v, size_t n, int offset) {
    float largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = isfinite(v[i]) && fabsf(v[i]) > largest ? fabsf(v[i]) : largest;
    for (size_t i = 0; i < n; i++) {
        const double scaled = largest > 0 && isfinite(v[i]) ? (double)v[i] / (double)largest * 127 : 0;
        put_integer(b, i, offset + (int)lrint(scaled));
    }
}

/* Appends the signs of v[n] as integers of eight bits, each minus `bias`. */
static void put_bits(aoei_buffer *b, const float *v, size_t n, int bias) {
    for (size_t i = 0; i < n; i += 8) {
        int bits = 0;
        for (size_t j = 0; j < 8 && i + j < n; j++)
            bits |= v[i + j] > 0 ? 0x80 >> j : 0;
        put_integer(b, i, bits - bias);
    }
}

void aoei_answer_encoded(aoei_buffer *b, const float *v, size_t n, aoei_encoding encoding) {
    if (encoding == AOEI_ENCODE_FLOAT || encoding == AOEI_ENCODE_BASE64) {
        if (encoding == AOEI_ENCODE_FLOAT)
            aoei_answer_vector(b, v, n);
        else
            aoei_answer_base64(b, v, n * sizeof *v); /* the CPUs that aoe supports are little endian */
        return;
    }
    (void)aoei_buffer_putc(b, '[');
    if (encoding == AOEI_ENCODE_INT8 || encoding == AOEI_ENCODE_UINT8)
        put_bytes(b, v, n, encoding == AOEI_ENCODE_INT8 ? 0 : 128);
    else
        put_bits(b, v, n, encoding == AOEI_ENCODE_BINARY ? 128 : 0);
    (void)aoei_buffer_putc(b, ']');
}

/* ------------------------------------------------------------------ errors */

int aoei_answer_status(aoei_family family, aoei_error_kind kind) {
    return family == AOEI_TEI ? errors[kind].tei : errors[kind].other;
}

void aoei_answer_error_of(aoei_buffer *b, aoei_family family, int status, aoei_error_kind kind, const char *message,
                          const char *param) {
    const error_names *names = errors + kind;
    put(b, family == AOEI_OPENAI   ? "{\"error\":{\"message\":"
           : family == AOEI_COHERE ? "{\"message\":"
                                   : "{\"error\":");
    aoei_answer_string(b, aoe_text_of(message));
    if (family == AOEI_TEI) {
        put(b, ",\"error_type\":");
        aoei_answer_cstring(b, names->tei_type);
    } else if (family == AOEI_OPENAI) {
        put(b, ",\"type\":");
        aoei_answer_cstring(b, status >= 500 ? "server_error" : names->openai_type);
        put(b, ",\"param\":");
        aoei_answer_cstring(b, param && *param ? param : NULL);
        put(b, ",\"code\":");
        aoei_answer_cstring(b, kind == AOEI_NOT_FOUND && param && !strcmp(param, "model") ? "model_not_found"
                                                                                          : names->code);
        put(b, "}");
    }
    put(b, "}");
}

void aoei_answer_error(aoei_buffer *b, aoei_family family, int status, aoei_error_kind kind, const char *message) {
    aoei_answer_error_of(b, family, status, kind, message, NULL);
}
