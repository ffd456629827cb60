/* SPDX-License-Identifier: MIT
 * Converts the bytes of a document to a text that the other units of this folder, a tokenizer and a terminal can
 * process: valid UTF-8, lines that end with a newline, no control characters. The number of lines does not change. A
 * file is first converted by file_text.h, which knows UTF-16 and detects binary files.
 */
#pragma once

#include "aoe.h"
#include "base/buffer.h"

/* Appends the clean text to `out`:
 * - Each run of bytes that are not valid UTF-8 becomes U+FFFD.
 * - CR LF and CR become LF.
 * - Control characters (U+0000 to U+001F except tab and LF, U+007F to U+009F) become spaces.
 * - Soft hyphens and byte order marks are removed.
 * Errors: AOE_ENOMEM. */
int aoei_clean_text(aoei_buffer *out, aoe_text text, aoe_error *err);

enum { AOEI_LONGEST_RUN = 1000, AOEI_LONGEST_CODE_LINE = 4000 };

/* Shortens data that is not meant for reading, in place, and returns the number of bytes that were removed. The first
 * AOEI_LONGEST_RUN bytes of a run of ASCII characters without white space, such as base64, remain, and " ..." replaces
 * its end. longest_line: a longer line, such as minified JavaScript, is shortened to this number of bytes in the same
 * way; 0: no limit. */
size_t aoei_shorten_data(aoei_buffer *text, size_t longest_line);
