/* SPDX-License-Identifier: MIT
 * Translates regular expressions from Oniguruma's syntax to PCRE2's.
 */
#ifndef AOEI_TOKENIZER_PATTERN_SYNTAX_H
#define AOEI_TOKENIZER_PATTERN_SYNTAX_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

/* Appends to out an expression that PCRE2 (with UTF, UCP and multiline) matches as Oniguruma matches `expression`. Errors:
 * AOE_ENOMEM; AOE_EUNSUPPORTED with the reason in *why. */
int aoei_pattern_translate(aoei_buffer *out, const char *expression, size_t len, const char **why);

#endif
