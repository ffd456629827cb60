/* SPDX-License-Identifier: MIT
 * Tests ids, and the list of the rows that a table contains.
 */
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "postgres/pg_known.h"

static void converts_ids(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "0123456789a", "0123456789abc", "0123456789aB", "0123456789a-"};
    uint64_t id;
    char text[AOEI_PG_ID_BYTES + 1];
    assert_int_equal(aoei_pg_id_parse("00fedcba9870", 12, &id), 1);
    assert_true(id == UINT64_C(0xfedcba9870));
    aoei_pg_id_format(id, text);
    assert_string_equal(text, "00fedcba9870");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(aoei_pg_id_parse(wrong[i], strlen(wrong[i]), &id), 0);
}

static void reads_rows(void **state) {
    (void)state;
    static const char *const rows[] = {"000000000001", "-1", "00000000000a", "12",
                                       "foreign",      "3",  "ffffffffffff", "-9223372036854775808"};
    static const fake_pq_answer answers[] = {{.pattern = "COPY (SELECT", .columns = 2, .rows = 4, .value = rows},
                                             {.pattern = NULL}};
    aoei_pg s;
    aoei_pg_table t;
    aoei_pg_known k;
    aoe_error err = {0};
    fake_pq_start(answers);
    assert_int_equal(aoei_pg_open(&s, "postgresql://h/d", NULL), 0);
    assert_int_equal(aoei_pg_table_name(&t, NULL, NULL), 0);
    assert_int_equal(aoei_pg_known_read(&k, &s, &t, NULL), 0);
    assert_int_equal(k.n, 3); /* without the row of another program */
    assert_true(aoei_pg_known_find(&k, 1)->hash == UINT64_MAX);
    assert_true(aoei_pg_known_find(&k, 10)->hash == 12);
    assert_true(aoei_pg_known_find(&k, UINT64_C(0xffffffffffff))->hash == UINT64_C(1) << 63);
    assert_null(aoei_pg_known_find(&k, 2));
    aoei_pg_known_free(&k);
    fake_pq_break_at("COPY");
    assert_int_equal(aoei_pg_known_read(&k, &s, &t, &err), AOE_EIO);
    aoei_pg_known_free(&k);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converts_ids),
        cmocka_unit_test(reads_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
