/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: model/extra_layers train/teacher_map
 * Tests the method distill: the losses of training with and without a linear map, of several teachers and of prefixes,
 * the results of training, which are bit-identical for any number of threads, with chunked batches and after an
 * interruption, the saved models, and the rejection of wrong options.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/extra_layers.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"

enum { TEXTS = 6 };
static const char *const texts[TEXTS] = {"the old cat sleeps", "a dog runs fast",       "a b c d",
                                         "the house",          "new birds eat a river", "slow old dogs"};
static const aoe_prefix prefixes[] = {{.dims = 6, .weight = 0.5}, {.dims = 16, .weight = 1}};

/* A run of the method, with its teachers. */
typedef struct distillation {
    train_run r;
    char *teacher[2]; /* model directories of teachers with 20 and 12 components; owned */
    char *same;       /* model directory of a teacher with 16 components, as many as the student has; owned */
} distillation;

static char *write_teacher(const train_run *r, const char *name, size_t hidden, uint32_t seed) {
    tiny_model shape = tiny_defaults();
    shape.hidden = hidden;
    shape.layers = 1;
    shape.seed = seed;
    char *dir = test_path(r->dir, name);
    tiny_model_write(dir, &shape);
    return dir;
}

/* Prepares a run with the teacher of 20 components. */
static void begin(distillation *d) {
    train_run *r = &d->r;
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_DISTILL);
    assert_int_equal(r->o.batch_size, 64);
    assert_true(r->o.args.dropout >= 0 && r->o.args.dropout <= 0);
    assert_true(r->o.objective.w_vectors >= 1 && r->o.objective.w_vectors <= 1);
    assert_true(r->o.objective.w_similarities >= 1 && r->o.objective.w_similarities <= 1);
    assert_int_equal(r->o.objective.vector_loss, AOE_VECTOR_LOSS_COSINE);
    assert_int_equal(r->o.teacher_map, AOE_TEACHER_MAP_AUTO);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
    d->teacher[0] = write_teacher(r, "large", 20, 99);
    d->teacher[1] = write_teacher(r, "small", 12, 98);
    d->same = write_teacher(r, "same", TRAIN_DIMS, 97);
    r->o.teachers[0] = d->teacher[0];
}

static void end(distillation *d) {
    free(d->teacher[0]);
    free(d->teacher[1]);
    free(d->same);
    train_run_destroy(&d->r);
}

static void again(distillation *d, const char *name) {
    train_run_output(&d->r, name);
    d->r.n = d->r.evaluations = 0;
}

/* Variants of a run. The losses of those from LAYERS on have other terms. */
enum {
    WITHOUT_MAP,
    DROPPED,
    KEPT,
    SQUARES,
    TWO_TEACHERS,
    PREFIXES,
    PREFIXES_WITHOUT_MAP,
    CACHED,
    LAYERS,
    ESE,
    VARIANTS
};

static void choose(distillation *d, int variant) {
    aoe_train_options *o = &d->r.o;
    static char cache[256];
    snprintf(cache, sizeof cache, "%s/cache", d->r.dir);
    if (variant == WITHOUT_MAP || variant == PREFIXES_WITHOUT_MAP)
        o->teachers[0] = d->same;
    if (variant == KEPT)
        o->teacher_map = AOE_TEACHER_MAP_KEPT;
    if (variant == SQUARES)
        o->objective.vector_loss = AOE_VECTOR_LOSS_SQUARES;
    if (variant == TWO_TEACHERS)
        o->teachers[1] = d->teacher[1];
    if (variant == PREFIXES || variant == PREFIXES_WITHOUT_MAP) {
        o->matryoshka = prefixes;
        o->n_matryoshka = 2;
    }
    if (variant == PREFIXES_WITHOUT_MAP)
        o->teacher_map = AOE_TEACHER_MAP_NONE;
    o->teacher_cache = variant == CACHED ? cache : NULL;
    o->layers.adaptive = variant == LAYERS;
    o->layers.ese = variant == ESE;
    o->layers.ese_dims = 6;
}

static int has(const train_run *r, const char *name) {
    char *path = test_path(r->output, name);
    const int found = aoei_exists(path);
    free(path);
    return found;
}

/* --------------------------------------------------------------------- results */

