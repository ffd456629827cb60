/* SPDX-License-Identifier: MIT
 * covers: train/discriminator
 * Tests the training step of DiffCSE (train/discriminator.h) against a double-precision model of both encoders, the
 * head with batch normalization and the classifier: the losses and, by finite differences, the gradients of all
 * weights. Other tests compare the losses and the gradients with values that PyTorch computed, test a weight of 0,
 * equal tokens and a classifier of zeros, and the bits for several chunk sizes and numbers of threads.
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
#include "nn/elementwise.h"
#include "nn/optimizer.h"
#include "train/discriminator.h"
#include "train/pair_step.h"

enum { PAIRS = 4, TEXTS = 2 * PAIRS, LONGEST = 9, TOKENS = 41, HIDDEN = 16 };

#define LOSS_TOLERANCE 2e-6
#define WEIGHT         0.7
#define BATCHNORM_EPS  1e-5

static const size_t lengths[TEXTS] = {3, 9, 5, 2, 8, 3, 5, 6};

typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config c;
    aoei_training_layers training;
    aoei_pair_step step;
    aoei_discriminator discriminator;
    aoei_encoder_dropout drop, drop_e; /* dropout of the encoder and of the discriminator */
    aoe_objective_options objective;
    int32_t replaced[TOKENS]; /* tokens of the discriminator, before the first token of each text is restored */
    int32_t ids[TOKENS];      /* tokens of the discriminator */
    aoei_batch batch_e;
    bert_reference f, e;
    double *pooled, *z;
} problem;

/* Replaces a third of the tokens. */
static void replace(void *self, const aoei_batch *b, const uint32_t key[2], int32_t *ids) {
    const problem *p = self;
    (void)key;
    for (size_t i = 0; i < b->n_texts; i++)
        for (size_t t = b->offsets[i]; t < b->offsets[i + 1]; t++)
            ids[t] = (t - b->offsets[i] + b->text_index[i]) % 3 ? b->ids[t]
                                                                : (int32_t)((size_t)(b->ids[t] + 1) % p->c.vocab);
}

static void keep(void *self, const aoei_batch *b, const uint32_t key[2], int32_t *ids) {
    (void)self;
    (void)key;
    memcpy(ids, b->ids, b->n_tokens * sizeof *ids);
}

/* Sets the head and the classifier of the method. */
static void set_layers(aoei_training_layers *t, size_t D) {
    const aoei_module head[] = {
        {.kind = AOEI_MODULE_DENSE, .in = D, .out = 2 * D, .no_bias = 1},
        {.kind = AOEI_MODULE_BATCHNORM, .in = 2 * D, .out = 2 * D, .activation = AOEI_DENSE_RELU},
        {.kind = AOEI_MODULE_DENSE, .in = 2 * D, .out = D, .no_bias = 1},
        {.kind = AOEI_MODULE_BATCHNORM, .in = D, .out = D, .no_bias = 1}};
    memcpy(t->projection, head, sizeof head);
    t->n_projection = sizeof head / sizeof *head;
    t->head_rows = 2;
    t->head_cols = D;
}

static void fill_batch(aoei_pair_step *step) {
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&step->buffer);
    for (size_t i = 0; i < TEXTS; i++) {
        int32_t ids[LONGEST];
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = (int32_t)aoei_rng_below(&r, (uint32_t)step->config.vocab);
        aoei_batch_add(&step->buffer, ids, lengths[i], (uint32_t)(10 + i));
    }
    assert_int_equal(step->buffer.batch.n_tokens, TOKENS);
}

typedef struct variant {
    aoei_tier tier;
    size_t threads, chunk;
    int recompute;
    aoei_dtype type;
    double weight;
    void (*replace)(void *self, const aoei_batch *b, const uint32_t key[2], int32_t *ids);
    void (*options)(aoei_encoder_config *c); /* architecture; NULL: BERT */
} variant;

