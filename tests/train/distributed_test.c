/* SPDX-License-Identifier: MIT
 * covers: train/agreement train/partitioned_step
 * Training with several ranks, which are processes on this computer. Weights, moments, logs without times, and
 * checkpoints have the bits of one process, for every method and every option that changes how a gradient is computed.
 * Runs can be resumed with another number of ranks. Ranks that differ are rejected with one message that names them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "../support/comm_fork.h"
#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/path.h"
#include "train/methods.h"

enum { SHARDS = 8 };

/* What varies among the runs. */
typedef struct variant {
    const char *name;
    aoe_method method;
    int triplets, bf16, lora, teacher, recompute, matryoshka, layers, stop_at;
    size_t accumulate, chunk, batch;
    aoe_optimizer optimizer;
} variant;

static const variant variants[] = {
    {.name = "angle", .method = AOE_METHOD_ANGLE, .batch = 7},
    {.name = "angle-bf16", .method = AOE_METHOD_ANGLE, .bf16 = 1, .accumulate = 2, .batch = 9, .recompute = 1},
    {.name = "triplets", .method = AOE_METHOD_CONTRASTIVE, .triplets = 1, .chunk = 1, .batch = 9},
    {.name = "symmetric-lora", .method = AOE_METHOD_SYMMETRIC, .triplets = 1, .lora = 1, .accumulate = 3, .batch = 6},
    {.name = "gist-bf16", .method = AOE_METHOD_GIST, .triplets = 1, .teacher = 1, .bf16 = 1, .chunk = 2, .batch = 9},
    {.name = "teacher", .method = AOE_METHOD_COSENT, .teacher = 1, .accumulate = 2, .chunk = 2, .batch = 6},
    {.name = "teacher-lora", .method = AOE_METHOD_ANGLE, .teacher = 1, .lora = 1, .recompute = 1, .bf16 = 1},
    {.name = "matryoshka", .method = AOE_METHOD_ANGLE, .triplets = 1, .matryoshka = 1, .batch = 8},
    {.name = "layers", .method = AOE_METHOD_COSENT, .layers = 1, .batch = 8},
    {.name = "classes", .method = AOE_METHOD_SBERT_CLASSIFICATION, .accumulate = 2, .batch = 6},
    {.name = "regression-rmsprop", .method = AOE_METHOD_SBERT_REGRESSION, .optimizer = AOE_OPTIMIZER_RMSPROP},
    {.name = "simcse-unsup", .method = AOE_METHOD_SIMCSE_UNSUP, .batch = 8, .optimizer = AOE_OPTIMIZER_SGD},
    {.name = "simcse-sup", .method = AOE_METHOD_SIMCSE_SUP, .triplets = 1, .lora = 1, .chunk = 1, .recompute = 1},
    {.name = "cross-encoder", .method = AOE_METHOD_CROSS_ENCODER, .batch = 7, .accumulate = 2},
    {.name = "ct", .method = AOE_METHOD_CT, .batch = 4, .chunk = 1},
    {.name = "ct-in-batch", .method = AOE_METHOD_CT_IN_BATCH, .batch = 6, .accumulate = 2},
    {.name = "consert", .method = AOE_METHOD_CONSERT, .batch = 6, .chunk = 2},
    {.name = "is-bert", .method = AOE_METHOD_IS_BERT, .batch = 6, .accumulate = 2},
    {.name = "distill", .method = AOE_METHOD_DISTILL, .teacher = 1, .batch = 7},
    {.name = "diffcse", .method = AOE_METHOD_DIFFCSE, .batch = 6, .chunk = 2, .recompute = 1},
    {.name = "diffcse-whole", .method = AOE_METHOD_DIFFCSE, .batch = 6, .accumulate = 2},
    {.name = "promptbert", .method = AOE_METHOD_PROMPTBERT, .batch = 6, .chunk = 2},
    {.name = "promptbert-sup", .method = AOE_METHOD_PROMPTBERT_SUP, .triplets = 1, .batch = 6, .accumulate = 2},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The score of an evaluation: the Spearman correlation on the dev set. All ranks compute it. */
static int evaluate(void *user, aoe_embedder *e, double *score, aoe_error *err) {
    const train_run *r = user;
    aoe_sts_result result = {.struct_size = sizeof result};
    const int code = aoe_eval_pairs(e, r->dev, &result, err);
    *score = result.spearman;
    return code;
}

/* DiffCSE needs a generator, and PromptBERT a model with a mask token whose texts are short. */
static void begin_with_mlm(train_run *r, aoe_method method) {
    static char path[512];
    char *mlm = tiny_mlm(r->dir, "mlm", r->model, 2);
    snprintf(path, sizeof path, "%s", mlm);
    free(mlm);
    if (method == AOE_METHOD_DIFFCSE) {
        r->o.generator = path;
        return;
    }
    r->o.args.model = path;
    r->o.args.model_options.prompt = "the \"{text}\" [MASK] cat";
    if (method == AOE_METHOD_PROMPTBERT)
        r->o.second_prompt = "{text} : a [MASK]";
    r->o.args.model_options.max_length = 20;
}

static void begin(train_run *r, const variant *v) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, v->method);
    r->o.method = v->method;
    r->o.batch_size = v->batch ? v->batch : run.batch_size;
    r->o.accumulate = v->accumulate ? v->accumulate : 1;
    r->o.cache_chunk = v->chunk;
    r->o.args.lr = run.args.lr;
    r->o.args.max_steps = 5;
    r->o.args.save_every = 2;
    r->o.args.keep_checkpoints = 3;
    r->o.args.eval_every = 2;
    r->o.args.shards = SHARDS;
    r->o.args.recompute = v->recompute;
    r->o.args.optimizer = v->optimizer;
    r->o.args.model_options.dtype = v->bf16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
    if (v->triplets)
        train_run_use_triplets(r);
    r->o.evaluate = v->method == AOE_METHOD_CROSS_ENCODER ? NULL : evaluate;
    if (v->lora) {
        r->o.lora.r = 3;
        r->o.lora.dropout = 0.2;
    }
    if (v->teacher)
        r->o.teachers[0] = r->o.args.model;
    if (v->method == AOE_METHOD_DIFFCSE || v->method == AOE_METHOD_PROMPTBERT || v->method == AOE_METHOD_PROMPTBERT_SUP)
        begin_with_mlm(r, v->method);
    if (v->matryoshka) {
        static const aoe_prefix sizes[] = {{.dims = 16, .weight = 1}, {.dims = 8, .weight = 0.5}};
        r->o.matryoshka = sizes;
        r->o.n_matryoshka = 2;
    }
    if (v->layers)
        r->o.layers.adaptive = 1;
}