/* Returns the weights of the encoder and, if the model has one, of the dense layer. The caller frees them. */
static char *result(const train_run *r, size_t *size) {
    size_t n = 0;
    char *out = train_run_read(r, "model.safetensors", size),
         *dense = train_run_read(r, "2_Dense/model.safetensors", &n);
    assert_non_null(out);
    out = realloc(out, *size + n);
    assert_non_null(out);
    if (n)
        memcpy(out + *size, dense, n);
    *size += n;
    free(dense);
    return out;
}

static void expect_result(const train_run *r, const char *want, size_t size) {
    size_t n;
    char *got = result(r, &n);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void results_are_bit_identical(void **state) {
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        distillation d;
        train_run *r = &d.r;
        aoe_error err = {0};
        size_t size;
        begin(&d);
        choose(&d, variant);
        train_run_ok(r, 1);
        assert_int_equal(has(r, "2_Dense"), variant == KEPT);
        char *want = result(r, &size);
        again(&d, "threads");
        r->o.args.recompute = 1;
        train_run_ok(r, 3);
        expect_result(r, want, size);
        again(&d, "stop");
        r->stop_kind = AOE_TRAIN_STEP;
        r->stop_step = 5;
        assert_int_equal(train_run_go(r, 1, &err), AOE_ECANCELLED);
        r->stop_kind = -1;
        r->o.args.resume = 1;
        train_run_ok(r, 2);
        expect_result(r, want, size);
        r->o.args.resume = 0;
        again(&d, "chunks");
        r->o.cache_chunk = 3;
        train_run_ok(r, 2);
        expect_result(r, want, size);
        free(want);
        again(&d, "accumulate");
        r->o.cache_chunk = 0;
        r->o.accumulate = 2;
        train_run_ok(r, 1);
        want = result(r, &size);
        again(&d, "accumulate-threads");
        r->o.cache_chunk = 2;
        train_run_ok(r, 3);
        expect_result(r, want, size);
        free(want);
        end(&d);
    }
}

/* The loss decreases, and is the weighted sum of its terms, which the log contains. */
static void loss_decreases(void **state) {
    (void)state;
    for (int variant = 0; variant < LAYERS; variant++) {
        distillation d;
        train_run *r = &d.r;
        double first = 0, last = 0;
        size_t steps = 0;
        begin(&d);
        choose(&d, variant);
        r->o.objective.w_vectors = 0.6;
        r->o.objective.w_similarities = 2.5;
        r->o.evaluate = NULL;
        r->o.args.epochs = 10;
        r->o.args.lr = 3e-3;
        r->o.args.save_every = 1000;
        train_run_ok(r, 2);
        const size_t n = train_run_count(r, AOE_TRAIN_STEP), tenth = n / 10;
        for (size_t k = 0; k < r->n; k++) {
            if (r->events[k].kind != AOE_TRAIN_STEP)
                continue;
            const aoe_objective_result *l = r->events[k].loss;
            assert_true(fabs(l->total - 0.6 * l->vectors - 2.5 * l->similarities) <= 1e-12 * (1 + l->total));
            assert_true(l->vectors > 0 && l->similarities > 0);
            first += steps < tenth ? l->total : 0;
            last += steps >= n - tenth ? l->total : 0;
            steps++;
        }
        if (!(last < 0.8 * first))
            fail_msg("variant %d: the sum of %zu losses changed from %g to %g", variant, tenth, first, last);
        char *log = train_run_read(r, "train-log.jsonl", NULL), *line = strstr(log, "\"event\":\"step\"");
        assert_non_null(line);
        line[strcspn(line, "\n")] = '\0';
        assert_true(strstr(line, "\"vectors\":") && strstr(line, "\"similarities\":"));
        free(log);
        end(&d);
    }
}

/* ---------------------------------------------------------------------- values */