/* Creates the step with random weights, which differ between the encoders. The head has weights of all sizes. */
static void create(problem *p, const variant *v) {
    tiny_model shape = tiny_defaults();
    shape.options = v->options;
    memset(p, 0, sizeof *p);
    p->ctx = test_context(v->tier, v->threads);
    tiny_config(&p->c, &shape);
    set_layers(&p->training, p->c.hidden);
    p->c.training = &p->training;
    aoei_discriminator_init(&p->discriminator,
                            &(aoei_replacement){.replace = v->replace, .self = p, .weight = v->weight});
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .tokens = TOKENS,
                                      .longest = LONGEST,
                                      .type = v->type,
                                      .recompute = v->recompute,
                                      .chunk_pairs = v->chunk,
                                      .chunk_tokens = 2 * v->chunk * LONGEST,
                                      .added = &p->discriminator.base};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    const size_t half = p->step.params.count / 2;
    float *host = malloc(half * sizeof *host);
    assert_non_null(host);
    tiny_fill(p->ctx, &p->step.params, &p->c, 1);
    aoei_tensor_read(p->ctx, host, aoei_tensor_slice(p->step.params.value, 0, 1, half));
    for (size_t i = 0; i < half; i++)
        host[i] *= (float)(1 + 0.3 * sin((double)i));
    aoei_tensor_write(p->ctx, aoei_tensor_slice(p->step.params.value, half, 1, half), host);
    aoei_params_pack(p->ctx, &p->step.params);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    free(host);
    fill_batch(&p->step);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    p->drop_e = p->drop;
    p->discriminator.key[0] = 5;
    p->discriminator.key[1] = 6;
    aoei_replacement_key(p->drop_e.key, p->discriminator.key, 1);
    aoe_objective_options_defaults(&p->objective);
    p->objective.w_cosine = p->objective.w_angle = p->objective.w_cln = 0;
}

static void create_reference(problem *p, int with_dropout) {
    const aoei_batch *b = &p->step.buffer.batch;
    replace(p, b, NULL, p->ids);
    for (size_t i = 0; i < TEXTS; i++)
        p->ids[b->offsets[i]] = b->ids[b->offsets[i]];
    p->batch_e = *b;
    p->batch_e.ids = p->ids;
    bert_reference_create(&p->f, p->ctx, &p->c, aoei_params_values(&p->step.params, 0), b,
                          with_dropout ? &p->drop : NULL);
    bert_reference_create(&p->e, p->ctx, &p->c, aoei_params_values(&p->step.params, 1), &p->batch_e,
                          with_dropout ? &p->drop_e : NULL);
    p->pooled = malloc(TEXTS * p->c.hidden * sizeof *p->pooled);
    p->z = malloc(TEXTS * p->c.hidden * sizeof *p->z);
    assert_true(p->pooled && p->z);
}

static void destroy(problem *p) {
    if (p->f.config) {
        bert_reference_destroy(&p->f);
        bert_reference_destroy(&p->e);
    }
    free(p->pooled);
    free(p->z);
    aoei_pair_step_destroy(&p->step);
    aoei_discriminator_destroy(&p->discriminator);
    aoe_context_destroy(p->ctx);
}

static int run(problem *p, int with_dropout, aoe_objective_result *r) {
    return aoei_pair_step_gradient(&p->step, AOE_POOLING_CLS, &p->objective, NULL, NULL, with_dropout ? &p->drop : NULL,
                                   1.0, r, NULL);
}

/* ------------------------------------------------------------ the loss in double precision */

/* Computes y [TEXTS, out] = x w^T. */
static void dense(double *y, const double *x, const double *w, size_t in, size_t out) {
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t o = 0; o < out; o++) {
            y[i * out + o] = 0;
            for (size_t k = 0; k < in; k++)
                y[i * out + o] += w[o * in + k] * x[i * in + k];
        }
}

/* Normalizes the columns of x [TEXTS, D] in place. gamma, beta: [D], or NULL. */
static void batchnorm(double *x, const double *gamma, const double *beta, size_t D) {
    for (size_t k = 0; k < D; k++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < TEXTS; i++)
            mean += x[i * D + k] / TEXTS;
        for (size_t i = 0; i < TEXTS; i++)
            variance += (x[i * D + k] - mean) * (x[i * D + k] - mean) / TEXTS;
        for (size_t i = 0; i < TEXTS; i++)
            x[i * D + k] =
                (x[i * D + k] - mean) / sqrt(variance + BATCHNORM_EPS) * (gamma ? gamma[k] : 1) + (beta ? beta[k] : 0);
    }
}

