/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: train/pair_task train/train_log
 * Tests complete training runs: events, learning rate schedules, gradient accumulation, and the files in the output
 * directory. Results must not depend on the number of threads, on the division of batches into chunks, or on
 * recomputation of activations. setup_test.c tests rejected inputs, and resume_test.c tests resuming.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/cpu.h"
#include "base/dir.h"
#include "base/json.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "modeldir/layout.h"

static void test_threads(void **state) {
    (void)state;
    static const char *const names[] = {"one", "two", "three"};
    train_run r;
    train_run_create(&r);
    r.o.accumulate = 2;
    r.o.args.eval_every = 2;
    char *weights = NULL, *settings = NULL;
    size_t size = 0;
    for (size_t threads = 1; threads <= 3; threads++) {
        train_run_output(&r, names[threads - 1]);
        train_run_ok(&r, threads);
        if (threads == 1) {
            weights = train_run_read(&r, "model.safetensors", &size);
            settings = train_run_read(&r, "aoe.json", NULL);
        }
        train_run_assert_output(&r, weights, size, settings);
    }
    train_run_output(&r, "seed");
    r.o.args.seed = 43;
    train_run_ok(&r, 1);
    char *other = train_run_read(&r, "model.safetensors", NULL);
    assert_true(memcmp(weights, other, size) != 0);
    free(other);
    free(weights);
    free(settings);
    train_run_destroy(&r);
}

/* Asserts that aoe.json contains the data type `dtype` and the chunk size of the run. */
static void check_recorded(const train_run *r, const char *dtype) {
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    assert_int_equal(aoe_model_open(&m, ctx, r->output, NULL, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(m->files.record, "dtype")), dtype);
    assert_int_equal(json_integer_value(json_object_get(m->files.record, "cache_chunk")), r->o.cache_chunk);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Tests float32, bf16 and AOE_DTYPE_AUTO, which selects one of the two, with every instruction set. The files must
 * depend neither on the number of threads nor on recomputation of activations. */
static void test_types(void **state) {
    (void)state;
    static const char *const names[] = {"auto", "f32", "bf16"};
    train_run r;
    train_run_create(&r);
    r.o.args.max_steps = 6;
    const aoei_tier best = test_best_tier();
    char *saved = test_force_tier(aoei_tier_name(best));
    for (int tier = AOEI_TIER_C; tier <= (int)best; tier++) {
        char *weights[3], *settings[3];
        size_t size = 0;
        setenv("AOE_CPU", aoei_tier_name((aoei_tier)tier), 1);
        for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
            r.o.args.model_options.dtype = (aoe_dtype)dtype;
            for (size_t k = 0; k < 4; k++) {
                char name[64];
                snprintf(name, sizeof name, "%s-%d-%zu", names[dtype], tier, k);
                train_run_output(&r, name);
                r.o.args.recompute = k == 3;
                r.evaluations = 0;
                train_run_ok(&r, k < 3 ? 1 + k : 2);
                if (k == 0) {
                    weights[dtype] = train_run_read(&r, "model.safetensors", &size);
                    settings[dtype] = train_run_read(&r, "aoe.json", NULL);
                    check_recorded(&r, names[dtype]);
                }
                train_run_assert_output(&r, weights[dtype], size, settings[dtype]);
            }
        }
        assert_true(memcmp(weights[AOE_DTYPE_F32], weights[AOE_DTYPE_BF16], size) != 0);
        const aoe_dtype automatic = aoei_tier_bf16((aoei_tier)tier) ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        char name[64];
        snprintf(name, sizeof name, "auto-%d", tier);
        train_run_output(&r, name);
        r.o.args.recompute = 0;
        r.o.args.model_options.dtype = AOE_DTYPE_AUTO;
        train_run_ok(&r, 2);
        train_run_assert_output(&r, weights[automatic], size, settings[automatic]);
        for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
            free(weights[dtype]);
            free(settings[dtype]);
        }
    }
    test_restore_tier(saved);
    train_run_destroy(&r);
}

/* Tests runs that divide each batch into chunks. In float32, chunks of any size must give the weights of a run without
 * chunks, even with dropout and gradient accumulation. In bf16, the weights must not depend on the number of
 * threads. */
