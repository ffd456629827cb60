/* SPDX-License-Identifier: MIT
 * Tests that the evaluations handle a failed allocation. Each test calls an evaluation repeatedly, and in each call a
 * different allocation fails. The evaluation must report that memory ran out and must not leak a block. The embedder
 * must remain usable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_eval.h"
#include "base/dir.h"
#include "model/open.h"

static char *dir, *pairs, *triplets, *groups, *beir, *suite;
static aoe_context *ctx;
static aoe_model *model;
static aoe_embedder *embedder;

static char *folder(const char *name) {
    char *path = test_path(dir, name);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    return path;
}

static void write_folders(void) {
    static const char *const parts[] = {"FNWN", "OnWN", "headlines"};
    char name[64];
    beir = folder("beir");
    free(test_write_text(beir, "corpus.jsonl",
                         "{\"_id\":\"1\",\"title\":\"the\",\"text\":\"cat\"}\n"
                         "{\"_id\":\"2\",\"title\":\"\",\"text\":\"a dog\"}\n"));
    free(test_write_text(beir, "queries.jsonl", "{\"_id\":\"q\",\"text\":\"the cat\"}\n"));
    char *qrels = folder("beir/qrels");
    free(test_write_text(qrels, "test.tsv", "query-id\tcorpus-id\tscore\nq\t2\t1\nq\t1\t2\n"));
    free(qrels);
    suite = folder("suite");
    free(test_write_text(suite, "sts-test.csv", "g\tf\ty\t1\t5\tthe cat\ta dog\ng\tf\ty\t2\t1\tbird\tthe\n"));
    char *year = folder("suite/STS13-en-test");
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "STS.input.%s.txt", parts[i]);
        free(test_write_text(year, name, "the cat\ta dog\nbird\ta\n"));
        snprintf(name, sizeof name, "STS.gs.%s.txt", parts[i]);
        free(test_write_text(year, name, "3\n1\n"));
    }
    free(year);
}

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 8;
    shape.layers = 1;
    dir = tiny_dir_create();
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    pairs = test_write_text(dir, "pairs.tsv", "text1\ttext2\tlabel\nthe cat\ta dog\t1\nbird\tthe\t0\nold\told\t1\n");
    triplets = test_write_text(dir, "triplets.tsv", "query\tpositive\tnegative\nthe cat\ta dog\told\nbird\tthe\tcat\n");
    groups = test_write_text(dir, "groups.tsv", "image\tcaption\na\tthe cat\nb\told\na\ta dog\nb\tthe bird\n");
    write_folders();
    ctx = tiny_context(2);
    const int failed = aoei_model_open_for(&model, ctx, path, NULL, &(aoei_open_mode){.packed = 1}, NULL) ||
                       aoe_embedder_create(&embedder, model, NULL, NULL);
    free(path);
    return failed;
}

static int tear_down(void **state) {
    (void)state;
    aoe_embedder_destroy(embedder);
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    free(pairs);
    free(triplets);
    free(groups);
    free(beir);
    free(suite);
    test_dir_remove(dir);
    return 0;
}

static size_t reports;

static void count_pairs(void *user, const aoe_binary_result *r) {
    (void)user;
    reports += r->pairs == 3;
}

static void count_triplets(void *user, const aoe_triplet_result *r) {
    (void)user;
    reports += r->triplets == 2;
}

static void count_searches(void *user, const aoe_retrieval_result *r) {
    (void)user;
    reports += r->texts == 2 || r->texts == 4;
}

static void count_sets(void *user, const aoe_suite_result *r) {
    (void)user;
    reports += r->row == AOE_SUITE_AVERAGE && r->parts == 2;
}

static int check(int code, const aoe_error *err, size_t expected) {
    assert_int_equal(err->code, code);
    if (code)
        assert_non_null(strstr(err->message, "memory"));
    else
        assert_int_equal(reports, expected);
    return code;
}

static int eval_pairs(void *arg) {
    const char *const paths[] = {pairs};
    aoe_error err = {0};
    (void)arg;
    reports = 0;
    return check(aoe_eval_binary(embedder, paths, 1, NULL, count_pairs, NULL, &err), &err, 1);
}

static int eval_triplets(void *arg) {
    const char *const paths[] = {triplets};
    aoe_error err = {0};
    (void)arg;
    reports = 0;
    return check(aoe_eval_triplets(embedder, paths, 1, NULL, count_triplets, NULL, &err), &err, 1);
}

static int eval_retrieval(void *arg) {
    const char *const paths[] = {groups, beir};
    aoe_error err = {0};
    (void)arg;
    reports = 0;
    return check(aoe_eval_retrieval(embedder, paths, 2, NULL, count_searches, NULL, &err), &err, 2);
}

static int eval_suite(void *arg) {
    const char *const dirs[] = {suite};
    aoe_error err = {0};
    (void)arg;
    reports = 0;
    return check(aoe_eval_suite(embedder, dirs, 1, NULL, count_sets, NULL, &err), &err, 1);
}

static aoe_embedder *reranker;
static char *run_path; /* run file; NULL: the first stage is `embedder` */

static int eval_rerank(void *arg) {
    aoe_rerank_options o;
    aoe_rerank_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    (void)arg;
    aoe_rerank_options_defaults(&o);
    o.first = run_path ? NULL : embedder;
    o.run = run_path;
    o.score_class = 1;
    reports = 0;
    const int code = aoe_eval_rerank(reranker, beir, &o, &r, &err);
    reports = r.pairs;
    return check(code, &err, 2);
}

static void test_rerank(void **state) {
    (void)state;
    aoe_model *m;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    assert_int_equal(
        aoei_model_open_for(&m, ctx, "tests/golden/cross_encoders/bert", &o, &(aoei_open_mode){.packed = 1}, NULL), 0);
    assert_int_equal(aoe_embedder_create(&reranker, m, NULL, NULL), 0);
    assert_int_equal(eval_rerank(NULL), 0); /* the first call builds the trie of the tokenizer, which is kept */
    assert_true(test_alloc_failures(eval_rerank, NULL, 0) > 20);
    run_path = test_write_text(dir, "first.run", "q Q0 1 1 2.5 x\nq Q0 2 2 1.5 x\n");
    assert_true(test_alloc_failures(eval_rerank, NULL, 0) > 20);
    free(run_path);
    run_path = NULL;
    aoe_embedder_destroy(reranker);
    aoe_model_close(m);
}

static void test_memory(void **state) {
    (void)state;
    static const test_fn all[] = {eval_pairs, eval_triplets, eval_retrieval, eval_suite};
    for (size_t i = 0; i < 4; i++)
        assert_true(test_alloc_failures(all[i], NULL, 0) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_rerank)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