static void head(problem *p) {
    const size_t D = p->c.hidden;
    double *const *w = p->f.weights + aoei_pooled_slot(&p->c, AOEI_PW_PROJECTION);
    double *wide = malloc(TEXTS * 2 * D * sizeof *wide);
    assert_non_null(wide);
    dense(wide, p->pooled, w[0], D, 2 * D);
    batchnorm(wide, w[AOEI_MODULE_WEIGHTS], w[AOEI_MODULE_WEIGHTS + 1], 2 * D);
    for (size_t i = 0; i < TEXTS * 2 * D; i++)
        wide[i] = wide[i] > 0 ? wide[i] : 0;
    dense(p->z, wide, w[2 * (size_t)AOEI_MODULE_WEIGHTS], 2 * D, D);
    batchnorm(p->z, NULL, NULL, D);
    free(wide);
}

static double cosine(const double *x, const double *y, size_t n) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < n; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

static double contrastive(const problem *p) {
    const size_t D = p->c.hidden;
    double sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        double all = 0, own = 0;
        for (size_t j = 0; j < PAIRS; j++) {
            const double s = cosine(p->z + 2 * i * D, p->z + (2 * j + 1) * D, D) / p->objective.tau_ibn;
            own = i == j ? s : own;
            all += exp(s);
        }
        sum += (log(all) - own) / PAIRS;
    }
    return sum;
}

static double detection(const problem *p) {
    const aoei_batch *b = &p->step.buffer.batch;
    const size_t D = p->c.hidden, slot = aoei_pooled_slot(&p->c, AOEI_PW_HEAD);
    double sum = 0;
    for (size_t t = 0; t < TOKENS; t++) {
        double logit[2];
        for (size_t c = 0; c < 2; c++) {
            logit[c] = p->f.weights[slot + 1][c];
            for (size_t k = 0; k < D; k++)
                logit[c] += p->f.weights[slot][c * D + k] * p->e.last[t * D + k];
        }
        sum += log(exp(logit[0]) + exp(logit[1])) - logit[p->ids[t] != b->ids[t]];
    }
    return sum / TOKENS;
}

static double loss(void *arg) {
    problem *p = arg;
    bert_reference_forward(&p->f);
    bert_reference_pool(&p->f, AOE_POOLING_CLS, p->pooled);
    head(p);
    p->e.first_vectors = p->z;
    bert_reference_forward(&p->e);
    return contrastive(p) + p->discriminator.replacement.weight * detection(p);
}

/* --------------------------------------------------------------------------------- tests */

/* Returns the elements of t, which the caller frees. */
static float *elements(const problem *p, aoei_tensor t) {
    const size_t n = t.rows * t.cols;
    float *host = calloc(n ? n : 1, sizeof *host);
    assert_non_null(host);
    aoei_tensor_read(p->ctx, host, t);
    return host;
}

static double norm_of(const problem *p, aoei_tensor t) {
    return sqrt(aoei_sum_squares(p->ctx, t));
}

/* Compares the losses and the gradients of all weights of the encoder, the head, the classifier and the
 * discriminator. */
static void check(const variant *v, int with_dropout) {
    problem p;
    aoe_objective_result r;
    create(&p, v);
    create_reference(&p, with_dropout);
    assert_int_equal(run(&p, with_dropout, &r), 0);
    const double want = loss(&p), whole = norm_of(&p, p.step.params.grad);
    assert_true(fabs(r.total - want) <= LOSS_TOLERANCE * fabs(want));
    assert_true(fabs(r.contrastive - contrastive(&p)) <= LOSS_TOLERANCE * r.contrastive);
    assert_true(fabs(r.detection - detection(&p)) <= LOSS_TOLERANCE * r.detection);
    assert_true(r.detection > 0.1 && whole > 1e-3 && whole < 1e3);
    for (size_t encoder = 0; encoder < 2; encoder++)
        for (size_t s = 0; s < p.step.params.n_slots; s++) {
            const aoei_tensor g = aoei_params_grads(&p.step.params, encoder)[s];
            if (!g.data)
                continue;
            if (encoder && s >= aoei_pooled_slot(&p.c, 0)) /* the discriminator has no head */
                assert_true(norm_of(&p, g) <= 0);
            else
                test_weight_gradient(p.ctx, (encoder ? p.e : p.f).weights[s], g, whole, (uint32_t)s, loss, &p);
        }
    destroy(&p);
}

static const variant plain = {.tier = AOEI_TIER_C, .threads = 1, .weight = WEIGHT, .replace = replace};

static void gradients(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int dropout = 0; dropout < 2; dropout++) {
            variant v = plain;
            v.tier = (aoei_tier)tier;
            check(&v, dropout);
        }
}

