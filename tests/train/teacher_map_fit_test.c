/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the start weights of the linear map to the teacher embeddings (train/teacher_map_fit.h): the loss with these
 * weights is that of a ridge regression which the test solves by Gaussian elimination, and runs with a fitted map can
 * be resumed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"

enum { TEXTS = 100, FEW = 4 * TRAIN_DIMS - 2, TEACHER_DIMS = 20, D = TRAIN_DIMS, T = TEACHER_DIMS };

typedef struct problem {
    train_run r;
    char *teacher;           /* model directory; owned */
    float v[TEXTS][D];       /* embeddings by the start model */
    float t[TEXTS][T];       /* embeddings by the teacher */
    aoe_train_data files[2]; /* the texts, in two files */
} problem;

static void embed(const char *dir, uint32_t n, float *v) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options options;
    aoe_model *m;
    aoe_embedder *e;
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    options.normalize = 0;
    assert_int_equal(aoe_model_open(&m, ctx, dir, &options, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        const aoe_text text = aoe_text_of(tiny_text(i));
        assert_int_equal(aoe_embed(e, &text, 1, v + i * aoe_model_dims(m), NULL, NULL), 0);
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

static char *write_texts(const train_run *r, const char *name, uint32_t first, uint32_t end) {
    char *all = calloc(end - first, 128);
    assert_non_null(all);
    for (uint32_t i = first; i < end; i++) {
        strcat(all, tiny_text(i));
        strcat(all, "\n");
    }
    char *path = test_write_text(r->dir, name, all);
    free(all);
    return path;
}

/* Prepares a run of one epoch with n texts, which are two batches. */
static void begin(problem *p, uint32_t n) {
    train_run *r = &p->r;
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_DISTILL);
    tiny_model shape = tiny_defaults();
    shape.hidden = TEACHER_DIMS;
    shape.layers = 1;
    shape.seed = 99;
    p->teacher = test_path(r->dir, "teacher");
    tiny_model_write(p->teacher, &shape);
    r->o.teachers[0] = p->teacher;
    aoe_train_data_defaults(&p->files[0], write_texts(r, "first.txt", 0, n / 2));
    aoe_train_data_defaults(&p->files[1], write_texts(r, "second.txt", n / 2, n));
    r->o.data = p->files;
    r->o.n_data = 2;
    r->o.batch_size = TEXTS;
    r->o.args.epochs = 1;
    r->o.args.lr = run.args.lr;
    r->o.args.warmup = 0;
    r->o.evaluate = NULL;
    r->o.args.eval_every = 0;
    embed(r->model, n, p->v[0]);
    embed(p->teacher, n, p->t[0]);
}

static void end(problem *p) {
    free((char *)p->files[0].path);
    free((char *)p->files[1].path);
    free(p->teacher);
    train_run_destroy(&p->r);
}

/* Solves (G + ridge I) w = c for the columns of c by Gaussian elimination. g: [D, D]; c: [D, T] becomes the solution.
 * Both are overwritten. */
static void eliminate(double g[D][D], double c[D][T]) {
    for (size_t i = 0; i < D; i++)
        for (size_t row = 0; row < D; row++) {
            if (row == i)
                continue;
            const double factor = g[row][i] / g[i][i];
            for (size_t k = 0; k < D; k++)
                g[row][k] -= factor * g[i][k];
            for (size_t k = 0; k < T; k++)
                c[row][k] -= factor * c[i][k];
        }
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < T; k++)
            c[i][k] /= g[i][i];
}

/* Returns 1 - the mean cosine of the teacher embeddings and of a ridge regression. */
static double expected_loss(const problem *p) {
    double g[D][D] = {{0}}, c[D][T] = {{0}}, v[D] = {0}, t[T] = {0}, trace = 0, loss = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t d = 0; d < D; d++)
            v[d] += (double)p->v[i][d] / TEXTS;
        for (size_t k = 0; k < T; k++)
            t[k] += (double)p->t[i][k] / TEXTS;
    }
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t d = 0; d < D; d++) {
            const double x = (double)p->v[i][d] - v[d];
            for (size_t k = 0; k < D; k++)
                g[d][k] += x * ((double)p->v[i][k] - v[k]) / TEXTS;
            for (size_t k = 0; k < T; k++)
                c[d][k] += x * ((double)p->t[i][k] - t[k]) / TEXTS;
        }
    for (size_t d = 0; d < D; d++)
        trace += g[d][d];
    for (size_t d = 0; d < D; d++)
        g[d][d] += 1e-3 * trace / D;
    eliminate(g, c);
    for (size_t i = 0; i < TEXTS; i++) {
        double yt = 0, yy = 0, tt = 0;
        for (size_t k = 0; k < T; k++) {
            double y = t[k];
            for (size_t d = 0; d < D; d++)
                y += c[d][k] * ((double)p->v[i][d] - v[d]);
            yt += y * (double)p->t[i][k];
            yy += y * y;
            tt += (double)p->t[i][k] * (double)p->t[i][k];
        }
        loss += (1 - yt / sqrt(yy * tt)) / TEXTS;
    }
    return loss;
}

/* Returns the mean loss of the texts with the start weights. */
static double start_loss(problem *p) {
    double sum = 0;
    p->r.o.args.lr = 0;
    train_run_ok(&p->r, 2);
    assert_int_equal(train_run_count(&p->r, AOE_TRAIN_STEP), 2);
    for (size_t k = 0; k < p->r.n; k++)
        sum += p->r.events[k].kind == AOE_TRAIN_STEP ? p->r.events[k].loss->vectors : 0;
    return sum / 2;
}

static void map_starts_from_ridge_regression(void **state) {
    (void)state;
    problem p;
    begin(&p, TEXTS);
    const double want = expected_loss(&p), got = start_loss(&p);
    if (!(fabs(got - want) <= 1e-6))
        fail_msg("the mean loss with the start weights is %.9g, but that of a ridge regression is %.9g", got, want);
    end(&p);
}

/* With fewer texts than 4 per component, the map starts from the identity and random values, which fit worse. */
static void few_texts_are_not_fitted(void **state) {
    (void)state;
    problem p;
    begin(&p, FEW);
    const double few = start_loss(&p);
    end(&p);
    begin(&p, FEW + 2);
    assert_true(start_loss(&p) < 0.8 * few);
    end(&p);
}

static void resumes(void **state) {
    (void)state;
    problem p;
    size_t size;
    begin(&p, TEXTS);
    p.r.o.args.epochs = 3;
    p.r.o.args.save_every = 1;
    train_run_ok(&p.r, 1);
    char *want = train_run_read(&p.r, "model.safetensors", &size), *record = train_run_read(&p.r, "aoe.json", NULL);
    train_run_output(&p.r, "again");
    p.r.n = 0;
    p.r.stop_kind = AOE_TRAIN_STEP;
    p.r.stop_step = 2;
    assert_int_equal(train_run_go(&p.r, 2, NULL), AOE_ECANCELLED);
    p.r.stop_kind = -1;
    p.r.o.args.resume = 1;
    train_run_ok(&p.r, 2);
    train_run_assert_output(&p.r, want, size, record);
    free(record);
    free(want);
    end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_starts_from_ridge_regression),
        cmocka_unit_test(few_texts_are_not_fitted),
        cmocka_unit_test(resumes),
    };
    return cmocka_run_group_tests_name("teacher_map_fit", tests, NULL, NULL);
}
