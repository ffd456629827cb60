/* SPDX-License-Identifier: MIT
 * Runs the training for tests; see train_run.h.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "train_run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "support.h"

static int on_event(void *user, const aoe_train_event *e) {
    train_run *r = user;
    r->starts = e->kind == AOE_TRAIN_START && !e->step;
    if (r->n < TRAIN_EVENTS && e->kind != AOE_TRAIN_EMBED) {
        r->losses[r->n] = *e->loss;
        r->events[r->n] = *e;
        r->events[r->n].loss = &r->losses[r->n];
        r->n++;
    }
    if (r->stop_kind != (int)e->kind || r->stop_step != e->step)
        return 0;
    if (r->kill)
        kill(getpid(), SIGKILL);
    return 1;
}

static int on_evaluate(void *user, aoe_embedder *e, double *score, aoe_error *err) {
    train_run *r = user;
    if (r->starts) {
        r->start_evaluations++;
        *score = r->start_score;
        return 0;
    }
    const aoe_text text = aoe_text_of("the old cat");
    aoe_sts_result result = {.struct_size = sizeof result};
    assert_true(r->evaluations < sizeof r->probe / sizeof *r->probe);
    int code = aoe_embed(e, &text, 1, r->probe[r->evaluations], NULL, err);
    if (!code)
        code = aoe_eval_pairs(e, r->dev, &result, err);
    if (!code)
        *score = r->scores ? r->scores[r->evaluations] : result.spearman;
    r->evaluations++;
    return code;
}

void train_run_create(train_run *r) {
    memset(r, 0, sizeof *r);
    aoe_error err = {0};
    tiny_model shape = tiny_defaults();
    shape.prefix = "bert.";
    shape.pooler = 1;
    r->dir = tiny_dir_create();
    r->model = test_path(r->dir, "model");
    r->output = test_path(r->dir, "out");
    tiny_model_write(r->model, &shape);
    r->data = tiny_table(r->dir, "train.tsv", TRAIN_PAIRS, 1);
    char *dev = tiny_table(r->dir, "dev.tsv", 15, 2);
    if (aoe_pairs_load(&r->dev, dev, NULL, &err))
        fail_msg("%s", err.message);
    free(dev);
    aoe_train_options *o = &r->o;
    aoe_train_options_defaults(o);
    o->args.model = r->model;
    aoe_train_data_defaults(&r->source, r->data);
    o->data = &r->source;
    o->n_data = 1;
    o->args.output = r->output;
    o->args.model_options.dtype = AOE_DTYPE_F32; /* bf16 results depend on the CPU */
    o->args.epochs = 2;
    o->batch_size = 4;
    o->args.lr = 1e-3;
    o->args.save_every = 3;
    o->args.eval_every = 4;
    o->evaluate = on_evaluate;
    o->evaluate_user = r;
    o->dev_name = "dev.tsv";
    o->args.event = on_event;
    o->args.event_user = r;
    r->stop_kind = -1;
    r->start_score = (double)NAN;
}

void train_run_destroy(train_run *r) {
    aoe_pairs_free(r->dev);
    free(r->model);
    free(r->data);
    free(r->output);
    test_dir_remove(r->dir);
}

int train_run_go(train_run *r, size_t threads, aoe_error *err) {
    aoe_context *ctx = tiny_context(threads);
    const int code = aoe_train(ctx, &r->o, err);
    aoe_context_destroy(ctx);
    return code;
}

void train_run_ok(train_run *r, size_t threads) {
    aoe_error err = {0};
    if (train_run_go(r, threads, &err))
        fail_msg("%s", err.message);
}

void train_run_output(train_run *r, const char *name) {
    free(r->output);
    r->output = test_path(r->dir, name);
    r->o.args.output = r->output;
    assert_int_equal(aoei_exists(r->output), 0);
}

char *train_run_read(const train_run *r, const char *name, size_t *size) {
    char *path = test_path(r->output, name), *data = test_read(path, size);
    free(path);
    return data;
}

void train_run_assert_output(const train_run *r, const char *weights, size_t size, const char *settings) {
    size_t got_size;
    char *got = train_run_read(r, "model.safetensors", &got_size), *got_settings = train_run_read(r, "aoe.json", NULL);
    assert_non_null(got);
    assert_non_null(got_settings);
    assert_int_equal(got_size, size);
    assert_memory_equal(got, weights, size);
    assert_string_equal(got_settings, settings);
    free(got);
    free(got_settings);
}

void train_run_use_triplets(train_run *r) {
    char text[18 * 200] = "query\tpositive\tnegative\n";
    size_t at = strlen(text);
    for (uint32_t i = 0; i < 18; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "the cat %c\tthe %c cat\ta %c house dog\n", 'a' + (char)i,
                               'a' + (char)i, 'a' + (char)i);
    free(r->data);
    r->data = test_write_text(r->dir, "triplets.tsv", text);
    r->source.path = r->data;
}

size_t train_run_count(const train_run *r, aoe_train_event_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->events[i].kind == kind;
    return n;
}

void train_run_trace(train_run *r, const double want[3]) {
    size_t step = 0;
    r->o.evaluate = NULL;
    r->o.args.max_steps = 3;
    train_run_ok(r, 1);
    for (size_t k = 0; k < r->n && step < 3; k++) {
        if (r->events[k].kind != AOE_TRAIN_STEP)
            continue;
        const double loss = r->events[k].loss->total;
        if (!(fabs(loss - want[step]) <= 1e-5 * (1 + fabs(want[step]))))
            fail_msg("%s, step %zu: the loss is %.7f, expected %.7f", aoe_method_name(r->o.method), step + 1, loss,
                     want[step]);
        step++;
    }
    assert_int_equal(step, 3);
}
