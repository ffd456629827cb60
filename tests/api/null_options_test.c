/* SPDX-License-Identifier: MIT
 * Passes NULL as the options argument to every function of the public API that has such an argument. NULL selects the
 * default of every option. Each call must either succeed, or return AOE_EARG with a message that names an option
 * without a default. The list of functions is generated from the headers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe.h"
#include "aoe_annotate.h"
#include "aoe_collect.h"
#include "aoe_comm.h"
#include "aoe_convert.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_experiment.h"
#include "aoe_hub.h"
#include "aoe_index.h"
#include "aoe_objective.h"
#include "aoe_plan.h"
#include "aoe_postgres.h"
#include "aoe_sequence.h"
#include "aoe_serve.h"
#include "aoe_tokenizer.h"
#include "aoe_train.h"
#include "base/dir.h"

static void ignore_sts(void *user, const aoe_sts_result *result) {
    (void)user;
    (void)result;
}

static void ignore_suite(void *user, const aoe_suite_result *result) {
    (void)user;
    (void)result;
}

static void ignore_binary(void *user, const aoe_binary_result *result) {
    (void)user;
    (void)result;
}

static void ignore_triplets(void *user, const aoe_triplet_result *result) {
    (void)user;
    (void)result;
}

static void ignore_retrieval(void *user, const aoe_retrieval_result *result) {
    (void)user;
    (void)result;
}

static int ignore_text(void *user, aoe_text text, aoe_error *err) {
    (void)user;
    (void)text;
    (void)err;
    return 0;
}

static int ignore_pair(void *user, aoe_text text1, aoe_text text2, size_t line, aoe_error *err) {
    (void)text1;
    (void)line;
    return ignore_text(user, text2, err);
}

static const char *called[96]; /* names of the functions that were called */
static size_t n_called;

/* CALL(function, arguments): the call must succeed. MISSING(function, option, arguments): the call must fail with a
 * message that names the missing option. */
