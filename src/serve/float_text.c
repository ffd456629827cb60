/* SPDX-License-Identifier: MIT
 * Finds the shortest decimal of a number v = m 2^e. All decimals between the midpoints of v and its two neighbors are
 * read back as v; a midpoint itself is read as the number with the even m. v and the two midpoints are multiplied by
 * the power of ten for which v has nine or ten digits before the point, so that at least one integer is between the
 * midpoints. Digits are then removed while a multiple of the next power of ten is between them. All products are exact:
 * for usual magnitudes they fit in 64 bits, and for others they are computed with several words.
 */
#include "serve/float_text.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRACTION_BITS = 23,    /* bits of m without the leading one */
    LEAST_EXPONENT = -149, /* e of subnormal numbers */
    FAST_POWER = 16,       /* (4 m + 2) 5^16 fits in 64 bits */
    WORDS = 7,             /* 32-bit words of a wide number; the largest one, 4 m 10^53, has 203 bits */
    MOST_DIGITS = 17       /* digits that identify a double */
};

/* A nonnegative number: its integer part, and 1 if it also has a fraction. */
typedef struct fixed {
    uint64_t whole;
    int fraction;
} fixed;

/* A decimal: 0.DIGITS times 10^point. */
typedef struct decimal {
    char digits[MOST_DIGITS + 3]; /* [n] ASCII digits, without zeros at the end */
    int n;
    int point;
} decimal;

/* Returns x 5^power 2^(power + e) for x < 2^26 and -FAST_POWER <= -power <= 0. */
static fixed scale_fast(uint64_t x, int power, int e) {
    static const uint64_t fives[FAST_POWER + 1] = {
        1,       5,       25,       125,       625,        3125,       15625,       78125,       390625,
        1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625, 30517578125, 152587890625};
    const uint64_t product = x * fives[power];
    const int shift = power + e;
    if (shift >= 0)
        return (fixed){product << shift, 0};
    return (fixed){product >> -shift, (product & (((uint64_t)1 << -shift) - 1)) != 0};
}

/* Multiplies w[WORDS] by f. */
static void multiply(uint32_t *w, uint32_t f) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)w[i] * f;
        w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Divides w[WORDS] by f. Returns 1 if there is a remainder. */
static int divide(uint32_t *w, uint32_t f) {
    uint64_t rest = 0;
    for (int i = WORDS; i-- > 0;) {
        rest = rest << 32 | w[i];
        w[i] = (uint32_t)(rest / f);
        rest %= f;
    }
    return rest != 0;
}

/* Returns f^n; the result must be less than 2^32. */
static uint32_t power_small(uint32_t f, int n) {
    uint32_t product = 1;
    for (int i = 0; i < n; i++)
        product *= f;
    return product;
}

/* Multiplies w[WORDS] by f^n in steps of f^chunk, which must be less than 2^32. */
static void multiply_power(uint32_t *w, uint32_t f, int n, int chunk) {
    for (; n > 0; n -= chunk)
        multiply(w, power_small(f, n < chunk ? n : chunk));
}

/* Divides w[WORDS] by f^n. Returns 1 if there is a remainder. */
static int divide_power(uint32_t *w, uint32_t f, int n, int chunk) {
    int fraction = 0;
    for (; n > 0; n -= chunk)
        fraction |= divide(w, power_small(f, n < chunk ? n : chunk));
    return fraction;
}

/* Returns x 10^power 2^e for x < 2^27 and any power for which the result is less than 2^64. */
static fixed scale_wide(uint64_t x, int power, int e) {
    uint32_t w[WORDS] = {(uint32_t)x};
    multiply_power(w, 2, e, 31);
    multiply_power(w, 10, power, 9);
    const int below = divide_power(w, 10, -power, 9), fraction = divide_power(w, 2, -e, 31) | below;
    return (fixed){(uint64_t)w[1] << 32 | w[0], fraction};
}

/* Returns the power of ten by which a number in [2^e, 2^(e+1)) is multiplied: the result is in [10^8, 2 * 10^9). */
static int power_of(int e) {
    const int tens = e * 1233; /* 4096 log10(2) = 1233.02 */
    return 8 - (tens >= 0 ? tens / 4096 : -((-tens + 4095) / 4096));
}

/* Returns the digits of a value that is not a multiple of 10, multiplied by 10^exponent, as a decimal. */
static decimal decimal_of(uint32_t value, int exponent) {
    decimal d;
    uint32_t bound = 10;
    for (d.n = 1; d.n < 10 && value >= bound; bound *= 10) /* 10^10 overflows, but is not compared */
        d.n++;
    for (int i = d.n; i-- > 0; value /= 10)
        d.digits[i] = (char)('0' + value % 10);
    d.point = d.n + exponent;
    return d;
}

