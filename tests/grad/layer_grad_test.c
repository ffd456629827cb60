/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests the gradient of a whole training step with a loss on the hidden states of all layers (train/layer_loss.h)
 * against finite differences of a double-precision model, for BERT (post-norm), LLaMA (pre-norm) and ALBERT, with
 * dropout, and with a dense layer after the pooling. The targets of the terms between layers are constants in the
 * difference quotients. For each weight tensor, the directional derivative is compared in the direction of the gradient
 * and in a random direction.
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
#include "base/alloc.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "loss/ese_target.h"
#include "loss/pair_objective.h"
#include "nn/elementwise.h"
#include "train/pair_step.h"

enum { PAIRS = 5, TEXTS = 2 * PAIRS, LONGEST = 9, TOKENS = 50, D = 16, LAYERS = 4, STATES = LAYERS + 1 };

/* The tolerances are explained in encoder_grad_test.c. */
#define TENSOR_TOLERANCE 6e-6
#define WHOLE_TOLERANCE  1e-6
#define LOSS_TOLERANCE   3e-6
#define STEP             1e-5

static const size_t lengths[TEXTS] = {1, 9, 5, 2, 8, 3, 5, 7, 4, 6};
static const double labels[PAIRS] = {5, 1, 3.5, 4, 0};
static const uint32_t groups[TEXTS] = {0, 1, 2, 3, 4, 5, 2, 7, 8, 9};

/* The step under test and the reference model in double. */
typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config config;
    aoei_pair_step step;
    aoei_encoder_dropout drop;
    bert_reference reference;
    aoe_objective_options objective;
    aoe_layer_options layers;
    aoe_pooling pooling;
    double vectors[STATES][TEXTS * D];
    double target[STATES][TEXTS * D]; /* constants; set if has_targets is 1 */
    int has_targets;
} problem;

static void fill_batch(aoei_pair_step *step) {
    int32_t ids[TEXTS][LONGEST];
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&step->buffer);
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t t = 0; t < lengths[i]; t++)
            ids[i][t] = i == 6 ? ids[2][t] : (int32_t)aoei_rng_below(&r, (uint32_t)step->config.vocab);
        aoei_batch_add(&step->buffer, ids[i], lengths[i], (uint32_t)(10 + i));
    }
}

static void step_create(problem *p, aoei_pair_step *step, size_t chunk, int recompute) {
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .tokens = TOKENS,
                                      .longest = LONGEST,
                                      .type = AOEI_F32,
                                      .layers = &p->layers,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = TOKENS,
                                      .recompute = recompute};
    assert_int_equal(aoei_pair_step_create(step, p->ctx, &p->config, &o, NULL), 0);
    tiny_fill(p->ctx, &step->params, &p->config, 1);
    aoei_tensor_zero(p->ctx, step->params.grad);
    fill_batch(step);
    aoei_layer_loss_choose(&step->layers, 3, 4);
}

static void problem_create(problem *p, void (*options)(aoei_encoder_config *c), const aoe_layer_options *layers,
                           int with_dense, int with_dropout) {
    memset(p, 0, sizeof *p);
    tiny_model shape = tiny_defaults();
    shape.options = options;
    shape.layers = LAYERS;
    p->ctx = test_context(test_best_tier(), 1);
    tiny_config(&p->config, &shape);
    if (with_dense) {
        p->config.modules.n = 1;
        p->config.modules.list[0] =
            (aoei_module){.kind = AOEI_MODULE_DENSE, .in = D, .out = D, .activation = AOEI_DENSE_TANH};
    }
    p->layers = *layers;
    p->pooling = AOE_POOLING_LAST_AVG;
    step_create(p, &p->step, 0, 0);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    bert_reference_create(&p->reference, p->ctx, &p->config, p->step.params.values, &p->step.buffer.batch,
                          with_dropout ? &p->drop : NULL);
    p->reference.states = malloc((size_t)STATES * TOKENS * D * sizeof *p->reference.states);
    aoe_objective_options_defaults(&p->objective);
    p->objective.ibn_threshold = 4;
}