/* Replaces the training data by the texts above, which are one batch. */
static void use_texts(train_run *r) {
    char all[256] = "";
    for (size_t i = 0; i < TEXTS; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", texts[i]);
    free(r->data);
    r->source.path = r->data = test_write_text(r->dir, "texts.txt", all);
    r->o.batch_size = TEXTS;
    r->o.evaluate = NULL;
    r->o.args.epochs = 3;
    r->o.args.save_every = 1;
    r->o.args.warmup = 0;
    r->o.args.schedule = AOE_SCHEDULE_CONSTANT;
}

/* The losses of three steps with one batch of all texts, which PyTorch 2 computed in float64 with BertModel of
 * transformers, torch.optim.AdamW (weight decay 0.01 for matrices), clip_grad_norm_ to 1, and the start weights of the
 * map. */
static void trace(void **state) {
    (void)state;
    static const struct {
        int variant;
        double w_vectors, w_similarities, losses[3];
    } cases[] = {{WITHOUT_MAP, 1, 1, {0.9929635, 0.9340658, 0.8763435}},
                 {SQUARES, 0.6, 2.5, {0.8980573, 0.8358273, 0.7761565}},
                 {PREFIXES, 1, 1, {1.8329119, 1.7502450, 1.6659900}},
                 {TWO_TEACHERS, 1, 1, {1.1824090, 1.1245991, 1.0660119}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        distillation d;
        begin(&d);
        use_texts(&d.r);
        choose(&d, cases[i].variant);
        if (cases[i].variant == TWO_TEACHERS)
            d.r.o.teacher_map = AOE_TEACHER_MAP_KEPT;
        d.r.o.objective.w_vectors = cases[i].w_vectors;
        d.r.o.objective.w_similarities = cases[i].w_similarities;
        train_run_trace(&d.r, cases[i].losses);
        end(&d);
    }
}

/* Computes the embeddings of the texts with the model in `dir`. Returns their number of components. */
static size_t embed(const char *dir, float *v, size_t max) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options options;
    aoe_model *m;
    aoe_embedder *e;
    aoe_text text[TEXTS];
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    for (size_t i = 0; i < TEXTS; i++)
        text[i] = aoe_text_of(texts[i]);
    assert_int_equal(aoe_model_open(&m, ctx, dir, &options, NULL), 0);
    const size_t dims = aoe_model_dims(m);
    assert_true(TEXTS * dims <= max);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, text, TEXTS, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return dims;
}

/* The target similarity of two texts is the mean of the cosines of both teachers. */
static void several_teachers(void **state) {
    (void)state;
    distillation d;
    static float v[3][TEXTS * 20];
    size_t dims[3];
    double want = 0;
    begin(&d);
    use_texts(&d.r);
    choose(&d, TWO_TEACHERS);
    d.r.o.objective.w_vectors = 0;
    d.r.o.objective.w_similarities = 2;
    d.r.o.args.max_steps = 1;
    train_run_ok(&d.r, 2);
    const char *models[] = {d.r.model, d.teacher[0], d.teacher[1]};
    for (size_t i = 0; i < 3; i++)
        dims[i] = embed(models[i], v[i], TEXTS * 20);
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t j = 0; j < TEXTS; j++) {
            double cosine[3];
            for (size_t k = 0; k < 3; k++)
                cosine[k] = aoe_cosine(v[k] + i * dims[k], v[k] + j * dims[k], dims[k]);
            want += i == j ? 0 : pow(cosine[0] - (cosine[1] + cosine[2]) / 2, 2) / (TEXTS * (TEXTS - 1));
        }
    for (size_t k = 0; k < d.r.n; k++)
        if (d.r.events[k].kind == AOE_TRAIN_STEP) {
            const aoe_objective_result *l = d.r.events[k].loss;
            assert_true(fabs(l->similarities - want) <= 1e-6 * want && fabs(l->total - 2 * want) <= 2e-6 * want);
            assert_true(l->vectors >= 0 && l->vectors <= 0);
        }
    assert_int_equal(train_run_count(&d.r, AOE_TRAIN_STEP), 1);
    end(&d);
}

/* The weight of the distillation loss of other methods has no effect, although it is 1 in
 * aoe_train_options_defaults. */
static void ignores_w_teacher(void **state) {
    (void)state;
    distillation d;
    size_t size;
    begin(&d);
    train_run_ok(&d.r, 1);
    char *want = result(&d.r, &size), *record = train_run_read(&d.r, "aoe.json", NULL);
    again(&d, "weight");
    d.r.o.w_teacher = 1;
    d.r.o.distill = AOE_DISTILL_KL;
    train_run_ok(&d.r, 1);
    train_run_assert_output(&d.r, want, size, record);
    free(record);
    free(want);
    end(&d);
}

/* ------------------------------------------------------------------------- map */

