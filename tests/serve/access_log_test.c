/* SPDX-License-Identifier: MIT
 * Tests the access log: its lines, renaming its file, and files that cannot be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../support/support.h"
#include "serve/access_log.h"

static const aoei_access example = {.remote = "127.0.0.1",
                                    .method = "POST",
                                    .path = "/embed",
                                    .status = 200,
                                    .bytes_in = 12,
                                    .bytes_out = 345,
                                    .seconds = 0.0015,
                                    .model = "tiny",
                                    .texts = 2,
                                    .tokens = 7};

static void lines_are_json(void **state) {
    (void)state;
    aoe_error err;
    aoei_access_log l;
    char *path = test_path(test_dir, "access"), *moved = test_path(test_dir, "access.1");
    assert_int_equal(aoei_access_log_open(&l, path, &err), 0);
    assert_int_equal(aoei_access_log_write(&l, &example), 0);
    aoei_access hostile = example;
    hostile.path = "/a\"\\\n\x01\xff";
    hostile.model = "";
    hostile.texts = hostile.tokens = 0;
    assert_int_equal(aoei_access_log_write(&l, &hostile), 0);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(aoei_access_log_write(&l, &example), 0);
    assert_int_equal(aoei_access_log_reopen(&l, &err), 0);
    assert_int_equal(aoei_access_log_write(&l, &example), 0);
    aoei_access_log_close(&l);

    char *text = test_read(moved, NULL), *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    assert_int_equal(*(strchr(third, '\n') + 1), '\0');
    json_t *o = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    const char *time = json_string_value(json_object_get(o, "time"));
    assert_int_equal(strlen(time), 24);
    assert_int_equal(time[23], 'Z');
    assert_string_equal(json_string_value(json_object_get(o, "remote")), "127.0.0.1");
    assert_string_equal(json_string_value(json_object_get(o, "path")), "/embed");
    assert_string_equal(json_string_value(json_object_get(o, "model")), "tiny");
    assert_int_equal(json_integer_value(json_object_get(o, "status")), 200);
    assert_int_equal(json_integer_value(json_object_get(o, "bytes_in")), 12);
    assert_int_equal(json_integer_value(json_object_get(o, "bytes_out")), 345);
    assert_int_equal(json_integer_value(json_object_get(o, "tokens")), 7);
    assert_true(json_real_value(json_object_get(o, "ms")) == 1.5);
    json_decref(o);
    o = json_loads(second, JSON_DISABLE_EOF_CHECK, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "path")), "/a\"\\\n\x01\xc3\xbf");
    assert_null(json_object_get(o, "model"));
    assert_null(json_object_get(o, "texts"));
    json_decref(o);
    free(text);
    text = test_read(path, NULL);
    assert_int_equal(*(strchr(text, '\n') + 1), '\0');
    free(text);
    free(path);
    free(moved);
}

static void failures_are_reported(void **state) {
    (void)state;
    aoe_error err = {0};
    aoei_access_log l;
    assert_int_not_equal(aoei_access_log_open(&l, "/nonexistent/access", &err), 0);
    assert_non_null(strstr(err.message, "/nonexistent/access"));
    assert_int_equal(aoei_access_log_open(&l, NULL, &err), 0);
    assert_int_equal(aoei_access_log_write(&l, &example), 0);
    assert_int_equal(aoei_access_log_reopen(&l, &err), 0);
    aoei_access_log_close(&l);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(aoei_access_log_open(&l, "/dev/full", &err), 0);
        assert_int_equal(aoei_access_log_write(&l, &example), 1);
        assert_int_equal(l.n_lost, 1);
        aoei_access_log_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
