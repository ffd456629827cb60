/* SPDX-License-Identifier: MIT
 * Tests the names, the division, the markers and the comparison of parts.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "base/part.h"

static const char *const variables[] = {"SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"};

static void rejects(const char *text, const char *message) {
    aoei_part p = {7, 7};
    aoe_error err = {0};
    assert_int_equal(aoei_part_parse(&p, text, &err), AOE_EARG);
    test_message(err.message, message);
    assert_int_equal(p.n, 7);
}

static void parses(const char *text, size_t i, size_t n) {
    aoei_part p = {0};
    aoe_error err = {0};
    assert_int_equal(aoei_part_parse(&p, text, &err), 0);
    assert_int_equal(p.i, i);
    assert_int_equal(p.n, n);
}

static void indices(void **state) {
    (void)state;
    parses("0/1", 0, 1);
    parses("7/8", 7, 8);
    parses("99999/100000", 99999, 100000);
    rejects("8/8", "indices start at 0");
    rejects("3", "does not contain the number of parts");
    rejects("3/", "does not contain the number of parts");
    rejects("auto", "does not contain the number of parts");
    rejects("0/0", "must be from 1 to 100000");
    rejects("0/100001", "must be from 1 to 100000");
    rejects("/3", "is not a part");
    rejects("-1/3", "is not a part");
    rejects("1/3x", "is not a part");
    rejects("99999999999999999999999/3", "is not a part");
    rejects("", "does not contain");
}

/* The first variable that is set counts. */
static void scheduler(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++)
        unsetenv(variables[i]);
    rejects("auto/4", "none is set");
    for (size_t i = 3; i-- > 0;) {
        const char value[] = {(char)('0' + i), 0};
        setenv(variables[i], value, 1);
        parses("auto/4", i, 4);
    }
    rejects("auto/0", "must be from 1");
    setenv(variables[0], "4", 1);
    rejects("auto/4", "SLURM_ARRAY_TASK_ID is 4, but the last of 4 parts has the index 3");
    setenv(variables[0], "x", 1);
    rejects("auto/4", "SLURM_ARRAY_TASK_ID is 'x'");
    setenv(variables[0], "", 1);
    parses("auto/4", 1, 4);
    for (size_t i = 0; i < 3; i++)
        unsetenv(variables[i]);
}

/* Parts are contiguous, contain all elements, and differ by at most one element in weight. */
static void division(void **state) {
    (void)state;
    for (size_t n = 1; n <= 9; n++)
        for (size_t rows = 1; rows <= 40; rows++) {
            uint64_t total = 0, before = 0, most = 0, sum[9] = {0};
            for (size_t r = 0; r < rows; r++)
                total += 1 + r * 7 % 5;
            for (size_t r = 0, last = 0; r < rows; r++) {
                const uint64_t weight = 1 + r * 7 % 5;
                const size_t i = aoei_part_of(n, before, weight, total);
                assert_true(i >= last && i < n);
                sum[last = i] += weight;
                before += weight;
                most = weight > most ? weight : most;
            }
            for (size_t i = 0; i < n; i++) {
                assert_true(sum[i] <= total / n + most + 1);
                assert_true(sum[i] + most + 1 >= total / n);
            }
        }
    assert_int_equal(aoei_part_of(AOEI_MAX_PARTS, INT64_MAX / AOEI_MAX_PARTS - 2, 1, INT64_MAX / AOEI_MAX_PARTS - 1),
                     AOEI_MAX_PARTS - 1);
}

/* Returns an identity with two values. */
static json_t *identity(int dims, const char *pooling) {
    return json_pack("{s:{s:i}, s:{s:s}}", "model", "dims", dims, "options", "pooling", pooling);
}

/* Writes part i of n with its marker. */
static void write_part(const char *output, size_t i, size_t n, int dims, const char *pooling) {
    aoe_error err = {0};
    json_t *id = identity(dims, pooling);
    const aoei_part p = {i, n};
    char *path = aoei_part_path(output, p);
    free(test_write_text(test_dir, strrchr(path, '/') + 1, "content"));
    assert_int_equal(aoei_part_complete(output, p, id, &err), 0);
    aoei_free(path);
    json_decref(id);
}

static int check(const char *output, size_t i, size_t n, int dims, aoe_error *err) {
    int complete = -1;
    json_t *id = identity(dims, "mean");
    const int code = aoei_part_check(&complete, output, (aoei_part){i, n}, id, err);
    json_decref(id);
    return code ? code : complete;
}

/* Checks all parts. message: fragment of the error; NULL: the parts are complete. */
static void join(const char *output, size_t n, const char *message) {
    aoe_error err = {0};
    json_t *id = NULL;
    size_t found = 0;
    const int code = aoei_parts_check(&found, &id, output, &err);
    if (message) {
        assert_true(code < 0);
        test_message(err.message, message);
        assert_null(id);
    } else {
        assert_int_equal(code, 0);
        assert_int_equal(found, n);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(id, "model"), "dims")), 32);
    }
    json_decref(id);
}

static void markers(void **state) {
    (void)state;
    aoe_error err = {0};
    char *output = test_path(test_dir, "out.npy"), *other = test_path(test_dir, "none");
    assert_int_equal(check(output, 0, 3, 32, &err), 0);
    join(output, 0, "there are no complete parts");
    write_part(output, 0, 3, 32, "mean");
    assert_int_equal(check(output, 0, 3, 32, &err), 1);
    assert_int_equal(check(output, 1, 3, 32, &err), 0);
    assert_int_equal(check(output, 0, 3, 16, &err), AOE_EARG);
    test_message(err.message, "out.npy.part-0-of-3.json: model.dims is 32, but 16 in this command");
    join(output, 0, "2 of 3 parts are not complete: 1, 2; compute them first");
    write_part(output, 1, 3, 32, "mean");
    write_part(output, 2, 3, 32, "mean");
    join(output, 3, NULL);
    write_part(output, 2, 3, 32, "cls");
    join(output, 0, "out.npy.part-2-of-3.json: options.pooling is \"cls\", but \"mean\" in part 0");
    write_part(output, 2, 3, 32, "mean");
    write_part(output, 1, 2, 32, "mean");
    join(output, 0, "out.npy.part-1-of-2.json is one of 2 parts, but out.npy.part-0-of-3.json is one of 3");
    free(output);
    free(other);
}

/* A file of another size is computed again, and a file with other bytes is found when the parts are joined. */
static void damage(void **state) {
    (void)state;
    aoe_error err = {0};
    char *output = test_path(test_dir, "damaged");
    write_part(output, 0, 1, 32, "mean");
    join(output, 1, NULL);
    free(test_write_text(test_dir, "damaged.part-0-of-1", "CONTENT"));
    join(output, 0, "damaged.part-0-of-1: the file is damaged");
    free(test_write_text(test_dir, "damaged.part-0-of-1", "conten"));
    assert_int_equal(check(output, 0, 1, 32, &err), 0);
    free(test_write_text(test_dir, "damaged.part-0-of-1.json", "{\"part\": 0, \"parts\": 1}"));
    join(output, 0, "damaged.part-0-of-1.json: not the marker of this part");
    assert_int_equal(check(output, 0, 1, 32, &err), AOE_EFORMAT);
    char *path = test_path(test_dir, "damaged.part-0-of-1");
    assert_int_equal(unlink(path), 0);
    join(output, 0, "1 of 1 parts are not complete: 0");
    free(path);
    free(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(indices), cmocka_unit_test(scheduler),
                                       cmocka_unit_test(division), cmocka_unit_test(markers), cmocka_unit_test(damage)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
