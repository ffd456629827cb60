/* SPDX-License-Identifier: MIT
 * Tests ids, and the list of the rows that a table contains.
 */
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "postgres/pg_known.h"

static void recognizes_ids(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "0123456789a", "0123456789abc", "0123456789aB", "0123456789a-"};
    assert_int_equal(aoei_pg_is_id("00fedcba9870", 12), 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(aoei_pg_is_id(wrong[i], strlen(wrong[i])), 0);
}

static void reads_rows(void **state) {
    (void)state;
    /* id, number, position, hash, name; two passages have the same id, and the names are escaped as COPY does it */
    static const char *const rows[] = {"00000000000a",
                                       "7",
                                       "0",
                                       "-1",
                                       "a\\\\b\\tc",
                                       "00000000000a",
                                       "5",
                                       "0",
                                       "12",
                                       "b",
                                       "00000000000b",
                                       "-9",
                                       "1",
                                       "3",
                                       "b",
                                       "foreign",
                                       "4",
                                       "0",
                                       "3",
                                       "c",
                                       "00000000000c",
                                       "8",
                                       "2147483647",
                                       "-9223372036854775808",
                                       "c"};
    static const fake_pq_answer answers[] = {
        {.pattern = "COPY (SELECT id, number, position, hash, name", .columns = 5, .rows = 5, .value = rows},
        {.pattern = NULL}};
    aoei_pg s;
    aoei_pg_table t;
    aoei_pg_known k;
    aoe_error err = {0};
    fake_pq_start(answers);
    assert_int_equal(aoei_pg_open(&s, "postgresql://h/d", NULL), 0);
    assert_int_equal(aoei_pg_table_name(&t, NULL, NULL), 0);
    assert_int_equal(aoei_pg_known_read(&k, &s, &t, NULL), 0);
    assert_int_equal(k.n, 4); /* without the row of another program */
    assert_int_equal(aoei_pg_known_find(&k, "a\\b\tc", 0)->number, 7);
    assert_true(aoei_pg_known_find(&k, "a\\b\tc", 0)->hash == UINT64_MAX);
    assert_int_equal(aoei_pg_known_find(&k, "b", 0)->number, 5);
    assert_true(aoei_pg_known_find(&k, "b", 1)->hash == 3);
    assert_int_equal(aoei_pg_known_find(&k, "b", 1)->number, -9);
    assert_true(aoei_pg_known_find(&k, "c", 2147483647)->hash == UINT64_C(1) << 63);
    assert_null(aoei_pg_known_find(&k, "b", 2));
    assert_null(aoei_pg_known_find(&k, "c", 0));
    assert_null(aoei_pg_known_find(&k, "a", 0));
    assert_null(aoei_pg_known_find(&k, "c", SIZE_MAX));
    aoei_pg_known_free(&k);
    fake_pq_break_at("COPY");
    assert_int_equal(aoei_pg_known_read(&k, &s, &t, &err), AOE_EIO);
    aoei_pg_known_free(&k);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recognizes_ids),
        cmocka_unit_test(reads_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