static void expect_record(const train_run *r, const char *line) {
    char *record = train_run_read(r, "aoe.json", NULL);
    if (!strstr(record, line))
        fail_msg("aoe.json does not contain %s: %s", line, record);
    free(record);
}

/* Only a map that is kept is saved. It is a linear layer, whose outputs have the size of the teacher embeddings. */
static void saved_maps(void **state) {
    (void)state;
    static const struct {
        int variant, lora;
        const char *record, *kept;
        int head, dense;
    } cases[] = {{WITHOUT_MAP, 0, "none", "encoder", 0, 0},
                 {DROPPED, 0, "dropped", "encoder", 1, 0},
                 {KEPT, 0, "kept", "encoder", 0, 1},
                 {DROPPED, 1, "dropped", "adapters", 1, 0},
                 {KEPT, 1, "kept", "adapters", 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        distillation d;
        train_run *r = &d.r;
        aoe_context *ctx = tiny_context(1);
        aoe_model *m;
        aoe_error err = {0};
        char newest[64], line[64];
        begin(&d);
        choose(&d, cases[i].variant);
        r->o.lora.r = cases[i].lora ? 2 : 0;
        train_run_ok(r, 1);
        snprintf(newest, sizeof newest, "checkpoints/step-%zu/head.safetensors", r->events[r->n - 1].step);
        assert_int_equal(has(r, newest), cases[i].head);
        assert_false(has(r, "head.safetensors"));
        assert_int_equal(has(r, "2_Dense"), cases[i].dense);
        if (aoe_model_open(&m, ctx, r->output, NULL, &err))
            fail_msg("%s", err.message);
        assert_int_equal(aoe_model_dims(m), cases[i].dense ? 20 : TRAIN_DIMS);
        assert_int_equal(m->config.modules.n, cases[i].dense);
        assert_true(!cases[i].dense || m->config.modules.list[0].activation == AOEI_DENSE_IDENTITY);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
        snprintf(line, sizeof line, "\"teacher_map\": \"%s\"", cases[i].record);
        expect_record(r, line);
        expect_record(r, cases[i].kept);
        expect_record(r, cases[i].dense ? "\"dense layer\"" : "\"pooling\"");
        expect_record(r, cases[i].head ? "\"linear map\"" : "\"dropped_parts\": []");
        end(&d);
    }
}

/* A run that starts from a model with a kept map continues to train it. Its start weights are the identity and random
 * values with the standard deviation 0.02. */
static void kept_map_is_trained_further(void **state) {
    (void)state;
    enum { ROWS = 20 };
    distillation d;
    train_run *r = &d.r;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    float w[ROWS * TRAIN_DIMS];
    double sum = 0, squares = 0;
    size_t size, other;
    begin(&d);
    choose(&d, KEPT);
    r->o.args.lr = 0;
    r->o.args.max_steps = 1;
    train_run_ok(r, 1);
    assert_int_equal(aoei_model_open_trainable(&m, ctx, r->output, NULL, NULL), 0);
    const size_t slot = aoei_pooled_slot(&m->config, AOEI_PW_DENSE);
    aoei_tensor_read(ctx, w, m->weights[slot]);
    for (size_t i = 0; i < (size_t)ROWS * TRAIN_DIMS; i++) {
        const double noise = (double)w[i] - (i / TRAIN_DIMS == i % TRAIN_DIMS);
        sum += noise;
        squares += noise * noise;
    }
    assert_true(fabs(sum) / (ROWS * TRAIN_DIMS) <= 0.004); /* 3.5 standard deviations of the mean */
    assert_true(fabs(sqrt(squares / (ROWS * TRAIN_DIMS)) - 0.02) <= 0.003);
    aoei_tensor_read(ctx, w, m->weights[slot + 1]);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(w[i] >= 0 && w[i] <= 0);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    char *start = strdup(r->output), *before = train_run_read(r, "2_Dense/model.safetensors", &size);
    for (int map = AOE_TEACHER_MAP_AUTO; map <= AOE_TEACHER_MAP_KEPT; map += AOE_TEACHER_MAP_KEPT) {
        again(&d, map ? "kept" : "auto");
        r->o.args.model = start;
        r->o.args.lr = 1e-3;
        r->o.teacher_map = (aoe_teacher_map)map;
        train_run_ok(r, 1);
        char *after = train_run_read(r, "2_Dense/model.safetensors", &other);
        assert_true(size == other && memcmp(before, after, size) != 0);
        assert_false(has(r, "3_Dense"));
        free(after);
    }
    free(start);
    free(before);
    end(&d);
}

/* Without the term of the vectors, the sizes may differ, and a map would have no gradient. */
static void similarities_need_no_map(void **state) {
    (void)state;
    distillation d;
    train_run *r = &d.r;
    begin(&d);
    r->o.objective.w_vectors = 0;
    for (int map = AOE_TEACHER_MAP_AUTO; map <= AOE_TEACHER_MAP_DROPPED; map++)
        for (size_t i = 0; i < 2; i++) {
            char name[16];
            snprintf(name, sizeof name, "out%d%zu", map, i);
            again(&d, name);
            r->o.teachers[0] = d.teacher[i];
            r->o.teacher_map = (aoe_teacher_map)map;
            train_run_ok(r, 1);
            expect_record(r, "\"teacher_map\": \"none\"");
            expect_record(r, "\"dropped_parts\": []");
        }
    end(&d);
}

/* ---------------------------------------------------------------------- errors */

static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("error %d, '%s' does not contain '%s'", got, err.message, fragment);
}

