/* SPDX-License-Identifier: MIT
 * The form of plain numbers.
 */
#include "base/plain_number.h"

enum { MAX_DIGITS = 30, EXACT_DIGITS = 15 };

/* Returns the number of digits at s. */
static size_t digits(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

int aoei_is_plain_number(aoe_text text) {
    if (text.len == 0 || text.len > MAX_DIGITS)
        return 0;
    const char *s = text.data;
    size_t i = s[0] == '-';
    const size_t whole = digits(s + i, text.len - i);
    if (whole == 0 || (whole > 1 && s[i] == '0'))
        return 0;
    i += whole;
    if (i == text.len)
        return 1;
    if (s[i++] != '.')
        return 0;
    const size_t fraction = digits(s + i, text.len - i);
    return fraction > 0 && i + fraction == text.len;
}

int aoei_is_exact_number(aoe_text text) {
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] >= '0' && text.data[i] <= '9';
    return n <= EXACT_DIGITS && aoei_is_plain_number(text);
}
