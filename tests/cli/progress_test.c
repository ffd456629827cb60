/* SPDX-License-Identifier: MIT
 * Tests how progress lines are shortened to the width of the terminal: each field must be either printed completely or
 * omitted.
 */
#include "cli/common/progress.c"

#include "../support/support.h"

static void check(const char *line, size_t width, const char *expected) {
    char text[128];
    snprintf(text, sizeof text, "%s", line);
    cli_progress_fit(text, width);
    assert_string_equal(text, expected);
}

static void test_fit(void **state) {
    (void)state;
    const char *line = "12/345 steps  left 1:02:05  9876 tokens/s  loss 0.123  lr 1.0e-05  cosine 0.456";
    check(line, strlen(line), line);
    check(line, 1000, line);
    check(line, strlen(line) - 1, "12/345 steps  left 1:02:05  9876 tokens/s  loss 0.123  lr 1.0e-05");
    check(line, 42, "12/345 steps  left 1:02:05  9876 tokens/s");
    check(line, 41, "12/345 steps  left 1:02:05  9876 tokens/s");
    check(line, 40, "12/345 steps  left 1:02:05");
    check(line, 5, "");
    check("", 0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
