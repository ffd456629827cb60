/* SPDX-License-Identifier: MIT
 * Tests training steps of the methods that train on word embeddings, followed by a classifier of three linear layers on
 * the features of a pair: infersent (a bidirectional LSTM and maximum pooling) and dan (bigram embeddings, mean pooling
 * and two dense layers with tanh). The tests compute the whole step in double and compare the gradient of every
 * parameter with finite differences of this computation. A second call must add its gradient to that of the first call.
 * The bits of the gradient must not depend on chunks and threads.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "encoder/arch_words.h"
#include "encoder/slots.h"
#include "nn/bigrams.h"
#include "train/pair_step.h"

enum {
    V = 7,
    D = 3,
    H = 2,
    U = 2 * H,
    HIDDEN = 4,
    CLASSES = 3,
    FEATURES = 4 * U,
    PAIRS = 4,
    TEXTS = 2 * PAIRS,
    LONGEST = 4
};
enum { CELLS = 600, BIGRAMS = 4 };

typedef struct problem problem;

/* A method: its configuration without the classifier, its pooling, and its embedding of text u in double. */
typedef struct word_method {
    aoei_encoder_config c;
    aoe_pooling pooling;
    void (*embed)(const problem *p, const double *x, size_t u, double v[U]);
} word_method;

struct problem {
    const word_method *method;
    aoei_encoder_config c;
    aoei_training_layers training;
    aoei_pair_step step;
    aoe_context *ctx;
    size_t n;          /* number of parameters */
    size_t first[200]; /* index in x of the first parameter of each slot */
    double x[CELLS], grad[CELLS];
};

static const double labels[PAIRS] = {0, 2, 1, 2};

static size_t text_of(int32_t ids[LONGEST], size_t u) {
    for (size_t t = 0; t < LONGEST; t++)
        ids[t] = (int32_t)((5 * u + 3 * t * t + u * t) % V);
    return 1 + u % LONGEST;
}

/* Computes y = W x + b. slot: slot of the weight, which the slot of the bias follows. */
static void linear(const problem *p, double *y, const double *x, const double *in, size_t slot, size_t rows,
                   size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        y[r] = x[p->first[slot + 1] + r];
        for (size_t k = 0; k < cols; k++)
            y[r] += x[p->first[slot] + r * cols + k] * in[k];
    }
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void embed_infersent(const problem *p, const double *x, size_t u, double v[U]) {
    int32_t ids[LONGEST];
    const size_t T = text_of(ids, u), lstm = aoei_pooled_slot(&p->c, AOEI_PW_TOKEN_MODULE);
    for (size_t k = 0; k < U; k++)
        v[k] = -2;
    for (size_t d = 0; d < 2; d++) {
        const size_t *at = p->first + lstm + 4 * d;
        double h[H] = {0}, c[H] = {0};
        for (size_t t = 0; t < T; t++) {
            const double *word = x + p->first[AOEI_W_WORD] + D * (size_t)ids[d ? T - 1 - t : t];
            double a[4 * H];
            for (size_t k = 0; k < 4 * H; k++) {
                a[k] = x[at[2] + k] + x[at[3] + k];
                for (size_t i = 0; i < D; i++)
                    a[k] += x[at[0] + k * D + i] * word[i];
                for (size_t i = 0; i < H; i++)
                    a[k] += x[at[1] + k * H + i] * h[i];
            }
            for (size_t k = 0; k < H; k++) {
                c[k] = logistic(a[H + k]) * c[k] + logistic(a[k]) * tanh(a[2 * H + k]);
                h[k] = logistic(a[3 * H + k]) * tanh(c[k]);
                v[d * H + k] = fmax(v[d * H + k], h[k]);
            }
        }
    }
}

/* The mean of the embeddings of the n words and the n - 1 bigrams, and two dense layers with tanh. */
static void embed_dan(const problem *p, const double *x, size_t u, double v[U]) {
    int32_t ids[LONGEST];
    const size_t T = text_of(ids, u), dense = aoei_pooled_slot(&p->c, 0);
    double mean[D] = {0}, hidden[U];
    for (size_t t = 0; t < T; t++)
        for (size_t k = 0; k < D; k++) {
            mean[k] += x[p->first[AOEI_W_WORD] + D * (size_t)ids[t] + k] / (double)(2 * T - 1);
            if (t + 1 < T)
                mean[k] += x[p->first[AOEI_W_BIGRAM] + D * aoei_bigram_row(ids[t], ids[t + 1], BIGRAMS) + k] /
                           (double)(2 * T - 1);
        }
    linear(p, hidden, x, mean, dense, U, D);
    for (size_t k = 0; k < U; k++)
        hidden[k] = tanh(hidden[k]);
    linear(p, v, x, hidden, dense + AOEI_MODULE_WEIGHTS, U, U);
    for (size_t k = 0; k < U; k++)
        v[k] = tanh(v[k]);
}

static const word_method infersent = {.c = {.arch = &aoei_arch_words, .modules = {.lstm_dims = H, .lstm_layers = 1}},
                                      .pooling = AOE_POOLING_LAST_MAX,
                                      .embed = embed_infersent};
static const word_method dan = {
    .c = {.arch = &aoei_arch_words,
          .bigrams = BIGRAMS,
          .modules = {.n = 2,
                      .list = {{.kind = AOEI_MODULE_DENSE, .in = D, .out = U, .activation = AOEI_DENSE_TANH},
                               {.kind = AOEI_MODULE_DENSE, .in = U, .out = U, .activation = AOEI_DENSE_TANH}}}},
    .pooling = AOE_POOLING_LAST_AVG,
    .embed = embed_dan};