static void architectures(void **state) {
    (void)state;
    void (*const all[])(aoei_encoder_config *) = {tiny_roberta,    tiny_mpnet,   tiny_distilbert, tiny_electra,
                                                  tiny_modernbert, tiny_deberta, tiny_llama,      tiny_albert};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        variant v = plain;
        v.tier = test_best_tier();
        v.options = all[i];
        check(&v, 1);
    }
}

/* The gradient of the detection loss reaches the encoder through z: without the contrastive loss, it is not 0. Only key
 * biases, and the bias of the last norm, which the batch normalization removes, have no gradient. */
static void detection_reaches_the_encoder(void **state) {
    (void)state;
    problem p;
    aoe_objective_result r;
    create(&p, &plain);
    p.objective.w_ibn = 0;
    assert_int_equal(run(&p, 0, &r), 0);
    assert_true(fabs(r.total - WEIGHT * r.detection) < 1e-12);
    for (size_t s = 0; s < p.step.params.n_slots; s++) {
        const aoei_tensor g = aoei_params_grads(&p.step.params, 0)[s];
        const int is_key_bias = s >= AOEI_W_LAYERS && (s - AOEI_W_LAYERS) % AOEI_LW_COUNT == AOEI_LW_K_BIAS;
        if (g.data && s < aoei_head_slot(&p.c, 0) && !is_key_bias &&
            s != aoei_layer_slot(p.c.layers - 1, AOEI_LW_NORM2_BIAS))
            if (!(norm_of(&p, g) > 1e-6))
                fail_msg("the gradient of weight %zu is %g", s, norm_of(&p, g));
    }
    destroy(&p);
}

/* With a weight of 0, the step is that of a contrastive loss after this head, and the discriminator has no gradient. */
static void weight_zero(void **state) {
    (void)state;
    problem p, simcse;
    aoe_objective_result r, want;
    variant v = plain;
    v.weight = 0;
    create(&p, &v);
    create(&simcse, &v);
    aoei_pair_step plain_step;
    const aoei_pair_step_options o = {
        .pairs = PAIRS, .arity = 2, .tokens = TOKENS, .longest = LONGEST, .type = AOEI_F32};
    assert_int_equal(aoei_pair_step_create(&plain_step, simcse.ctx, &simcse.c, &o, NULL), 0);
    tiny_fill(simcse.ctx, &plain_step.params, &simcse.c, 1);
    aoei_tensor_zero(simcse.ctx, plain_step.params.grad);
    fill_batch(&plain_step);
    assert_int_equal(aoei_pair_step_gradient(&plain_step, AOE_POOLING_CLS, &simcse.objective, NULL, NULL, &simcse.drop,
                                             1.0, &want, NULL),
                     0);
    assert_int_equal(run(&p, 1, &r), 0);
    assert_true(r.total <= want.total && r.total >= want.total && r.detection > 0);
    const size_t half = p.step.params.count / 2;
    assert_int_equal(half, plain_step.params.count);
    float *a = elements(&p, aoei_tensor_slice(p.step.params.grad, 0, 1, half));
    float *b = elements(&p, plain_step.params.grad);
    for (size_t i = 0; i < half; i++)
        assert_true(a[i] <= b[i] && a[i] >= b[i]);
    assert_true(norm_of(&p, aoei_tensor_slice(p.step.params.grad, half, 1, half)) <= 0);
    free(a);
    free(b);
    aoei_pair_step_destroy(&plain_step);
    destroy(&p);
    destroy(&simcse);
}

/* If no token is replaced, every label is 0: the loss is that of class 0. A classifier of zeros has the loss ln 2. */
static void labels(void **state) {
    (void)state;
    problem p;
    aoe_objective_result r;
    variant v = plain;
    v.replace = keep;
    create(&p, &v);
    const size_t slot = aoei_pooled_slot(&p.c, AOEI_PW_HEAD);
    const float bias[2] = {40, 0};
    aoei_tensor_zero(p.ctx, p.step.params.values[slot]);
    aoei_tensor_write(p.ctx, p.step.params.values[slot + 1], bias);
    assert_int_equal(run(&p, 0, &r), 0);
    assert_true(r.detection < 1e-15);
    aoei_tensor_zero(p.ctx, p.step.params.values[slot + 1]);
    assert_int_equal(run(&p, 0, &r), 0);
    assert_true(fabs(r.detection - log(2)) < 1e-15);
    destroy(&p);
    create(&p, &plain); /* 14 of 41 tokens are replaced, of which 3 are first tokens */
    aoei_tensor_zero(p.ctx, p.step.params.values[slot]);
    aoei_tensor_write(p.ctx, p.step.params.values[slot + 1], bias);
    assert_int_equal(run(&p, 0, &r), 0);
    size_t replaced = 0;
    const aoei_batch *b = &p.step.buffer.batch;
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t t = 1; t < lengths[i]; t++)
            replaced += (t + b->text_index[i]) % 3 == 0;
    assert_true(replaced > 5 && fabs(r.detection - 40.0 * (double)replaced / TOKENS) < 1e-12);
    destroy(&p);
}