/* The work of a rank. */
static int train(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    r->o.args.comm = comm;
    r->o.args.comm_timeout = 60;
    return train_run_go(r, 1, err);
}

/* Trains with this number of ranks; 0: without communication. */
static void train_with(train_run *r, int ranks, const char *name) {
    aoe_error err = {0};
    const int code = ranks ? comm_test_fork(ranks, train, r) : train_run_go(r, 2, &err);
    if (code)
        fail_msg("%s with %d ranks: %s", name, ranks, err.message);
}

/* Returns the log without times. */
static char *read_log(const char *path) {
    char *text = NULL, *out = strdup("");
    size_t size = 0;
    assert_int_equal(aoei_read_file(&text, &size, path, 0, NULL), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        assert_non_null(o);
        json_object_del(o, "seconds");
        json_object_del(o, "seconds_left");
        json_object_del(o, "tokens_per_second");
        json_object_del(o, "pairs_per_second");
        char *kept = json_dumps(o, JSON_SORT_KEYS);
        out = realloc(out, strlen(out) + strlen(kept) + 2);
        strcat(strcat(out, kept), "\n");
        free(kept);
        json_decref(o);
    }
    aoei_free(text);
    return out;
}

/* Asserts that the files in both directories are equal, except times in logs. */
static void compare(const char *a, const char *b, const char *name) {
    char **names;
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, a, NULL), 0);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char *left = aoei_path_join(a, names[i]), *right = aoei_path_join(b, names[i]);
        if (aoei_is_dir(left)) {
            compare(left, right, name);
        } else if (strcmp(names[i], "train-log.jsonl") == 0) {
            char *x = read_log(left), *y = read_log(right);
            if (strcmp(x, y) != 0)
                fail_msg("%s: the logs differ: %s\n%s", name, x, y);
            free(x);
            free(y);
        } else if (names[i][0] != '.') {
            char *x = NULL, *y = NULL;
            size_t size = 0, other = 0;
            assert_int_equal(aoei_read_file(&x, &size, left, 0, NULL), 0);
            assert_int_equal(aoei_read_file(&y, &other, right, 0, NULL), 0);
            if (size != other || memcmp(x, y, size) != 0)
                fail_msg("%s: %s and %s differ", name, left, right);
            aoei_free(x);
            aoei_free(y);
        }
        aoei_free(left);
        aoei_free(right);
    }
    aoei_list_free(names, n);
}

