/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * Tests the search for NaN and infinity in stored weights. A NaN or infinity is placed at the edges of the blocks that the
 * search reads. Other tests cover every data type, and the reported index of the first tensor with such a value.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "modeldir/weights_check.h"

static aoei_pool *pool;

static int set_up(void **state) {
    (void)state;
    return aoei_pool_create(&pool, 3, NULL);
}

static int tear_down(void **state) {
    (void)state;
    aoei_pool_destroy(pool);
    return 0;
}

static void count_call(void *calls) {
    ++*(int *)calls;
}

/* Returns the index of the first tensor with a NaN or an infinity, as aoei_weights_check reports it. If there is no such
 * tensor, the index is n. Asserts that aoei_weights_check calls the function that it receives, count_call, exactly once. */
static size_t first_bad(const aoei_st_tensor *const *tensors, size_t n) {
    size_t bad = SIZE_MAX;
    int calls = 0;
    aoe_error err;
    assert_int_equal(aoei_weights_check(&bad, pool, tensors, n, count_call, &calls, &err), 0);
    assert_int_equal(calls, 1);
    return bad;
}

/* Asserts that each of the n_values bit patterns in `bad` is found at each tested position in a tensor of valid values. Also
 * asserts that no bit pattern in `finite` is found. */
static void check_type(aoei_st_dtype dtype, const uint32_t *bad, const uint32_t *finite, size_t n_values) {
    const size_t size = dtype == AOEI_ST_I4 ? 1 : aoei_st_dtype_size(dtype), block = ((size_t)1 << 20) / size,
                 n = 2 * block + 300;
    const size_t positions[] = {0,    1, 255, 256, block - 1, block, 2 * block - 1, 2 * block, 2 * block + 255, 2 * block + 256,
                                n - 1};
    unsigned char *memory = malloc(n * size + 1), *data = memory + 1; /* the data is not aligned, like tensors in a file */
    assert_non_null(memory);
    const aoei_st_tensor t = {.name = "t", .dtype = dtype, .n_dims = 1, .shape = {n}, .data = data, .bytes = n * size};
    const aoei_st_tensor *const list[] = {&t};
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * size, &finite[i % n_values], size);
    assert_int_equal(first_bad(list, 1), 1);
    for (size_t p = 0; p < sizeof positions / sizeof *positions; p++)
        for (size_t v = 0; v < n_values; v++) {
            unsigned char before[4];
            memcpy(before, data + positions[p] * size, size);
            memcpy(data + positions[p] * size, &bad[v], size);
            assert_int_equal(first_bad(list, 1), 0);
            memcpy(data + positions[p] * size, before, size);
        }
    free(memory);
}

/* Tests every data type. The values to find are infinities and NaN. The valid values include the largest finite values, zero
 * and a subnormal number. */
static void every_position_and_type(void **state) {
    (void)state;
    check_type(AOEI_ST_F32, (const uint32_t[]){0x7f800000, 0xff800000, 0x7fc00000, 0xff800001, 0x7fffffff},
               (const uint32_t[]){0x7f7fffff, 0xff7fffff, 0x80000000, 0x807fffff, 0x3f800000}, 5);
    check_type(AOEI_ST_F16, (const uint32_t[]){0x7c00, 0xfc00, 0x7e00, 0xfc01, 0x7fff},
               (const uint32_t[]){0x7bff, 0xfbff, 0x8000, 0x83ff, 0x3c00}, 5);
    check_type(AOEI_ST_I8, (const uint32_t[]){0x80, 0x80}, (const uint32_t[]){0x7f, 0x81},
               2); /* in int8, -128 is invalid, whereas 127 and -127 are valid */
    check_type(AOEI_ST_I4, (const uint32_t[]){0x80, 0x0f, 0x00}, (const uint32_t[]){0x11, 0xff, 0x88},
               3); /* in int4, -8 is invalid, which is stored as 0, in either half of a byte */
    check_type(AOEI_ST_BF16, (const uint32_t[]){0x7f80, 0xff80, 0x7fc0, 0xff81, 0x7fff},
               (const uint32_t[]){0x7f7f, 0xff7f, 0x8000, 0x807f, 0x3f80}, 5);
}

static void names_the_first_tensor(void **state) {
    (void)state;
    float data[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}};
    const uint32_t nan = 0x7fc00000;
    aoei_st_tensor t[4];
    const aoei_st_tensor *list[6] = {NULL, &t[0], &t[1], NULL, &t[2], &t[3]};
    for (size_t i = 0; i < 4; i++)
        t[i] =
            (aoei_st_tensor){.dtype = AOEI_ST_F32, .n_dims = 1, .shape = {3}, .data = (void *)data[i], .bytes = sizeof data[i]};
    t[3].bytes = 0; /* a tensor without elements */
    assert_int_equal(first_bad(list, 6), 6);
    memcpy(&data[2][2], &nan, sizeof nan);
    assert_int_equal(first_bad(list, 6), 4);
    memcpy(&data[0][0], &nan, sizeof nan);
    assert_int_equal(first_bad(list, 6), 1);
    assert_int_equal(first_bad(list, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_position_and_type),
        cmocka_unit_test(names_the_first_tensor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