static void problem_destroy(problem *p) {
    bert_reference_destroy(&p->reference);
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

/* Applies the dense layer to the pooled vectors v. */
static void dense(const problem *p, double *v) {
    const double *w = p->reference.weights[aoei_pooled_slot(&p->config, AOEI_PW_DENSE)],
                 *b = p->reference.weights[aoei_pooled_slot(&p->config, AOEI_PW_DENSE_BIAS)];
    for (size_t i = 0; i < TEXTS; i++) {
        double x[D];
        memcpy(x, v + i * D, sizeof x);
        for (size_t r = 0; r < D; r++) {
            double sum = b[r];
            for (size_t c = 0; c < D; c++)
                sum += w[r * D + c] * x[c];
            v[i * D + r] = tanh(sum);
        }
    }
}

/* Computes the vectors of all hidden states. */
static void compute_vectors(problem *p) {
    bert_reference *r = &p->reference;
    double *last = r->last;
    bert_reference_forward(r);
    for (size_t i = 0; i < STATES; i++) {
        r->last = r->states + i * TOKENS * D;
        bert_reference_pool(r, p->pooling, p->vectors[i]);
        if (p->config.modules.n)
            dense(p, p->vectors[i]);
    }
    r->last = last;
}

/* Returns the loss of the method for the first d components of the vectors v. */
static double method_loss(problem *p, const double *v, size_t d) {
    static _Alignas(64) char workspace[1 << 20];
    aoe_objective_result result;
    const aoei_pair_batch pairs = {
        .B = PAIRS, .D = d, .stride = 2 * D, .x64 = v, .y64 = v + D, .label = labels, .group = groups};
    assert_int_equal(aoei_pair_objective(&p->objective, &pairs, workspace, sizeof workspace, NULL, &result, NULL), 0);
    return result.total;
}

/* Returns T KL(softmax(t / T) || softmax(u / T)), the mean over the rows. */
static double divergence(const double *u, size_t stride, const double *t, size_t d, double T) {
    double sum = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        double zu = 0, zt = 0;
        for (size_t k = 0; k < d; k++)
            zu += exp(u[i * stride + k] / T), zt += exp(t[i * d + k] / T);
        for (size_t k = 0; k < d; k++)
            sum += exp(t[i * d + k] / T) / zt * (t[i * d + k] / T - log(zt) - u[i * stride + k] / T + log(zu));
    }
    return T * sum / TEXTS;
}

/* Computes the constants of the terms between layers from p->vectors. */
static void set_targets(problem *p) {
    const size_t c = p->layers.ese_dims, bytes = aoei_ese_target_workspace(TEXTS, D, c);
    void *workspace = aoei_aligned(bytes);
    for (size_t i = 0; i < STATES; i++) {
        const aoei_ese_target t = {.N = TEXTS,
                                   .D = D,
                                   .c = c,
                                   .m = p->vectors[i],
                                   .k = p->target[i],
                                   .seed = 3,
                                   .step = 4,
                                   .layer = (uint32_t)i,
                                   .workspace = workspace,
                                   .ctx = p->ctx};
        if (p->layers.ese)
            assert_int_equal(aoei_ese_target_compute(&t, NULL), 0);
        else
            memcpy(p->target[i], p->vectors[LAYERS], sizeof p->target[i]);
    }
    aoei_aligned_free(workspace);
    p->has_targets = 1;
}

/* Returns l(p_i|c) + D(p_i|c, K(p_i)). */
static double compressed(problem *p, size_t i) {
    const size_t c = p->layers.ese_dims;
    double squares = 0;
    for (size_t r = 0; r < TEXTS; r++)
        for (size_t k = 0; k < c; k++)
            squares += pow(p->vectors[i][r * D + k] - p->target[i][r * c + k], 2) / (double)(TEXTS * c);
    return method_loss(p, p->vectors[i], c) + squares + divergence(p->vectors[i], D, p->target[i], c, 1);
}

static double loss(problem *p) {
    const aoe_layer_options *o = &p->layers;
    const aoei_layer_loss *l = &p->step.layers;
    compute_vectors(p);
    if (!p->has_targets)
        set_targets(p);
    double sum = 0;
    if (o->ese) {
        sum = method_loss(p, p->vectors[LAYERS], D) + compressed(p, LAYERS);
        for (size_t i = 0; i + 2 <= LAYERS; i++)
            sum += compressed(p, i) / (1 + log(1 + (double)i)) / (LAYERS - 1);
        return sum;
    }
    sum = o->w_last > 0 ? o->w_last * method_loss(p, p->vectors[LAYERS], D) : 0;
    for (size_t k = 0; k < l->n_states; k++) {
        const size_t i = l->state[k];
        const double prior = o->prior == AOE_LAYER_PRIOR_LOG      ? 1 / (1 + log(1 + (double)i))
                             : o->prior == AOE_LAYER_PRIOR_LINEAR ? 1 / (1 + (double)i)
                                                                  : 1;
        sum += o->w_layers > 0 ? prior * o->w_layers / (double)o->per_step * method_loss(p, p->vectors[i], D) : 0;
        sum += o->w_kl * divergence(p->vectors[i], D, p->target[i], D, o->temperature);
    }
    return sum;
}