static void test_chunks(void **state) {
    (void)state;
    static const size_t chunks[] = {1, 3, 4, 100};
    train_run r;
    train_run_create(&r);
    r.o.batch_size = 6;
    r.o.accumulate = 2;
    train_run_ok(&r, 1);
    size_t size;
    char *want = train_run_read(&r, "model.safetensors", &size);
    for (size_t k = 0; k < 4; k++) {
        char name[32];
        snprintf(name, sizeof name, "chunk-%zu", chunks[k]);
        train_run_output(&r, name);
        r.o.cache_chunk = chunks[k];
        r.o.args.recompute = k == 1;
        r.evaluations = 0;
        train_run_ok(&r, 1 + k % 3);
        char *got = train_run_read(&r, "model.safetensors", NULL);
        assert_memory_equal(got, want, size);
        check_recorded(&r, "f32");
        free(got);
    }
    free(want);
    r.o.cache_chunk = 2;
    r.o.args.model_options.dtype = AOE_DTYPE_BF16;
    char *weights = NULL, *settings = NULL;
    for (size_t threads = 1; threads <= 3; threads++) {
        char name[32];
        snprintf(name, sizeof name, "bf16-%zu", threads);
        train_run_output(&r, name);
        r.evaluations = 0;
        train_run_ok(&r, threads);
        if (threads == 1) {
            weights = train_run_read(&r, "model.safetensors", &size);
            settings = train_run_read(&r, "aoe.json", NULL);
        }
        train_run_assert_output(&r, weights, size, settings);
    }
    free(weights);
    free(settings);
    train_run_destroy(&r);
}

/* Returns event *at, asserts its kind and its step, and increments *at. */
static const aoe_train_event *next(const train_run *r, size_t *at, aoe_train_event_kind kind, size_t step) {
    assert_true(*at < r->n);
    const aoe_train_event *e = &r->events[(*at)++];
    assert_int_equal(e->kind, kind);
    assert_int_equal(e->step, step);
    assert_int_equal(e->steps, 12);
    assert_true(e->seconds >= 0);
    return e;
}

static void check_step(const aoe_train_event *e) {
    const aoe_objective_result *l = e->loss;
    assert_int_equal(e->examples, e->step % 6 ? 4 : 2); /* the last batch of an epoch has two pairs */
    assert_true(isfinite(l->total) && l->cosine > 0 && l->ibn >= 0 && l->angle > 0);
    assert_true(fabs(l->total - (l->cosine + l->ibn + l->angle)) <= 1e-12 * l->total);
    assert_true(e->grad_norm > 0 && e->tokens_per_second > 0 && e->pairs_per_second > 0);
    assert_true(fabs(e->epoch - (double)e->step / 6) < 1e-12);
}

static void test_events(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    train_run_ok(&r, 2);
    size_t at = 0;
    const aoe_train_event *e = next(&r, &at, AOE_TRAIN_START, 0);
    assert_int_equal(e->pairs, TRAIN_PAIRS);
    assert_true(fabs(e->ibn_threshold - 4) < 1e-12); /* the default for labels from 0 to 5 */
    assert_true(isnan(e->best_score));
    e = next(&r, &at, AOE_TRAIN_EVAL, 0); /* the start model */
    assert_true(isnan(e->score) && isnan(e->best_score) && isnan(e->trained_score));
    double best = -2;
    size_t best_step = 0, positive[2] = {0, 0};
    for (size_t step = 1; step <= 12; step++) {
        e = next(&r, &at, AOE_TRAIN_STEP, step);
        check_step(e);
        positive[(step - 1) / 6] += e->loss->positive_pairs;
        if (step % 4 == 0) {
            e = next(&r, &at, AOE_TRAIN_EVAL, step);
            if (e->score > best) {
                best = e->score;
                best_step = step;
            }
            assert_true(e->best_score == best && e->trained_score == best);
            assert_int_equal(e->best_step, best_step);
        }
        if (step % 3 == 0)
            next(&r, &at, AOE_TRAIN_CHECKPOINT, step);
    }
    e = next(&r, &at, AOE_TRAIN_DONE, 12);
    assert_true(e->score == best && e->best_score == best && e->best_step == best_step);
    assert_int_equal(at, r.n);
    /* Counts the positive pairs of each epoch. An epoch uses every pair exactly once, including the pairs in the last
     * batch, which is smaller. The labels cycle from 0 to 5, so 6 of the 22 labels are 4 or 5. */
    assert_int_equal(positive[0], 6);
    assert_int_equal(positive[1], 6);
    train_run_destroy(&r);
}

