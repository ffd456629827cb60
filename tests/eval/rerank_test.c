/* SPDX-License-Identifier: MIT
 * covers: eval/trec_run
 * Tests aoe_eval_rerank: the metrics of a run file by hand, equal scores, the written run, cancelling, and errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "base/dir.h"

#define MODEL "tests/golden/cross_encoders/bert"

static aoe_context *context;
static aoe_model *model;
static aoe_embedder *embedder;
static char *beir, *run_path;

static int open_model(int cross_encoder, aoe_model **m, aoe_embedder **e) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = cross_encoder;
    o.dtype = AOE_DTYPE_F32;
    return aoe_model_open(m, context, MODEL, &o, NULL) || aoe_embedder_create(e, *m, NULL, NULL);
}

/* Documents a and b have the same text, so their scores are equal. */
static void write_folder(void) {
    beir = test_path(test_dir, "beir");
    char *qrels = test_path(test_dir, "beir/qrels");
    assert_int_equal(aoei_make_dir(beir, NULL), 0);
    assert_int_equal(aoei_make_dir(qrels, NULL), 0);
    free(test_write_text(
        beir, "corpus.jsonl",
        "{\"_id\":\"a\",\"title\":\"w1\",\"text\":\"w2\"}\n{\"_id\":\"b\",\"title\":\"\",\"text\":\"w1 w2\"}\n"
        "{\"_id\":\"q\",\"title\":\"\",\"text\":\"w3\"}\n"));
    free(test_write_text(beir, "queries.jsonl", "{\"_id\":\"q\",\"text\":\"w9\"}\n{\"_id\":\"r\",\"text\":\"w8\"}\n"));
    free(test_write_text(qrels, "test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\nr\tb\t1\n"));
    free(qrels);
    run_path = test_write_text(test_dir, "first.run", "q Q0 q 1 9 x\nq Q0 b 2 8 x\nq Q0 a 3 7 x\n");
}

static int set_up(void **state) {
    context = test_context(test_best_tier(), 2);
    if (test_dir_set_up(state) || !context)
        return 1;
    write_folder();
    return open_model(1, &model, &embedder);
}

static int tear_down(void **state) {
    aoe_embedder_destroy(embedder);
    aoe_model_close(model);
    aoe_context_destroy(context);
    free(beir);
    free(run_path);
    return test_dir_tear_down(state);
}

static aoe_rerank_options options(void) {
    aoe_rerank_options o;
    aoe_rerank_options_defaults(&o);
    o.run = run_path;
    o.score_class = 1;
    return o;
}

static char written[256];

static int keep(void *user, size_t part, const char *data, size_t len) {
    assert_int_equal(part, 0);
    assert_null(user);
    strncat(written, data, len);
    return 0;
}

/* Query q has the list b, a (the document with its own id is left out), and query r has no list. After reranking, b
 * comes first, because a and b have equal scores and b has the larger id. */
static void test_by_hand(void **state) {
    (void)state;
    aoe_rerank_options o = options();
    aoe_rerank_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    o.write = keep;
    if (aoe_eval_rerank(embedder, beir, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.queries, 2);
    assert_int_equal(r.missing, 1);
    assert_int_equal(r.pairs, 2);
    assert_float_equal(r.first.mrr, 0.25F, 1e-6);
    assert_float_equal(r.first.ndcg, (float)(0.5 / log2(3)), 1e-6);
    assert_float_equal(r.first.recall, 0.5F, 1e-6);
    assert_float_equal(r.reranked.mrr, 0.25F, 1e-6);
    assert_float_equal(r.reranked.ndcg, (float)(0.5 / log2(3)), 1e-6);
    assert_non_null(strstr(written, "q Q0 b 1 "));
    assert_non_null(strstr(written, "\nq Q0 a 2 "));
    o.top = 1;
    assert_int_equal(aoe_eval_rerank(embedder, beir, &o, &r, &err), 0);
    assert_int_equal(r.pairs, 1);
    assert_float_equal(r.reranked.recall, 0, 1e-6);
}

static void expect_error(aoe_embedder *e, const char *folder, const aoe_rerank_options *o, int code,
                         const char *message) {
    aoe_rerank_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    assert_int_equal(aoe_eval_rerank(e, folder, o, &r, &err), code);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
}

static int cancel(void *user, size_t done, size_t total) {
    (void)user;
    assert_true(done <= total);
    return 1;
}

static int fail_write(void *user, size_t part, const char *data, size_t len) {
    (void)user;
    (void)part;
    (void)data;
    return len > 0;
}

static void test_errors(void **state) {
    (void)state;
    aoe_model *m;
    aoe_embedder *e;
    assert_int_equal(open_model(0, &m, &e), 0);
    aoe_rerank_options o = options();
    expect_error(e, beir, &o, AOE_EARG, "options.cross_encoder");
    expect_error(embedder, "nowhere", &o, AOE_ENOENT, "nowhere: no such directory");
    o.first = e;
    expect_error(embedder, beir, &o, AOE_EARG, "options.first or options.run");
    o = options();
    o.run = NULL;
    expect_error(embedder, beir, &o, AOE_EARG, "options.first or options.run");
    o = options();
    o.score_class = AOE_AUTO;
    expect_error(embedder, beir, &o, AOE_EARG, "options.score_class");
    o.score_class = 2;
    expect_error(embedder, beir, &o, AOE_EARG, "options.score_class is 2");
    o = options();
    o.top = 0;
    expect_error(embedder, beir, &o, AOE_EARG, "options.top");
    o = options();
    o.progress = cancel;
    expect_error(embedder, beir, &o, AOE_ECANCELLED, "");
    o = options();
    o.write = fail_write;
    expect_error(embedder, beir, &o, AOE_ECANCELLED, "output");
    char *spaced =
        test_write_text(beir, "queries.jsonl", "{\"_id\":\"q\",\"text\":\"w9\"}\n{\"_id\":\"r s\",\"text\":\"w8\"}\n");
    char *qrels = test_write_text(beir, "qrels/dev.tsv", "query-id\tcorpus-id\tscore\nr s\ta\t1\n");
    o = options();
    o.run = NULL;
    o.first = e;
    o.split = "dev";
    o.write = keep;
    expect_error(embedder, beir, &o, AOE_EFORMAT, "queries.jsonl:2: the id contains white space");
    free(spaced);
    free(qrels);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