/* Returns the derivative of the loss along `direction` (of length 1) for one weight tensor w[n]. */
static double directional_derivative(problem *p, double *w, const double *direction, size_t n) {
    double *base = malloc(n * sizeof *base), side[2];
    memcpy(base, w, n * sizeof *base);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            w[i] = base[i] + (k ? -STEP : STEP) * direction[i];
        side[k] = loss(p);
    }
    memcpy(w, base, n * sizeof *base);
    free(base);
    return (side[0] - side[1]) / (2 * STEP);
}

static void check_tensor(problem *p, size_t slot, double whole, const char *what) {
    const aoei_tensor g = p->step.params.grads[slot];
    const size_t n = g.rows * g.cols;
    float *grad = malloc(n * sizeof *grad);
    double *direction = malloc(n * sizeof *direction), norm = 0;
    aoei_tensor_read(p->ctx, grad, g);
    for (size_t i = 0; i < n; i++)
        norm += (double)grad[i] * (double)grad[i];
    norm = sqrt(norm);
    const double bound = fmax(TENSOR_TOLERANCE * norm, WHOLE_TOLERANCE * whole);
    for (int which = norm > 0 ? 0 : 1; which < 2; which++) {
        double expected = 0, length = 0;
        aoei_rng r;
        aoei_rng_init(&r, 6, AOEI_STREAM_TEST, (uint32_t)slot);
        for (size_t i = 0; i < n; i++) {
            direction[i] = which ? aoei_rng_normal(&r) : (double)grad[i];
            length += direction[i] * direction[i];
        }
        for (size_t i = 0; i < n; i++) {
            direction[i] /= sqrt(length);
            expected += direction[i] * (double)grad[i];
        }
        const double measured = directional_derivative(p, p->reference.weights[slot], direction, n);
        if (!(fabs(measured - expected) <= bound))
            fail_msg("%s, slot %zu, direction %d: gradient %.9g, difference quotient %.9g, bound %g", what, slot, which,
                     expected, measured, bound);
    }
    free(direction);
    free(grad);
}

static void check(problem *p, int with_dropout, const char *what) {
    aoe_objective_result result;
    const aoei_params *params = &p->step.params;
    p->has_targets = 0;
    aoei_tensor_zero(p->ctx, params->grad);
    assert_int_equal(aoei_pair_step_gradient(&p->step, p->pooling, &p->objective, labels, groups,
                                             with_dropout ? &p->drop : NULL, 1.0, &result, NULL),
                     0);
    const double want = loss(p), whole = sqrt(aoei_sum_squares(p->ctx, params->grad));
    if (!(fabs(result.total - want) <= LOSS_TOLERANCE * fabs(want)))
        fail_msg("%s: the loss is %.9g, expected %.9g", what, result.total, want);
    assert_true(whole > 1e-3 && whole < 1e3);
    for (size_t s = 0; s < params->n_slots; s++)
        if (params->grads[s].data)
            check_tensor(p, s, whole, what);
}

static aoe_layer_options adaptive(size_t per_step, aoe_layer_prior prior, double w_last, double w_layers, double w_kl) {
    aoe_layer_options o;
    aoe_layer_options_defaults(&o);
    o.adaptive = 1;
    o.per_step = per_step;
    o.prior = prior;
    o.w_last = w_last;
    o.w_layers = w_layers;
    o.w_kl = w_kl;
    return o;
}

