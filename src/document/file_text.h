/* SPDX-License-Identifier: MIT
 * Converts the contents of a file to valid UTF-8, or detects that it is not a text for readers.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Converts the *size bytes in *data (allocated with aoei_malloc; the byte after the last one is NUL) in place or to new
 * memory, which replaces *data:
 *   - A text in UTF-16 with a byte order mark becomes UTF-8. Unpaired surrogates become U+FFFD.
 *   - A byte order mark at the beginning of UTF-8 is removed.
 *   - Each run of bytes that are not valid UTF-8 becomes one U+FFFD, so the text can be searched except for these
 *     characters.
 * Sets *is_textless to 1 and leaves the contents undefined if the file is not a text for readers:
 *   - a binary file: it contains a NUL, or more than a tenth of the characters are control characters or invalid;
 *   - an SVG picture: its first element is svg;
 *   - numbers: it has at least 4 KiB, and fewer than a tenth of the characters, apart from white space, are letters.
 * Only the first 64 KiB are examined for characters. Errors: AOE_ENOMEM. */
int aoei_file_text(char **data, size_t *size, int *is_textless, aoe_error *err);