static double loss(void *arg, const double *x) {
    const problem *p = arg;
    const size_t one = aoei_pooled_slot(&p->c, AOEI_PW_PROJECTION), last = aoei_pooled_slot(&p->c, AOEI_PW_HEAD);
    double sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        double u[U], v[U], f[FEATURES], a[HIDDEN], b[HIDDEN], z[CLASSES], all = 0;
        p->method->embed(p, x, 2 * i, u);
        p->method->embed(p, x, 2 * i + 1, v);
        for (size_t k = 0; k < U; k++) {
            f[k] = u[k];
            f[U + k] = v[k];
            f[2 * U + k] = fabs(u[k] - v[k]);
            f[3 * U + k] = u[k] * v[k];
        }
        linear(p, a, x, f, one, HIDDEN, FEATURES);
        linear(p, b, x, a, one + AOEI_MODULE_WEIGHTS, HIDDEN, HIDDEN);
        linear(p, z, x, b, last, CLASSES, HIDDEN);
        for (size_t k = 0; k < CLASSES; k++)
            all += exp(z[k]);
        sum += (log(all) - z[(size_t)labels[i]]) / PAIRS;
    }
    return sum;
}

static void set_up(problem *p, const word_method *method, size_t chunk, size_t threads) {
    memset(p, 0, sizeof *p);
    p->ctx = test_context(test_best_tier(), threads);
    p->method = method;
    p->c = method->c;
    p->c.hidden = D;
    p->c.vocab = V;
    p->c.no_embed_norm = 1;
    p->c.training = &p->training;
    p->training.n_projection = 2;
    p->training.projection[0] = (aoei_module){.kind = AOEI_MODULE_DENSE, .in = FEATURES, .out = HIDDEN};
    p->training.projection[1] = (aoei_module){.kind = AOEI_MODULE_DENSE, .in = HIDDEN, .out = HIDDEN};
    p->training.projects_features = 1;
    p->training.head_rows = CLASSES;
    p->training.head_cols = HIDDEN;
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .tokens = TEXTS * LONGEST,
                                      .longest = LONGEST,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = 2 * chunk * LONGEST,
                                      .loss = &aoei_loss_of_layered_classes};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    aoei_tensor_zero(p->ctx, p->step.params.value);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    assert_true(aoei_slot_count(&p->c) <= sizeof p->first / sizeof *p->first);
    for (size_t slot = 0; slot < aoei_slot_count(&p->c); slot++) {
        const aoei_tensor w = p->step.params.values[slot];
        float host[CELLS];
        const size_t n = w.data ? w.rows * w.cols : 0;
        p->first[slot] = p->n;
        assert_true(p->n + n <= CELLS);
        test_fill_normal(host, n, slot == AOEI_W_WORD ? 1 : 0.7, (uint32_t)slot);
        if (n)
            aoei_tensor_write(p->ctx, w, host);
        for (size_t i = 0; i < n; i++)
            p->x[p->n++] = (double)host[i];
    }
}

static void tear_down(problem *p) {
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

/* Runs the step, adds scale * gradient to the stored gradient, which is then read, and returns the loss. */
static double run(problem *p, double scale) {
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err = {0};
    aoe_objective_options_defaults(&o);
    o.features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_PRODUCT;
    aoei_batch_clear(&p->step.buffer);
    for (size_t u = 0; u < TEXTS; u++) {
        int32_t ids[LONGEST];
        const size_t T = text_of(ids, u);
        aoei_batch_add(&p->step.buffer, ids, T, (uint32_t)u);
    }
    if (aoei_pair_step_gradient(&p->step, p->method->pooling, &o, labels, NULL, NULL, scale, &r, &err))
        fail_msg("%s", err.message);
    for (size_t slot = 0; slot < aoei_slot_count(&p->c); slot++)
        if (p->step.params.grads[slot].data)
            test_to_double(p->grad + p->first[slot], p->step.params.grads[slot]);
    return r.total;
}

static void check_gradients(const word_method *method) {
    static problem p;
    double once[CELLS];
    set_up(&p, method, 0, 1);
    const double want = loss(&p, p.x), got = run(&p, 1);
    if (!(fabs(got - want) <= 1e-6 * (1 + want)))
        fail_msg("the loss is %g, expected %g", got, want);
    test_gradient(loss, &p, p.x, p.grad, p.n, 1e-5);
    memcpy(once, p.grad, sizeof once);
    run(&p, 0.5); /* adds half of the gradient to the stored gradient */
    for (size_t k = 0; k < p.n; k++)
        assert_true(fabs(p.grad[k] - 1.5 * once[k]) <= 1e-6 * (1 + fabs(once[k])));
    tear_down(&p);
}

static void check_bits(const word_method *method) {
    static problem first, p;
    set_up(&first, method, 0, 1);
    run(&first, 1);
    for (size_t chunk = 1; chunk <= 3; chunk++) {
        set_up(&p, method, chunk, 1 + chunk);
        run(&p, 1);
        assert_memory_equal(first.grad, p.grad, first.n * sizeof *first.grad);
        tear_down(&p);
    }
    tear_down(&first);
}

static void gradients_of_infersent(void **state) {
    (void)state;
    check_gradients(&infersent);
}

static void gradients_of_dan(void **state) {
    (void)state;
    check_gradients(&dan);
}

static void chunks_and_threads(void **state) {
    (void)state;
    check_bits(&infersent);
    check_bits(&dan);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_of_infersent), cmocka_unit_test(gradients_of_dan),
                                       cmocka_unit_test(chunks_and_threads)};
    return cmocka_run_group_tests_name("word methods", tests, NULL, NULL);
}