/* Each column of the output of the head has mean 0 and variance 1, up to epsilon, and ignores a scale and a shift of
 * its input.
 */
static void head_is_normalized(void **state) {
    (void)state;
    problem p;
    create(&p, &plain);
    create_reference(&p, 0);
    loss(&p);
    const size_t D = p.c.hidden;
    for (size_t k = 0; k < D; k++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < TEXTS; i++) {
            mean += p.z[i * D + k] / TEXTS;
            square += p.z[i * D + k] * p.z[i * D + k] / TEXTS;
        }
        assert_true(fabs(mean) < 1e-12 && square < 1 && square > 0.99);
    }
    aoe_objective_result r;
    assert_int_equal(run(&p, 0, &r), 0);
    float *z = elements(&p, aoei_tensor_rows(p.step.projected, 0, TEXTS)); /* the backward pass leaves the output of the
                                                                              head unchanged */
    for (size_t i = 0; i < TEXTS * D; i++)
        assert_true(fabs((double)z[i] - p.z[i]) < 2e-5);
    free(z);
    double before[TEXTS * HIDDEN];
    assert_int_equal(D, HIDDEN);
    memcpy(before, p.z, sizeof before);
    for (size_t i = 0; i < TEXTS * D; i++)
        p.pooled[i] = 100 * p.pooled[i] + 3;
    head(&p);
    for (size_t i = 0; i < TEXTS * D; i++) /* epsilon matters less for larger vectors */
        assert_true(fabs(before[i] - p.z[i]) < 1e-3);
    destroy(&p);
}

/* Sets the weights of a slot to a fixed formula; i: number of weights before it. Returns the number of weights up to
 * its end.
 */
static size_t fill_slot(problem *p, size_t encoder, size_t slot, size_t i) {
    const aoei_tensor w = aoei_params_values(&p->step.params, encoder)[slot];
    const size_t n = w.rows * w.cols;
    aoei_slot d;
    float *host = malloc(n * sizeof *host);
    assert_non_null(host);
    aoei_slot_describe(&p->c, slot, &d);
    for (size_t k = 0; k < n; k++)
        host[k] =
            (float)((d.norm ? 1 : 0) + 0.3 * sin(0.37 * (double)(i + k) + 0.0131 * (double)(i + k) * (double)(i + k)));
    aoei_tensor_write(p->ctx, w, host);
    free(host);
    return i + n;
}

/* Compares the losses and the norms of the gradients with values that PyTorch 2 computed in float64 for the same
 * weights: BERT in transformers, with the head and the classifier of the authors' code, and the replaced tokens of
 * `replace`. */
