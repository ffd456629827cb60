/* SPDX-License-Identifier: MIT
 * Errors inside the library: filling a caller's aoe_error.
 * Codes and the struct are public (aoe.h). A message is one line and names the
 * file, the place in it (line, byte offset, tensor, key) and what to do.
 * The err argument may always be NULL.
 */
#ifndef AOEI_BASE_ERROR_H
#define AOEI_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "aoe.h"
#include "base/compiler.h"

/* Fills err (when not NULL) and returns code, so that callers write
 * `return aoei_fail(err, AOE_EFORMAT, "%s: ...", path);`. */
int aoei_fail(aoe_error *err, int code, const char *fmt, ...) AOEI_PRINTF(3, 4);

/* As aoei_fail, with ": strerror(errnum); what to do" appended (never cut off by a long path). Returns AOE_ENOSPC for
 * ENOSPC and EDQUOT, AOE_ENOENT for ENOENT, AOE_ENOMEM for ENOMEM, else AOE_EIO. */
int aoei_fail_errno(aoe_error *err, int errnum, const char *fmt, ...) AOEI_PRINTF(3, 4);

/* "out of memory" with the number of bytes asked for. */
int aoei_fail_nomem(aoe_error *err, size_t bytes);

/* Puts "prefix: " before the message already in err; returns err's code. For callers that know the file or the row.
 * With err NULL the code is not known here and AOE_EIO is returned: such callers keep the code themselves. */
int aoei_error_prefix(aoe_error *err, const char *fmt, ...) AOEI_PRINTF(2, 3);

/* Makes s[0..len) fit for one line of a terminal, in place: control characters, line separators and bytes that are
 * not UTF-8 become '?'. Returns the new length (never longer) and writes a NUL there. */
size_t aoei_one_line(char *s, size_t len);

/* vsnprintf into text[size] (size >= 16), cut between characters and ended by "..." when too long, then aoei_one_line. */
void aoei_format_line(char *text, size_t size, const char *fmt, va_list args);

#if defined(__clang_analyzer__) && !defined(AOEI_ERROR_C)
/* The analyzer sees one file at a time: tell it that a failure is never 0. */
#define aoei_fail(...)         ((void)(aoei_fail)(__VA_ARGS__), -1)
#define aoei_fail_errno(...)   ((void)(aoei_fail_errno)(__VA_ARGS__), -1)
#define aoei_fail_nomem(...)   ((void)(aoei_fail_nomem)(__VA_ARGS__), -1)
#define aoei_error_prefix(...) ((void)(aoei_error_prefix)(__VA_ARGS__), -1)
#endif

#endif