/* Trains with the warmup `warmup` and asserts the learning rate of each of 12 steps. expected_warmup: expected number
 * of warmup steps. */
static void check_rates(train_run *r, const char *name, double warmup, double expected_warmup) {
    train_run_output(r, name);
    r->o.args.warmup = warmup;
    r->n = 0;
    train_run_ok(r, 1);
    size_t step = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->events[i].kind != AOE_TRAIN_STEP)
            continue;
        const double k = (double)step++;
        const double fraction = k < expected_warmup ? (k + 1) / expected_warmup : (12 - k) / (12 - expected_warmup);
        assert_true(fabs(r->events[i].lr - 1e-3 * fraction) < 1e-15);
    }
    assert_int_equal(step, 12);
}

static void test_schedule(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    r.o.args.save_every = 0;
    check_rates(&r, "none", 0, 0);
    check_rates(&r, "fraction", 0.25, 3);
    check_rates(&r, "steps", 5, 5);
    check_rates(&r, "one", 1, 1);
    train_run_destroy(&r);
}

static void check_steps(train_run *r, const char *name, size_t steps, double epochs) {
    train_run_output(r, name);
    r->n = 0;
    train_run_ok(r, 1);
    const aoe_train_event *last = &r->events[r->n - 1];
    assert_int_equal(last->kind, AOE_TRAIN_DONE);
    assert_int_equal(last->step, steps);
    assert_int_equal(last->steps, steps);
    assert_true(fabs(last->epoch - epochs) < 1e-12);
    assert_int_equal(train_run_count(r, AOE_TRAIN_STEP), steps);
}

static void test_step_counts(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    r.o.args.save_every = 0;
    check_steps(&r, "plain", 12, 2);
    assert_int_equal(train_run_count(&r, AOE_TRAIN_CHECKPOINT), 2); /* one at the end of each epoch */
    r.o.accumulate = 2;
    check_steps(&r, "accumulate", 6, 2); /* an epoch has 22 pairs in 3 steps of 8, 8 and 6 pairs */
    size_t positive = 0;
    for (size_t i = 0; i < r.n; i++)
        positive += r.events[i].loss->positive_pairs;
    assert_int_equal(positive, 12);
    r.o.accumulate = 1;
    r.o.batch_size = 1000;
    check_steps(&r, "whole", 2, 2);
    r.o.batch_size = 4;
    r.o.args.max_steps = 5;
    check_steps(&r, "fewer", 5, 5.0 / 6);
    r.o.args.max_steps = 15;
    check_steps(&r, "more", 15, 2.5);
    r.o.args.max_steps = 3;
    r.o.args.epochs = 0;
    check_steps(&r, "only-steps", 3, 0.5);
    train_run_destroy(&r);
}

/* Tests that the loss of a step with two batches is the mean of the losses of the two batches. The learning rate is 0,
 * so the weights do not change. The losses of the two batches are therefore the losses of the first two steps of a run
 * without accumulation. */
static void test_accumulated_loss(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    r.o.args.dropout = 0;
    r.o.args.lr = 0;
    r.o.args.max_steps = 2;
    train_run_output(&r, "single");
    train_run_ok(&r, 1);
    const double first = r.events[1].loss->total, second = r.events[2].loss->total;
    r.o.accumulate = 2;
    r.o.args.max_steps = 1;
    r.n = 0;
    train_run_output(&r, "double");
    train_run_ok(&r, 1);
    assert_true(fabs(r.events[1].loss->total - (first + second) / 2) < 1e-12);
    train_run_destroy(&r);
}

/* Tests that every epoch has a different order of the pairs, and that every batch has different dropout masks. The
 * learning rate is 0, so the weights do not change. */