/* Trains every variant with 1 to 8 ranks. Variant i uses two of the numbers of ranks, so that all of them occur. */
static void ranks_do_not_change_the_result(void **state) {
    (void)state;
    static const int ranks[] = {2, 3, 4, 5, 8};
    for (size_t i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        train_run r;
        begin(&r, v);
        train_with(&r, 0, v->name);
        char *want = strdup(r.output);
        for (size_t k = 0; k < 2; k++) {
            const int p = ranks[(2 * i + 3 * k) % 5];
            char name[32];
            snprintf(name, sizeof name, "ranks-%d", p);
            train_run_output(&r, name);
            train_with(&r, p, v->name);
            compare(want, r.output, v->name);
        }
        free(want);
        train_run_destroy(&r);
    }
}

/* One process and every number of ranks give the bits of each other, also if a shard is empty. */
static void every_number_of_ranks(void **state) {
    (void)state;
    train_run r;
    begin(&r, &variants[13]);
    train_with(&r, 0, "one process");
    char *want = strdup(r.output);
    for (int p = 1; p <= SHARDS; p++) {
        char name[32];
        snprintf(name, sizeof name, "p-%d", p);
        train_run_output(&r, name);
        train_with(&r, p, name);
        compare(want, r.output, name);
    }
    free(want);
    train_run_destroy(&r);
}

/* The work of a rank that pretrains. */
typedef struct pretraining {
    aoe_pretrain_options o;
    const char *texts[1];
} pretraining;

static int pretrain(aoe_comm *comm, void *user, aoe_error *err) {
    pretraining *p = user;
    aoe_context *ctx = tiny_context(1);
    p->o.args.comm = comm;
    const int code = aoe_pretrain(ctx, &p->o, err);
    aoe_context_destroy(ctx);
    return code;
}

static void pretraining_with_ranks(void **state) {
    (void)state;
    static const int ranks[] = {0, 2, 5, 8};
    train_run r;
    begin(&r, &variants[0]);
    pretraining p;
    aoe_pretrain_options_defaults(&p.o);
    p.o.args.model = r.model;
    p.o.texts = p.texts;
    p.o.n_texts = 1;
    p.o.table.columns = "text=text1";
    p.texts[0] = r.data;
    p.o.batch_size = 9;
    p.o.held_out = 0.2;
    p.o.args.max_steps = 4;
    p.o.args.save_every = 2;
    p.o.args.batch_tokens = 40;
    p.o.args.shards = SHARDS;
    char *first = NULL;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        char name[32];
        snprintf(name, sizeof name, "pretrain-%d", ranks[i]);
        char *output = test_path(r.dir, name);
        p.o.args.output = output;
        aoe_error err = {0};
        aoe_comm alone = {.struct_size = sizeof alone, .ranks = 1};
        if (ranks[i] ? comm_test_fork(ranks[i], pretrain, &p) : pretrain(&alone, &p, &err))
            fail_msg("%s: %s", name, err.message);
        if (first)
            compare(first, output, name);
        else
            first = strdup(output);
        free(output);
    }
    free(first);
    train_run_destroy(&r);
}

/* A run that stops twice is resumed with other numbers of ranks. */
static void resume_with_other_ranks(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[SHARDS];
    begin(&r, &variants[5]);
    train_with(&r, 0, "undisturbed");
    char *want = strdup(r.output);
    train_run_output(&r, "resumed");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 1;
    assert_int_equal(comm_test_fork_results(8, train, &r, results), 8);
    for (int p = 0; p < 8; p++) /* all ranks know that rank 0 was stopped */
        assert_int_equal(results[p].code, AOE_ECANCELLED);
    r.o.args.resume = 1;
    r.stop_step = 3;
    assert_int_equal(comm_test_fork_results(3, train, &r, results), 3);
    r.stop_kind = -1;
    train_with(&r, 1, "resumed");
    /* the checkpoints of the stops are other ones */
    char *a = test_path(want, "model.safetensors"), *b = test_path(r.output, "model.safetensors");
    char *x = NULL, *y = NULL;
    size_t size = 0, other = 0;
    assert_int_equal(aoei_read_file(&x, &size, a, 0, NULL), 0);
    assert_int_equal(aoei_read_file(&y, &other, b, 0, NULL), 0);
    assert_int_equal(size, other);
    assert_memory_equal(x, y, size);
    aoei_free(x);
    aoei_free(y);
    free(a);
    free(b);
    free(want);
    train_run_destroy(&r);
}

