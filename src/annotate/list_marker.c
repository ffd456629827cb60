/* SPDX-License-Identifier: MIT
 * Reads markers such as "1." or "- " at the start of list items.
 */
#include "annotate/list_marker.h"

#include <stdint.h>
#include <string.h>

#include <utf8proc.h>

#include "base/utf8.h"
#include "annotate/reply_text.h"

enum { MAX_LABEL = 48, MAX_LABEL_WORDS = 4, MAX_DIGITS = 3 };

static uint32_t first_of(aoe_text s, size_t *bytes) {
    uint32_t cp = 0;
    *bytes = s.len ? aoei_utf8_decode(s.data, s.len, &cp) : 0;
    return *bytes ? cp : 0;
}

/* Returns the value of a digit in one of the scripts that chat models use in lists, or -1 if cp is not such a digit. */
static int digit_of(uint32_t cp) {
    static const uint32_t zero[] = {'0',   0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6,  0xB66,  0xBE6,
                                    0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0xFF10};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (cp >= zero[i] && cp < zero[i] + 10)
            return (int)(cp - zero[i]);
    return -1;
}

/* Returns the number that a single character such as ①, ❶, ⑴ or ⒈ represents, or 0 for other characters. */
static size_t enclosed_number(uint32_t cp) {
    static const struct {
        uint32_t first;
        size_t count;
    } ranges[] = {{0x2460, 20}, {0x2474, 20}, {0x2488, 20}, {0x24F5, 10}, {0x2776, 10}, {0x2780, 10}, {0x278A, 10}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (cp >= ranges[i].first && cp < ranges[i].first + ranges[i].count)
            return cp - ranges[i].first + 1;
    return 0;
}

/* Reads a Chinese numeral from 一 (1) to 九十九 (99) at the start of s. Returns its length in bytes, or 0 if s starts
 * differently. */
static size_t chinese_numeral(aoe_text s, size_t *number) {
    static const uint32_t digits[] = {0x4E00, 0x4E8C, 0x4E09, 0x56DB, 0x4E94, 0x516D, 0x4E03, 0x516B, 0x4E5D};
    size_t bytes, used = 0, units = 0, tens = 0;
    for (uint32_t cp; (cp = first_of(aoei_text_skip(s, used), &bytes)) != 0; used += bytes) {
        size_t d = 0;
        while (d < 9 && digits[d] != cp)
            d++;
        if (cp == 0x5341 && !tens) { /* 十 */
            tens = units ? units : 1;
            units = 0;
        } else if (d < 9 && !units) {
            units = d + 1;
        } else {
            break;
        }
    }
    *number = 10 * tens + units;
    return used;
}

size_t aoei_marker_numeral(aoe_text s, size_t *number) {
    size_t bytes, used = 0, digits = 0;
    *number = 0;
    for (uint32_t cp; (cp = first_of(aoei_text_skip(s, used), &bytes)) != 0 && digit_of(cp) >= 0; used += bytes) {
        if (++digits > MAX_DIGITS)
            return 0;
        *number = 10 * *number + (size_t)digit_of(cp);
    }
    if (digits)
        return used;
    if ((*number = enclosed_number(first_of(s, &bytes))) != 0)
        return bytes;
    return chinese_numeral(s, number);
}

/* Reads a Roman numeral from i to xxxix (39) or a single letter, both in upper or lower case, at the start of s.
 * Returns its length, or 0 if s starts differently. */
static size_t letter_numeral(aoe_text s, aoei_marker *m) {
    static const char values[] = "ivx";
    const int upper = s.len && s.data[0] >= 'A' && s.data[0] <= 'Z';
    size_t n = 0, total = 0, last = 0;
    while (n < s.len && n < 7) {
        const char c = (char)(upper ? s.data[n] + 32 : s.data[n]);
        const char *at = c ? strchr(values, c) : NULL;
        if (!at)
            break;
        const size_t value = (size_t[]){1, 5, 10}[at - values];
        total += value;
        if (last && last < value)
            total -= 2 * last;
        last = value;
        n++;
    }
    const int more = n < s.len && ((s.data[n] | 32) >= 'a' && (s.data[n] | 32) <= 'z');
    const int single = s.len && (s.data[0] | 32) >= 'a' && (s.data[0] | 32) <= 'z';
    const size_t letter = single ? (size_t)((s.data[0] | 32) - 'a') + 1 : 0;
    if (n && !more) {
        m->kind = AOEI_MARKER_ROMAN;
        m->number = total;
        m->letter = n == 1 ? letter : 0;
        return n;
    }
    m->kind = AOEI_MARKER_LETTER;
    m->number = letter;
    return single ? 1 : 0;
}

/* ---- text around the number */

static size_t skip_text(aoe_text s, const char *const *list) {
    for (; *list; list++)
        if (aoei_text_starts_with(s, *list))
            return strlen(*list);
    return 0;
}

static size_t skip_spaces(aoe_text s) {
    size_t n = 0;
    while (n < s.len && s.data[n] == ' ')
        n++;
    return n;
}

static size_t skip_bold(aoe_text s) {
    static const char *const bold[] = {"***", "**", "__", NULL};
    return skip_text(s, bold);
}

/* Returns the length of the separator (such as "." or ")") at the start of s, or 0 if there is no separator. s: text
 * after a number. Sets *tight to 1 if the text of the item may follow this separator without a space, otherwise to 0.
 * Sets
 * *bare to 1 if a space or the end of the line replaces the separator, otherwise to 0. */
static size_t skip_separator(aoe_text s, int *tight, int *bare) {
    static const char *const wide[] = {"\xE3\x80\x81", "\xEF\xBC\x8E", "\xE3\x80\x82",
                                       "\xEF\xBC\x9A", "\xEF\xBC\x89", NULL}; /* 、．。：） */
    static const char *const narrow[] = {"\\.", "\\)", ".)", ".", ")", ":", NULL};
    static const char *const dash[] = {" - ", " \xE2\x80\x93 ", " \xE2\x80\x94 ", "- ", "\xE2\x80\x93 ", NULL};
    size_t n = skip_text(s, wide);
    *tight = n != 0;
    *bare = 0;
    if (!n)
        n = skip_text(s, narrow);
    if (!n && (n = skip_text(s, dash)) != 0)
        *tight = 1;
    if (!n && s.len && s.data[0] == ' ' && aoei_text_starts_with(aoei_text_skip(s, 1), ":")) /* "Phrase 1 :" */
        n = 2;
    if (!n && (!s.len || s.data[0] == ' '))
        *bare = 1;
    return n;
}

/* Returns 1 if s may be the text of an item although no space separates it from the marker, as in "1.Text". Returns 0
 * if s starts with a digit, because "3." is not a marker in "3.5". */
static int may_follow(aoe_text s) {
    size_t bytes;
    const uint32_t cp = first_of(s, &bytes);
    return !cp || digit_of(cp) < 0;
}

/* Returns the length of the label at the start of s, such as "Synonymous sentence #" in "Synonymous sentence #1", or 0
 * if there is no label. A label has at most four words and is followed by a number. */
static size_t skip_label(aoe_text s) {
    size_t used = 0, words = 0, bytes;
    int in_word = 0, letters = 0;
    for (uint32_t cp; used < MAX_LABEL && (cp = first_of(aoei_text_skip(s, used), &bytes)) != 0; used += bytes) {
        size_t number;
        if (letters && aoei_marker_numeral(aoei_text_skip(s, used), &number))
            return used;
        const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
        if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_MC) {
            words += !in_word;
            in_word = letters = 1;
        } else if (cp == ' ' || cp == '-' || cp == '#' || cp == 0xBA || cp == 0xB0 || (cp == '.' && used < 5) ||
                   cp == '(') {
            in_word = 0;
        } else if (cp == 0x2116) { /* № */
            letters = 1;
        } else {
            return 0;
        }
        if (words > MAX_LABEL_WORDS)
            return 0;
    }
    return 0;
}

