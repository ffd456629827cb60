/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the functions that need only an embedder: aoe_embedder_open, aoe_similarity, aoe_search, and the embeddings of
 * queries and documents. The results must have the bits of the functions with a context and a model, also in several
 * threads at the same time and in a child process. A cross-encoder scores pairs, and each kind of model rejects the
 * functions of the other kind.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "base/atomic_write.h"
#include "base/dir.h"

#define CROSS_ENCODER "tests/golden/cross_encoders/bert"

enum { TEXTS = 24, QUERIES = 3, K = 5, DIMS = 16, CALLERS = 8, CLASSES = 2 };

static char *dir, *plain, *prompted;
static aoe_text text[TEXTS];

/* Writes a tiny model with the given aoe.json. */
static char *write_model(const char *name, const char *settings) {
    const tiny_model shape = tiny_defaults();
    char *path = test_path(dir, name);
    tiny_model_write(path, &shape);
    if (settings)
        free(test_write_text(path, "aoe.json", settings));
    return path;
}

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    plain = write_model("plain", NULL);
    prompted = write_model("prompted", "{\"format_version\": 1, \"prompts\": {\"default\": \"the {text}\", "
                                       "\"query\": \"a cat {text}\", \"passage\": \"{text} runs\"}}");
    for (uint32_t i = 0; i < TEXTS; i++)
        text[i] = aoe_text_of(strdup(tiny_text(i)));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)text[i].data);
    free(plain);
    free(prompted);
    test_dir_remove(dir);
    return 0;
}

static aoe_embedder *open_embedder(const char *name) {
    aoe_embedder *e;
    aoe_error err;
    if (aoe_embedder_open(&e, name, &err))
        fail_msg("%s", err.message);
    return e;
}

/* A model that is opened with options, and its embedder. */
typedef struct complete {
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
} complete;

static complete open_complete(const char *path, const aoe_model_options *o, const aoe_embedder_options *eo) {
    complete c;
    aoe_error err;
    if (aoe_context_create(&c.ctx, NULL, &err) || aoe_model_open(&c.model, c.ctx, path, o, &err) ||
        aoe_embedder_create(&c.embedder, c.model, eo, &err))
        fail_msg("%s", err.message);
    return c;
}

static void close_complete(complete *c) {
    aoe_embedder_destroy(c->embedder);
    aoe_model_close(c->model);
    aoe_context_destroy(c->ctx);
}

/* Computes the embeddings of all texts with a model that was opened with a prompt. */
static void embed_prompted(float *vectors, const char *path, const char *prompt, const char *prompt_name,
                           const aoe_embedder_options *eo) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.prompt = prompt;
    o.prompt_name = prompt_name;
    complete c = open_complete(path, &o, eo);
    assert_int_equal(aoe_embed(c.embedder, text, TEXTS, vectors, NULL, NULL), 0);
    close_complete(&c);
}

/* ------------------------------------------------------------------- tests */

