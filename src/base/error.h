/* SPDX-License-Identifier: MIT
 * Functions that store an error code and a message in the caller's aoe_error. The codes and the struct are declared in
 * aoe.h. A message is one line that says what happened, where (file, line, byte offset, tensor, key) and what to do.
 * The argument err may be NULL in all functions.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "aoe.h"
#include "base/compiler.h"

/* Stores the code and the formatted message in err, unless err is NULL. Returns the code, so that callers can write
 * "return aoei_fail(err, ...);". */
int aoei_fail(aoe_error *err, int code, const char *fmt, ...) AOEI_PRINTF(3, 4);

/* Like aoei_fail, but appends ": TEXT; ADVICE" to the formatted text, where TEXT is strerror(errnum). If the message is
 * too long, only the formatted text is truncated. Returns AOE_ENOSPC for ENOSPC and EDQUOT, AOE_ENOENT for ENOENT,
 * AOE_ENOMEM for ENOMEM, and AOE_EIO otherwise. */
int aoei_fail_errno(aoe_error *err, int errnum, const char *fmt, ...) AOEI_PRINTF(3, 4);

/* Fills err with the message "out of memory: cannot allocate BYTES bytes; ..." and returns AOE_ENOMEM. */
int aoei_fail_nomem(aoe_error *err, size_t bytes);

/* Inserts a formatted prefix and ": " before the message in err. The prefix names, for example, a file or a row.
 * Returns err->code. If err is NULL, the code is unknown, and the function returns AOE_EIO; a caller that needs the
 * code must store it before the call. */
int aoei_error_prefix(aoe_error *err, const char *fmt, ...) AOEI_PRINTF(2, 3);

/* Makes s[len] printable on one terminal line, in place. Control characters, line separators and bytes that are not
 * valid UTF-8 are replaced by '?'. Returns the new length, which is at most len, and writes a NUL after the last
 * character. */
size_t aoei_one_line(char *s, size_t len);

/* Formats into text[size] like vsnprintf, and applies aoei_one_line. A text that does not fit is truncated between
 * characters and ends with "...". size must be at least 16. */
void aoei_format_line(char *text, size_t size, const char *fmt, va_list args);

#if defined(__clang_analyzer__) && !defined(AOEI_ERROR_C)
/* The static analyzer reads one file at a time. These macros tell it that a failure never returns 0. */
#define aoei_fail(...)         ((void)(aoei_fail)(__VA_ARGS__), -1)
#define aoei_fail_errno(...)   ((void)(aoei_fail_errno)(__VA_ARGS__), -1)
#define aoei_fail_nomem(...)   ((void)(aoei_fail_nomem)(__VA_ARGS__), -1)
#define aoei_error_prefix(...) ((void)(aoei_error_prefix)(__VA_ARGS__), -1)
#endif
