/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the search for NaN and infinity in stored weights. A NaN or infinity is placed at the edges of the blocks that
 * the search reads. Other tests cover every data type, and the reported index of the first tensor with such a value.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "modeldir/weights_check.h"

#define BLOCK_BYTES ((size_t)5 << 18) /* number of bytes per task of the search */

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

/* Returns the index of the first tensor with a NaN or an infinity, as aoei_weights_check reports it. If there is no
 * such tensor, the index is n. Asserts that aoei_weights_check calls the function that it receives, count_call, exactly
 * once. */
static size_t first_bad(const aoei_st_tensor *const *tensors, size_t n) {
    size_t bad = SIZE_MAX;
    int calls = 0;
    aoe_error err;
    assert_int_equal(aoei_weights_check(&bad, pool, tensors, n, count_call, &calls, &err), 0);
    assert_int_equal(calls, 1);
    return bad;
}

/* Asserts that each of the n_values bit patterns in `bad` is found at each tested position in a tensor of valid values.
 * Also asserts that no bit pattern in `finite` is found. */
static void check_type(aoei_st_dtype dtype, const uint32_t *bad, const uint32_t *finite, size_t n_values) {
    const size_t size = aoei_st_dtype_size(dtype), block = BLOCK_BYTES / size, n = 2 * block + 300;
    const size_t positions[] = {
        0, 1, 255, 256, block - 1, block, 2 * block - 1, 2 * block, 2 * block + 255, 2 * block + 256, n - 1};
    unsigned char *memory = malloc(n * size + 1), *data = memory + 1; /* the data is not aligned, like tensors in a
                                                                         file */
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

/* Tests every data type. The values to find are infinities and NaN. The valid values include the largest finite values,
 * zero and a subnormal number. */
static void every_position_and_type(void **state) {
    (void)state;
    check_type(AOEI_ST_F32, (const uint32_t[]){0x7f800000, 0xff800000, 0x7fc00000, 0xff800001, 0x7fffffff},
               (const uint32_t[]){0x7f7fffff, 0xff7fffff, 0x80000000, 0x807fffff, 0x3f800000}, 5);
    check_type(AOEI_ST_F16, (const uint32_t[]){0x7c00, 0xfc00, 0x7e00, 0xfc01, 0x7fff},
               (const uint32_t[]){0x7bff, 0xfbff, 0x8000, 0x83ff, 0x3c00}, 5);
    check_type(AOEI_ST_I8, (const uint32_t[]){0x80, 0x80}, (const uint32_t[]){0x7f, 0x81},
               2); /* in int8, -128 is invalid, whereas 127 and -127 are valid */
    check_type(AOEI_ST_BF16, (const uint32_t[]){0x7f80, 0xff80, 0x7fc0, 0xff81, 0x7fff},
               (const uint32_t[]){0x7f7f, 0xff7f, 0x8000, 0x807f, 0x3f80}, 5);
}

/* Sets the 5 bits that contain int5 value i. */
static void set_int5(unsigned char *data, size_t i, int stored) {
    for (size_t k = 0; k < 5; k++) {
        unsigned char *byte = &data[(5 * i + k) / 8];
        const size_t bit = (5 * i + k) % 8;
        *byte = (unsigned char)((*byte & ~(1 << bit)) | (stored >> k & 1) << bit);
    }
}

/* Tests int5 values, in which only -16 is invalid, which is stored as 0. It must be found at every position of a group
 * of 8 values, for groups at the edges of blocks, and next to any valid values. */
static void every_int5_position(void **state) {
    (void)state;
    const size_t block = BLOCK_BYTES / 5, n = 2 * block + 41; /* numbers of groups; 32 groups are read per inner loop */
    const size_t groups[] = {
        0, 1, 31, 32, block - 1, block, 2 * block - 1, 2 * block, 2 * block + 31, 2 * block + 32, n - 1};
    unsigned char *memory = malloc(5 * n + 1), *data = memory + 1; /* not aligned */
    assert_non_null(memory);
    aoei_st_tensor t = {.name = "t", .dtype = AOEI_ST_I5, .n_dims = 2, .shape = {n, 8}, .data = data, .bytes = 5 * n};
    const aoei_st_tensor *const list[] = {&t};
    memset(data, 0, 5 * n);
    for (size_t i = 0; i < 8 * n; i++)
        set_int5(data, i, (int)(i / 8 % 31 * (i % 8 + 1) % 31) + 1); /* every valid value at every position */
    assert_int_equal(first_bad(list, 1), 1);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < 8; i++) {
            unsigned char before[5];
            memcpy(before, data + 5 * groups[g], sizeof before);
            set_int5(data, 8 * groups[g] + i, 0);
            assert_int_equal(first_bad(list, 1), 0);
            memcpy(data + 5 * groups[g], before, sizeof before);
        }
    t.bytes = 5;
    for (size_t i = 0; i < 8; i++)
        for (int valid = 1; valid < 32; valid++) { /* the other 7 values are equal */
            for (size_t k = 0; k < 8; k++)
                set_int5(data, k, valid);
            assert_int_equal(first_bad(list, 1), 1);
            set_int5(data, i, 0);
            assert_int_equal(first_bad(list, 1), 0);
        }
    free(memory);
}

static void names_the_first_tensor(void **state) {
    (void)state;
    float data[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}};
    const uint32_t nan = 0x7fc00000;
    aoei_st_tensor t[4];
    const aoei_st_tensor *list[6] = {NULL, &t[0], &t[1], NULL, &t[2], &t[3]};
    for (size_t i = 0; i < 4; i++)
        t[i] = (aoei_st_tensor){
            .dtype = AOEI_ST_F32, .n_dims = 1, .shape = {3}, .data = (void *)data[i], .bytes = sizeof data[i]};
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
        cmocka_unit_test(every_int5_position),
        cmocka_unit_test(names_the_first_tensor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
