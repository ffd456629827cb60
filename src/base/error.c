/* SPDX-License-Identifier: MIT
 * Formats error messages, and defines the public functions for the version, error codes and texts. A message is always
 * one line of valid UTF-8, even if it quotes a file name or a text with line ends or invalid UTF-8. The functions in
 * this file allocate no memory.
 */
#define AOEI_ERROR_C
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static int is_control(uint32_t cp) {
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029;
}

size_t aoei_one_line(char *s, size_t len) {
    size_t in = 0, out = 0;
    while (in < len) {
        uint32_t cp = 0;
        size_t n = aoei_utf8_decode(s + in, len - in, &cp);
        if (n == 0 || is_control(cp)) {
            s[out++] = '?';
            in += n ? n : 1;
        } else {
            memmove(s + out, s + in, n);
            out += n;
            in += n;
        }
    }
    s[out] = 0;
    return out;
}

void aoei_format_line(char *text, size_t size, const char *fmt, va_list args) {
    int n = vsnprintf(text, size, fmt, args);
    if (n < 0)
        n = snprintf(text, size, "(no message)");
    size_t len = (size_t)n;
    if (len >= size) {
        static const char mark[] = "...";
        size_t end = size - sizeof mark;
        while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
            end--;
        memcpy(text + end, mark, sizeof mark);
        len = end + sizeof mark - 1;
    }
    aoei_one_line(text, len);
}

/* Stores the code and the formatted message in err, unless err is NULL. Returns the code. */
static int store_message(aoe_error *err, int code, const char text[sizeof((aoe_error *)0)->message]) {
    if (err) {
        err->code = code;
        memcpy(err->message, text, sizeof err->message);
    }
    return code;
}

int aoei_fail(aoe_error *err, int code, const char *fmt, ...) {
    if (!err)
        return code;
    /* formatted in a separate buffer, because an argument may point into err->message */
    char text[sizeof err->message] = {0};
    va_list args;
    va_start(args, fmt);
    aoei_format_line(text, sizeof text, fmt, args);
    va_end(args);
    return store_message(err, code, text);
}

/* Returns the AOE error code of an errno value. */
static int code_of_errno(int errnum) {
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return AOE_ENOSPC;
    case ENOENT:
        return AOE_ENOENT;
    case ENOMEM:
        return AOE_ENOMEM;
    default:
        return AOE_EIO;
    }
}

/* Returns the advice at the end of the message for an errno value. */
static const char *remedy_of_errno(int errnum) {
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return "free some space and run again";
    case EFBIG:
        return "the file size limit is reached; raise it (ulimit -f) or write to another file system";
    case EACCES:
    case EPERM:
        return "check its permissions";
    case EROFS:
        return "choose a file system that is writable";
    case EMFILE:
    case ENFILE:
        return "raise the limit on open files (ulimit -n)";
    case ENOMEM:
        return "free some memory and run again";
    case EIO:
        return "check the disk";
    case ENAMETOOLONG:
        return "choose a shorter path";
    case ENOTEMPTY:
    case EEXIST:
        return "remove it or choose another path";
    default:
        return "check the path";
    }
}

int aoei_fail_errno(aoe_error *err, int errnum, const char *fmt, ...) {
    int code = code_of_errno(errnum);
    if (!err)
        return code;
    char reason[128], tail[256], text[sizeof err->message] = {0};
    snprintf(tail, sizeof tail, ": %s; %s", strerror_r(errnum, reason, sizeof reason), remedy_of_errno(errnum));
    size_t tail_len = aoei_one_line(tail, strlen(tail));
    va_list args;
    va_start(args, fmt);
    aoei_format_line(text, sizeof text - tail_len, fmt, args);
    va_end(args);
    memcpy(text + strlen(text), tail, tail_len + 1);
    return store_message(err, code, text);
}

int aoei_fail_nomem(aoe_error *err, size_t bytes) {
    return aoei_fail(err, AOE_ENOMEM,
                     "out of memory: cannot allocate %zu bytes; free some memory or use smaller batches", bytes);
}

int aoei_error_prefix(aoe_error *err, const char *fmt, ...) {
    if (!err)
        return AOE_EIO;
    char prefix[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    aoei_format_line(prefix, sizeof prefix, fmt, args);
    va_end(args);
    return aoei_fail(err, err->code, "%s: %s", prefix, err->message);
}

int aoe_version_number(void) {
    return AOE_VERSION_NUMBER;
}

const char *aoe_version(void) {
    return AOE_VERSION;
}

const char *aoe_code_text(int code) {
    switch (code) {
#define AOE_X(name, value, text)                                                                                       \
    case AOE_##name:                                                                                                   \
        return text;
        AOE_ERROR_LIST(AOE_X)
#undef AOE_X
    default:
        return "unknown error";
    }
}

aoe_text aoe_text_of(const char *s) {
    if (!s)
        return (aoe_text){NULL, 0};
    return (aoe_text){s, s ? strlen(s) : 0};
}