static void equal_bits(void **state) {
    (void)state;
    float want[TEXTS * DIMS], v[TEXTS * DIMS];
    aoe_text_info want_info[TEXTS], info[TEXTS];
    aoe_neighbor want_best[QUERIES * K], best[QUERIES * K];
    double cosine;
    complete c = open_complete(plain, NULL, NULL);
    aoe_embedder *e = open_embedder(plain);
    assert_int_equal(aoe_embedder_dims(e), DIMS);
    assert_int_equal(aoe_embed(c.embedder, text, TEXTS, want, want_info, NULL), 0);
    assert_int_equal(aoe_embed(e, text, TEXTS, v, info, NULL), 0);
    assert_memory_equal(v, want, sizeof v);
    for (size_t i = 0; i < TEXTS; i++)
        assert_int_equal(info[i].tokens, want_info[i].tokens);
    assert_int_equal(aoe_similarity(e, text[0], text[1], &cosine, NULL), 0);
    assert_true(cosine == aoe_cosine(want, want + DIMS, DIMS));
    assert_int_equal(aoe_nearest(c.ctx, want, QUERIES, want, TEXTS, DIMS, K, want_best, NULL), 0);
    assert_int_equal(aoe_search(e, text, QUERIES, v, TEXTS, K, best, NULL), 0);
    for (size_t i = 0; i < QUERIES * K; i++)
        assert_true(best[i].index == want_best[i].index && best[i].score == want_best[i].score);
    /* the complete interface with the same open model */
    aoe_embedder *other;
    assert_int_equal(aoe_embedder_create(&other, aoe_embedder_model(e), NULL, NULL), 0);
    assert_int_equal(aoe_embed(other, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, want, sizeof v);
    assert_true(aoe_model_context(aoe_embedder_model(other)) == aoe_model_context(aoe_embedder_model(e)));
    assert_true(aoe_model_context(c.model) == c.ctx);
    assert_null(aoe_model_context(NULL));
    aoe_embedder_destroy(other);
    aoe_embedder_destroy(e);
    close_complete(&c);
}

/* Queries and documents get the prompts of the model, as in a model that is opened with options.prompt_name. */
static void named_prompts(void **state) {
    (void)state;
    float query[TEXTS * DIMS], document[TEXTS * DIMS], usual[TEXTS * DIMS], v[TEXTS * DIMS];
    aoe_neighbor best[QUERIES * K], want_best[QUERIES * K];
    aoe_embedder *e = open_embedder(prompted);
    embed_prompted(query, prompted, NULL, "query", NULL);
    embed_prompted(document, prompted, NULL, "document", NULL);
    embed_prompted(usual, prompted, NULL, NULL, NULL);
    assert_memory_not_equal(query, document, sizeof v);
    assert_memory_not_equal(query, usual, sizeof v);
    assert_int_equal(aoe_embed_queries(e, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, query, sizeof v);
    assert_int_equal(aoe_embed_documents(e, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, document, sizeof v);
    assert_int_equal(aoe_search(e, text, QUERIES, document, TEXTS, K, best, NULL), 0);
    assert_int_equal(aoe_nearest(aoe_model_context(aoe_embedder_model(e)), query, QUERIES, document, TEXTS, DIMS, K,
                                 want_best, NULL),
                     0);
    for (size_t i = 0; i < QUERIES * K; i++)
        assert_true(best[i].index == want_best[i].index && best[i].score == want_best[i].score);
    assert_int_equal(aoe_embed(e, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, usual, sizeof v);
    aoe_embedder_destroy(e);
}

/* A prompt that the caller gave is used for all texts, and so is the prompt of a model without these names. An empty
 * prompt of the directory replaces the default prompt. */
static void other_prompts(void **state) {
    (void)state;
    static const char *const given[][2] = {{"old {text}", NULL}, {"", NULL}, {NULL, "query"}, {NULL, "default"}};
    float want[TEXTS * DIMS], v[TEXTS * DIMS];
    aoe_model_options o;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        aoe_model_options_defaults(&o);
        o.prompt = given[i][0];
        o.prompt_name = given[i][1];
        complete c = open_complete(prompted, &o, NULL);
        assert_int_equal(aoe_embed(c.embedder, text, TEXTS, want, NULL, NULL), 0);
        assert_int_equal(aoe_embed_queries(c.embedder, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        assert_int_equal(aoe_embed_documents(c.embedder, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        close_complete(&c);
    }
    char *path = write_model("empty", "{\"format_version\": 1, \"prompts\": {\"default\": \"the {text}\", "
                                      "\"query\": \"\"}}");
    aoe_embedder *e = open_embedder(path);
    embed_prompted(want, path, "", NULL, NULL);
    assert_int_equal(aoe_embed_queries(e, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, want, sizeof v);
    embed_prompted(want, path, "the {text}", NULL, NULL);
    assert_int_equal(aoe_embed_documents(e, text, TEXTS, v, NULL, NULL), 0);
    assert_memory_equal(v, want, sizeof v);
    aoe_embedder_destroy(e);
    free(path);
}

/* Settings that depend on the prompt: chunks, a pooling without the prompt, and the empty prompt that is subtracted. */
static void settings_with_prompts(void **state) {
    (void)state;
    static const char *const settings[] = {
        "{\"format_version\": 4, \"include_prompt\": false, \"max_length\": 10, \"prompts\": "
        "{\"query\": \"a cat {text}\", \"document\": \"the dog {text}\"}}",
        "{\"format_version\": 9, \"pooling\": \"mask\", \"subtract_empty_prompt\": true, \"max_length\": 10, "
        "\"prompts\": {\"default\": \"the {text} [MASK]\", \"query\": \"a {text} cat [MASK]\", "
        "\"document\": \"[MASK] runs {text}\"}}"};
    float want[TEXTS * DIMS], v[TEXTS * DIMS];
    aoe_embedder_options eo;
    aoe_embedder_options_defaults(&eo);
    for (size_t i = 0; i < 4; i++) {
        char *path = write_model(i % 2 ? "subtracts" : "excludes", settings[i % 2]);
        eo.chunk = i < 2 ? AOE_CHUNK_FIRST : AOE_CHUNK_MEAN;
        complete c = open_complete(path, NULL, &eo);
        embed_prompted(want, path, NULL, "query", &eo);
        assert_int_equal(aoe_embed_queries(c.embedder, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        embed_prompted(want, path, NULL, "document", &eo);
        assert_int_equal(aoe_embed_documents(c.embedder, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        embed_prompted(want, path, NULL, NULL, &eo);
        assert_int_equal(aoe_embed(c.embedder, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        close_complete(&c);
        free(path);
    }
}

static void expect_error(int code, int want, const aoe_error *err, const char *message) {
    assert_int_equal(code, want);
    assert_int_equal(err->code, want);
    if (!strstr(err->message, message))
        fail_msg("expected '%s' in: %s", message, err->message);
}

static void empty_input(void **state) {
    (void)state;
    aoe_neighbor best[K];
    const float none = 0;
    aoe_error err;
    double cosine;
    aoe_embedder *e = open_embedder(plain);
    assert_int_equal(aoe_embed(e, NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(aoe_embed_queries(e, NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(aoe_embed_documents(e, NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(aoe_search(e, NULL, 0, &none, 1, K, NULL, NULL), 0);
    assert_int_equal(aoe_search(e, text, 1, &none, 1, 0, NULL, NULL), 0);
    assert_int_equal(aoe_search(e, text, 1, NULL, 0, K, best, NULL), 0);
    for (size_t i = 0; i < K; i++)
        assert_true(best[i].index == SIZE_MAX && isnan(best[i].score));
    assert_int_equal(aoe_similarity(e, aoe_text_of(""), aoe_text_of(""), &cosine, NULL), 0);
    assert_true(cosine > 0.999);
    /* the index of the text that failed */
    const aoe_text bad[2] = {text[0], {"\xff", 1}};
    expect_error(aoe_search(e, bad, 2, &none, 0, 1, best, &err), AOE_EFORMAT, &err, "UTF-8");
    assert_int_equal(aoe_embed_failed_text(e), 1);
    expect_error(aoe_similarity(e, bad[1], bad[0], &cosine, &err), AOE_EFORMAT, &err, "UTF-8");
    assert_int_equal(aoe_embed_failed_text(e), 0);
    aoe_embedder_destroy(e);
}

static void cross_encoder(void **state) {
    (void)state;
    const aoe_text first[2] = {aoe_text_of("w1 w2"), aoe_text_of("w3")},
                   second[2] = {aoe_text_of("w5"), aoe_text_of("w1 w1")};
    float want[2 * CLASSES], score[2 * CLASSES], v[DIMS] = {0};
    double cosine;
    aoe_neighbor best;
    aoe_error err;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    complete c = open_complete(CROSS_ENCODER, &o, NULL);
    aoe_embedder *e = open_embedder(CROSS_ENCODER);
    assert_int_equal(aoe_model_classes(aoe_embedder_model(e)), CLASSES);
    assert_int_equal(aoe_score_pairs(c.embedder, first, second, 2, want, NULL, NULL), 0);
    assert_int_equal(aoe_score_pairs(e, first, second, 2, score, NULL, NULL), 0);
    assert_memory_equal(score, want, sizeof want);
    expect_error(aoe_embed(e, first, 1, v, NULL, &err), AOE_EARG, &err, "use aoe_score_pairs");
    expect_error(aoe_embed_queries(e, first, 1, v, NULL, &err), AOE_EARG, &err, "use aoe_score_pairs");
    expect_error(aoe_similarity(e, first[0], second[0], &cosine, &err), AOE_EARG, &err, "use aoe_score_pairs");
    expect_error(aoe_search(e, first, 1, v, 1, 1, &best, &err), AOE_EARG, &err, "use aoe_score_pairs");
    aoe_embedder_destroy(e);
    close_complete(&c);
    e = open_embedder(plain);
    expect_error(aoe_score_pairs(e, first, second, 2, score, NULL, &err), AOE_EARG, &err, "opened as an embedding");
    aoe_embedder_destroy(e);
}

/* options.cross_encoder = AOE_AUTO, which aoe_embedder_open uses, rejects options of the other kind of model. */
static void automatic_kind(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_error err;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = AOE_AUTO;
    o.pooling = AOE_POOLING_CLS;
    assert_int_equal(aoe_model_open(&m, ctx, plain, &o, NULL), 0);
    aoe_model_close(m);
    expect_error(aoe_model_open(&m, ctx, CROSS_ENCODER, &o, &err), AOE_EARG, &err, "options.pooling");
    o.pooling = AOE_POOLING_AUTO;
    o.activation = AOE_SCORE_LOGIT;
    assert_int_equal(aoe_model_open(&m, ctx, CROSS_ENCODER, &o, NULL), 0);
    assert_int_equal(aoe_model_classes(m), CLASSES);
    aoe_model_close(m);
    expect_error(aoe_model_open(&m, ctx, plain, &o, &err), AOE_EARG, &err, "options.activation");
    assert_null(m);
    aoe_context_destroy(ctx);
}

/* Names of models: the Hugging Face cache, the default model, and what the message says if there is none. */
static void names(void **state) {
    (void)state;
    static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
    char path[1024];
    float want[TEXTS * DIMS], v[TEXTS * DIMS];
    aoe_embedder *e;
    aoe_error err;
    embed_prompted(want, plain, NULL, NULL, NULL);
    snprintf(path, sizeof path, "%s/cache/models--acme--tiny/refs", dir);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(test_write_text(path, "main", commit));
    snprintf(path, sizeof path, "%s/cache/models--acme--tiny/snapshots/%s", dir, commit);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    test_copy_dir(plain, path);
    snprintf(path, sizeof path, "%s/cache", dir);
    setenv("HF_HUB_CACHE", path, 1);
    static const char *const found[] = {"acme/tiny", NULL}; /* NULL: the default model, which AOE_MODEL names */
    setenv("AOE_MODEL", "acme/tiny@main", 1);
    for (size_t i = 0; i < 2; i++) {
        e = open_embedder(found[i]);
        assert_int_equal(aoe_embed(e, text, TEXTS, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        aoe_embedder_destroy(e);
    }
    expect_error(aoe_embedder_open(&e, "acme/other", &err), AOE_ENOENT, &err, "aoe pull acme/other");
    assert_null(e);
    setenv("AOE_MODEL", "acme/other", 1);
    expect_error(aoe_embedder_open(&e, NULL, &err), AOE_ENOENT, &err, "aoe pull acme/other");
    setenv("AOE_MODEL", "missing", 1);
    expect_error(aoe_embedder_open(&e, NULL, &err), AOE_ENOENT, &err, "missing");
    assert_null(e);
    unsetenv("AOE_MODEL");
    unsetenv("HF_HUB_CACHE");
}

/* ----------------------------------------------- threads and child processes */

typedef struct results {
    float query[TEXTS * DIMS], document[TEXTS * DIMS];
    aoe_neighbor best[QUERIES * K];
    double cosine;
} results;

static results expected;

/* Calls the functions and returns 1 if a result is not the expected one. */
static int differs(aoe_embedder *e) {
    results r;
    memset(&r, 0, sizeof r);
    return aoe_embed_queries(e, text, TEXTS, r.query, NULL, NULL) ||
           aoe_embed_documents(e, text, TEXTS, r.document, NULL, NULL) ||
           aoe_search(e, text, QUERIES, expected.document, TEXTS, K, r.best, NULL) ||
           aoe_similarity(e, text[0], text[1], &r.cosine, NULL) || memcmp(&r, &expected, sizeof r) != 0;
}

static void *call_often(void *e) {
    size_t wrong = 0;
    for (int i = 0; i < 4; i++)
        wrong += (size_t)differs(e);
    return wrong ? e : NULL;
}

static aoe_embedder *open_expected(void) {
    aoe_embedder *e = open_embedder(prompted);
    memset(&expected, 0, sizeof expected);
    assert_int_equal(aoe_embed_queries(e, text, TEXTS, expected.query, NULL, NULL), 0);
    assert_int_equal(aoe_embed_documents(e, text, TEXTS, expected.document, NULL, NULL), 0);
    assert_int_equal(aoe_search(e, text, QUERIES, expected.document, TEXTS, K, expected.best, NULL), 0);
    assert_int_equal(aoe_similarity(e, text[0], text[1], &expected.cosine, NULL), 0);
    return e;
}

static void threads(void **state) {
    (void)state;
    pthread_t caller[CALLERS];
    aoe_embedder *e = open_expected();
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&caller[i], NULL, call_often, e), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(caller[i], &wrong), 0);
        assert_null(wrong);
    }
    aoe_embedder_destroy(e);
}

#ifndef __SANITIZE_THREAD__ /* which supports no threads in a child of a process with threads */
static void child_process(void **state) {
    (void)state;
    aoe_embedder *e = open_expected();
    const pid_t child = fork();
    if (!child) {
        const int code = differs(e);
        aoe_embedder_destroy(e);
        _exit(code);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_false(differs(e));
    aoe_embedder_destroy(e);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bits),     cmocka_unit_test(named_prompts),
        cmocka_unit_test(other_prompts),  cmocka_unit_test(settings_with_prompts),
        cmocka_unit_test(empty_input),    cmocka_unit_test(cross_encoder),
        cmocka_unit_test(automatic_kind), cmocka_unit_test(names),
        cmocka_unit_test(threads),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(child_process),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
