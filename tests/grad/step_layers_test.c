/* SPDX-License-Identifier: MIT
 * covers: train/linear_classifier train/step_loss
 * Tests the layers that follow the pooling in a training step: the dense layer of the model, the projection layer of
 * the training method, and the weights of a classifier. The encoder consists only of token embeddings. The test
 * computes the whole step in double and compares the gradient of every parameter with finite differences of this
 * computation. A second call must add its gradient to the gradient of the first call. The bits of the gradient must not
 * depend on chunks and threads.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "encoder/arch_static.h"
#include "encoder/slots.h"
#include "train/pair_step.h"

enum { V = 9, D = 6, PAIRS = 5, TEXTS = 2 * PAIRS, MOST_TOKENS = 3, MOST_DIMS = 8, CELLS = 400 };

typedef struct problem {
    aoei_encoder_config c;
    aoei_training_layers training;
    aoei_pair_step step;
    aoe_context *ctx;
    size_t head_slot;                                /* slot of the weight of the projection or of the classifier */
    size_t n;                                        /* number of parameters */
    size_t word, dense, dense_bias, head, head_bias; /* index in x of the first parameter of each weight */
    size_t dims, compared; /* `dims`: components of the model's vectors; `compared`: components of the vectors in the
                              loss */
    double x[CELLS], grad[CELLS];
} problem;

static const double labels[PAIRS] = {0, 2, 1, 2, 0};

/* Writes the token ids of text u to ids and returns their number. */
static size_t text_of(int32_t ids[MOST_TOKENS], size_t u) {
    for (size_t t = 0; t < MOST_TOKENS; t++)
        ids[t] = (int32_t)((5 * u + 3 * t * t + u * t) % V);
    return 1 + u % MOST_TOKENS;
}

/* Computes y = x w^T + b. If with_tanh is set, then applies tanh to y. */
static void layer(double *y, const double *x, const double *w, const double *b, size_t in, size_t out, int with_tanh) {
    for (size_t o = 0; o < out; o++) {
        double sum = b ? b[o] : 0;
        for (size_t k = 0; k < in; k++)
            sum += w[o * in + k] * x[k];
        y[o] = with_tanh ? tanh(sum) : sum;
    }
}

/* Computes the vectors that the training method compares, for all texts. They are the outputs of the last layer. */
static void vectors_of(const problem *p, const double *x, double v[TEXTS][MOST_DIMS]) {
    for (size_t u = 0; u < TEXTS; u++) {
        int32_t ids[MOST_TOKENS];
        double pooled[MOST_DIMS] = {0}, after_dense[MOST_DIMS];
        const size_t T = text_of(ids, u);
        for (size_t t = 0; t < T; t++)
            for (size_t k = 0; k < D; k++)
                pooled[k] += x[p->word + (size_t)ids[t] * D + k] / (double)T;
        memcpy(after_dense, pooled, sizeof pooled);
        if (p->c.modules.n)
            layer(after_dense, pooled, x + p->dense, p->c.modules.list[0].no_bias ? NULL : x + p->dense_bias, D,
                  p->c.modules.list[0].out, p->c.modules.list[0].activation == AOEI_DENSE_TANH);
        if (p->training.n_projection)
            layer(v[u], after_dense, x + p->head, x + p->head_bias, p->dims, p->compared, 1);
        else
            memcpy(v[u], after_dense, sizeof after_dense);
    }
}

static double cosine_of(const double *x, const double *y, size_t n) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < n; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