static void test_order_and_masks(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    r.o.args.dropout = 0;
    r.o.args.lr = 0;
    r.o.args.save_every = 1000;
    train_run_ok(&r, 1);
    size_t n_equal = 0;
    for (size_t step = 1; step <= 6; step++)
        n_equal += r.events[step].loss->total == r.events[step + 6].loss->total;
    assert_int_equal(n_equal, 0);
    /* all pairs are equal, so that batches differ only in their dropout masks */
    char table[2048] = "text1\ttext2\tlabel\n";
    for (size_t i = 0; i < TRAIN_PAIRS; i++)
        strcat(table, "the old cat\ta dog runs\t1\n");
    free(test_write_text(r.dir, "train.tsv", table));
    r.o.objective.w_cosine = r.o.objective.w_angle = 0;
    r.o.batch_size = TRAIN_PAIRS / 2;
    double loss[2][2]; /* first index: 0 without, 1 with dropout; second index: step */
    for (int k = 0; k < 2; k++) {
        train_run_output(&r, k ? "masked" : "plain");
        r.o.args.dropout = k ? 0.1 : 0;
        r.n = 0;
        train_run_ok(&r, 1);
        loss[k][0] = r.events[1].loss->total;
        loss[k][1] = r.events[2].loss->total;
    }
    assert_true(loss[0][0] == loss[0][1]);
    assert_true(loss[1][0] != loss[1][1]);
    /* the two batches of a step must have different masks, so the loss of this step differs from the loss of the first
     * batch */
    train_run_output(&r, "accumulated");
    r.o.accumulate = 2;
    r.n = 0;
    train_run_ok(&r, 1);
    assert_true(r.events[1].loss->total != loss[1][0]);
    train_run_destroy(&r);
}

/* Tests that the weights do not change if the learning rate is 0. */
static void test_rate_zero(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.args.lr = 0;
    train_run_ok(&r, 1);
    aoe_context *ctx = tiny_context(1);
    aoe_model *before, *after;
    assert_int_equal(aoe_model_open(&before, ctx, r.model, NULL, NULL), 0);
    assert_int_equal(aoe_model_open(&after, ctx, r.output, NULL, NULL), 0);
    for (size_t s = 0; s < aoei_slot_count(&before->config); s++) {
        const aoei_tensor a = before->weights[s], b = after->weights[s];
        assert_memory_equal(a.data, b.data, a.rows * a.cols * sizeof(float));
    }
    aoe_model_close(before);
    aoe_model_close(after);
    aoe_context_destroy(ctx);
    train_run_destroy(&r);
}

static void check_loss_falls(aoe_dtype dtype) {
    train_run r;
    train_run_create(&r);
    r.o.args.model_options.dtype = dtype;
    r.o.evaluate = NULL;
    r.o.args.epochs = 15;
    r.o.args.dropout = 0;
    r.o.args.save_every = 1000;
    r.o.args.lr = 5e-3;
    train_run_ok(&r, 2);
    double first = 0, last = 0;
    size_t step = 0;
    for (size_t i = 0; i < r.n; i++)
        if (r.events[i].kind == AOE_TRAIN_STEP) {
            first += step < 6 ? r.events[i].loss->total : 0;
            last += step >= 84 ? r.events[i].loss->total : 0;
            step++;
        }
    assert_int_equal(step, 90);
    assert_true(last < 0.6 * first);
    train_run_destroy(&r);
}

static void test_loss_falls(void **state) {
    (void)state;
    check_loss_falls(AOE_DTYPE_F32);
    check_loss_falls(AOE_DTYPE_BF16);
}

/* Trains with max_grad_norm set to max_norm. Returns the gradient norm of the first step. *weights is set to the
 * contents of the weights file, which the caller frees. */
static double first_norm(train_run *r, const char *name, double max_norm, char **weights, size_t *size) {
    train_run_output(r, name);
    r->o.args.max_grad_norm = max_norm;
    r->n = 0;
    train_run_ok(r, 1);
    *weights = train_run_read(r, "model.safetensors", size);
    assert_int_equal(r->events[1].kind, AOE_TRAIN_STEP);
    return r->events[1].grad_norm;
}

/* Tests gradient clipping. The reported norm must be the norm of the gradient before clipping. A run whose gradient
 * norm never reaches the maximum must give the weights of a run without clipping. */
static void test_clipping(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    char *free_run, *loose, *tight;
    size_t size;
    const double norm = first_norm(&r, "free", 0, &free_run, &size);
    assert_true(first_norm(&r, "loose", 1e9, &loose, &size) == norm);
    assert_true(first_norm(&r, "tight", norm / 1e6, &tight, &size) == norm);
    assert_memory_equal(free_run, loose, size);
    assert_true(memcmp(free_run, tight, size) != 0);
    free(free_run);
    free(loose);
    free(tight);
    train_run_destroy(&r);
}