static void rejected_options(void **state) {
    (void)state;
    distillation d;
    train_run *r = &d.r;
    begin(&d);
    const aoe_train_options valid = r->o;
    r->o.teachers[0] = NULL;
    expect_rejected(r, AOE_EARG,
                    "options.method distill needs another model, whose embeddings it learns; set options.teachers");
    r->o = valid;
    r->o.teacher_map = AOE_TEACHER_MAP_NONE;
    expect_rejected(r, AOE_EARG,
                    "the student embeddings have 16 components and the teacher embeddings 20; set it to dropped");
    r->o.teacher_map = (aoe_teacher_map)4;
    expect_rejected(r, AOE_EARG, "options.teacher_map is 4; give 0 (auto), 1 (none), 2 (dropped) or 3 (kept)");
    r->o = valid;
    r->o.objective.w_vectors = r->o.objective.w_similarities = 0;
    expect_rejected(r, AOE_EARG, "options.w_vectors and options.w_similarities are 0");
    r->o.objective.w_vectors = -1;
    r->o.objective.w_similarities = 2;
    expect_rejected(r, AOE_EARG, "options.w_vectors is -1");
    r->o.objective.w_vectors = (double)NAN;
    expect_rejected(r, AOE_EARG, "options.w_vectors is nan; give a number of at least 0");
    r->o = valid;
    r->o.objective.vector_loss = (aoe_vector_loss)2;
    expect_rejected(r, AOE_EARG, "options.vector_loss is 2; give 0 (cosine) or 1 (squares)");
    r->o = valid;
    r->source.kind = AOE_EXAMPLES_PAIRS;
    expect_rejected(r, AOE_EARG, "the method reads plain texts");
    r->source.kind = AOE_EXAMPLES_AUTO;
    r->o.teachers[1] = "nowhere";
    expect_rejected(r, AOE_ENOENT, "options.teachers: nowhere");
    r->o = valid;
    assert_false(aoei_exists(r->output));
    end(&d);
}

/* A map that is kept is the last module of the model, so it cannot follow a module with a nonlinear activation
 * function. */
static void rejected_modules(void **state) {
    (void)state;
    distillation d;
    train_run *r = &d.r;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    begin(&d);
    char *dense = test_path(r->dir, "dense");
    assert_int_equal(aoei_model_open_trainable(&m, ctx, r->model, NULL, NULL), 0);
    assert_int_equal(aoei_model_add_dense(m, 20, 1, NULL, NULL, 1, NULL), 0);
    assert_int_equal(aoei_model_save(m, dense, NULL, NULL), 0);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    r->o.args.model = dense;
    r->o.teacher_map = AOE_TEACHER_MAP_KEPT;
    expect_rejected(r, AOE_EARG,
                    "options.teacher_map kept adds a dense layer with 20 outputs, but the model already has other");
    r->o.teacher_map = AOE_TEACHER_MAP_DROPPED;
    train_run_ok(r, 1);
    free(dense);
    end(&d);
}

/* With prefixes, the map `auto` is dropped even if the sizes are equal, because a teacher without prefixes gives no
 * targets for them. */
