/* SPDX-License-Identifier: MIT
 * Tests that functions handle a failed allocation. The tested functions load tables, load SentEval folders and evaluate
 * STS data sets. Each test calls its function repeatedly, and in each call a different allocation fails. The function
 * must report that memory ran out and must not leak a block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/dir.h"
#include "eval/senteval.h"
#include "eval/sts.h"

static int load(void *path) {
    aoe_pairs *p;
    aoe_error err = {0};
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options),
                           .label_map = "neutral=0.5,bad=drop",
                           .columns = "label=score",
                           .skip_bad_rows = 1};
    int rc = aoe_pairs_load(&p, path, &o, &err);
    if (rc == 0) {
        assert_int_equal(aoe_pairs_count(p), 40);
        assert_int_equal(aoe_pairs_skipped(p), 1);
    } else {
        assert_null(p);
        assert_int_equal(err.code, rc);
        assert_non_null(strstr(err.message, "out of memory"));
    }
    aoe_pairs_free(p);
    return rc;
}

/* Returns the text of a table: `header`, 40 rows with the format `row`, and the invalid row `bad`. Row 20 has 300 kB,
 * so that the reader must enlarge its buffers. */
static char *make_rows(const char *header, const char *row, const char *bad) {
    enum { LONG = 300000 };
    char *text = malloc(LONG + 10000), *word = malloc(LONG + 1);
    assert_true(text && word);
    memset(word, 'w', LONG);
    word[LONG] = 0;
    size_t len = (size_t)sprintf(text, "%s", header);
    for (int i = 0; i < 40; i++)
        len += (size_t)sprintf(text + len, row, i == 20 ? word : "word");
    sprintf(text + len, "%s", bad);
    free(word);
    return text;
}

static void check_load(const char *name, const char *header, const char *row, const char *bad) {
    char *text = make_rows(header, row, bad);
    char *path = test_write_text(test_dir, name, text);
    uint64_t plain = test_alloc_failures(load, path, 200);
    assert_true(plain > 10);
    free(path);
    size_t size;
    char *gz = test_gzip(text, strlen(text), &size), gz_name[64];
    snprintf(gz_name, sizeof gz_name, "%s.gz", name);
    path = test_write(test_dir, gz_name, gz, size);
    assert_true(test_alloc_failures(load, path, 200) > plain); /* allocations of zlib are also counted and also fail */
    free(gz);
    free(path);
    free(text);
}

static void test_tsv(void **state) {
    (void)state;
    check_load("a.tsv", "text1\ttext2\tscore\tx\n", "%s\tb\tneutral\t\n", "a\tb\n");
}

static void test_csv(void **state) {
    (void)state;
    check_load("a.csv", "text1,text2,score,\"x,\"\n", "\"%s\n\",b,1,\n", "a,b\n");
}

static void test_jsonl(void **state) {
    (void)state;
    check_load("a.jsonl", "", "{\"text1\": \"%s\", \"text2\": \"\\u00e9\", \"score\": 2.5}\n", "{\"text1\": }\n");
}

static int load_folder(void *path) {
    aoei_senteval s;
    int rc = aoei_senteval_load(&s, path, 0, NULL);
    if (rc == 0) {
        assert_int_equal(s.n, 2);
        assert_int_equal(s.without_input, 1);
    }
    aoei_senteval_free(&s);
    return rc;
}

static int embed(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *cut, size_t *failed,
                 aoe_error *err) {
    (void)user;
    (void)failed;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        cut[i] = 0;
        vectors[2 * i] = (float)texts[i].len;
        vectors[2 * i + 1] = 1;
    }
    return 0;
}

static void count_reports(void *user, const aoe_sts_result *result) {
    *(size_t *)user += result->pairs;
}

static int evaluate_folder(void *path) {
    aoei_eval_model e = {.dims = 2, .embed = embed};
    const char *paths[] = {path, path};
    size_t pairs = 0;
    int rc = aoei_sts_run(&e, paths, 2, NULL, count_reports, &pairs, NULL);
    if (rc == 0)
        assert_int_equal(pairs, 2 * (4 + 4) + 8);
    return rc;
}

static void write_folder(const char *folder) {
    assert_int_equal(aoei_make_dir(folder, NULL), 0);
    free(test_write_text(folder, "STS.input.one.txt", "a\tbbb\nc\td\n"));
    free(test_write_text(folder, "STS.gs.one.txt", "1\n2\n"));
    free(test_write_text(folder, "STS.input.two.txt", "a\tbb\n\nc\td\n"));
    free(test_write_text(folder, "STS.gs.two.txt", "3\n\n1\n"));
    free(test_write_text(folder, "STS.gs.three.txt", "3\n"));
}

static void test_senteval(void **state) {
    (void)state;
    char *folder = test_path(test_dir, "STS00-en-test");
    write_folder(folder);
    assert_true(test_alloc_failures(load_folder, folder, 200) > 10);
    free(folder);
}

/* Tests the evaluation of a SentEval folder, which includes computing ranks for the correlations. */
static void test_evaluation(void **state) {
    (void)state;
    char *folder = test_path(test_dir, "STS01-en-test");
    write_folder(folder);
    assert_true(test_alloc_failures(evaluate_folder, folder, 0) > 100);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tsv),      cmocka_unit_test(test_csv),        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_senteval), cmocka_unit_test(test_evaluation),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