#define CALL(function, arguments)                                                                                      \
    do {                                                                                                               \
        aoe_error err = {0};                                                                                           \
        called[n_called++] = #function;                                                                                \
        if (function arguments)                                                                                        \
            fail_msg("%s with NULL options: expected success, found: %s", #function, err.message);                     \
    } while (0)
#define MISSING(function, option, arguments)                                                                           \
    do {                                                                                                               \
        aoe_error err = {0};                                                                                           \
        called[n_called++] = #function;                                                                                \
        const int code = function arguments;                                                                           \
        if (code != AOE_EARG || !strstr(err.message, "options." option))                                               \
            fail_msg("%s with NULL options: expected an error about options.%s, found code %d: %s", #function, option, \
                     code, err.message);                                                                               \
    } while (0)

/* dir: a model directory; path: a table of pairs. */
static void call_model_functions(const char *dir, const char *path) {
    aoe_context *ctx;
    aoe_model *m;
    aoe_embedder *e;
    aoe_tokenizer *t;
    aoe_ids ids = {0};
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_shape shape = {.struct_size = sizeof shape};
    aoe_dev_set *dev;
    aoe_mine_result mined = {.struct_size = sizeof mined};
    CALL(aoe_context_create, (&ctx, NULL, &err));
    CALL(aoe_find_similar, (ctx, NULL, 0, 2, NULL, NULL, NULL, &err));
    CALL(aoe_model_open, (&m, ctx, dir, NULL, &err));
    CALL(aoe_embedder_create, (&e, m, NULL, &err));
    assert_int_equal(aoe_tokenizer_open(&t, dir, NULL), 0);
    CALL(aoe_tokenizer_encode, (t, aoe_text_of("a"), NULL, &ids, &err));
    aoe_token_spans spans = {0};
    CALL(aoe_tokenizer_encode_spans, (t, aoe_text_of("a"), NULL, &ids, &spans, &err));
    aoe_token_spans_free(&spans);
    CALL(aoe_tokenizer_encode_pair, (t, aoe_text_of("a"), aoe_text_of("b"), NULL, &ids, &err));
    aoe_sequence *sequence;
    const aoe_text word = aoe_text_of("a");
    CALL(aoe_sequences_create, (e, &word, 1, NULL, &sequence, &err));
    aoe_sequence_destroy(sequence);
    CALL(aoe_sequence_create_ids, (e, ids.id, 1, NULL, &sequence, &err));
    aoe_sequence_destroy(sequence);
    /* the model is an embedding model */
    MISSING(aoe_sequences_create_pairs, "cross_encoder", (e, &word, &word, 1, NULL, &sequence, &err));
    CALL(aoe_model_plan, (m, NULL, &plan, &err));
    assert_int_equal(aoe_shape_named(&shape, "bert-tiny", NULL), 0);
    CALL(aoe_shape_plan, (ctx, &shape, NULL, &plan, &err));
    CALL(aoe_dev_set_load, (&dev, ctx, path, NULL, &err));
    CALL(aoe_eval_sts, (e, &path, 1, NULL, ignore_sts, NULL, &err));
    CALL(aoe_eval_binary, (e, &path, 1, NULL, ignore_binary, NULL, &err));
    MISSING(aoe_mine, "n_files", (e, NULL, &mined, &err));
    char *index_dir = test_path(dir, "index");
    aoe_index *index;
    char *lines = test_write_text(dir, "lines.txt", "a b c\n");
    const aoe_index_source source = {.struct_size = sizeof source, .path = lines};
    CALL(aoe_index_open, (&index, index_dir, AOE_INDEX_WRITE, e, NULL, &err));
    const aoe_text query = aoe_text_of("a");
    aoe_index_hits hits = {.struct_size = sizeof hits};
    CALL(aoe_index_search, (index, query, NULL, &hits, &err));
    aoe_index_hits_free(&hits);
    CALL(aoe_index_search_many, (index, &query, 1, NULL, &hits, &err));
    aoe_index_hits_free(&hits);
    int is_current;
    CALL(aoe_index_update, (index, &source, 1, NULL, NULL, &err));
    CALL(aoe_index_is_current, (index, NULL, &is_current, &err));
    aoe_error err = {0}; /* there is no server, so both functions must fail with any options */
    aoe_postgres *p;
    called[n_called++] = "aoe_postgres_write";
    assert_int_equal(aoe_postgres_write("no URL", index, NULL, NULL, &err), AOE_EARG);
    assert_null(strstr(err.message, "options"));
    called[n_called++] = "aoe_postgres_open";
    assert_int_equal(aoe_postgres_open(&p, "no URL", NULL, &err), AOE_EARG);
    assert_null(strstr(err.message, "options"));
    aoe_index_close(index);
    free(lines);
    test_dir_remove(index_dir);
    aoe_dev_set_free(dev);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Starts a server with the model directory as the default model. Another program may use the default port. */
static void call_server_functions(const char *dir) {
    aoe_server *server;
    char text[4096];
    assert_int_equal(setenv("AOE_MODEL", dir, 1), 0);
    CALL(aoe_server_check, (NULL, text, sizeof text, &err));
    aoe_error err = {0};
    called[n_called++] = "aoe_server_start";
    const int code = aoe_server_start(&server, NULL, &err);
    if (code)
        assert_non_null(strstr(err.message, "8080"));
    else
        assert_int_equal(aoe_server_stop(server, 10), 0);
    assert_int_equal(unsetenv("AOE_MODEL"), 0);
}

/* Calls the evaluation functions whose input is not a table of pairs. */
static void call_evaluations(const char *dir) {
    aoe_model *m;
    aoe_embedder *e;
    char *triplets = test_write_text(dir, "triplets.tsv", "query\tpositive\tnegative\na\tb\tc\n");
    char *groups = test_write_text(dir, "groups.tsv", "group\ttext\n1\ta\n1\tb\n2\tc\n2\ta b\n");
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    CALL(aoe_eval_triplets, (e, (const char *const *)&triplets, 1, NULL, ignore_triplets, NULL, &err));
    CALL(aoe_eval_retrieval, (e, (const char *const *)&groups, 1, NULL, ignore_retrieval, NULL, &err));
    aoe_rerank_result reranked = {.struct_size = sizeof reranked};
    MISSING(aoe_eval_rerank, "cross_encoder", (e, dir, NULL, &reranked, &err)); /* the model is an embedding model */
    aoe_error err = {0};
    /* dir contains no evaluation sets, so the function must fail with any options */
    called[n_called++] = "aoe_eval_suite";
    assert_int_equal(aoe_eval_suite(e, &dir, 1, NULL, ignore_suite, NULL, &err), AOE_ENOENT);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    free(triplets);
    free(groups);
}

static void call_data_functions(const char *path) {
    aoe_pairs *pairs;
    aoe_data_stats_result stats = {.struct_size = sizeof stats};
    aoe_data_check_result found = {.struct_size = sizeof found};
    aoe_data_split_part part[2];
    aoe_github_result issues = {.struct_size = sizeof issues};
    CALL(aoe_pairs_load, (&pairs, path, NULL, &err));
    aoe_pairs_free(pairs);
    CALL(aoe_texts_read, (path, NULL, ignore_text, NULL, &err));
    CALL(aoe_text_pairs_read, (path, NULL, ignore_pair, NULL, &err));
    CALL(aoe_sts_check, (&path, 1, NULL, &err));
    CALL(aoe_data_stats, (path, NULL, &stats, &err));
    assert_int_equal(stats.rows, 3);
    aoe_data_stats_free(&stats);
    CALL(aoe_data_check, (&path, 1, NULL, &found, &err));
    assert_int_equal(found.rows, 3);
    MISSING(aoe_data_convert, "name", (path, NULL, NULL, &err));
    MISSING(aoe_data_split, "write", (path, NULL, part, NULL, &err));
    MISSING(aoe_data_dedup, "write", (path, NULL, NULL, &err));
    MISSING(aoe_github_issues, "cache", (NULL, &issues, &err));
    MISSING(aoe_annotate, "files", (NULL, NULL, &err));
    MISSING(aoe_score, "name", (NULL, NULL, &err));
}

/* Writes a model to the cache of the Hub, so that aoe_hub_pull needs no requests. */
static void call_hub_functions(const char *dir) {
    static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
    char *refs = test_path(dir, "models--a--b/refs"),
         *snapshot = test_path(dir, "models--a--b/snapshots/"
                                    "0123456789abcdef0123456789abcdef01234567");
    aoe_hub_result pulled = {.struct_size = sizeof pulled};
    assert_int_equal(aoei_make_dir(refs, NULL), 0);
    assert_int_equal(aoei_make_dir(snapshot, NULL), 0);
    free(test_write_text(refs, "main", commit));
    free(test_write_text(snapshot, "model.safetensors", "x"));
    setenv("HF_HUB_CACHE", dir, 1);
    setenv("HF_HUB_OFFLINE", "1", 1);
    CALL(aoe_hub_pull, ("a/b", NULL, &pulled, &err));
    assert_string_equal(pulled.commit, commit);
    free(refs);
    free(snapshot);
}

static void call_training_functions(const char *dir) {
    aoe_grid_result grid = {.struct_size = sizeof grid};
    aoe_compare_result compared = {.struct_size = sizeof compared};
    aoe_interval interval;
    const float v[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    const double label[2] = {0, 1}, score[3] = {1, 2, 3};
    char *to = test_path(dir, "to"), *vectors = test_write_text(dir, "vectors.txt", "the 1 2\ncat 3 4\n");
    CALL(aoe_objective, (NULL, v, v + 4, 2, label, NULL, 2, 2, NULL, NULL, NULL, &err));
    CALL(aoe_contrastive, (NULL, v, 2, 2, 2, NULL, NULL, &err));
    CALL(aoe_bootstrap_spearman, (score, 3, score, NULL, 1, NULL, &interval, &err));
    MISSING(aoe_train, "model", (test_model_context, NULL, &err));
    MISSING(aoe_train_check, "model", (NULL, &err));
    MISSING(aoe_train_check_data, "model",
            (test_model_context, NULL, &(aoe_train_sizes){.struct_size = sizeof(aoe_train_sizes)}, &err));
    MISSING(aoe_train_embed_part, "model", (test_model_context, NULL, 0, 1, &err));
    MISSING(aoe_pretrain, "model", (test_model_context, NULL, &err));
    MISSING(aoe_init, "texts", (test_model_context, to, NULL, NULL, &err));
    MISSING(aoe_whiten, "texts", (test_model_context, dir, to, NULL, NULL, &err));
    MISSING(aoe_flow, "texts", (test_model_context, dir, to, NULL, NULL, &err));
    MISSING(aoe_grid, "dev", (NULL, &grid, &err));
    MISSING(aoe_compare, "configurations", (NULL, &compared, &err));
    CALL(aoe_convert, (test_model_context, dir, to, NULL, NULL, &err));
    const char *const from[2] = {dir, to};
    char *mean = test_path(dir, "mean");
    CALL(aoe_average, (test_model_context, from, 2, mean, NULL, NULL, &err));
    test_dir_remove(mean);
    test_dir_remove(to);
    to = test_path(dir, "to");
    CALL(aoe_word_vectors, (test_model_context, vectors, to, NULL, NULL, &err));
    test_dir_remove(to);
    free(vectors);
}

static int was_called(const char *function) {
    size_t i = 0;
    while (i < n_called && strcmp(called[i], function) != 0)
        i++;
    /* aoe_bench is not called: its default model is a BERT-base, which is too slow for a test. aoe_postgres_search
     * needs a server; tests/peers calls it */
    return i < n_called || !strcmp(function, "aoe_bench") || !strcmp(function, "aoe_postgres_search");
}

static void null_options(void **state) {
    (void)state;
    char *dir = test_dir_create();
    test_model_write(dir, NULL);
    char *path = test_write_text(dir, "pairs.tsv", "text1\ttext2\tlabel\nthe\tcat\t1\nthe cat\ta\t0\ncat\truns\t1\n");
    call_model_functions(dir, path);
    call_server_functions(dir);
    call_evaluations(dir);
    call_data_functions(path);
    call_training_functions(dir);
    call_hub_functions(dir);
#define REJECTS(function, argument, arguments, without_error)
#define SURVIVES(function, arguments)
#define TAKES_OPTIONS(function)                                                                                        \
    if (!was_called(#function))                                                                                        \
        fail_msg("%s takes options, but this test does not call it", #function);
#include "null_arguments.inc"
    free(path);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(null_options)};
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