/* Returns the shortest decimal between low and high that is closest to twice / 2. power: the three numbers are 10^power
 * times as large as the decimal, and less than 2^32. closed: the bounds themselves are allowed. */
static decimal shortest(fixed low, fixed twice, fixed high, int closed, int power) {
    uint32_t least = (uint32_t)low.whole + (low.fraction || !closed), value = (uint32_t)(twice.whole / 2);
    uint32_t most = (uint32_t)high.whole - (!closed && !high.fraction), digit = twice.whole % 2 ? 5 : 0;
    int exponent = -power, rest = twice.fraction; /* value, the next digit after it, and 1 if others are not 0 */
    for (uint32_t a, b; (a = (least + 9) / 10) <= (b = most / 10); exponent++) {
        least = a;
        most = b;
        rest |= digit != 0;
        digit = value % 10;
        value /= 10;
    }
    if (digit > 5 || (digit == 5 && (rest || value % 2)))
        value++;
    value = value < least ? least : value > most ? most : value;
    return decimal_of(value, exponent);
}

/* Writes a decimal to out. Returns the number of bytes. */
static size_t write_decimal(char *out, const decimal *d) {
    char *to = out;
    const int n = d->n, point = d->point;
    if (point > 12 || point < -4) {
        *to++ = d->digits[0];
        if (n > 1) {
            *to++ = '.';
            memcpy(to, d->digits + 1, (size_t)n - 1);
            to += n - 1;
        }
        return (size_t)(to - out) + (size_t)snprintf(to, 8, "e%d", point - 1);
    }
    if (point <= 0) {
        memcpy(to, "0.0000", 6);
        to += 2 - point;
        memcpy(to, d->digits, (size_t)n);
        return (size_t)(to - out) + (size_t)n;
    }
    for (int i = 0; i < point; i++)
        *to++ = i < n ? d->digits[i] : '0';
    *to++ = '.';
    for (int i = point; i < n; i++)
        *to++ = d->digits[i];
    if (n <= point)
        *to++ = '0';
    return (size_t)(to - out);
}

/* Writes the text of a number that is not finite, or is 0. Returns its length. */
static size_t write_special(char *out, int is_zero, int is_negative) {
    const char *text = !is_zero ? "null" : is_negative ? "-0.0" : "0.0";
    const size_t n = strlen(text);
    memcpy(out, text, n + 1);
    return n;
}

size_t aoei_float_text(char *out, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int negative = (int)(bits >> 31), stored = (int)(bits >> FRACTION_BITS & 0xFF);
    uint32_t m = bits & ((1U << FRACTION_BITS) - 1);
    if (stored == 0xFF || (stored == 0 && m == 0))
        return write_special(out, stored == 0, negative);
    /* the lower neighbor of a power of two is at half the distance */
    const int is_power = m == 0 && stored > 1;
    int e = LEAST_EXPONENT, top = LEAST_EXPONENT - 1; /* 2^top <= v < 2^(top+1) */
    if (stored) {
        m |= 1U << FRACTION_BITS;
        e += stored - 1;
        top = e + FRACTION_BITS;
    } else {
        for (uint32_t rest = m; rest; rest >>= 1)
            top++;
    }
    const int power = power_of(top), closed = m % 2 == 0;
    const uint64_t middle = (uint64_t)m * 4, low = middle - 2 + (uint64_t)is_power, high = middle + 2;
    const decimal d = power >= 0 && power <= FAST_POWER
                          ? shortest(scale_fast(low, power, e - 2), scale_fast(middle, power, e - 1),
                                     scale_fast(high, power, e - 2), closed, power)
                          : shortest(scale_wide(low, power, e - 2), scale_wide(middle, power, e - 1),
                                     scale_wide(high, power, e - 2), closed, power);
    if (negative)
        *out++ = '-';
    const size_t n = write_decimal(out, &d);
    out[n] = 0;
    return n + (size_t)negative;
}

size_t aoei_double_text(char *out, double v) {
    if (!isfinite(v) || !(fabs(v) > 0))
        return write_special(out, isfinite(v), signbit(v) != 0);
    decimal d = {.n = 0};
    char text[AOEI_DOUBLE_BYTES];
    for (int digits = fabs(v) < DBL_MIN ? 1 : 15; digits <= MOST_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, fabs(v));
        if (!(strtod(text, NULL) < fabs(v)) && !(strtod(text, NULL) > fabs(v)))
            break;
    }
    const char *s = text;
    for (; *s != 'e'; s++) /* the decimal separator of the locale is skipped */
        if (*s >= '0' && *s <= '9')
            d.digits[d.n++] = *s;
    d.point = (int)strtol(s + 1, NULL, 10) + 1;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    const size_t negative = v < 0;
    if (negative)
        *out++ = '-';
    const size_t n = write_decimal(out, &d);
    out[n] = 0;
    return n + negative;
}
