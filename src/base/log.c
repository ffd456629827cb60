/* SPDX-License-Identifier: MIT
 * Formats a message as one line and passes it to the caller's callback.
 */
#include "base/log.h"

#include <stdarg.h>

#include "base/error.h"

void aoei_log_write(const aoei_log *log, aoe_log_level level, const char *fmt, ...) {
    if (!log || !log->fn)
        return;
    char text[2048];
    va_list args;
    va_start(args, fmt);
    aoei_format_line(text, sizeof text, fmt, args);
    va_end(args);
    log->fn(log->user, level, text);
}
