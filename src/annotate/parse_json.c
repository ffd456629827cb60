/* SPDX-License-Identifier: MIT
 * Finds the requested sentences in responses that are JSON or similar to JSON.
 */
#include "annotate/parse_json.h"

#include <string.h>

#include "base/utf8.h"
#include "annotate/reply_text.h"

/* Returns the length of the opening quote at the start of s and sets *close to the matching closing quote. Returns 0 if
 * s does not start with an opening quote. */
static size_t open_quote(aoe_text s, const char **close) {
    static const char *const quotes[][2] = {{"\"", "\""},
                                            {"'", "'"},
                                            {"\xE2\x80\x9C", "\xE2\x80\x9D"},
                                            {"\xE2\x80\x98", "\xE2\x80\x99"},
                                            {"\xE3\x80\x8C", "\xE3\x80\x8D"}};
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
        if (aoei_text_starts_with(s, quotes[i][0])) {
            *close = quotes[i][1];
            return strlen(quotes[i][0]);
        }
    return 0;
}

static size_t spaces(aoe_text s) {
    size_t n = 0;
    while (n < s.len && (s.data[n] == ' ' || s.data[n] == '\n'))
        n++;
    return n;
}

/* Returns 1 if the quote before `after` ends the string, and 0 if it is a character of the string, such as an
 * apostrophe. */
static int ends_string(aoe_text after) {
    const aoe_text s = aoei_text_skip(after, spaces(after));
    return !s.len || memchr(",:]};)", s.data[0], 6) != NULL ||
           (spaces(after) && memchr(after.data, '\n', spaces(after))) || aoei_text_starts_with(s, "and ") ||
           aoei_text_starts_with(s, "or ") || aoei_text_starts_with(s, "\xEF\xBC\x8C") ||
           aoei_text_starts_with(s, "\xE3\x80\x81");
}

static uint32_t hex4(aoe_text s, int *ok) {
    uint32_t v = 0;
    *ok = s.len >= 4;
    for (size_t i = 0; *ok && i < 4; i++) {
        const char c = s.data[i], low = (char)(c | 32);
        if (c >= '0' && c <= '9')
            v = 16 * v + (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = 16 * v + (uint32_t)(low - 'a') + 10;
        else
            *ok = 0;
    }
    return v;
}

/* Appends the character of an escape sequence to `out`. \n, \r and \t become a space. For a control character and for
 * an invalid \u sequence, nothing is appended. s starts after the backslash. Returns the length of the sequence in
 * s. */
static size_t unescape(aoei_buffer *out, aoe_text s) {
    char utf8[4];
    int ok;
    if (!s.len)
        return 0;
    if (s.data[0] != 'u') {
        const char c = s.data[0];
        (void)aoei_buffer_putc(out, strchr("nrt", c) && c ? ' ' : c);
        return 1;
    }
    uint32_t cp = hex4(aoei_text_skip(s, 1), &ok);
    size_t used = 5;
    if (!ok)
        return 1;
    if (cp >= 0xD800 && cp < 0xDC00 && s.len >= 11 && s.data[5] == '\\' && s.data[6] == 'u') {
        const uint32_t low = hex4(aoei_text_skip(s, 7), &ok);
        if (ok && low >= 0xDC00 && low < 0xE000) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
            used = 11;
        }
    }
    const size_t bytes = cp >= 0x20 ? aoei_utf8_encode(cp, utf8) : 0;
    (void)aoei_buffer_append(out, utf8, bytes);
    return used;
}

/* Reads the string that starts with the opening quote at s, and stores its contents in `out`. Returns the length of the
 * string in s, including both quotes, or 0 if the string is not terminated. */
static size_t read_string(aoei_buffer *out, aoe_text s) {
    const char *close = NULL;
    size_t at = open_quote(s, &close);
    aoei_buffer_clear(out);
    while (at < s.len) {
        const aoe_text here = aoei_text_skip(s, at);
        if (here.data[0] == '\\') {
            at += 1 + unescape(out, aoei_text_skip(here, 1));
        } else if (aoei_text_starts_with(here, close) && ends_string(aoei_text_skip(here, strlen(close)))) {
            return at + strlen(close);
        } else {
            (void)aoei_buffer_putc(out, here.data[0]);
            at++;
        }
    }
    return 0;
}

