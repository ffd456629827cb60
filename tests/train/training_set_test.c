/* SPDX-License-Identifier: MIT
 * Tests the tokenized training set: token ids, labels, groups of texts with equal token ids, and upper bounds of the
 * number of tokens per batch. The fingerprint must depend on all contents. Errors must name the file and the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_data.h"
#include "base/alloc.h"
#include "train/training_set.h"

static char *dir;
static aoe_context *ctx;
static aoe_model *model;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    ctx = tiny_context(2);
    tiny_model shape = tiny_defaults();
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    assert_int_equal(aoe_model_open(&model, ctx, path, NULL, NULL), 0);
    free(path);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    return 0;
}

/* Creates a training set from a table. Returns 0 or an error code of aoei_dataset_create. */
static int create(aoei_dataset *d, const aoe_model *m, const char *table, aoe_error *err) {
    aoei_examples e;
    char *path = test_write_text(dir, "data.tsv", table);
    const aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .allow_empty = 1};
    aoe_error loading = {0};
    if (aoei_examples_load(&e, path, AOE_EXAMPLES_AUTO, &o, &loading))
        fail_msg("%s", loading.message);
    const int code = aoei_dataset_create(d, m, &e, NULL, NULL, err);
    aoei_examples_free(&e);
    free(path);
    return code;
}

/* The texts are numbered from 0, row by row: text1 and text2 of the first row, then text1 and text2 of the second row,
 * and so on. The comment of each row lists the group numbers of its text1 and its text2. A group number is the number
 * of the first text that has equal token ids. */
static const char table[] = "text1\ttext2\tlabel\n"
                            "the cat\ta dog\t2\n"            /* 0 1 */
                            "The  CAT\tthe cat runs\t-1.5\n" /* 0 3 */
                            "bird\tbird\t4\n"                /* 4 4 */
                            "\ta dog\t0\n";                  /* 6 1 */

static void test_contents(void **state) {
    (void)state;
    aoei_dataset d;
    assert_int_equal(create(&d, model, table, NULL), 0);
    static const uint32_t groups[] = {0, 1, 0, 3, 4, 4, 6, 1};
    static const size_t tokens[] = {4, 4, 4, 5, 3, 3, 2, 4};
    static const double labels[] = {2, -1.5, 4, 0};
    assert_int_equal(d.n, 4);
    assert_memory_equal(d.groups, groups, sizeof groups);
    assert_memory_equal(d.labels, labels, sizeof labels);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(aoei_token_count(&d.tokens, i), tokens[i]);
    assert_true(d.lowest == -1.5 && d.highest == 4);
    assert_int_equal(d.longest, 5);
    assert_int_equal(d.truncated, 0);
    size_t bound;
    static const size_t want[] = {0, 9, 17, 23, 29, 29};
    for (size_t n = 0; n <= 5; n++) {
        assert_int_equal(aoei_dataset_batch_tokens(&d, n, &bound, NULL), 0);
        assert_int_equal(bound, want[n]);
    }
    aoei_dataset_destroy(&d);
    aoei_dataset_destroy(&d);
}

static uint64_t fingerprint(const char *text) {
    aoei_dataset d;
    assert_int_equal(create(&d, model, text, NULL), 0);
    const uint64_t f = d.fingerprint;
    aoei_dataset_destroy(&d);
    return f;
}

static void test_fingerprint(void **state) {
    (void)state;
    static const char *const others[] = {"text1\ttext2\tlabel\nthe cat\ta dog\t2\nbird\told\t1\n",
                                         "text1\ttext2\tlabel\nthe cat\ta dog\t2\nbird\told\t1.5\n",
                                         "text1\ttext2\tlabel\nthe cat\ta dog\t2\nbird old\t\t1\n",
                                         "text1\ttext2\tlabel\nbird\told\t1\nthe cat\ta dog\t2\n",
                                         "text1\ttext2\tlabel\nthe cat\ta dog\t2\n"};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++)
            assert_int_equal(fingerprint(others[i]) == fingerprint(others[k]), i == k);
    assert_true(fingerprint("text1\ttext2\tlabel\nthe cat\ta dog\t2\nbird\told\t1\n") ==
                fingerprint("label\ttext1\ttext2\n2.0\tThe cat\ta  dog\n1\tbird\told\n")); /* equal token ids and
                                                                                              labels */
}

/* Creates a training set from 600 rows whose texts repeat. Compares the group of each text with the index of the first
 * equal text, found by a linear search. */
static void test_many(void **state) {
    (void)state;
    enum { N = 600 };
    char *text = malloc(N * 600);
    size_t at = (size_t)sprintf(text, "text1\ttext2\tlabel\n");
    for (uint32_t i = 0; i < N; i++) {
        at += (size_t)sprintf(text + at, "%s\t", tiny_text(i * i % 97));
        at += (size_t)sprintf(text + at, "%s\t%u\n", tiny_text(i % 400), i % 3);
    }
    aoei_dataset d;
    assert_int_equal(create(&d, model, text, NULL), 0);
    for (size_t i = 0; i < 2 * N; i++) {
        const size_t n = aoei_token_count(&d.tokens, i);
        size_t first = 0;
        while (aoei_token_count(&d.tokens, first) != n ||
               memcmp(d.tokens.ids + d.tokens.offsets[first], d.tokens.ids + d.tokens.offsets[i],
                      n * sizeof(int32_t)) != 0)
            first++;
        assert_int_equal(d.groups[i], first);
    }
    aoei_dataset_destroy(&d);
    free(text);
}

/* Tests a max_length at which no tokens of a text remain after truncation. The error must name the line of the row that
 * contains this text. */
static void test_no_token(void **state) {
    (void)state;
    aoei_dataset d;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.max_length = 2; /* only the special tokens fit */
    aoe_model *shortest;
    char *path = test_path(dir, "model");
    assert_int_equal(aoe_model_open(&shortest, ctx, path, &o, NULL), 0);
    assert_int_equal(create(&d, shortest, table, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "data.tsv:2: "));
    assert_null(d.labels);
    aoe_model_close(shortest);
    free(path);
}

static void test_truncated(void **state) {
    (void)state;
    aoei_dataset d;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.max_length = 4;
    aoe_model *shorter;
    char *path = test_path(dir, "model");
    assert_int_equal(aoe_model_open(&shorter, ctx, path, &o, NULL), 0);
    assert_int_equal(create(&d, shorter, table, NULL), 0);
    assert_int_equal(d.truncated, 1);
    assert_int_equal(d.longest, 4);
    assert_int_equal(d.groups[3], 0); /* text 3, "the cat runs", is truncated to "the cat" and then equals text 0 */
    aoei_dataset_destroy(&d);
    aoe_model_close(shorter);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents), cmocka_unit_test(test_fingerprint),
                                       cmocka_unit_test(test_many), cmocka_unit_test(test_no_token),
                                       cmocka_unit_test(test_truncated)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