static void prefixes_use_map(void **state) {
    (void)state;
    distillation d;
    train_run *r = &d.r;
    begin(&d);
    choose(&d, PREFIXES_WITHOUT_MAP);
    static const struct {
        aoe_teacher_map map;
        size_t n_prefixes;
        const char *used;
    } cases[] = {{AOE_TEACHER_MAP_AUTO, 2, "\"teacher_map\": \"dropped\""},
                 {AOE_TEACHER_MAP_NONE, 2, "\"teacher_map\": \"none\""},
                 {AOE_TEACHER_MAP_AUTO, 0, "\"teacher_map\": \"none\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[16];
        snprintf(name, sizeof name, "map-%zu", i);
        again(&d, name);
        r->o.teacher_map = cases[i].map;
        r->o.n_matryoshka = cases[i].n_prefixes;
        train_run_ok(r, 1);
        char *settings = train_run_read(r, "aoe.json", NULL);
        assert_non_null(strstr(settings, cases[i].used));
        free(settings);
    }
    end(&d);
}

/* A run cannot be resumed with other options of the method. */
static void rejected_resume(void **state) {
    (void)state;
    distillation d;
    train_run *r = &d.r;
    begin(&d);
    r->stop_kind = AOE_TRAIN_STEP;
    r->stop_step = 4;
    assert_int_equal(train_run_go(r, 1, NULL), AOE_ECANCELLED);
    r->stop_kind = -1;
    r->o.args.resume = 1;
    const aoe_train_options valid = r->o;
    r->stop_kind = AOE_TRAIN_EMBED; /* the teacher must not embed the texts before the options are compared */
    r->stop_step = 0;
    r->o.objective.w_vectors = 2;
    expect_rejected(r, AOE_EARG, "options.w_vectors was 1.0 and is now 2.0");
    r->o = valid;
    r->o.objective.w_similarities = 0.5;
    expect_rejected(r, AOE_EARG, "options.w_similarities was 1.0 and is now 0.5");
    r->o = valid;
    r->o.objective.vector_loss = AOE_VECTOR_LOSS_SQUARES;
    expect_rejected(r, AOE_EARG, "options.vector_loss was \"cosine\" and is now \"squares\"");
    r->o = valid;
    r->o.teacher_map = AOE_TEACHER_MAP_KEPT;
    expect_rejected(r, AOE_EARG, "options.teacher_map was \"dropped\" and is now \"kept\"");
    r->o = valid;
    choose(&d, CACHED); /* the vectors are then rounded to bf16 */
    expect_rejected(r, AOE_EARG, "options.teacher_cache was not set and is now true");
    r->o = valid;
    r->o.args.epochs++;
    expect_rejected(r, AOE_EARG, "options.epochs was");
    r->o = valid;
    r->o.batch_size++;
    expect_rejected(r, AOE_EARG, "options.batch_size was");
    r->o = valid;
    free(tiny_table(r->dir, "train.tsv", TRAIN_PAIRS - 2, 9));
    expect_rejected(r, AOE_EARG, "the training data (options.data) differ");
    free(tiny_table(r->dir, "train.tsv", TRAIN_PAIRS, 1));
    r->o.teachers[1] = d.teacher[1];
    expect_rejected(r, AOE_EARG, "options.teachers was \"");
    r->o = valid;
    assert_int_equal(train_run_go(r, 1, NULL), AOE_ECANCELLED);
    r->stop_kind = -1;
    r->o.teachers[0] = d.same;
    r->o.teacher_map = AOE_TEACHER_MAP_DROPPED;
    expect_rejected(r, AOE_EARG, "options.teachers is another model");
    r->o = valid;
    train_run_ok(r, 1);
    end(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_bit_identical),
        cmocka_unit_test(loss_decreases),
        cmocka_unit_test(trace),
        cmocka_unit_test(several_teachers),
        cmocka_unit_test(ignores_w_teacher),
        cmocka_unit_test(saved_maps),
        cmocka_unit_test(kept_map_is_trained_further),
        cmocka_unit_test(similarities_need_no_map),
        cmocka_unit_test(rejected_options),
        cmocka_unit_test(rejected_modules),
        cmocka_unit_test(prefixes_use_map),
        cmocka_unit_test(rejected_resume),
    };
    return cmocka_run_group_tests_name("distill_method", tests, NULL, NULL);
}