/* Returns the length of the bullet at the start of s, including the spaces after it, or 0 if there is no bullet. ASCII
 * bullets and dashes ("- ") count only if a space follows. */
static size_t bullet_bytes(aoe_text s) {
    static const char *const spaced[] = {"- ", "* ", "+ ", "\xE2\x80\x93 ", "\xE2\x80\x94 ", "> ", NULL};
    static const char *const alone[] = {"\xE2\x80\xA2",
                                        "\xC2\xB7",
                                        "\xE2\x80\xA3",
                                        "\xE2\x97\xA6",
                                        "\xE2\x96\xAA",
                                        "\xE2\x96\xA0",
                                        "\xE2\x97\x8F",
                                        "\xE2\x97\x8B",
                                        "\xE2\x86\x92",
                                        "\xE2\x9E\xA4",
                                        "\xE2\x9E\xA2",
                                        "\xE2\x9C\x93",
                                        "\xE2\x9C\x94",
                                        "\xE2\x9C\x85",
                                        "\xE2\x9D\x8C",
                                        "\xE3\x83\xBB",
                                        "\xE2\x80\xBB",
                                        "\xE2\x96\xB8",
                                        "\xE2\x96\xBA",
                                        "\xE2\xAD\x90",
                                        "\xF0\x9F\x94\xB9",
                                        "\xF0\x9F\x91\x89",
                                        NULL};
    size_t n = skip_text(s, spaced);
    if (!n && (n = skip_text(s, alone)) != 0) {
        static const char *const selector[] = {"\xEF\xB8\x8F", NULL};
        n += skip_text(aoei_text_skip(s, n), selector);
    }
    return n ? n + skip_spaces(aoei_text_skip(s, n)) : 0;
}

