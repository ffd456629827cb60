/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: eval/retrieval_data eval/trec_qrels
 * Tests the retrieval evaluation. An encoder for tests maps each text to a unit vector: the text is the angle in
 * degrees. For groups of texts (the texts of a group are relevant to each other) and for folders in the format of BEIR,
 * the metrics are compared with values computed by hand. For random groups, they are compared with a brute-force
 * reference. Other tests cover the random choice of a query for each group, ties and invalid input.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/circle.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/random.h"
#include "eval/retrieval.h"
#include "eval/retrieval_data.h"

typedef struct reports {
    size_t n;
    aoe_retrieval_result result[8];
} reports;

static void collect(void *user, const aoe_retrieval_result *result) {
    reports *r = user;
    assert_true(r->n < 8);
    r->result[r->n++] = *result;
}

static aoe_context *context;

static int set_up(void **state) {
    context = test_context(test_best_tier(), 2);
    return test_dir_set_up(state) || !context;
}

static int tear_down(void **state) {
    aoe_context_destroy(context);
    return test_dir_tear_down(state);
}

static int run(reports *r, const char *path, const aoe_retrieval_options *o, aoe_error *err) {
    circle c = {.specials = 1, .ctx = context, .similarity = o->similarity};
    const aoei_eval_model e = circle_encoder(&c);
    *r = (reports){0};
    return aoei_retrieval_run(&e, &e, &path, 1, o, collect, r, err);
}

static void assert_near(double got, double want, const char *what) {
    if (!(fabs(got - want) < 1e-12))
        fail_msg("%s is %.17g, expected %.17g", what, got, want);
}

static void write_in(const char *folder, const char *name, const char *text) {
    char *sub = test_path(test_dir, folder);
    assert_int_equal(aoei_make_dir(sub, NULL), 0);
    free(test_write_text(sub, name, text));
    free(sub);
}

/* ------------------------------------------------------------------ groups */

/* Writes a table with the groups a (angles 0, 1, 2), b (50, 52, 53), c (100, 1.5) and d (200). Returns its path, which
 * the caller frees. */
static char *write_groups(void) {
    return test_write_text(
        test_dir, "groups.tsv",
        "image\tk\tcaption\na\t1\t0\nb\t1\t50\na\t2\t1\nc\t1\t100\nb\t2\t52\nd\t1\t200\na\t3\t2\nc\t2\t1.5\nb"
        "\t3\t53\n");
}

/* Tests metrics computed by hand. "1.5c" stands for the text 1.5 of group c. The nearest texts of the query 0 are 0a 1a
 * 1.5c 2a. The nearest texts of the query 50 are 50b 52b 53b. The nearest texts of the query 100 are 100c 53b 52b 50b
 * 2a 1.5c. */
