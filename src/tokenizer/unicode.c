/* SPDX-License-Identifier: MIT
 * Implements character classes and mappings with utf8proc. utf8proc does not have the properties White_Space,
 * Alphabetic and Join_Control, nor the full lower-case mapping. They are defined in this file, for all characters of
 * Unicode 15. Hugging Face tokenizers use older tables for some classes; unicode_tables.h lists the characters that are
 * missing in these tables.
 */
#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include "tokenizer/unicode_tables.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Returns 1 if one of the ranges r[0, n), which are sorted, contains cp. */
static int in_ranges(uint32_t cp, const aoei_range *r, size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cp > r[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && cp >= r[low].first;
}

/* Returns 1 if the character has a category in Unicode 15 that it does not have in the tables of Hugging Face
 * tokenizers. */
static int is_newer(uint32_t cp) {
    return cp >= class_since_9[0].first && in_ranges(cp, class_since_9, COUNT(class_since_9));
}

static utf8proc_category_t category(uint32_t cp) {
    return utf8proc_category((utf8proc_int32_t)cp);
}

int aoei_unicode_is_space(uint32_t cp) {
    if (cp < 0x80)
        return cp == ' ' || (cp >= 9 && cp <= 13);
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

int aoei_unicode_is_control(uint32_t cp) {
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
        return !is_newer(cp);
    default:
        return 0;
    }
}

int aoei_unicode_is_punctuation(uint32_t cp) {
    if (cp < 0x80)
        return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) || (cp >= 91 && cp <= 96) || (cp >= 123 && cp <= 126);
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return !is_newer(cp);
    default:
        return cp == 0x166D || cp == 0x111C9; /* category Po until Unicode 11, so it is punctuation for BERT */
    }
}

int aoei_unicode_is_nonspacing(uint32_t cp) {
    if (category(cp) == UTF8PROC_CATEGORY_MN)
        return !is_newer(cp);
    return cp == 0x1734; /* category Mn until Unicode 13, so it is nonspacing for BERT */
}

int aoei_unicode_is_mark(uint32_t cp) {
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return !in_ranges(cp, marks_since_10, COUNT(marks_since_10));
    default:
        return 0;
    }
}

int aoei_unicode_is_numeric(uint32_t cp) {
    const utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

int aoei_unicode_is_word(uint32_t cp) {
    /* Alphabetic symbols: circled, squared and negative letters (Other_Alphabetic outside L and M) */
    static const aoei_range letters[] = {{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return 1;
    case UTF8PROC_CATEGORY_SO:
        return in_ranges(cp, letters, COUNT(letters));
    default:
        return cp == 0x200C || cp == 0x200D;
    }
}

int aoei_unicode_is_cjk(uint32_t cp) {
    /* Hugging Face's range starts at 2B920 although the block starts at 2B820, so the first 256 characters are not
     * separated */
    static const aoei_range cjk[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
                                     {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    return cp >= cjk[0].first && in_ranges(cp, cjk, COUNT(cjk));
}

unsigned aoei_unicode_combining_class(uint32_t cp) {
    unsigned ccc = (unsigned)utf8proc_get_property((utf8proc_int32_t)cp)->combining_class;
    return ccc && in_ranges(cp, combining_since_10, COUNT(combining_since_10)) ? 0 : ccc;
}

size_t aoei_unicode_lower(uint32_t cp, uint32_t out[AOEI_LOWER_MAX]) {
    if (cp == 0x130) { /* the only character whose unconditional lower-case mapping in SpecialCasing.txt has two
                          characters */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    return 1;
}

int aoei_unicode_is_cased(uint32_t cp) {
    /* the properties Other_Lowercase and Other_Uppercase */
    static const aoei_range other[] = {{0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
                                       {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x10FC, 0x10FC},
                                       {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},
                                       {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2160, 0x217F},   {0x24B6, 0x24E9},
                                       {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F2, 0xA7F4},
                                       {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},   {0xAB69, 0xAB69},   {0x10780, 0x10780},
                                       {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x1E030, 0x1E06D},
                                       {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    const utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LT ||
           in_ranges(cp, other, COUNT(other));
}

int aoei_unicode_is_case_ignorable(uint32_t cp) {
    /* the values MidLetter, MidNumLet and Single_Quote of the property Word_Break */
    static const aoei_range middle[] = {{0x27, 0x27},     {0x2E, 0x2E},     {0x3A, 0x3A},     {0xB7, 0xB7},
                                        {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
                                        {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
                                        {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A}};
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return 1;
    default:
        return in_ranges(cp, middle, COUNT(middle));
    }
}

static size_t decompose(uint32_t cp, uint32_t *out, size_t most, utf8proc_option_t options) {
    utf8proc_int32_t buffer[AOEI_COMPATIBLE_MAX];
    int boundary = 0; /* utf8proc requires this argument, but uses it only to find grapheme breaks */
    const utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)cp, buffer, (utf8proc_ssize_t)most, options, &boundary);
    if (n < 1 || (size_t)n > most) {
        out[0] = cp;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++)
        out[i] = (uint32_t)buffer[i];
    return (size_t)n;
}

size_t aoei_unicode_decompose(uint32_t cp, uint32_t out[AOEI_DECOMPOSED_MAX]) {
    if (cp == 0x11938) { /* the only character whose canonical decomposition is newer than Unicode 9 */
        out[0] = cp;
        return 1;
    }
    return decompose(cp, out, AOEI_DECOMPOSED_MAX, UTF8PROC_DECOMPOSE);
}

size_t aoei_unicode_decompose_compatible(uint32_t cp, uint32_t out[AOEI_COMPATIBLE_MAX]) {
    if (in_ranges(cp, compatible_since_10, COUNT(compatible_since_10))) {
        out[0] = cp;
        return 1;
    }
    return decompose(cp, out, AOEI_COMPATIBLE_MAX, (utf8proc_option_t)(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT));
}

uint32_t aoei_unicode_compose(uint32_t a, uint32_t b) {
    utf8proc_int32_t pair[2] = {(utf8proc_int32_t)a, (utf8proc_int32_t)b};
    const utf8proc_ssize_t n =
        utf8proc_normalize_utf32(pair, 2, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    return n == 1 && pair[0] != 0x11938 ? (uint32_t)pair[0] : 0;
}

int aoei_unicode_composes_back(uint32_t cp) {
    return cp >= composing_back[0].first && in_ranges(cp, composing_back, COUNT(composing_back));
}

int aoei_unicode_cluster_break(uint32_t a, uint32_t b, int32_t *state) {
    return utf8proc_grapheme_break_stateful((utf8proc_int32_t)a, (utf8proc_int32_t)b, state);
}
