/* SPDX-License-Identifier: MIT
 * Translates regular expressions from Oniguruma's syntax to PCRE2's.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

/* Translates expression[len] and appends the result to out. PCRE2 must compile the result with the options UTF, UCP and
 * MULTILINE. Errors: AOE_ENOMEM; AOE_EUNSUPPORTED if the expression cannot be translated, with the reason in *why. */
int aoei_pattern_translate(aoei_buffer *out, const char *expression, size_t len, const char **why);
