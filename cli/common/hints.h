/* SPDX-License-Identifier: MIT
 * Adapts messages of the library to a command. They name option fields ("options.max_length"), which are replaced by
 * the flags of the command. Advice that names a field for which the command has no flag is removed.
 */
#pragma once

#include <stddef.h>

#include "cli/common/syntax.h"

/* Copies a text to out[size] and replaces each "options.FIELD" by the flag that sets this field. For example,
 * "options.max_length" becomes "--max-length". Fields without a flag are not replaced. The
 * fields of a source of an index, "source.FIELD", are replaced in the same way. */
void cli_name_flags(char *out, size_t size, const char *text, const cli_syntax *s);

/* Removes from a message each piece of advice with a remaining "options.FIELD". Advice follows the first "; " of a
 * message; its pieces are separated by "; ", ", ", ", or " or " or ". For example, "the row has 2 fields; correct the
 * row or set options.skip_bad_rows" becomes "the row has 2 fields; correct the row". In the text before the first "; ",
 * which is kept, "options." is removed. */
void cli_drop_hints(char *text);
