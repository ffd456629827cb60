/* SPDX-License-Identifier: MIT
 * Tests values in the binary format of PostgreSQL.
 */
#include "../support/support.h"
#include "postgres/pg_binary.h"

static void writes_numbers(void **state) {
    (void)state;
    aoei_buffer b = {0};
    aoei_pg_put16(&b, 0x10102);
    aoei_pg_put32(&b, 0xfffffffe);
    aoei_pg_put64(&b, UINT64_C(0x8000000000000001));
    assert_int_equal(b.len, 14);
    assert_memory_equal(b.data, "\1\2\xff\xff\xff\xfe\x80\0\0\0\0\0\0\1", 14);
    aoei_buffer_free(&b);
}

static void writes_arrays(void **state) {
    (void)state;
    aoei_buffer b = {0};
    aoei_pg_put_array(&b, AOEI_PG_TEXT, 0);
    assert_int_equal(b.len, 12);
    assert_memory_equal(b.data, "\0\0\0\0\0\0\0\0\0\0\0\x19", 12);
    aoei_buffer_clear(&b);
    aoei_pg_put_array(&b, AOEI_PG_FLOAT8, 3);
    assert_int_equal(b.len, 20);
    assert_memory_equal(b.data, "\0\0\0\1\0\0\0\0\0\0\2\xbd\0\0\0\3\0\0\0\1", 20);
    aoei_buffer_free(&b);
}

static void writes_vectors(void **state) {
    (void)state;
    aoei_buffer b = {0};
    const float x[] = {1, -0.5f, 0};
    aoei_pg_put_vector(&b, x, 3);
    assert_int_equal(b.len, 16);
    assert_memory_equal(b.data, "\0\3\0\0\x3f\x80\0\0\xbf\0\0\0\0\0\0\0", 16);
    aoei_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(writes_arrays),
        cmocka_unit_test(writes_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