static void test_output_directory(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.args.model_options.pooling = AOE_POOLING_LAST_AVG;
    r.o.args.model_options.prompt = "old {text}";
    r.o.args.model_options.max_length = 20;
    r.o.args.model_options.normalize = 1;
    train_run_ok(&r, 1);
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_model_info info = {.struct_size = sizeof info};
    assert_int_equal(aoe_model_open(&m, ctx, r.output, NULL, NULL), 0);
    aoe_model_get_info(m, &info);
    assert_int_equal(info.pooling, AOE_POOLING_LAST_AVG);
    assert_string_equal(info.prompt, "old {text}");
    assert_int_equal(info.max_length, 20);
    assert_int_equal(info.normalize, 1);
    const aoei_st_tensor *pooler = aoei_safetensors_find(m->files.weights, "pooler.dense.weight");
    assert_non_null(pooler);
    float v[2];
    memcpy(v, pooler->data, sizeof v);
    assert_true(v[0] == 0.0f && v[1] == 1.0f);
    assert_int_equal(json_integer_value(json_object_get(m->files.record, "steps")), 12);
    assert_int_equal(json_integer_value(json_object_get(m->files.record, "seed")), 42);
    assert_string_equal(json_string_value(json_object_get(m->files.record, "dev")), "dev.tsv");
    assert_true(json_is_real(json_object_get(m->files.record, "dev_score")));
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    /* one checkpoint must remain, but no staging directory */
    char *checkpoints = test_path(r.output, "checkpoints"), *last = test_path(checkpoints, "step-12");
    assert_int_equal(test_count_entries(checkpoints), 1);
    assert_int_equal(aoei_is_model_dir(last), 1);
    char **names;
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, r.output, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_true(names[i][0] != '.');
    aoei_list_free(names, n);
    free(checkpoints);
    free(last);
    train_run_destroy(&r);
}

/* Tests that the saved model is the model with the best score and not the last model. The embedding of a text must
 * equal its embedding during the evaluation with the best score. */
static void test_best_model(void **state) {
    (void)state;
    static const double scores[][3] = {{0.5, 0.9, 0.2},
                                       {0.7, 0.1, 0.2},
                                       {(double)NAN, -1, (double)NAN},
                                       {(double)NAN, (double)NAN, (double)NAN},
                                       {0.1, 0.2, 0.2}};
    static const size_t best[] = {1, 0, 1, 0, 1};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    train_run r;
    train_run_create(&r);
    for (size_t k = 0; k < 5; k++) {
        train_run_output(&r, names[k]);
        r.scores = scores[k];
        r.n = r.evaluations = 0;
        train_run_ok(&r, 1);
        assert_int_equal(r.evaluations, 3);
        assert_int_equal(r.events[r.n - 1].best_step, 4 * (best[k] + 1));
        aoe_context *ctx = tiny_context(1);
        aoe_model *m;
        aoe_embedder *e;
        float v[TRAIN_DIMS];
        const aoe_text text = aoe_text_of("the old cat");
        assert_int_equal(aoe_model_open(&m, ctx, r.output, &r.o.args.model_options, NULL), 0);
        assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
        assert_int_equal(aoe_embed(e, &text, 1, v, NULL, NULL), 0);
        assert_memory_equal(v, r.probe[best[k]], sizeof v);
        assert_true(memcmp(v, r.probe[2], sizeof v) != 0);
        aoe_embedder_destroy(e);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
    }
    train_run_destroy(&r);
}

/* Trains a model whose start model has the score `start`, and asserts the results of the last event and of aoe.json.
 * Returns the weights that were saved. */
