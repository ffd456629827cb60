/* SPDX-License-Identifier: MIT
 * Tests the training steps of the method distill: without a linear map, with a map that is dropped (the training head),
 * and with a map that is kept (a dense layer), for whole vectors and for prefixes. The loss and the gradients of all
 * weights are compared with a double-precision model and its finite differences. The bits of the gradients do not
 * depend on the chunk size and the number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "nn/optimizer.h"
#include "train/pair_step.h"

enum { TEXTS = 5, LONGEST = 6, MOST_DIMS = 20, PREFIXES = 2 };
enum { NONE, DROPPED, KEPT }; /* kinds of maps */

#define LOSS_TOLERANCE 2e-6

static const aoe_prefix prefixes[PREFIXES] = {{.dims = 5, .weight = 0.4}, {.dims = 16, .weight = 1.5}};

typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config c;
    aoei_training_layers training;
    aoei_pair_step step;
    aoe_objective_options objective;
    bert_reference r;
    int map;                          /* kind of the map */
    size_t dims;                      /* size of the teacher embeddings */
    size_t n_sizes;                   /* number of prefixes; 0: the loss of whole vectors */
    float teacher[TEXTS * MOST_DIMS]; /* [TEXTS, dims] */
    const float *rows[TEXTS];
} problem;

/* Variants of a step. dims: 0: the size of the vectors. */
typedef struct variant {
    int map;
    size_t dims, n_sizes;
    aoe_vector_loss form;
} variant;

static const variant variants[] = {
    {NONE, 16, 0, AOE_VECTOR_LOSS_COSINE},           {NONE, 20, PREFIXES, AOE_VECTOR_LOSS_SQUARES},
    {DROPPED, 20, 0, AOE_VECTOR_LOSS_COSINE},        {DROPPED, 7, 0, AOE_VECTOR_LOSS_SQUARES},
    {DROPPED, 20, PREFIXES, AOE_VECTOR_LOSS_COSINE}, {KEPT, 16, PREFIXES, AOE_VECTOR_LOSS_COSINE},
    {KEPT, 20, 0, AOE_VECTOR_LOSS_SQUARES},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void fill_batch(aoei_pair_step *s) {
    aoei_rng rng;
    aoei_rng_init(&rng, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&s->buffer);
    for (size_t i = 0; i < TEXTS; i++) {
        int32_t ids[LONGEST];
        const size_t n = 2 + (3 * i) % (LONGEST - 1);
        for (size_t t = 0; t < n; t++)
            ids[t] = (int32_t)(4 + aoei_rng_below(&rng, (uint32_t)s->config.vocab - 4));
        aoei_batch_add(&s->buffer, ids, n, (uint32_t)i);
    }
    s->arity = 1;
}

static void create(problem *p, const variant *v, aoei_dtype type, size_t threads, size_t chunk) {
    const tiny_model shape = tiny_defaults();
    memset(p, 0, sizeof *p);
    p->ctx = test_context(test_best_tier(), threads);
    p->map = v->map;
    p->dims = v->dims;
    p->n_sizes = v->n_sizes;
    tiny_config(&p->c, &shape);
    if (v->map == DROPPED) {
        p->training = (aoei_training_layers){.head_rows = v->dims, .head_cols = p->c.hidden};
        p->c.training = &p->training;
    }
    p->c.modules.n = v->map == KEPT;
    p->c.modules.list[0] = (aoei_module){.kind = AOEI_MODULE_DENSE, .in = p->c.hidden, .out = v->dims};
    const aoei_pair_step_options o = {.pairs = TEXTS,
                                      .arity = 1,
                                      .tokens = TEXTS * LONGEST,
                                      .longest = LONGEST,
                                      .type = type,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = chunk * LONGEST,
                                      .teacher_dims = v->dims,
                                      .prefixes = v->n_sizes ? prefixes : NULL,
                                      .loss = &aoei_loss_of_vectors};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    tiny_fill(p->ctx, &p->step.params, &p->c, 1);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    fill_batch(&p->step);
    if (v->n_sizes)
        aoei_matryoshka_choose(&p->step.matryoshka, v->n_sizes, 0, 1, 1);
    test_fill_normal(p->teacher, TEXTS * v->dims, 1, 3);
    for (size_t i = 0; i < TEXTS; i++)
        p->rows[i] = p->teacher + i * v->dims;
    p->step.distill = (aoei_distill){.dims = v->dims, .teacher = p->rows};
    aoe_objective_options_defaults(&p->objective);
    p->objective.w_vectors = 0.8;
    p->objective.w_similarities = 1.7;
    p->objective.vector_loss = v->form;
}

static void destroy(problem *p) {
    if (p->r.config)
        bert_reference_destroy(&p->r);
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

static aoe_objective_result run(problem *p, double scale) {
    aoe_objective_result r;
    aoe_error err;
    if (aoei_pair_step_gradient(&p->step, AOE_POOLING_LAST_AVG, &p->objective, NULL, NULL, NULL, scale, &r, &err))
        fail_msg("%s", err.message);
    return r;
}

/* ------------------------------------------------------------------ reference */

static double cosine(const double *x, const double *y, size_t n) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < n; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

/* Applies the first n columns of the map, whose weight has the index `slot`, to x. */
static void apply_map(const problem *p, size_t slot, double *y, const double *x, size_t n) {
    for (size_t o = 0; o < p->dims; o++) {
        y[o] = p->r.weights[slot + 1][o];
        for (size_t k = 0; k < n; k++)
            y[o] += p->r.weights[slot][o * p->c.hidden + k] * x[k];
    }
}

/* Returns the loss of the first n components of the vectors v. */
static double prefix_loss(const problem *p, double v[TEXTS][MOST_DIMS], size_t n) {
    double vectors = 0, similarities = 0, y[MOST_DIMS], t[TEXTS][MOST_DIMS];
    const size_t compared = p->map == DROPPED ? p->dims : n;
    for (size_t i = 0; i < TEXTS; i++) {
        double squares = 0;
        for (size_t k = 0; k < p->dims; k++)
            t[i][k] = (double)p->rows[i][k];
        memcpy(y, v[i], sizeof y);
        if (p->map == DROPPED)
            apply_map(p, aoei_pooled_slot(&p->c, AOEI_PW_HEAD), y, v[i], n);
        for (size_t k = 0; k < compared; k++)
            squares += (y[k] - t[i][k]) * (y[k] - t[i][k]) / (double)compared;
        vectors += p->objective.vector_loss == AOE_VECTOR_LOSS_SQUARES ? squares : 1 - cosine(y, t[i], compared);
    }
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t j = 0; j < TEXTS; j++)
            similarities += i == j ? 0 : pow(cosine(v[i], v[j], n) - cosine(t[i], t[j], p->dims), 2);
    return p->objective.w_vectors * vectors / TEXTS +
           p->objective.w_similarities * similarities / (TEXTS * (TEXTS - 1));
}

static double loss(void *arg) {
    problem *p = arg;
    double pooled[TEXTS * MOST_DIMS], v[TEXTS][MOST_DIMS] = {{0}}, sum = 0;
    const size_t D = p->c.hidden;
    bert_reference_forward(&p->r);
    bert_reference_pool(&p->r, AOE_POOLING_LAST_AVG, pooled);
    for (size_t i = 0; i < TEXTS; i++) {
        memcpy(v[i], pooled + i * D, D * sizeof *pooled);
        if (p->map == KEPT)
            apply_map(p, aoei_pooled_slot(&p->c, 0), v[i], pooled + i * D, D);
    }
    for (size_t i = 0; i < p->n_sizes; i++)
        sum += prefixes[i].weight * prefix_loss(p, v, prefixes[i].dims);
    return p->n_sizes ? sum : prefix_loss(p, v, p->map == KEPT ? p->dims : D);
}

/* ---------------------------------------------------------------------- tests */

static void gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        static problem p;
        size_t checked = 0;
        create(&p, &variants[i], AOEI_F32, 1, 0);
        bert_reference_create(&p.r, p.ctx, &p.c, p.step.params.values, &p.step.buffer.batch, NULL);
        const aoe_objective_result got = run(&p, 1);
        const double want = loss(&p), whole = sqrt(aoei_sum_squares(p.ctx, p.step.params.grad));
        if (!(fabs(got.total - want) <= LOSS_TOLERANCE * fabs(want)))
            fail_msg("variant %zu: the loss is %.9g, expected %.9g", i, got.total, want);
        assert_true(fabs(0.8 * got.vectors + 1.7 * got.similarities - got.total) <= 1e-12);
        assert_true(whole > 1e-3);
        for (size_t s = 0; s < p.step.params.n_slots; s++)
            if (p.step.params.grads[s].data) {
                test_weight_gradient(p.ctx, p.r.weights[s], p.step.params.grads[s], whole, (uint32_t)s, loss, &p);
                checked++;
            }
        assert_int_equal(checked, 37 + (variants[i].map == NONE ? 0 : 2));
        destroy(&p);
    }
}