const char *aoei_json_list_find(aoe_text plain) {
    const char *close;
    char before = '\n'; /* last character that is not a space */
    for (size_t i = 0; i < plain.len; i++) {
        const char c = plain.data[i];
        if ((c == '[' || c == '{') && memchr("\n=:(", before, 4)) {
            aoe_text s = aoei_text_skip(plain, i + 1);
            s = aoei_text_skip(s, spaces(s));
            if (open_quote(s, &close) || (s.len && (s.data[0] == '{' || s.data[0] == '[')))
                return plain.data + i;
        }
        if (c != ' ')
            before = c;
    }
    return NULL;
}

/* Class of a key. KEY_ANSWER: its value is a requested sentence. KEY_OTHER: its value is never a requested sentence.
 * KEY_NONE: the key is unknown. */
typedef enum key_class { KEY_NONE, KEY_ANSWER, KEY_OTHER } key_class;

static key_class class_of(aoe_text key) {
    static const char *const answers[] = {"sentence",  "text",      "output",      "synonym", "antonym",
                                          "opposite",  "paraphras", "result",      "content", "value",
                                          "rewrit",    "generated", "same",        "answer",  "response",
                                          "variation", "negati",    "alternative", NULL};
    static const char *const others[] = {
        "input",  "original", "source", "type",  "label", "category", "id",    "index",      "explanation",
        "reason", "note",     "score",  "tone",  "style", "language", "count", "difference", "given",
        "number", "comment",  "role",   "model", "name",  "change",   "size",  "context",    NULL};
    if (aoei_text_starts_with_any(key, others))
        return KEY_OTHER;
    return aoei_text_contains_any(key, answers) ? KEY_ANSWER : KEY_NONE;
}

/* Scans the strings of the text up to the first unterminated string. If count is NULL, adds the strings whose key has
 * the class `wanted` to the list. Otherwise adds no strings, and increases *count by the number of strings whose key
 * has the class KEY_ANSWER. */
static int scan(aoei_sentences *l, aoe_text json, key_class wanted, size_t *count) {
    aoei_buffer string = {0};
    key_class key = KEY_NONE;
    const char *close;
    int rc = 0;
    for (size_t i = 0; i < json.len && !rc;) {
        const aoe_text here = aoei_text_skip(json, i);
        if (!open_quote(here, &close)) {
            i++;
            continue;
        }
        const size_t bytes = read_string(&string, here);
        if (string.failed)
            rc = AOE_ENOMEM;
        if (!bytes)
            break;
        i += bytes;
        aoe_text after = aoei_text_skip(json, i);
        after = aoei_text_skip(after, spaces(after));
        const aoe_text text = {string.data, string.len};
        if (after.len && after.data[0] == ':')
            key = class_of(text);
        else if (count)
            *count += key == KEY_ANSWER;
        else if (key == wanted && string.len)
            rc = rc ? rc : aoei_sentences_add(l, text);
    }
    aoei_buffer_free(&string);
    return rc;
}

int aoei_count_strings(size_t *n, aoe_text s) {
    static const char *const between[] = {",", ";", "and ", "or ", "&", "\xEF\xBC\x8C", "\xE3\x80\x81"};
    aoei_buffer string = {0};
    const char *close;
    size_t bytes = 1;
    for (*n = 0; s.len && bytes;) {
        bytes = spaces(s);
        for (size_t i = 0; i < sizeof between / sizeof *between && !bytes && *n; i++)
            bytes = aoei_text_starts_with(s, between[i]) ? strlen(between[i]) : 0;
        if (!bytes && open_quote(s, &close) && (bytes = read_string(&string, s)) != 0)
            ++*n;
        s = aoei_text_skip(s, bytes);
    }
    *n = s.len ? 0 : *n;
    const int rc = string.failed ? AOE_ENOMEM : 0;
    aoei_buffer_free(&string);
    return rc;
}

int aoei_json_list_read(aoei_sentences *l, aoe_text json) {
    size_t answers = 0;
    const int rc = scan(l, json, KEY_ANSWER, &answers);
    return rc ? rc : scan(l, json, answers ? KEY_ANSWER : KEY_NONE, NULL);
}