static char *train_from_score(train_run *r, const char *name, double start, double best, size_t best_step,
                              size_t *size) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
    r->start_score = start;
    train_run_ok(r, 1);
    const aoe_train_event *done = &r->events[r->n - 1];
    assert_int_equal(done->step, 12);
    assert_true(done->best_score == best && done->start_score == start && done->trained_score == 0.9);
    assert_int_equal(done->best_step, best_step);
    assert_int_equal(done->trained_step, 8);
    char *settings = train_run_read(r, "aoe.json", NULL), *log = train_run_read(r, "train-log.jsonl", NULL);
    assert_non_null(strstr(settings, "\"start_dev_score\""));
    assert_non_null(strstr(log, "\"event\":\"eval\",\"step\":0,"));
    assert_non_null(strstr(log, "\"metric\":\"spearman\""));
    free(settings);
    free(log);
    return train_run_read(r, "model.safetensors", size);
}

/* Tests that the start model is saved if no step has a higher score, and that its score does not change the trained
 * weights, the learning rate or the early stopping. */
static void test_start_model(void **state) {
    (void)state;
    static const double scores[] = {0.5, 0.9, 0.2};
    train_run r;
    size_t size, best_size, tie_size, start_size;
    train_run_create(&r);
    r.scores = scores;
    r.o.dev_metric = "spearman";
    r.o.args.patience = 2;
    r.o.args.schedule = AOE_SCHEDULE_CONSTANT;
    r.o.args.lr_divide = 2;
    char *trained = train_from_score(&r, "below", 0.1, 0.9, 8, &size);
    const aoe_train_event *last = &r.events[r.n - 3];
    const double norm = last->grad_norm, lr = last->lr;
    char *best = train_from_score(&r, "above", 0.95, 0.95, 0, &best_size);
    last = &r.events[r.n - 3];
    assert_true(last->grad_norm == norm && last->lr == lr);
    char *tie = train_from_score(&r, "tie", 0.9, 0.9, 0, &tie_size); /* an equal score is not better */
    assert_true(size == best_size && size == tie_size);
    assert_memory_equal(best, tie, size);
    assert_true(memcmp(best, trained, size) != 0);
    r.o.args.lr = 0; /* the result is the start model */
    r.start_score = 0.1;
    train_run_output(&r, "unchanged");
    r.n = r.evaluations = 0;
    train_run_ok(&r, 1);
    char *start = train_run_read(&r, "model.safetensors", &start_size);
    assert_int_equal(start_size, size);
    assert_memory_equal(best, start, size);
    free(trained);
    free(best);
    free(tie);
    free(start);
    train_run_destroy(&r);
}

static void test_patience(void **state) {
    (void)state;
    static const double scores[] = {0.1, 0.5, 0.4, 0.3, 0.6, 0.2};
    train_run r;
    train_run_create(&r);
    r.o.args.eval_every = 2;
    r.o.args.patience = 2;
    r.scores = scores;
    train_run_ok(&r, 1);
    const aoe_train_event *done = &r.events[r.n - 1];
    assert_int_equal(done->kind, AOE_TRAIN_DONE);
    assert_int_equal(done->step, 8);
    assert_int_equal(done->best_step, 4);
    assert_true(done->score == 0.5);
    /* a checkpoint must be written at the end, although save_every does not require one at this step */
    assert_int_equal(r.events[r.n - 2].kind, AOE_TRAIN_CHECKPOINT);
    assert_int_equal(r.events[r.n - 2].step, 8);
    train_run_destroy(&r);
}

/* Tests that the output directory may be the directory of the base model, which is then replaced. */
static void test_in_place(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    train_run_ok(&r, 1);
    size_t size;
    char *want = train_run_read(&r, "model.safetensors", &size);
    free(r.output);
    r.output = strdup(r.model);
    r.o.args.output = r.output;
    r.o.args.force = 1;
    train_run_ok(&r, 1);
    char *got = train_run_read(&r, "model.safetensors", NULL);
    assert_memory_equal(got, want, size);
    free(got);
    free(want);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),          cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_chunks),           cmocka_unit_test(test_events),
                                       cmocka_unit_test(test_schedule),         cmocka_unit_test(test_step_counts),
                                       cmocka_unit_test(test_accumulated_loss), cmocka_unit_test(test_rate_zero),
                                       cmocka_unit_test(test_order_and_masks),  cmocka_unit_test(test_loss_falls),
                                       cmocka_unit_test(test_clipping),         cmocka_unit_test(test_output_directory),
                                       cmocka_unit_test(test_best_model),       cmocka_unit_test(test_start_model),
                                       cmocka_unit_test(test_patience),         cmocka_unit_test(test_in_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
