/* SPDX-License-Identifier: MIT
 * Tests reading and comparing API keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/support.h"
#include "serve/auth.h"

static int warnings;

static void on_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    assert_int_equal(level, AOE_LOG_WARNING);
    assert_null(strstr(message, "secret"));
    warnings++;
}

static int load(aoei_key *k, const char *text, unsigned mode) {
    char *path = test_write_text(test_dir, "key", text);
    aoe_error err;
    assert_int_equal(chmod(path, mode), 0);
    const int rc = aoei_key_load(k, path, &(aoei_log){.fn = on_log}, &err);
    if (rc)
        assert_null(strstr(err.message, "secret"));
    free(path);
    return rc;
}

static void keys_are_read(void **state) {
    (void)state;
    aoei_key k;
    char longest[AOEI_KEY_BYTES + 2];
    warnings = 0;
    assert_int_equal(load(&k, "secret-1\n", 0600), 0);
    assert_int_equal(k.len, 8);
    assert_int_equal(load(&k, "secret-1\r\n", 0640), 0);
    assert_int_equal(k.len, 8);
    assert_int_equal(warnings, 0);
    assert_int_equal(load(&k, "secret-1", 0644), 0);
    assert_int_equal(warnings, 1);
    memset(longest, 'a', sizeof longest);
    longest[AOEI_KEY_BYTES] = '\0';
    assert_int_equal(load(&k, longest, 0600), 0);
    longest[AOEI_KEY_BYTES] = 'a';
    longest[AOEI_KEY_BYTES + 1] = '\0';
    assert_int_equal(load(&k, longest, 0600), AOE_EFORMAT);
    assert_int_equal(load(&k, "", 0600), AOE_EFORMAT);
    assert_int_equal(load(&k, "\n\n", 0600), AOE_EFORMAT);
    assert_int_equal(load(&k, "secret 1\n", 0600), AOE_EFORMAT);
    assert_int_equal(load(&k, "secret-1\nsecret-2\n", 0600), AOE_EFORMAT);
    assert_int_equal(k.len, 0);
    aoe_error err;
    assert_int_equal(aoei_key_load(&k, "/nonexistent/key", NULL, &err), AOE_ENOENT);
}

static void keys_are_compared(void **state) {
    (void)state;
    aoei_key k = {0};
    assert_true(aoei_key_allows(&k, NULL, NULL, NULL)); /* there is no key */
    assert_int_equal(load(&k, "secret-1\n", 0600), 0);
    assert_false(aoei_key_allows(&k, NULL, NULL, NULL));
    assert_true(aoei_key_allows(&k, "Bearer secret-1", NULL, NULL));
    assert_true(aoei_key_allows(&k, "bearer  secret-1", NULL, NULL));
    assert_true(aoei_key_allows(&k, NULL, "secret-1", NULL));
    assert_true(aoei_key_allows(&k, "Basic x", NULL, "secret-1"));
    assert_false(aoei_key_allows(&k, "secret-1", NULL, NULL));
    assert_false(aoei_key_allows(&k, "Basic secret-1", NULL, NULL));
    assert_false(aoei_key_allows(&k, "Bearer secret-2", "", ""));
    assert_false(aoei_key_allows(&k, "Bearer secret-", NULL, NULL));
    assert_false(aoei_key_allows(&k, "Bearer secret-11", NULL, NULL));
    assert_false(aoei_key_allows(&k, "Bearer ", NULL, NULL));
    assert_false(aoei_key_equals(&k, (aoe_text){.data = "secret-1\0", .len = 9}));
    char *large = calloc(1, 100000);
    assert_non_null(large);
    memset(large, 's', 99999);
    assert_false(aoei_key_allows(&k, NULL, large, NULL));
    free(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(keys_are_compared),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
