/* SPDX-License-Identifier: MIT
 * Implements the mutations. JSON values are found by their brackets and quotes instead of by a parser, so that they are
 * also found in invalid JSON and in files that contain other data.
 */
#include "mutate.h"

#include <ctype.h>
#include <string.h>

enum { MAX_CHANGES = 6, MAX_PIECE = 256 /* maximum number of bytes that are copied at once */ };

typedef struct span {
    size_t at, n;
} span;

#define TOKEN(text)                                                                                                    \
    { text, sizeof(text) - 1 }
typedef struct token {
    const char *text;
    size_t n;
} token;

static const token tokens[] = {TOKEN("\0"),
                               TOKEN("\xff"),
                               TOKEN("\x80"),
                               TOKEN("\xef\xbb\xbf"),
                               TOKEN("\xef\xbf\xbd"),
                               TOKEN("\xf4\x90\x80\x80"),
                               TOKEN("{"),
                               TOKEN("}"),
                               TOKEN("["),
                               TOKEN("]"),
                               TOKEN("\""),
                               TOKEN("\\u0000"),
                               TOKEN("\t"),
                               TOKEN("\r\n"),
                               TOKEN("\n"),
                               TOKEN("\xed\xa0\x80"),
                               TOKEN(","),
                               TOKEN(";"),
                               TOKEN(" "),
                               TOKEN("\r"),
                               TOKEN("=")};
static const token numbers[] = {TOKEN("0"),
                                TOKEN("1"),
                                TOKEN("-1"),
                                TOKEN("2"),
                                TOKEN("0.5"),
                                TOKEN("1e999"),
                                TOKEN("1e308"),
                                TOKEN("1e-320"),
                                TOKEN("nan"),
                                TOKEN("-0.0"),
                                TOKEN("2147483647"),
                                TOKEN("2147483648"),
                                TOKEN("4294967296"),
                                TOKEN("1048576"),
                                TOKEN("9007199254740993"),
                                TOKEN("18446744073709551615"),
                                TOKEN("0.3333333333")};
static const token values[] = {TOKEN("null"),      TOKEN("true"),
                               TOKEN("false"),     TOKEN("\"\""),
                               TOKEN("\"x\""),     TOKEN("[]"),
                               TOKEN("{}"),        TOKEN("[null]"),
                               TOKEN("{\"a\":0}"), TOKEN("[[1]]"),
                               TOKEN("[\"\"]"),    TOKEN("\"\\u0000\""),
                               TOKEN("[0,1]"),     TOKEN("\"\\ud83d\\ude00\"")};

static size_t below(aoei_rng *r, size_t n) {
    return n ? aoei_rng_below(r, (uint32_t)n) : 0;
}

/* Replaces a span of the input by bytes[n], if the result is not too large. The bytes must not be in the input. */
static void replace(fuzz_input *in, span s, const void *bytes, size_t n) {
    if (in->size - s.n + n > in->max)
        return;
    memmove(in->data + s.at + n, in->data + s.at + s.n, in->size - s.at - s.n);
    if (n)
        memcpy(in->data + s.at, bytes, n);
    in->size = in->size - s.n + n;
}

static void replace_by(fuzz_input *in, span s, token t) {
    replace(in, s, t.text, t.n);
}

/* Returns a random span of data[size] of at most MAX_PIECE bytes. */
static span piece(size_t size, aoei_rng *r) {
    const size_t at = below(r, size + 1), rest = size - at;
    return (span){at, below(r, (rest < MAX_PIECE ? rest : MAX_PIECE) + 1)};
}

/* ---- words and JSON values */

static int in_word(uint8_t c) {
    return isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+';
}

/* Finds a word at or after a random position. An empty span means that there is none. */
static span find_word(const uint8_t *data, size_t size, aoei_rng *r) {
    size_t at = below(r, size), end;
    while (at < size && !in_word(data[at]))
        at++;
    for (end = at; end < size && in_word(data[end]);)
        end++;
    while (at > 0 && in_word(data[at - 1]))
        at--;
    return (span){at, end - at};
}

static size_t skip_spaces(const uint8_t *data, size_t size, size_t at) {
    while (at < size && isspace(data[at]))
        at++;
    return at;
}

