/* SPDX-License-Identifier: MIT
 * covers: base/log
 * Tests error messages and log messages. Each message must be one line of valid UTF-8 that fits in its buffer. A
 * message that is too long must be truncated between two characters and end in "...". If a long path makes the message
 * for a failed system call too long, the path must be truncated and not the reason.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"

static void test_fail_fills(void **state) {
    (void)state;
    aoe_error err = {0};
    assert_int_equal(aoei_fail(&err, AOE_EFORMAT, "%s:%d: bad score \"%s\"; write a number", "t.tsv", 7, "x"),
                     AOE_EFORMAT);
    assert_int_equal(err.code, AOE_EFORMAT);
    assert_string_equal(err.message, "t.tsv:7: bad score \"x\"; write a number");
    assert_int_equal(aoei_fail(NULL, AOE_EIO, "%s", "nobody listens"), AOE_EIO);
}

static void test_fail_is_one_line(void **state) {
    (void)state;
    aoe_error err;
    aoei_fail(&err, AOE_EARG, "a\nb\tc\033[31m\x7f|%s|", "\xc2\x85 \xe2\x80\xa8 \xc3\xa9 \xff \xe2\x82");
    assert_string_equal(err.message, "a?b?c?[31m?|? ? \xc3\xa9 ? ??|");
}

static void test_fail_truncates_between_characters(void **state) {
    (void)state;
    aoe_error err;
    char text[3 * sizeof err.message];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        size_t len = shift;
        while (len + 4 < sizeof text) {
            memcpy(text + len, "\xf0\x9f\x98\x80", 4);
            len += 4;
        }
        text[len] = 0;
        aoei_fail(&err, AOE_EARG, "%s", text);
        size_t got = strlen(err.message);
        assert_in_range(got, sizeof err.message - 7, sizeof err.message - 1);
        assert_int_equal(aoei_utf8_valid(err.message, got), got);
        assert_string_equal(err.message + got - 3, "...");
        assert_memory_equal(err.message, text, got - 3);
    }
}

static void test_fail_maximum_length(void **state) {
    (void)state;
    aoe_error err;
    char text[sizeof err.message + 1];
    memset(text, 'a', sizeof text);
    text[sizeof err.message - 1] = 0;
    aoei_fail(&err, AOE_EARG, "%s", text);
    assert_string_equal(err.message, text);
    text[sizeof err.message - 1] = 'a';
    text[sizeof err.message] = 0;
    aoei_fail(&err, AOE_EARG, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_string_equal(err.message + sizeof err.message - 4, "...");
}

static void test_errno(void **state) {
    (void)state;
    aoe_error err;
    assert_int_equal(aoei_fail_errno(&err, ENOSPC, "cannot write %s", "/x/y"), AOE_ENOSPC);
    assert_string_equal(err.message, "cannot write /x/y: No space left on device; free some space and run again");
    assert_int_equal(err.code, AOE_ENOSPC);
    assert_int_equal(aoei_fail_errno(&err, EDQUOT, "x"), AOE_ENOSPC);
    assert_int_equal(aoei_fail_errno(&err, ENOENT, "cannot open %s", "z"), AOE_ENOENT);
    assert_string_equal(err.message, "cannot open z: No such file or directory; check the path");
    assert_int_equal(aoei_fail_errno(&err, ENOMEM, "x"), AOE_ENOMEM);
    static const int others[] = {EACCES, EROFS, EMFILE, EIO, ENAMETOOLONG, ENOTEMPTY, EPIPE};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(aoei_fail_errno(&err, others[i], "x"), AOE_EIO);
        assert_non_null(strstr(err.message, strerror(others[i])));
        assert_non_null(strchr(err.message, ';'));
    }
    assert_int_equal(aoei_fail_errno(NULL, ENOSPC, "x"), AOE_ENOSPC);
}

static void test_errno_keeps_the_reason_of_a_long_path(void **state) {
    (void)state;
    aoe_error err;
    char path[4096];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    aoei_fail_errno(&err, ENOSPC, "cannot write %s", path);
    const char *end = "...: No space left on device; free some space and run again";
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_string_equal(err.message + sizeof err.message - 1 - strlen(end), end);
}

static void test_prefix(void **state) {
    (void)state;
    aoe_error err;
    aoei_fail(&err, AOE_ENUMERIC, "loss is not finite; lower the rate");
    assert_int_equal(aoei_error_prefix(&err, "%s:%d", "a.tsv", 3), AOE_ENUMERIC);
    assert_int_equal(err.code, AOE_ENUMERIC);
    assert_string_equal(err.message, "a.tsv:3: loss is not finite; lower the rate");
    for (int i = 0; i < 400; i++)
        aoei_error_prefix(&err, "%s", err.message);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(aoei_error_prefix(NULL, "x"), AOE_EIO);
}

static void test_nomem(void **state) {
    (void)state;
    aoe_error err;
    assert_int_equal(aoei_fail_nomem(&err, 123456789), AOE_ENOMEM);
    assert_non_null(strstr(err.message, "123456789"));
    assert_int_equal(aoei_fail_nomem(NULL, 1), AOE_ENOMEM);
}

static void test_codes(void **state) {
    (void)state;
    assert_string_equal(aoe_version(), AOE_VERSION);
#define AOE_X(name, value, text)                                                                                       \
    assert_int_equal(AOE_##name, value);                                                                               \
    assert_string_equal(aoe_code_text(value), text);
    AOE_ERROR_LIST(AOE_X)
#undef AOE_X
    assert_string_equal(aoe_code_text(-1000), "unknown error");
    assert_string_equal(aoe_code_text(1), "unknown error");
}

static void test_text_of(void **state) {
    (void)state;
    const char *s = "caf\xc3\xa9";
    aoe_text t = aoe_text_of(s);
    assert_ptr_equal(t.data, s);
    assert_int_equal(t.len, 5);
    assert_int_equal(aoe_text_of("").len, 0);
}

typedef struct lines {
    size_t n;
    aoe_log_level level;
    char text[4096];
} lines;

static void take(void *user, aoe_log_level level, const char *message) {
    lines *l = user;
    l->n++;
    l->level = level;
    snprintf(l->text, sizeof l->text, "%s", message);
}

static void test_log(void **state) {
    (void)state;
    lines l = {0};
    aoei_log log = {take, &l};
    aoei_log_write(&log, AOE_LOG_WARNING, "%d texts were empty\n", 3);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.level, AOE_LOG_WARNING);
    assert_string_equal(l.text, "3 texts were empty?");
    aoei_log_write(&log, AOE_LOG_INFO, "%*d", 5000, 1);
    assert_int_equal(l.level, AOE_LOG_INFO);
    assert_int_equal(strlen(l.text), 2047);
    aoei_log off = {0};
    aoei_log_write(&off, AOE_LOG_INFO, "dropped");
    aoei_log_write(NULL, AOE_LOG_INFO, "dropped");
    assert_int_equal(l.n, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail_fills),
        cmocka_unit_test(test_fail_is_one_line),
        cmocka_unit_test(test_fail_truncates_between_characters),
        cmocka_unit_test(test_fail_maximum_length),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_errno_keeps_the_reason_of_a_long_path),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_nomem),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_text_of),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