static double loss(void *arg, const double *x) {
    const problem *p = arg;
    double v[TEXTS][MOST_DIMS], sum = 0;
    vectors_of(p, x, v);
    for (size_t i = 0; i < PAIRS; i++) {
        double all = 0, own = 0;
        if (p->step.o.loss == &aoei_loss_of_classes)
            for (size_t c = 0; c < p->training.head_rows; c++) {
                double z = x[p->head_bias + c];
                const double *w = x + p->head + c * 3 * p->dims;
                for (size_t k = 0; k < p->dims; k++)
                    z += w[k] * v[2 * i][k] + w[p->dims + k] * v[2 * i + 1][k] +
                         w[2 * p->dims + k] * fabs(v[2 * i][k] - v[2 * i + 1][k]);
                own = c == (size_t)labels[i] ? z : own;
                all += exp(z);
            }
        for (size_t j = 0; j < PAIRS && p->step.o.loss != &aoei_loss_of_classes; j++) {
            const double s = cosine_of(v[2 * i], v[2 * j + 1], p->compared) / 0.05;
            own = i == j ? s : own;
            all += exp(s);
        }
        sum += (log(all) - own) / PAIRS;
    }
    return sum;
}

/* Fills the weight with the index `slot` (encoder/slots.h) with random values, and stores the same values as doubles in
 * p->x, starting at p->x[at]. Returns the index after the last value in p->x. */
static size_t fill(problem *p, size_t slot, size_t at) {
    const aoei_tensor w = p->step.params.values[slot];
    float host[CELLS];
    const size_t n = w.rows * w.cols;
    if (!w.data)
        return at;
    assert_true(at + n <= CELLS);
    test_fill_normal(host, n, slot == AOEI_W_WORD ? 1 : 0.5, (uint32_t)slot);
    aoei_tensor_write(p->ctx, w, host);
    for (size_t i = 0; i < n; i++)
        p->x[at + i] = (double)host[i];
    return at + n;
}

static void set_up(problem *p, size_t dense, int with_tanh, int bias, size_t head_rows, size_t head_cols, size_t chunk,
                   size_t threads) {
    memset(p, 0, sizeof *p);
    p->ctx = test_context(test_best_tier(), threads);
    p->c = (aoei_encoder_config){.arch = &aoei_arch_static,
                                 .hidden = D,
                                 .vocab = V,
                                 .no_embed_norm = 1,
                                 .modules = {.n = dense > 0,
                                             .list = {{.kind = AOEI_MODULE_DENSE,
                                                       .in = D,
                                                       .out = dense,
                                                       .activation = with_tanh ? AOEI_DENSE_TANH : AOEI_DENSE_IDENTITY,
                                                       .no_bias = !bias}}}};
    p->training = (aoei_training_layers){.head_rows = head_rows, .head_cols = head_cols};
    p->c.training = head_rows ? &p->training : NULL;
    p->dims = aoei_vector_dims(&p->c);
    const int projects = head_rows && head_cols == p->dims;
    if (projects) {
        p->training.n_projection = 1;
        p->training.projection[0] =
            (aoei_module){.kind = AOEI_MODULE_DENSE, .in = head_cols, .out = head_rows, .activation = AOEI_DENSE_TANH};
        p->training.head_rows = p->training.head_cols = 0;
    }
    p->head_slot = aoei_pooled_slot(&p->c, projects ? AOEI_PW_PROJECTION : AOEI_PW_HEAD);
    p->compared = head_cols == p->dims ? head_rows : p->dims;
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .tokens = TEXTS * MOST_TOKENS,
                                      .longest = MOST_TOKENS,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = 2 * chunk * MOST_TOKENS,
                                      .loss = head_rows && head_cols != p->dims ? &aoei_loss_of_classes : NULL};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    const size_t first_slot = aoei_pooled_slot(&p->c, 0);
    aoei_tensor_zero(p->ctx, p->step.params.value);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    p->dense = fill(p, AOEI_W_WORD, 0);
    p->dense_bias = fill(p, first_slot + AOEI_PW_DENSE, p->dense);
    p->head = fill(p, first_slot + AOEI_PW_DENSE_BIAS, p->dense_bias);
    p->head_bias = fill(p, p->head_slot, p->head);
    p->n = fill(p, p->head_slot + 1, p->head_bias);
}