/* Returns the end of the JSON value that begins at `at`. */
static size_t end_of_value(const uint8_t *data, size_t size, size_t at) {
    size_t depth = 0;
    for (int quoted = 0; at < size; at++) {
        const uint8_t c = data[at];
        if (quoted) {
            at += c == '\\';
            quoted = c != '"';
            if (!quoted && !depth)
                return at + 1;
        } else if (c == '"') {
            quoted = 1;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (!depth && strchr(",:]}\n", c)) {
            return at;
        } else if ((c == '}' || c == ']') && !--depth) {
            return at + 1;
        }
    }
    return size;
}

/* Finds a JSON value or key after a random position. An empty span means that there is none. */
static span find_value(const uint8_t *data, size_t size, aoei_rng *r) {
    size_t at = below(r, size);
    while (at < size && !memchr("{[,:", data[at], 4))
        at++;
    at = skip_spaces(data, size, at + (at < size));
    return (span){at, end_of_value(data, size, at) - at};
}

/* Extends a key by its value, and a value by the comma that follows it. */
static span whole_element(const uint8_t *data, size_t size, span s) {
    size_t end = skip_spaces(data, size, s.at + s.n);
    if (end < size && data[end] == ':')
        end = end_of_value(data, size, skip_spaces(data, size, end + 1));
    end += end < size && data[end] == ',';
    return end > s.at + s.n ? (span){s.at, end - s.at} : s;
}

/* ---- changes */

#define ANY(list, r) ((list)[below((r), sizeof(list) / sizeof *(list))])

static void change_json(fuzz_input *in, const uint8_t *other, size_t other_size, aoei_rng *r) {
    const span s = find_value(in->data, in->size, r), element = whole_element(in->data, in->size, s);
    uint8_t copy[MAX_PIECE + 1];
    switch (below(r, 6)) {
    case 0:
        replace(in, element, NULL, 0);
        break;
    case 1: /* duplicate an element */
        if (element.n && element.n < MAX_PIECE) {
            memcpy(copy, in->data + element.at, element.n);
            copy[element.n] = ',';
            replace(in, (span){element.at, 0}, copy, element.n + (copy[element.n - 1] != ','));
        }
        break;
    case 2:
        replace_by(in, s, ANY(numbers, r));
        break;
    case 3:
        replace_by(in, s, ANY(values, r));
        break;
    default: { /* use a value or an element of the other input */
        span from = find_value(other, other_size, r);
        const int insert = below(r, 2) != 0;
        if (insert)
            from = whole_element(other, other_size, from);
        if (from.n && from.n < MAX_PIECE) {
            memcpy(copy, other + from.at, from.n);
            copy[from.n] = ',';
            replace(in, insert ? (span){s.at, 0} : s, copy, from.n + (insert && copy[from.n - 1] != ','));
        }
    }
    }
}

/* Overwrites bytes by an integer of 1, 2, 4 or 8 bytes in little-endian order. */
static void change_integer(fuzz_input *in, aoei_rng *r) {
    static const uint64_t integers[] = {0,      1,          2,          0x7f,       0x80,
                                        0xffff, 0x7fffffff, 0x80000000, 0xffffffff, (uint64_t)1 << 63};
    const uint64_t value = ANY(integers, r) - below(r, 2);
    const size_t n = (size_t)1 << below(r, 4);
    if (in->size >= n)
        memcpy(in->data + below(r, in->size - n + 1), &value, n);
}

static void change_bytes(fuzz_input *in, const uint8_t *other, size_t other_size, aoei_rng *r) {
    const size_t at = below(r, in->size), here = below(r, in->size + 1);
    const span p = piece(in->size, r), o = piece(other_size, r);
    uint8_t copy[MAX_PIECE];
    switch (below(r, 12)) {
    case 0:
        if (in->size)
            in->data[at] ^= (uint8_t)(1u << below(r, 8));
        break;
    case 1: /* the first byte of many harnesses selects a format */
        if (in->size)
            in->data[below(r, 2) ? at : 0] = (uint8_t)aoei_rng_u32(r);
        break;
    case 2:
        replace(in, p, NULL, 0);
        break;
    case 3:
        in->size = here;
        break;
    case 4:
        change_integer(in, r);
        break;
    case 5: /* duplicate a piece */
        memcpy(copy, in->data + p.at, p.n);
        replace(in, (span){here, 0}, copy, p.n);
        break;
    case 6:
        replace(in, below(r, 2) ? p : (span){here, 0}, other + o.at, o.n);
        break;
    case 7: /* continue with the other input */
        if (here + other_size - o.at <= in->max)
            replace(in, (span){here, in->size - here}, other + o.at, other_size - o.at);
        break;
    case 8:
        replace_by(in, find_word(in->data, in->size, r), ANY(numbers, r));
        break;
    case 9:
    case 10: {
        const span word = find_word(other, other_size, r);
        replace(in, find_word(in->data, in->size, r), other + word.at, word.n);
        break;
    }
    default:
        replace_by(in, (span){here, 0}, ANY(tokens, r));
    }
}

void fuzz_mutate(fuzz_input *in, const uint8_t *other, size_t other_size, aoei_rng *r) {
    for (size_t changes = 1 + below(r, MAX_CHANGES); changes > 0; changes--) {
        const int json = in->size && (memchr(in->data, '{', in->size) || memchr(in->data, '[', in->size));
        if (json && below(r, 2))
            change_json(in, other, other_size, r);
        else
            change_bytes(in, other, other_size, r);
    }
}
