/* SPDX-License-Identifier: MIT
 * Tests the messages for a missing and for a wrong client library, and loads the installed one, if there is one.
 */
#include <stdio.h>
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "postgres/libpq.h"

static void missing_library(void **state) {
    (void)state;
    aoei_pq_functions f;
    aoe_error err = {0};
    assert_int_equal(aoei_pq_load(&f, "libaoe-does-not-exist.so.5", &err), AOE_EIO);
    assert_non_null(strstr(err.message, "the client library of PostgreSQL cannot be loaded"));
    assert_non_null(strstr(err.message, "libaoe-does-not-exist.so.5"));
    assert_non_null(strstr(err.message, "apt-get install libpq5"));
}

static void wrong_library(void **state) {
    (void)state;
    aoei_pq_functions f;
    aoe_error err = {0};
    assert_int_equal(aoei_pq_load(&f, "libm.so.6", &err), AOE_EIO);
    assert_string_equal(err.message, "libm.so.6 is not the client library of PostgreSQL, or is too old: it has no "
                                     "PQconninfoParse; install version 12 or newer (Debian: apt-get install libpq5)");
}

static void installed_library(void **state) {
    (void)state;
    aoe_error err = {0};
    fake_pq_start(NULL);
    const int rc = aoei_pq_start(&err);
    if (rc) {
        assert_non_null(strstr(err.message, "libpq5"));
        printf("SKIP: libpq is not installed\n");
        skip();
    }
    char *message = NULL;
    aoei_pq_option *options = aoei_pq.conninfoParse("postgresql://me@host:1234/db", &message);
    assert_non_null(options);
    size_t found = 0;
    for (const aoei_pq_option *o = options; o->keyword; o++)
        if (strcmp(o->keyword, "port") == 0) {
            assert_string_equal(o->val, "1234");
            found++;
        }
    assert_int_equal(found, 1);
    aoei_pq.conninfoFree(options);
    assert_int_equal(aoei_pq_start(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_library),
        cmocka_unit_test(wrong_library),
        cmocka_unit_test(installed_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