static void test_adaptive_layers(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {NULL, tiny_llama, tiny_albert};
    const aoe_layer_options o[] = {
        adaptive(LAYERS, AOE_LAYER_PRIOR_UNIFORM, 1, 1, 1), adaptive(2, AOE_LAYER_PRIOR_LOG, 0.5, 2, 3),
        adaptive(3, AOE_LAYER_PRIOR_LINEAR, 0, 1, 0), adaptive(LAYERS, AOE_LAYER_PRIOR_LOG, 0, 0, 1)};
    for (size_t i = 0; i < 12; i++) {
        problem p;
        problem_create(&p, options[i % 3], &o[i / 3], i % 2, i / 3 % 2 != 0);
        if (i == 6)
            p.pooling = AOE_POOLING_LAST_MAX;
        check(&p, i / 3 % 2 != 0, "adaptive layers");
        problem_destroy(&p);
    }
}

static void test_ese(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {NULL, tiny_llama, tiny_albert};
    for (size_t i = 0; i < 6; i++) {
        problem p;
        aoe_layer_options o;
        aoe_layer_options_defaults(&o);
        o.ese = 1;
        o.ese_dims = i / 3 ? 4 : 6;
        problem_create(&p, options[i % 3], &o, i >= 4, i / 3 > 0);
        check(&p, i / 3 > 0, "ese");
        for (size_t k = 0; k < p.step.layers.n_states; k++)
            assert_true(p.step.layers.state[k] + 1 < LAYERS); /* the last layer but one learns only through the last
                                                                 one */
        assert_int_equal(p.step.layers.n_states, LAYERS - 1);
        problem_destroy(&p);
    }
}

/* The gradients must be bit-identical for all chunk sizes, with and without recomputation. */
static void test_chunks_and_recomputation(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        aoe_layer_options o = adaptive(3, AOE_LAYER_PRIOR_LOG, 1, 1, 1);
        problem p;
        o.ese = k % 2;
        o.adaptive = !o.ese;
        o.ese_dims = 6;
        problem_create(&p, k / 2 ? tiny_llama : NULL, &o, k / 2, 1);
        const size_t n = p.step.params.count;
        float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
        for (size_t i = 0; i < 6; i++) {
            aoei_pair_step step;
            aoe_objective_result result;
            step_create(&p, &step, i % 3 == 2 ? 1 : i % 3 ? 2 : 0, i >= 3);
            assert_int_equal(
                aoei_pair_step_gradient(&step, p.pooling, &p.objective, labels, groups, &p.drop, 0.5, &result, NULL),
                0);
            aoei_tensor_read(p.ctx, i ? got : want, step.params.grad);
            if (i)
                assert_memory_equal(got, want, n * sizeof *got);
            aoei_pair_step_destroy(&step);
        }
        free(want);
        free(got);
        problem_destroy(&p);
    }
}

/* The hidden states of a step are distinct, in ascending order, and depend only on the seed and the step. */
static void test_choice(void **state) {
    (void)state;
    enum { N = 6 };
    size_t count[N] = {0};
    aoei_layer_loss a, b;
    const aoe_layer_options o = adaptive(2, AOE_LAYER_PRIOR_UNIFORM, 1, 1, 1),
                            all = adaptive(N, AOE_LAYER_PRIOR_LOG, 1, 1, 1);
    assert_int_equal(aoei_layer_loss_create(&a, &o, N, 4, 8, 0, 0, NULL), 0);
    assert_int_equal(aoei_layer_loss_create(&b, &o, N, 4, 8, 0, 0, NULL), 0);
    for (uint64_t step = 0; step < 300; step++) {
        aoei_layer_loss_choose(&a, 42, step);
        aoei_layer_loss_choose(&b, 42, step);
        assert_int_equal(a.n_states, 2);
        assert_memory_equal(a.state, b.state, 2 * sizeof *a.state);
        assert_true(a.state[0] < a.state[1] && a.state[1] < N);
        count[a.state[0]]++, count[a.state[1]]++;
    }
    for (size_t i = 0; i < N; i++)
        assert_true(count[i] > 60 && count[i] < 140); /* the expected number is 100, the standard deviation is 8 */
    aoei_layer_loss_destroy(&a);
    aoei_layer_loss_destroy(&b);
    assert_int_equal(aoei_layer_loss_create(&a, &all, N, 4, 8, 0, 0, NULL), 0);
    aoei_layer_loss_choose(&a, 42, 1);
    assert_int_equal(a.n_states, N);
    aoei_layer_loss_destroy(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_adaptive_layers), cmocka_unit_test(test_ese),
                                       cmocka_unit_test(test_chunks_and_recomputation), cmocka_unit_test(test_choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
