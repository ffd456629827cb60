/* SPDX-License-Identifier: MIT
 * Tests growing buffers and arrays: their contents, the terminating NUL, sizes that overflow, and failed allocations.
 * After a failure, a buffer reports the error until it is cleared.
 */
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "base/alloc.h"
#include "base/buffer.h"

static void test_append(void **state) {
    (void)state;
    aoei_buffer b = {0};
    assert_int_equal(aoei_buffer_append(&b, NULL, 0), 0);
    assert_string_equal(b.data, "");
    char want[3000];
    for (size_t i = 0; i < sizeof want; i++) {
        want[i] = (char)('a' + i % 26);
        if (i % 2)
            assert_int_equal(aoei_buffer_putc(&b, want[i]), 0);
        else
            assert_int_equal(aoei_buffer_append(&b, &want[i], 1), 0);
        assert_int_equal(b.data[b.len], 0);
        assert_true(b.len < b.capacity);
    }
    assert_int_equal(b.len, sizeof want);
    assert_memory_equal(b.data, want, sizeof want);
    size_t capacity = b.capacity;
    aoei_buffer_clear(&b);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.data, "");
    assert_int_equal(b.capacity, capacity);
    aoei_buffer_free(&b);
    assert_null(b.data);
    aoei_buffer_free(&b);
    aoei_buffer_clear(&b);
}

static void test_printf(void **state) {
    (void)state;
    aoei_buffer b = {0};
    assert_int_equal(aoei_buffer_printf(&b, "%d-%s", 12, "x"), 0);
    assert_int_equal(aoei_buffer_printf(&b, "%s", ""), 0);
    assert_int_equal(aoei_buffer_printf(&b, "%*d", 500, 7), 0);
    assert_int_equal(b.len, 504);
    assert_memory_equal(b.data, "12-x   ", 7);
    assert_int_equal(b.data[503], '7');
    assert_int_equal(b.data[504], 0);
    aoei_buffer_free(&b);
}

static void test_failure_persists(void **state) {
    (void)state;
    aoei_buffer b = {0};
    aoei_buffer_append(&b, "kept", 4);
    assert_int_equal(aoei_buffer_reserve(&b, SIZE_MAX), AOE_ENOMEM);
    assert_int_equal(b.failed, 1);
    assert_int_equal(aoei_buffer_putc(&b, 'x'), AOE_ENOMEM);
    assert_int_equal(aoei_buffer_printf(&b, "x"), AOE_ENOMEM);
    assert_string_equal(b.data, "kept");
    aoei_buffer_clear(&b);
    assert_int_equal(aoei_buffer_putc(&b, 'x'), 0);
    assert_string_equal(b.data, "x");
    assert_int_equal(aoei_buffer_reserve(&b, SIZE_MAX - 1), AOE_ENOMEM);
    aoei_buffer_free(&b);
}

static int fill(void *arg) {
    (void)arg;
    aoei_buffer b = {0};
    for (int i = 0; i < 1000; i++)
        aoei_buffer_printf(&b, "%d,", i);
    int code = b.failed ? AOE_ENOMEM : 0;
    assert_int_equal(aoei_buffer_putc(&b, 0), code);
    aoei_buffer_free(&b);
    double *array = NULL;
    size_t capacity = 0;
    for (size_t n = 0; code == 0 && n < 1000; n++) {
        code = aoei_grow((void **)&array, &capacity, n, sizeof *array);
        assert_true(code == AOE_ENOMEM || (code == 0 && capacity > n));
        if (code == 0)
            array[n] = (double)n;
        for (size_t i = 0; i < n; i += 100)
            assert_true(array[i] == (double)i);
    }
    aoei_free(array);
    return code;
}

static void test_every_allocation_fails_once(void **state) {
    (void)state;
    assert_in_range(test_alloc_failures(fill, NULL, 0), 10, 20);
}

static void test_grow(void **state) {
    (void)state;
    int *array = NULL;
    size_t capacity = 0;
    assert_int_equal(aoei_grow((void **)&array, &capacity, SIZE_MAX / 4, sizeof *array), AOE_ENOMEM);
    assert_int_equal(aoei_grow((void **)&array, &capacity, SIZE_MAX, sizeof *array), AOE_ENOMEM);
    assert_null(array);
    assert_int_equal(capacity, 0);
    size_t reallocations = 0;
    for (size_t n = 0; n < 100000; n++) {
        const int *before = array;
        size_t old_capacity = capacity;
        assert_int_equal(aoei_grow((void **)&array, &capacity, n, sizeof *array), 0);
        reallocations += capacity != old_capacity;
        assert_true(capacity == old_capacity ? array == before : capacity >= 2 * old_capacity);
        array[n] = (int)n;
    }
    assert_true(reallocations < 20);
    for (size_t n = 0; n < 100000; n += 997)
        assert_int_equal(array[n], n);
    aoei_free(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_failure_persists),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