/* Reads all gradients of a step with this factor, which is added to the gradients of a step with the factor 1. */
static float *gradients_of(const variant *v, aoei_dtype type, size_t threads, size_t chunk, double scale, size_t *n) {
    static problem p;
    create(&p, v, type, threads, chunk);
    run(&p, 1);
    if (scale > 0)
        run(&p, scale);
    *n = p.step.params.count;
    float *grad = malloc(*n * sizeof *grad);
    assert_non_null(grad);
    aoei_tensor_read(p.ctx, grad, p.step.params.grad);
    destroy(&p);
    return grad;
}

static void chunks_and_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        size_t n;
        float *want = gradients_of(&variants[i], AOEI_F32, 1, 0, 0, &n);
        for (size_t chunk = 1; chunk <= 2; chunk++) {
            float *got = gradients_of(&variants[i], AOEI_F32, 1 + chunk, chunk, 0, &n);
            assert_memory_equal(want, got, n * sizeof *want);
            free(got);
        }
        free(want);
    }
}

/* Asserts that a is factor * b, with this tolerance relative to the norm. */
static void assert_near(const float *a, const float *b, size_t n, double factor, double tolerance) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - factor * (double)b[i], 2);
        norm += pow(factor * (double)b[i], 2);
    }
    if (!(sqrt(difference) <= tolerance * sqrt(norm)))
        fail_msg("the gradients differ by %g, their norm is %g", sqrt(difference), sqrt(norm));
}

/* A second call adds its gradient, multiplied by its factor. Matmuls in bf16 change the gradient only by rounding
 * errors. */
static void scales_and_types(void **state) {
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        size_t n;
        float *want = gradients_of(&variants[i], AOEI_F32, 1, 0, 0, &n),
              *more = gradients_of(&variants[i], AOEI_F32, 2, 0, 0.5, &n),
              *rounded = gradients_of(&variants[i], AOEI_BF16, 2, 0, 0, &n);
        assert_near(more, want, n, 1.5, 1e-6);
        assert_near(rounded, want, n, 1, 0.02);
        free(rounded);
        free(more);
        free(want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(chunks_and_threads),
                                       cmocka_unit_test(scales_and_types)};
    return cmocka_run_group_tests_name("distill_step", tests, NULL, NULL);
}