/* Returns the length of the opening bracket or '#' at the start of s, or 0 if there is neither. Sets *closing to the
 * closing bracket, to "" for '#', or to NULL if the length is 0. */
static size_t opening_bytes(aoe_text s, const char **closing) {
    static const char *const pairs[][2] = {
        {"(", ")"}, {"[", "]"}, {"\xEF\xBC\x88", "\xEF\xBC\x89"}, {"\xE3\x80\x90", "\xE3\x80\x91"}, {"#", ""}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (aoei_text_starts_with(s, pairs[i][0])) {
            *closing = pairs[i][1];
            return strlen(pairs[i][0]);
        }
    *closing = NULL;
    return 0;
}

/* Reads an optional label and a number at the start of s, and sets m->kind and m->number. Returns the length of label
 * and number, or 0 if there is no number. */
static size_t read_number(aoe_text s, aoei_marker *m) {
    static const char *const counters[] = {"\xE5\x8F\xA5", "\xE4\xB8\xAA", "\xE6\x9D\xA1", NULL}; /* 句 个 条 */
    static const char *const keycap[] = {"\xEF\xB8\x8F\xE2\x83\xA3", "\xE2\x83\xA3", NULL};
    static const char *const ordinal[] = {"\xC2\xBA", "\xC2\xAA", "\xC2\xB0", NULL};
    const size_t label = skip_label(s);
    size_t n = aoei_marker_numeral(aoei_text_skip(s, label), &m->number);
    if (!n)
        return letter_numeral(s, m);
    m->kind = label ? AOEI_MARKER_LABEL : AOEI_MARKER_NUMBER;
    n += label;
    n += skip_text(aoei_text_skip(s, n), keycap);
    n += skip_text(aoei_text_skip(s, n), ordinal);
    if (label)
        n += skip_text(aoei_text_skip(s, n), counters);
    return n;
}

/* Reads a marker that contains a number and possibly brackets, a label and a separator, such as "(1)" or "Sentence 1:".
 * If s starts differently, the kind of the result is AOEI_MARKER_NONE. */
static aoei_marker read_numbered(aoe_text s) {
    const aoei_marker none = {AOEI_MARKER_NONE, 0, 0, 0};
    const char *closing;
    aoei_marker m = none;
    int tight = 0, bare = 0;
    size_t at = opening_bytes(s, &closing), bytes;
    const size_t n = read_number(aoei_text_skip(s, at), &m);
    if (!n)
        return none;
    const int single =
        enclosed_number(first_of(aoei_text_skip(s, at), &bytes)) != 0 || (n > 3 && s.data[at + n - 1] == '\xA3');
    at += n;
    if (closing && *closing) {
        if (!aoei_text_starts_with(aoei_text_skip(s, at), closing))
            return none;
        at += strlen(closing);
    }
    at += skip_bold(aoei_text_skip(s, at));
    const size_t separator = skip_separator(aoei_text_skip(s, at), &tight, &bare);
    const int closed = (closing && *closing) || single;
    if (!separator && !closed) {
        if (!bare || m.kind != AOEI_MARKER_NUMBER)
            return none;
        m.kind = AOEI_MARKER_BARE;
    }
    at += separator;
    at += skip_bold(aoei_text_skip(s, at));
    const aoe_text rest = aoei_text_skip(s, at);
    const int spaced = !rest.len || rest.data[0] == ' ';
    if (!spaced && !tight && !closed &&
        (!may_follow(rest) || m.kind == AOEI_MARKER_LETTER || m.kind == AOEI_MARKER_ROMAN))
        return none;
    m.bytes = at + skip_spaces(rest);
    return m;
}

aoei_marker aoei_marker_read(aoe_text line) {
    static const char *const headings[] = {"###### ", "##### ", "#### ", "### ", "## ", "# ", NULL};
    aoei_marker m = {AOEI_MARKER_NONE, 0, 0, 0};
    size_t at = skip_text(line, headings);
    at += skip_bold(aoei_text_skip(line, at));
    m = read_numbered(aoei_text_skip(line, at));
    if (m.kind != AOEI_MARKER_NONE) {
        m.bytes += at;
        return m;
    }
    const size_t bullet = bullet_bytes(line);
    if (!bullet)
        return m;
    /* "- 1. text" has the marker "- 1.", which is numbered; "- text" has the bullet "-" */
    const aoe_text rest = aoei_text_skip(line, bullet);
    const size_t bold = skip_bold(rest);
    m = read_numbered(aoei_text_skip(rest, bold));
    if (m.kind == AOEI_MARKER_NUMBER || m.kind == AOEI_MARKER_LABEL)
        m.bytes += bullet + bold;
    else
        m = (aoei_marker){AOEI_MARKER_BULLET, 0, 0, bullet};
    return m;
}
