/* SPDX-License-Identifier: MIT
 * The decimal text of floating-point numbers with the fewest digits from which the same number is read back. If several
 * decimals have this number of digits, the closest one is written. The texts do not depend on the locale. They are JSON
 * numbers: 0.0123 and 25.0 for usual magnitudes, 1.5e-7 and 1.5e20 for others. A number that is not finite is written
 * as null, because JSON has no such numbers.
 */
#pragma once

#include <stddef.h>

#define AOEI_FLOAT_BYTES  24 /* capacity for every text of aoei_float_text, with its NUL */
#define AOEI_DOUBLE_BYTES 40 /* capacity for every text of aoei_double_text, with its NUL */

/* Writes v and a NUL to out[AOEI_FLOAT_BYTES]. Returns the length of the text. */
size_t aoei_float_text(char *out, float v);
/* Writes v and a NUL to out[AOEI_DOUBLE_BYTES]. Returns the length of the text. It is slower than aoei_float_text. */
size_t aoei_double_text(char *out, double v);