static void test_groups_by_hand(void **state) {
    (void)state;
    char *path = write_groups();
    aoe_retrieval_options o;
    reports r;
    aoe_error err = {0};
    aoe_retrieval_options_defaults(&o);
    o.query = AOE_QUERY_FIRST;
    if (run(&r, path, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.result[0].texts, 9);
    assert_int_equal(r.result[0].queries, 3);
    assert_int_equal(r.result[0].without, 1);
    assert_near(r.result[0].strict, 1.0 / 3, "strict accuracy");
    assert_near(r.result[0].recall[0], (0.5 + 0.5 + 0) / 3, "recall at 1");
    assert_near(r.result[0].recall[1], 1, "recall at 5");
    assert_near(r.result[0].mrr, (1 + 1 + 0.2) / 3, "MRR");
    assert_near(r.result[0].ndcg, ((1 + 1 / log2(4)) / (1 + 1 / log2(3)) + 1 + 1 / log2(6)) / 3, "nDCG");
    /* With count_query, the query itself is a relevant text, and it is the first text of its own ranking. The strict
     * accuracy must not change. */
    o.count_query = 1;
    o.top = 2;
    assert_int_equal(run(&r, path, &o, NULL), 0);
    assert_near(r.result[0].strict, 1.0 / 3, "strict accuracy");
    assert_near(r.result[0].recall[0], (1.0 / 3 + 1.0 / 3 + 0.5) / 3, "recall at 1");
    assert_near(r.result[0].mrr, 1, "MRR");
    assert_near(r.result[0].ndcg, (1 + 1 + 1 / (1 + 1 / log2(3))) / 3, "nDCG");
    free(path);
}

/* Tests the similarities. The text with the smallest angle to the query 20 is 58, and the text with the smallest
 * Manhattan distance is -20, whose vector differs in one component only. */
static void test_similarities(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "similarities.csv", "group,text\nx,20\nx,-20\ny,58\n");
    aoe_retrieval_options o;
    reports r;
    aoe_error err;
    aoe_retrieval_options_defaults(&o);
    o.query = AOE_QUERY_FIRST;
    for (int f = 0; f < AOE_SIMILARITY_COUNT; f++) {
        o.similarity = (aoe_similarity_function)f;
        assert_int_equal(run(&r, path, &o, NULL), 0);
        assert_int_equal(r.result[0].queries, 1);
        assert_near(r.result[0].mrr, f == AOE_SIMILARITY_MANHATTAN ? 1 : 0.5, "MRR");
    }
    o.mode = AOE_RETRIEVAL_LEXICAL;
    assert_int_equal(run(&r, path, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.similarity has no effect in lexical mode"));
    free(path);
}

/* Tests texts with equal cosines. They must be ranked in the order of the file, even if one of them is the query
 * itself. */
static void test_ties(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "ties.csv", "group,text\ny,10\nx,10\nx,10\ny,80\n");
    aoe_retrieval_options o;
    reports r;
    aoe_retrieval_options_defaults(&o);
    o.query = AOE_QUERY_FIRST;
    o.n_recall = 1;
    assert_int_equal(run(&r, path, &o, NULL), 0);
    /* the ranking of the query y is y (the query itself), x, x, 80; the ranking of the query x is y, x (the query
     * itself), x */
    assert_near(r.result[0].strict, 0, "strict accuracy");
    assert_near(r.result[0].recall[0], 0, "recall at 1");
    assert_near(r.result[0].mrr, (1.0 / 3 + 1.0 / 2) / 2, "MRR");
    free(path);
}

static void test_random_queries(void **state) {
    (void)state;
    char *path = write_groups();
    aoe_retrieval_options o;
    aoe_retrieval_options_defaults(&o);
    size_t differs = 0;
    const char *const paths[] = {path};
    uint32_t drawn[3] = {0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        aoei_retrieval_data d, again;
        o.seed = seed;
        assert_int_equal(aoei_retrieval_read(&d, paths, 1, 0, &o, NULL), 0);
        assert_int_equal(aoei_retrieval_read(&again, paths, 1, 0, &o, NULL), 0);
        assert_int_equal(d.n_queries, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(d.query[i].own, again.query[i].own);
            assert_int_equal(d.query[i].n, i == 2 ? 1 : 2);
            differs += seed > 0 && d.query[i].own != drawn[i];
            drawn[i] = d.query[i].own;
        }
        aoei_retrieval_free(&d);
        aoei_retrieval_free(&again);
    }
    assert_true(differs > 10 && differs < 50);
    free(path);
}

/* A text (its index) and its cosine with a query. */
typedef struct ranked {
    double cosine;
    size_t text;
} ranked;

static int nearest_first(const void *pa, const void *pb) {
    const ranked *a = pa, *b = pb;
    if (a->cosine < b->cosine || a->cosine > b->cosine)
        return a->cosine > b->cosine ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

enum { TEXTS = 60, GROUPS = 18, TOP = 7 };

/* Computes the metrics by brute force. Each text that belongs to a group of at least 2 texts is a query. The metrics in
 * *want are sums over the queries, not means. */
static void reference(aoe_retrieval_result *want, const double *angle, const size_t *group, int count_query) {
    size_t queries = 0;
    *want = (aoe_retrieval_result){0};
    for (size_t q = 0; q < TEXTS; q++) {
        ranked p[TEXTS];
        size_t g = 0, strict = 0, found = 0, rank = 0;
        double dcg = 0, best = 0, first = 0;
        for (size_t i = 0; i < TEXTS; i++) {
            p[i] = (ranked){cos((angle[i] - angle[q]) * CIRCLE_RADIANS), i};
            g += group[i] == group[q];
        }
        if (g < 2)
            continue;
        queries++;
        qsort(p, TEXTS, sizeof *p, nearest_first);
        for (size_t i = 0; i < TEXTS; i++) {
            const int relevant_text = group[p[i].text] == group[q];
            strict += i < g && relevant_text;
            if (p[i].text == q && !count_query)
                continue;
            rank++;
            found += relevant_text && rank <= 5;
            if (relevant_text && !(first > 0) && rank <= TOP)
                first = 1.0 / (double)rank;
            dcg += relevant_text && rank <= TOP ? 1 / log2((double)rank + 1) : 0;
        }
        const size_t relevant = g - !count_query;
        for (size_t i = 1; i <= relevant && i <= TOP; i++)
            best += 1 / log2((double)i + 1);
        want->strict += strict == g;
        want->recall[0] += (double)found / (double)relevant;
        want->mrr += first;
        want->ndcg += dcg / best;
    }
    want->queries = queries;
}

/* Returns 1 if the angle `a` can be added to the n angles in `angle` without a ranking that depends on rounding errors
 * of float32. No two angles may have nearly equal distances from a third angle, because rounding errors would then
 * determine their order. All angles must be at least 0.5 apart. */
static int is_clear(const double *angle, size_t n, double a) {
    for (size_t i = 0; i < n; i++) {
        if (fabs(a - angle[i]) < 0.5)
            return 0;
        for (size_t k = 0; k < n; k++)
            if (k != i && (fabs(fabs(a - angle[i]) - fabs(angle[k] - angle[i])) < 0.02 ||
                           fabs(fabs(a - angle[i]) - fabs(a - angle[k])) < 0.02))
                return 0;
    }
    return 1;
}

/* Sets angle to TEXTS random angles. About half of them are equal to an earlier angle. */
static void draw_angles(double *angle, aoei_rng *rng) {
    double distinct[TEXTS];
    size_t n = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        if (n && aoei_rng_below(rng, 2)) {
            angle[i] = distinct[aoei_rng_below(rng, (uint32_t)n)];
            continue;
        }
        do
            distinct[n] = 180 * aoei_rng_uniform(rng);
        while (!is_clear(distinct, n, distinct[n]));
        angle[i] = distinct[n++];
    }
}

static void test_random_groups(void **state) {
    (void)state;
    double angle[TEXTS];
    size_t group[TEXTS];
    aoei_buffer text = {0};
    aoei_rng rng;
    aoei_rng_init(&rng, 8, AOEI_STREAM_TEST, 0);
    draw_angles(angle, &rng);
    aoei_buffer_printf(&text, "image\tcaption\n");
    for (size_t i = 0; i < TEXTS; i++) {
        group[i] = aoei_rng_below(&rng, GROUPS);
        aoei_buffer_printf(&text, "g%zu\t%.17g\n", group[i], angle[i]);
    }
    char *path = test_write_text(test_dir, "random.tsv", text.data);
    for (int count = 0; count < 2; count++) {
        aoe_retrieval_options o;
        aoe_retrieval_result want;
        reports r;
        aoe_retrieval_options_defaults(&o);
        o.query = AOE_QUERY_ALL;
        o.recall_at[0] = 5;
        o.n_recall = 1;
        o.top = TOP;
        o.count_query = count;
        assert_int_equal(run(&r, path, &o, NULL), 0);
        reference(&want, angle, group, count);
        assert_int_equal(r.result[0].queries, want.queries);
        const double n = (double)want.queries;
        assert_near(r.result[0].strict, want.strict / n, "strict accuracy");
        assert_near(r.result[0].recall[0], want.recall[0] / n, "recall");
        assert_near(r.result[0].mrr, want.mrr / n, "MRR");
        assert_near(r.result[0].ndcg, want.ndcg / n, "nDCG");
    }
    aoei_buffer_free(&text);
    free(path);
}

/* Tests different encoders for queries and texts. In this test, both encoders give equal embeddings, and each encoder
 * counts the texts that it embeds. */
static void test_two_encoders(void **state) {
    (void)state;
    char *path = write_groups();
    const char *const paths[] = {path, path};
    circle query_circle = {.specials = 1}, text_circle = {.specials = 1, .ctx = context};
    const aoei_eval_model q = circle_encoder(&query_circle), t = circle_encoder(&text_circle);
    aoe_retrieval_options o;
    reports r = {0}, one;
    aoe_retrieval_options_defaults(&o);
    assert_int_equal(aoei_retrieval_run(&q, &t, paths, 2, &o, collect, &r, NULL), 0);
    assert_int_equal(run(&one, path, &o, NULL), 0);
    assert_int_equal(r.n, 2);
    assert_int_equal(query_circle.texts, 6);
    assert_int_equal(text_circle.texts, 18);
    for (size_t i = 0; i < 2; i++) {
        assert_near(r.result[i].mrr, one.result[0].mrr, "MRR");
        assert_near(r.result[i].strict, one.result[0].strict, "strict accuracy");
    }
    aoei_eval_model other_size = t;
    other_size.dims = 4;
    assert_int_equal(aoei_retrieval_run(&q, &other_size, paths, 1, &o, collect, &r, NULL), AOE_EARG);
    free(path);
}

/* -------------------------------------------------------------------- BEIR */

static void write_beir(const char *name) {
    write_in(name, "corpus.jsonl",
             "{\"_id\":\"d1\",\"text\":\"0\",\"metadata\":{}}\n" /* the title is optional, also in the first line */
             /* the title and the text form the text "2 0", which the encoder maps to the angle 2 */
             "{\"_id\":\"d2\",\"title\":\"2\",\"text\":\"0\"}\n"
             "{\"_id\":\"d3\",\"title\":null,\"text\":\"30\"}\n"
             "{\"_id\":\"q2\",\"title\":\"\",\"text\":\"31\"}\n"
             "{\"_id\":\"d5\",\"title\":\"\",\"text\":\"170\"}\n");
    write_in(name, "queries.jsonl",
             "{\"_id\":\"q0\",\"text\":\"5\"}\n{\"_id\":\"q1\",\"text\":\"1.5\"}\n"
             "{\"_id\":\"q2\",\"text\":\"31\"}\n{\"_id\":\"q3\",\"text\":\"31\"}\n");
    char folder[64];
    snprintf(folder, sizeof folder, "%s/qrels", name);
    write_in(folder, "test.tsv",
             "query-id\tcorpus-id\tscore\nq2\td5\t1\nq1\td1\t1\nq1\td2\t0\nq1\td3\t2\nq3\td1\t0\nq1\td1\t1\n");
}

/* Tests metrics computed by hand. The query q1 (angle 1.5) has the ranking d2 d1 d3 q2 d5 with the relevances 0 1 2 0
 * 0. The query q2 (angle 31) has the ranking d3 d2 d1 d5, in which the text q2 itself is omitted. The query q3 has no
 * relevant text, so its metrics are 0. */
static void test_beir_by_hand(void **state) {
    (void)state;
    write_beir("beir");
    char *path = test_path(test_dir, "beir/");
    aoe_retrieval_options o;
    reports r;
    aoe_error err = {0};
    aoe_retrieval_options_defaults(&o);
    o.recall_at[1] = 3;
    o.n_recall = 2;
    if (run(&r, path, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.result[0].texts, 5);
    assert_int_equal(r.result[0].queries, 3);
    assert_int_equal(r.result[0].without, 1);
    assert_true(isnan(r.result[0].strict));
    assert_near(r.result[0].recall[0], 0, "recall at 1");
    assert_near(r.result[0].recall[1], (1 + 0) / 3.0, "recall at 3");
    assert_near(r.result[0].mrr, (1 / 2.0 + 1 / 4.0) / 3, "MRR");
    assert_near(r.result[0].ndcg, ((1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3)) + 1 / log2(5)) / 3, "nDCG");
    free(path);
}

/* The dense ranking of the query (angle 2) is d1 d2 d3. The word "text" is in d3 and in d1, which is longer. */
static void test_modes(void **state) {
    (void)state;
    static const char *const corpus = "{\"_id\":\"d1\",\"text\":\"0 long text\"}\n{\"_id\":\"d2\",\"text\":\"10\"}\n"
                                      "{\"_id\":\"d3\",\"text\":\"90 text\"}\n";
    write_in("words", "corpus.jsonl", corpus);
    write_in("words", "queries.jsonl", "{\"_id\":\"q1\",\"text\":\"2 text\"}\n");
    write_in("words/qrels", "test.tsv", "query-id\tcorpus-id\tscore\nq1\td3\t1\n");
    char *path = test_path(test_dir, "words");
    aoe_retrieval_options o;
    reports r;
    aoe_error err = {0};
    aoe_retrieval_options_defaults(&o);
    assert_true(o.mode == AOE_RETRIEVAL_DENSE && o.dense_weight == 1 && o.lexical_weight == 0.8);
    static const double mrr[] = {1 / 3.0, 1, 1}; /* hybrid: both texts with the word are exact matches */
    for (int m = AOE_RETRIEVAL_DENSE; m <= AOE_RETRIEVAL_HYBRID; m++) {
        o.mode = (aoe_retrieval_mode)m;
        if (run(&r, path, &o, &err))
            fail_msg("%s", err.message);
        assert_near(r.result[0].mrr, mrr[m], "MRR");
        assert_int_equal(r.result[0].texts, 3);
    }
    o.lexical_weight = 100;
    assert_int_equal(run(&r, path, &o, &err), 0);
    assert_near(r.result[0].mrr, 1, "MRR");
    o.lexical_weight = 0;
    assert_int_equal(run(&r, path, &o, &err), 0);
    assert_near(r.result[0].mrr, 1 / 3.0, "MRR");
    o.lexical_weight = -1;
    assert_int_equal(run(&r, path, &o, &err), AOE_EARG);
    o.lexical_weight = 1;
    o.mode = (aoe_retrieval_mode)3;
    assert_int_equal(run(&r, path, &o, &err), AOE_EARG);
    free(path);
}

/* Tests metrics computed by hand of a folder with judgments of missing texts and queries, negative gains, repeated
 * judgments and ids, white space around texts, and equal scores, which trec_eval orders by descending id: the ranking
 * of q1 is d3 b a B d1. The missing texts of q1 have the gains 3 and 1 (the last judgment of m1 counts), and b has the
 * gain 1. */
static void test_odd_beir(void **state) {
    (void)state;
    write_in("odd", "corpus.jsonl",
             "{\"_id\":\"a\",\"text\":\"10\"}\n{\"_id\":\"B\",\"text\":\" 10\"}\n{\"_id\":\"d1\",\"text\":\"2\"}\n"
             "{\"_id\":\"b\",\"title\":\"\\u00a0\",\"text\":\"10\\n\"}\n{\"_id\":\"d1\",\"text\":\"90\"}\n"
             "{\"_id\":\"d3\",\"text\":\"11\"}\n");
    write_in("odd", "queries.jsonl", "{\"_id\":\"q1\",\"text\":\"12\"}\n{\"_id\":\"q2\",\"text\":\"90\"}\n");
    write_in("odd/qrels", "test.tsv",
             "query-id\tcorpus-id\tscore\nq1\tm1\t5\nq1\tm2\t3\nq1\tb\t2\nq1\tb\t1\nq9\ta\t1\nq1\tm1\t1\nq2\td1\t-1\n");
    char *path = test_path(test_dir, "odd");
    aoe_retrieval_options o;
    reports r;
    aoe_error err = {0};
    aoe_retrieval_options_defaults(&o);
    o.recall_at[1] = 2;
    o.n_recall = 2;
    if (run(&r, path, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.result[0].texts, 5);
    assert_int_equal(r.result[0].queries, 2);
    assert_int_equal(r.result[0].without, 1);
    assert_int_equal(r.result[0].missing, 2);
    assert_int_equal(r.result[0].unknown_queries, 1);
    assert_int_equal(r.result[0].duplicates, 1);
    assert_int_equal(r.result[0].skipped, 0);
    assert_near(r.result[0].recall[0], 0, "recall at 1");
    assert_near(r.result[0].recall[1], 1 / 3.0 / 2, "recall at 2");
    assert_near(r.result[0].mrr, 1 / 2.0 / 2, "MRR");
    assert_near(r.result[0].ndcg, 1 / log2(3) / (3 + 1 / log2(3) + 1 / log2(4)) / 2, "nDCG");
    free(path);
}

/* Asserts that the evaluation of the file or folder `name` in the test directory fails with the error `code` and the
 * message `want`. */
static void expect_error(const char *name, const aoe_retrieval_options *o, int code, const char *want) {
    char *path = test_path(test_dir, name), relative[1024] = "";
    reports r;
    aoe_error err = {0};
    assert_int_equal(run(&r, path, o, &err), code);
    for (size_t i = 0, n = 0; err.message[i]; i++) { /* removes the path of the test directory from the message */
        if (strncmp(err.message + i, test_dir, strlen(test_dir)) == 0)
            i += strlen(test_dir) + 1;
        relative[n++] = err.message[i];
    }
    assert_string_equal(relative, want);
    assert_int_equal(r.n, 0);
    free(path);
}

static void test_beir_errors(void **state) {
    (void)state;
    aoe_retrieval_options o;
    reports r;
    aoe_retrieval_options_defaults(&o);
    write_beir("wrong");
    o.split = "dev";
    expect_error("wrong", &o, AOE_ENOENT,
                 "wrong/qrels/dev.tsv: no such file; set options.split to a split that exists: test");
    o.split = "test";
    write_in("wrong/qrels", "test.tsv", "query-id\tcorpus-id\tscore\nq9\td5\t1\nq1\td9\t1\nq1\td1\tgood\nq1\td1\t1\n");
    expect_error(
        "wrong", &o, AOE_EFORMAT,
        "wrong/qrels/test.tsv:4: 'score': the value is not a number; correct the row or set options.skip_bad_rows");
    o.table.skip_bad_rows = 1;
    char *path = test_path(test_dir, "wrong");
    assert_int_equal(run(&r, path, &o, NULL), 0);
    assert_int_equal(r.result[0].skipped, 1);
    assert_int_equal(r.result[0].queries, 1);
    free(path);
    o.table.skip_bad_rows = 0;
    write_in("wrong/qrels", "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0\n");
    expect_error("wrong", &o, AOE_EFORMAT,
                 "wrong/qrels/test.tsv: no text is relevant to any query; choose another split with options.split");
    write_in("wrong/qrels", "test.tsv", "query-id\tcorpus-id\nq1\td1\n");
    expect_error(
        "wrong", &o, AOE_EFORMAT,
        "wrong/qrels/test.tsv: column 'score' is missing; the file must have the columns query-id, corpus-id, score");
    write_in("wrong", "queries.jsonl", "{\"_id\":7,\"text\":\"1\"}\n");
    expect_error(
        "wrong", &o, AOE_EFORMAT,
        "wrong/queries.jsonl:1: '_id': the value is not a JSON string; correct the row or set options.skip_bad_rows");
    write_in("wrong", "corpus.jsonl", "{\"_id\":\"d1\",\"text\":\"1\"}\n{\"_id\":\"d2\",\"title\":7,\"text\":\"1\"}\n");
    expect_error(
        "wrong", &o, AOE_EFORMAT,
        "wrong/corpus.jsonl:2: 'title': the value is not a JSON string; correct the row or set options.skip_bad_rows");
    write_in("none", "queries.jsonl", "{\"_id\":7,\"text\":\"1\"}\n");
    expect_error(
        "none", &o, AOE_ENOENT,
        "none/corpus.jsonl: no such file; a folder for retrieval contains corpus.jsonl, queries.jsonl and qrels");
}

/* Judgments of TREC, in a BEIR folder and as a file of their own, and judgments without a header. */
static void test_trec_qrels(void **state) {
    (void)state;
    static const char trec[] =
        "%s: the file contains relevance judgments of TREC (query, 0, document, grade), which aoe does not "
        "read; convert it to the file qrels/test.tsv of a BEIR folder: awk -v OFS='\\t' 'BEGIN {print "
        "\"query-id\", \"corpus-id\", \"score\"} {print $1, $3, $4}' %s";
    static const char *const lines[] = {"q1 0 d1 1\nq1 0 d2 0\n", "q1\t0\td1\t1\nq1\t0\td2\t0\n", "q1  Q0 d1 \t2\r\n"};
    static const char *const files[] = {"qrels.txt", "qrels.tsv", "qrels.test", "qrels"};
    char want[1024];
    aoe_retrieval_options o;
    aoe_retrieval_options_defaults(&o);
    write_beir("trec");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_in("trec/qrels", "test.tsv", lines[i]);
        snprintf(want, sizeof want, trec, "trec/qrels/test.tsv", "trec/qrels/test.tsv");
        expect_error("trec", &o, AOE_EFORMAT, want);
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            free(test_write_text(test_dir, files[k], lines[i]));
            snprintf(want, sizeof want, trec, files[k], files[k]);
            expect_error(files[k], &o, AOE_EFORMAT, want);
        }
    }
    write_in("trec/qrels", "test.tsv", "q1\td1\t1\n");
    expect_error(
        "trec", &o, AOE_EFORMAT,
        "trec/qrels/test.tsv: the file has no header; its first line must be query-id TAB corpus-id TAB score");
    free(test_write_text(test_dir, "words.tsv", "one\ttwo\tthree\tfour\n"));
    expect_error(
        "words.tsv", &o, AOE_EFORMAT,
        "words.tsv: no column for group: expected group, image; found one, two, three, four; set options.columns to "
        "group=NAME");
}

