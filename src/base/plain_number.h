/* SPDX-License-Identifier: MIT
 * Values of metadata. A value that has the form of a plain number is stored and compared as a number, every other value
 * as text.
 */
#pragma once

#include "aoe.h"

/* Returns 1 if the text is a plain number: digits with an optional '-' before them and an optional fraction, without
 * superfluous zeros before them and without an exponent, at most 30 characters. So 007, 1e5, +1, .5 and 1,000 are
 * texts, because they may be codes. */
int aoei_is_plain_number(aoe_text text);
/* Returns 1 if the text is a plain number that is the same after a conversion to a double and back, because it has at
 * most 15 digits. Such metadata are numbers in JSON. */
int aoei_is_exact_number(aoe_text text);
