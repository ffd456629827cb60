/* SPDX-License-Identifier: MIT
 * Computes keys of texts; texts with identical keys are equal. Most texts are ASCII, and their bytes are processed
 * directly. Other texts are decoded to code points.
 */
#include "dataset/text_equality.h"

#include <utf8proc.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/utf8.h"

static int is_ascii(aoe_text t) {
    for (size_t i = 0; i < t.len; i++)
        if ((unsigned char)t.data[i] >= 0x80)
            return 0;
    return 1;
}

static int is_ascii_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_ascii_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Writes the key of an ASCII text to out. out must have capacity for t.len bytes. */
static void ascii_key(aoei_buffer *out, aoe_text t, aoe_text_equality equality) {
    int space = 0; /* 1: white space precedes the next character */
    for (size_t i = 0; i < t.len; i++) {
        const char c = t.data[i];
        if (equality == AOE_TEXT_EQUAL_LETTERS ? !is_ascii_letter_or_digit(c) : is_ascii_space(c)) {
            space = equality != AOE_TEXT_EQUAL_LETTERS && out->len > 0;
            continue;
        }
        if (space)
            out->data[out->len++] = ' ';
        space = 0;
        out->data[out->len++] = equality == AOE_TEXT_EQUAL_SPACE ? c : lower(c);
    }
    out->data[out->len] = 0;
}

int aoei_is_space(int32_t cp) {
    const utf8proc_category_t c = utf8proc_category(cp);
    return (cp >= '\t' && cp <= '\r') || cp == 0x85 || c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL ||
           c == UTF8PROC_CATEGORY_ZP;
}

int aoei_is_letter_or_digit(int32_t cp) {
    const utf8proc_category_t c = utf8proc_category(cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
           (c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME) ||
           (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO);
}

/* Decodes t to code points in s->point. *n is set to their number. If equality is AOE_TEXT_EQUAL_CASE or
 * AOE_TEXT_EQUAL_LETTERS, the code points are case-folded and decomposed. Returns 0 or AOE_ENOMEM. */
static int decode(aoe_text t, aoe_text_equality equality, aoei_text_key_scratch *s, size_t *n) {
    const utf8proc_option_t options = equality == AOE_TEXT_EQUAL_SPACE
                                          ? (utf8proc_option_t)0
                                          : (utf8proc_option_t)(UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD);
    for (;;) {
        const utf8proc_ssize_t length = utf8proc_decompose((const utf8proc_uint8_t *)t.data, (utf8proc_ssize_t)t.len,
                                                           s->point, (utf8proc_ssize_t)s->capacity, options);
        *n = length > 0 ? (size_t)length : 0; /* utf8proc does not fail here, because texts are valid UTF-8 */
        if (*n <= s->capacity)
            return 0;
        int32_t *grown = aoei_realloc_array(s->point, *n, sizeof *grown);
        if (!grown)
            return AOE_ENOMEM;
        s->point = grown;
        s->capacity = *n;
    }
}

static int unicode_key(aoei_buffer *out, aoe_text t, aoe_text_equality equality, aoei_text_key_scratch *s) {
    size_t n;
    int space = 0;
    if (decode(t, equality, s, &n))
        return AOE_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char bytes[4];
        if (equality == AOE_TEXT_EQUAL_LETTERS ? !aoei_is_letter_or_digit(s->point[i]) : aoei_is_space(s->point[i])) {
            space = equality != AOE_TEXT_EQUAL_LETTERS && out->len > 0;
            continue;
        }
        if (space)
            aoei_buffer_putc(out, ' ');
        space = 0;
        aoei_buffer_append(out, bytes, aoei_utf8_encode((uint32_t)s->point[i], bytes));
    }
    return out->failed ? AOE_ENOMEM : 0;
}

int aoei_text_key(aoei_buffer *out, aoe_text text, aoe_text_equality equality, aoei_text_key_scratch *scratch) {
    aoei_buffer_clear(out);
    if (equality == AOE_TEXT_EQUAL_EXACT)
        return aoei_buffer_append(out, text.data, text.len);
    if (is_ascii(text)) {
        if (aoei_buffer_reserve(out, text.len))
            return AOE_ENOMEM;
        ascii_key(out, text, equality);
    } else if (unicode_key(out, text, equality, scratch)) {
        return AOE_ENOMEM;
    }
    if (equality == AOE_TEXT_EQUAL_LETTERS && out->len == 0) /* a text without letters and digits, such as an emoji: all
                                                                its characters are compared */
        return aoei_text_key(out, text, AOE_TEXT_EQUAL_CASE, scratch);
    return 0;
}