static void test_group_errors(void **state) {
    (void)state;
    aoe_retrieval_options o;
    aoe_retrieval_options_defaults(&o);
    free(test_write_text(test_dir, "alone.tsv", "image\tcaption\na\t1\nb\t2\n"));
    expect_error("alone.tsv", &o, AOE_EFORMAT,
                 "alone.tsv: no group has two texts; set options.columns to the column of the group");
    free(test_write_text(test_dir, "empty.tsv", "image\tcaption\na\t1\n \t2\n"));
    expect_error("empty.tsv", &o, AOE_EFORMAT, "empty.tsv:3: the group is empty; correct or remove the row");
    o.recall_at[0] = 0;
    expect_error("alone.tsv", &o, AOE_EARG, "options.recall_at: give up to 8 numbers of at least 1");
    char *path = write_groups();
    circle c = {.specials = 1, .ctx = context, .poisoned = "52"};
    const aoei_eval_model e = circle_encoder(&c);
    const char *const paths[] = {path};
    aoe_error err = {0};
    reports r = {0};
    aoe_retrieval_options_defaults(&o);
    assert_int_equal(aoei_retrieval_run(&e, &e, paths, 1, &o, collect, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "groups.tsv:6: the vector is not finite"));
    free(path);
    path = test_write_text(test_dir, "blank.tsv", "image\tcaption\na\t1\na\t \n");
    const char *const blank[] = {path};
    circle without = {.ctx = context};
    const aoei_eval_model few = circle_encoder(&without);
    assert_int_equal(aoei_retrieval_run(&few, &few, blank, 1, &o, collect, &r, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "blank.tsv:3: the text has no token; correct or remove the row"));
    free(path);
}

static int stop_at_once(void *user, size_t done, size_t total) {
    size_t *seen = user;
    seen[0] = done;
    seen[1] = total;
    return 1;
}

static void test_cancelling(void **state) {
    (void)state;
    char *path = write_groups();
    size_t seen[2];
    aoe_retrieval_options o;
    reports r;
    aoe_retrieval_options_defaults(&o);
    o.progress = stop_at_once;
    o.user = seen;
    assert_int_equal(run(&r, path, &o, NULL), AOE_ECANCELLED);
    assert_int_equal(seen[0], 9);
    assert_int_equal(seen[1], 12);
    assert_int_equal(r.n, 0);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_by_hand), cmocka_unit_test(test_similarities),
        cmocka_unit_test(test_ties),           cmocka_unit_test(test_random_queries),
        cmocka_unit_test(test_random_groups),  cmocka_unit_test(test_two_encoders),
        cmocka_unit_test(test_beir_by_hand),   cmocka_unit_test(test_modes),
        cmocka_unit_test(test_odd_beir),       cmocka_unit_test(test_beir_errors),
        cmocka_unit_test(test_group_errors),   cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_trec_qrels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