static void tear_down(problem *p) {
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

/* Runs the step on the batch, adds scale * gradient to the stored gradient, and returns the loss. */
static double run(problem *p, double scale) {
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err = {0};
    aoe_objective_options_defaults(&o);
    o.w_cosine = o.w_angle = 0;
    aoei_batch_clear(&p->step.buffer);
    for (size_t u = 0; u < TEXTS; u++) {
        int32_t ids[MOST_TOKENS];
        const size_t T = text_of(ids, u);
        aoei_batch_add(&p->step.buffer, ids, T, (uint32_t)u);
    }
    const double *label = p->step.o.loss == &aoei_loss_of_classes ? labels : NULL;
    if (aoei_pair_step_gradient(&p->step, AOE_POOLING_LAST_AVG, &o, label, NULL, NULL, scale, &r, &err))
        fail_msg("%s", err.message);
    return r.total;
}

static void read_gradient(problem *p, double *grad) {
    const size_t first_slot = aoei_pooled_slot(&p->c, 0);
    const size_t slots[] = {AOEI_W_WORD, first_slot + AOEI_PW_DENSE, first_slot + AOEI_PW_DENSE_BIAS, p->head_slot,
                            p->head_slot + 1},
                 at[] = {0, p->dense, p->dense_bias, p->head, p->head_bias};
    for (size_t s = 0; s < 5; s++)
        if (s == 0 || aoei_slot_count(&p->c) > first_slot)
            if (p->step.params.grads[slots[s]].data)
                test_to_double(grad + at[s], p->step.params.grads[slots[s]]);
}

/* The layers that follow the pooling in one test case. */
typedef struct layers {
    size_t dense;                /* number of outputs of the dense layer; 0: there is no dense layer */
    int with_tanh, bias;         /* with_tanh: 1 if the dense layer has a tanh; bias: 1 if the dense layer has a bias */
    size_t head_rows, head_cols; /* shape of the projection layer or classifier; 0: there is none */
} layers;

static const layers cases[] = {
    {0, 0, 0, D, D},     /* the projection layer of the method simcse-unsup */
    {5, 1, 1, 0, 0},     /* a dense layer with tanh, as in the method simcse-sup */
    {8, 0, 1, 0, 0},     /* a linear dense layer */
    {4, 0, 0, 0, 0},     /* a dense layer without bias */
    {0, 0, 0, 3, 3 * D}, /* a classifier */
    {4, 1, 1, 7, 4},     /* a dense layer and a projection layer */
    {4, 0, 1, 3, 3 * 4}, /* a classifier after a dense layer */
};

static void gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const layers *l = &cases[i];
        static problem p;
        set_up(&p, l->dense, l->with_tanh, l->bias, l->head_rows, l->head_cols, 0, 1);
        const double want = loss(&p, p.x), got = run(&p, 1);
        if (!(fabs(got - want) <= 1e-5 * (1 + want)))
            fail_msg("case %zu: the loss is %g, expected %g", i, got, want);
        read_gradient(&p, p.grad);
        test_gradient(loss, &p, p.x, p.grad, p.n, 2e-5);
        run(&p, 0.5); /* adds half of the gradient to the stored gradient */
        double twice[CELLS];
        read_gradient(&p, twice);
        for (size_t k = 0; k < p.n; k++)
            assert_true(fabs(twice[k] - 1.5 * p.grad[k]) <= 1e-5 * (1 + fabs(p.grad[k])));
        tear_down(&p);
    }
}

static void chunks_and_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const layers *l = &cases[i];
        double first[CELLS] = {0};
        for (size_t chunk = 0; chunk <= 3; chunk++) {
            static problem p;
            set_up(&p, l->dense, l->with_tanh, l->bias, l->head_rows, l->head_cols, chunk, 1 + chunk);
            run(&p, 1);
            read_gradient(&p, chunk ? p.grad : first);
            if (chunk)
                assert_memory_equal(first, p.grad, p.n * sizeof *first);
            tear_down(&p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(chunks_and_threads)};
    return cmocka_run_group_tests_name("step_layers", tests, NULL, NULL);
}