/* Rank 2 differs from the others. */
static int train_differently(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    if (comm->rank == 2)
        r->o.args.seed = 43;
    return train(comm, user, err);
}

static int train_on_another_tier(aoe_comm *comm, void *user, aoe_error *err) {
    if (comm->rank == 2)
        setenv("AOE_CPU", "c", 1);
    return train(comm, user, err);
}

/* The base model of rank 2 has the same path, but another value in a weight that LoRA does not train. */
static int train_on_another_base(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    char *node = test_path(r->dir, comm->rank == 2 ? "another" : "."), *model = test_path(node, "model");
    if (comm->rank == 2) {
        size_t size;
        assert_int_equal(mkdir(node, 0700), 0);
        assert_int_equal(mkdir(model, 0700), 0);
        test_copy_dir(r->model, model);
        char *path = test_path(model, "model.safetensors"), *data = test_read(path, &size);
        data[size / 2 & ~(size_t)3] ^= 1; /* the last bit of a value */
        free(test_write(model, "model.safetensors", data, size));
        free(path);
        free(data);
    }
    assert_int_equal(chdir(node), 0);
    r->o.args.model = "model";
    free(node);
    free(model);
    return train(comm, user, err);
}

/* Rank 1 receives a changed bit in the n-th message of the run. */
static uint64_t flipped;
static int train_with_flip(aoe_comm *comm, void *user, aoe_error *err) {
    if (comm->rank == 1)
        comm_test_flip(comm, flipped);
    return train(comm, user, err);
}

static void differences_are_rejected(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[4];
    static const variant lora = {.name = "lora", .method = AOE_METHOD_ANGLE, .lora = 1, .batch = 7};
    begin(&r, &variants[2]);
    assert_int_equal(comm_test_fork_results(4, train_differently, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "seed = 43"));
    }
    assert_int_equal(comm_test_fork_results(4, train_on_another_tier, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "AOE_CPU"));
    }
    train_run_destroy(&r);
    begin(&r, &lora);
    assert_int_equal(comm_test_fork_results(4, train_on_another_base, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "base model"));
    }
    train_run_destroy(&r);
}

/* A changed bit in a message to rank 1 does not change the result, which rank 0 writes: the run fails, or the result
 * has the same bits. This holds for vectors, hashes and weights, to which every fifth message from 24 on belongs. It
 * does not hold for gradients, which only the transport protects: each is sent to the one rank that adds it. */
static void changed_bits_are_noticed(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[2];
    begin(&r, &variants[2]);
    train_with(&r, 0, "undisturbed");
    char *want = strdup(r.output);
    size_t failed = 0;
    for (flipped = 24; flipped <= 64; flipped += 5) {
        char name[32];
        snprintf(name, sizeof name, "flip-%d", (int)flipped);
        train_run_output(&r, name);
        failed += comm_test_fork_results(2, train_with_flip, &r, results) > 0;
        if (results[0].code == 0)
            compare(want, r.output, name);
        for (int p = 0; p < 2; p++)
            if (results[p].code && results[p].code != AOE_EMISMATCH && results[p].code != AOE_ECOMM)
                fail_msg("%s: rank %d: %d, signal %d: %s", name, p, results[p].code, results[p].signal,
                         results[p].message);
    }
    assert_true(failed > 0);
    free(want);
    train_run_destroy(&r);
}

static void invalid_options(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r, &variants[0]);
    r.o.args.shards = 6;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "power of two"));
    r.o.args.shards = 2 * AOE_MAX_SHARDS;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.shards"));
    r.o.args.shards = 2;
    comm_test_result results[4];
    assert_int_equal(comm_test_fork_results(4, train, &r, results), 4);
    assert_non_null(strstr(results[3].message, "options.shards is 2, but the run has 4 ranks"));
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_do_not_change_the_result),
        cmocka_unit_test(every_number_of_ranks),
        cmocka_unit_test(pretraining_with_ranks),
        cmocka_unit_test(resume_with_other_ranks),
        cmocka_unit_test(differences_are_rejected),
        cmocka_unit_test(changed_bits_are_noticed),
        cmocka_unit_test(invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
