/* SPDX-License-Identifier: MIT
 * Translation of regular expressions from Oniguruma's syntax to that of PCRE2.
 */
#ifndef AOEI_TOKENIZER_PATTERN_SYNTAX_H
#define AOEI_TOKENIZER_PATTERN_SYNTAX_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

/* Appends to out an expression that PCRE2 (with UTF, UCP and multiline) matches as Oniguruma matches `expression`. Returns 0,
 * AOE_ENOMEM, or AOE_EUNSUPPORTED with the reason in *why. */
int aoei_pattern_translate(aoei_buffer *out, const char *expression, size_t len, const char **why);

#endif