static void values_of_pytorch(void **state) {
    (void)state;
    static const double norms[] = {
        35.2252089,     15.8716257,     9.52418292,     6.88812214,     3.26982984,     5.97513743,     1.3603331,
        6.75014563,     2.82473049e-15, 14.5839846,     2.92191276,     17.6692127,     3.53486152,     4.43061807,
        3.70536537,     18.8739206,     3.35337676,     14.3703755,     3.50259519,     5.66175838,     3.94044561,
        4.5460888,      1.06178951,     4.97303189,     6.83478688e-16, 14.452526,      2.29823128,     16.6941681,
        2.73654147,     3.19326031,     2.0681729,      17.9174728,     1.97052857,     19.0519499,     1.12099479,
        5.50600383,     5.00686274e-15, 0.00303893738,  0.000702164657, 34.7484368,     4.84922555,     4.3242627,
        22.9316174,     0.00101068148,  0.0015923008,   0.00109701241,  0.000531044962, 0.000432264487, 0.000235075261,
        4.84770074e-05, 0.00026037754,  2.3668021e-20,  0.000792636112, 0.000466577064, 0.000908207983, 0.000604244398,
        0.000412022226, 0.000652429915, 0.00126194975,  0.000423040175, 0.00107788859,  0.000513234908, 0.000422499358,
        0.000576893354, 0.000327076205, 6.63619931e-05, 0.000278152748, 3.25944887e-20, 0.000935185136, 0.000428891661,
        0.000740905607, 0.000446903347, 0.000455633469, 0.000558922382, 0.0010484253,   0.000287377157, 0.00129167857,
        0.000516689999, 0.000366614181, 0.000585780407};
    problem p;
    aoe_objective_result r;
    size_t n = 0, i = 0;
    variant v = plain;
    v.weight = 0.005;
    create(&p, &v);
    for (size_t encoder = 0; encoder < 2; encoder++)
        for (size_t s = 0; s < (encoder ? aoei_head_slot(&p.c, 0) : p.step.params.n_slots); s++)
            if (aoei_params_values(&p.step.params, encoder)[s].data)
                i = fill_slot(&p, encoder, s, i);
    aoei_params_pack(p.ctx, &p.step.params);
    aoei_batch_clear(&p.step.buffer);
    for (size_t text = 0; text < TEXTS; text++) {
        int32_t ids[LONGEST];
        for (size_t t = 0; t < lengths[text]; t++)
            ids[t] = (int32_t)((7 * text + 3 * t + text * t) % 11);
        aoei_batch_add(&p.step.buffer, ids, lengths[text], (uint32_t)text);
    }
    assert_int_equal(run(&p, 0, &r), 0);
    assert_true(fabs(r.contrastive - 8.318572429060) < 1e-5);
    assert_true(fabs(r.detection - 0.696902476635) < 1e-5);
    for (size_t encoder = 0; encoder < 2; encoder++)
        for (size_t s = 0; s < p.step.params.n_slots; s++) {
            const aoei_tensor g = aoei_params_grads(&p.step.params, encoder)[s];
            if (!g.data || (encoder && s >= aoei_head_slot(&p.c, 0)))
                continue;
            assert_true(n < sizeof norms / sizeof *norms);
            const double want = norms[n++], got = norm_of(&p, g);
            if (!(fabs(got - want) <= 1e-5 * want + (want < 1e-12 ? 1e-5 : 0))) /* the exact gradient is 0 */
                fail_msg("encoder %zu, weight %zu: the norm of the gradient is %.9g, expected %.9g", encoder, s, got,
                         want);
        }
    assert_int_equal(n, sizeof norms / sizeof *norms);
    destroy(&p);
}

static void same_bits(void **state) {
    (void)state;
    static const struct {
        size_t threads, chunk;
        int recompute;
    } cases[] = {{1, 0, 0}, {3, 0, 1}, {1, 1, 0}, {2, 2, 1}, {3, 3, 0}};
    float *want = NULL;
    aoe_objective_result result = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p;
        aoe_objective_result r;
        variant v = plain;
        v.tier = test_best_tier();
        v.threads = cases[i].threads;
        v.chunk = cases[i].chunk;
        v.recompute = cases[i].recompute;
        create(&p, &v);
        const size_t n = p.step.params.count;
        for (int k = 0; k < 2; k++) /* the second batch is accumulated */
            assert_int_equal(run(&p, 1, &r), 0);
        float *grad = elements(&p, p.step.params.grad);
        if (want) {
            assert_memory_equal(grad, want, n * sizeof *grad);
            assert_memory_equal(&r, &result, sizeof r);
            free(grad);
        } else {
            want = grad;
            result = r;
        }
        destroy(&p);
    }
    free(want);
}

/* In bf16, the gradient of the whole step is close to that in float32. */
static void bf16(void **state) {
    (void)state;
    problem p, exact;
    aoe_objective_result r, want;
    variant v = plain;
    v.tier = test_best_tier();
    create(&exact, &v);
    v.type = AOEI_BF16;
    create(&p, &v);
    assert_int_equal(run(&exact, 0, &want), 0);
    assert_int_equal(run(&p, 0, &r), 0);
    assert_true(fabs(r.total - want.total) < 0.05 * want.total &&
                fabs(r.detection - want.detection) < 0.03 * want.detection);
    destroy(&p);
    destroy(&exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),   cmocka_unit_test(architectures), cmocka_unit_test(detection_reaches_the_encoder),
        cmocka_unit_test(weight_zero), cmocka_unit_test(labels),        cmocka_unit_test(head_is_normalized),
        cmocka_unit_test(same_bits),   cmocka_unit_test(bf16),          cmocka_unit_test(values_of_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
