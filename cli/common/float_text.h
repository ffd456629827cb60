/* SPDX-License-Identifier: MIT
 * Formats floats for the output of embeddings. The text is the same as with printf's %.9g, but is computed several
 * times faster. If a text with nine digits is parsed, the result is exactly the original float.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* CLI_FLOAT_MAX: maximum length of an output, for example -1.17549435e-38; CLI_FLOAT_DIGITS: number of significant
 * digits */
enum { CLI_FLOAT_MAX = 16, CLI_FLOAT_DIGITS = 9 };

/* Returns the nine significant digits of v = m 2^e as an integer: v 10^(8 - x), rounded to nearest, ties to even. v
 * must be in [10^x, 10^(x + 1)), and x must be from -4 to 8. All intermediate results are exact 64-bit integers. */
static inline uint32_t cli_float_nine_digits(uint32_t m, int e, int x) {
    static const uint64_t power[] = {1,        10,        100,        1000,        10000,        100000,       1000000,
                                     10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000};
    const uint64_t t = m * power[8 - x];
    if (e >= 0)
        return (uint32_t)(t << e);
    const uint64_t half = UINT64_C(1) << (-e - 1), rest = t & (2 * half - 1);
    const uint64_t q = t >> -e;
    return (uint32_t)(q + (rest > half || (rest == half && (q & 1))));
}

/* Writes v as text to out[CLI_FLOAT_MAX + 1], terminated by NUL. Returns the length of the text. */
static inline size_t cli_format_float(char *out, float v) {
    /* powers of 10; bound[x + 4] is 10^(x + 1) */
    static const double bound[] = {1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    const float a = v < 0 ? -v : v;
    if (!(a > 1e-4f && a < 1e9f)) /* v is 0, infinite or NaN, or %.9g may use an exponent */
        return (size_t)snprintf(out, CLI_FLOAT_MAX + 1, "%.9g", (double)v);
    char digit[CLI_FLOAT_DIGITS], *to = out;
    uint32_t bits;
    int x = -4;
    memcpy(&bits, &a, sizeof bits);
    while (x < 8 && (double)a >= bound[x + 4])
        x++;
    uint32_t q = cli_float_nine_digits((bits & 0x7fffff) | 0x800000, (int)(bits >> 23) - 150, x);
    for (int i = CLI_FLOAT_DIGITS - 1; i >= 0; i--, q /= 10)
        digit[i] = (char)('0' + q % 10);
    int n = CLI_FLOAT_DIGITS, used = 0;
    while (digit[n - 1] == '0')
        n--;
    if (v < 0)
        *to++ = '-';
    if (x < 0)
        *to++ = '0';
    for (; used <= x; used++)
        *to++ = digit[used];
    if (used < n)
        *to++ = '.';
    for (int zeros = x + 1; zeros < 0; zeros++)
        *to++ = '0';
    for (; used < n; used++)
        *to++ = digit[used];
    *to = 0;
    return (size_t)(to - out);
}
