/* SPDX-License-Identifier: MIT
 * covers: loss/tension_objective train/twin_batch
 * Tests training with two encoders (Contrastive Tension): values of the loss that were computed independently, finite
 * differences through both encoders, symmetry, the pairs of a batch, and training runs, of which the better encoder is
 * saved.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/example_rows.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/random.h"
#include "encoder/arch_static.h"
#include "encoder/slots.h"
#include "loss/tension_objective.h"
#include "train/pair_step.h"
#include "train/twin_batch.h"

/* ------------------------------------------------------------------ loss */

static void independent_values(void **state) {
    (void)state;
    enum { B = 3, D = 4 };
    static const double target[B] = {1, 0, 0};
    double v[2 * B * D], grad[2 * B * D];
    aoe_objective_result r;
    for (size_t i = 0; i < B; i++)
        for (size_t k = 0; k < D; k++) {
            v[2 * i * D + k] = test_example_row(i, k);
            v[(2 * i + 1) * D + k] = test_example_row(i + B, k);
        }
    aoei_example_batch b = {.B = B, .D = D, .arity = 2, .v64 = v, .grad64 = grad};
    assert_int_equal(aoei_tension_objective(target, &b, &r, NULL), 0);
    assert_true(fabs(r.total - 1.023054441249) < 1e-12);
    assert_true(fabs(3 * r.total - 3.069163323748) < 1e-12);
    /* Zero vectors have the loss log 2 and no gradient; if one of both is zero, its gradient is (1/2 - target) times
     * the other vector. */
    memset(v, 0, D * sizeof *v);
    b.B = 1;
    assert_int_equal(aoei_tension_objective(target, &b, &r, NULL), 0);
    assert_true(fabs(r.total - log(2)) < 1e-15);
    for (size_t k = 0; k < D; k++)
        assert_true(grad[k] == -0.5 * v[D + k] && grad[D + k] == 0);
    v[0] = (double)NAN;
    aoe_error err = {0};
    assert_int_equal(aoei_tension_objective(target, &b, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "pair 0"));
    assert_int_equal(aoei_tension_objective(NULL, &b, &r, &err), AOE_EARG);
}

/* ------------------------------------------------------------------ step */

enum { V = 9, D = 4, PAIRS = 5, MOST_TOKENS = 3, TABLE = V * D, CELLS = 2 * TABLE + 1 };

static const double targets[PAIRS] = {1, 0, 0, 1, 0};

typedef struct problem {
    const aoei_step_loss *loss;
    aoei_encoder_config c;
    aoei_pair_step step;
    aoe_context *ctx;
    double x[CELLS], grad[CELLS]; /* embedding tables of both encoders, and the learned scale */
} problem;

/* Writes the token ids of text u to ids and returns their number. */
static size_t text_of(int32_t ids[MOST_TOKENS], size_t u) {
    for (size_t t = 0; t < MOST_TOKENS; t++)
        ids[t] = (int32_t)((5 * u + 3 * t * t + u * t) % V);
    return 1 + u % MOST_TOKENS;
}

/* Returns the number of the first (encoder 0) or the second (encoder 1) text of pair i. */
static size_t text_number(size_t i, size_t encoder) {
    return targets[i] > 0 ? i : 2 * i + 3 * encoder;
}

/* Computes the mean of the rows of the tokens of a text. */
static void embed(double v[D], const double *table, size_t text) {
    int32_t ids[MOST_TOKENS];
    const size_t n = text_of(ids, text);
    memset(v, 0, D * sizeof *v);
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < D; k++)
            v[k] += table[(size_t)ids[t] * D + k] / (double)n;
}

static double product(const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k < D; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Returns the loss of the problem for the parameters x in float64. */
static double loss(void *arg, const double *x) {
    const problem *p = arg;
    double f[PAIRS][D], g[PAIRS][D], sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        embed(f[i], x, text_number(i, 0));
        embed(g[i], x + TABLE, text_number(i, 1));
    }
    if (p->loss == &aoei_loss_of_tension) {
        for (size_t i = 0; i < PAIRS; i++) {
            const double z = product(f[i], g[i]);
            sum += (log(1 + exp(z)) - targets[i] * z) / PAIRS;
        }
        return sum;
    }
    for (size_t i = 0; i < PAIRS; i++) {
        double rows = 0, cols = 0, own = 0;
        for (size_t j = 0; j < PAIRS; j++) {
            const double scale = exp(x[2 * TABLE]);
            const double a = product(f[i], g[j]) / sqrt(product(f[i], f[i]) * product(g[j], g[j])) * scale;
            const double b = product(f[j], g[i]) / sqrt(product(f[j], f[j]) * product(g[i], g[i])) * scale;
            rows += exp(a);
            cols += exp(b);
            own = i == j ? a : own;
        }
        sum += (log(rows) + log(cols) - 2 * own) / 2 / PAIRS;
    }
    return sum;
}

/* Creates a step for two static encoders with random tables. */
static void set_up(problem *p, const aoei_step_loss *step_loss, size_t chunk, size_t threads) {
    static const aoei_training_layers temperature = {.head_rows = 1, .head_cols = 1};
    memset(p, 0, sizeof *p);
    const int scaled = step_loss == &aoei_loss_of_scaled_directions;
    p->loss = step_loss;
    p->ctx = test_context(test_best_tier(), threads);
    p->c = (aoei_encoder_config){.arch = &aoei_arch_static,
                                 .hidden = D,
                                 .vocab = V,
                                 .no_embed_norm = 1,
                                 .training = scaled ? &temperature : NULL};
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .twin = 1,
                                      .tokens = 2 * PAIRS * MOST_TOKENS,
                                      .longest = MOST_TOKENS,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = 2 * chunk * MOST_TOKENS,
                                      .loss = step_loss};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    aoei_params *params = &p->step.params;
    assert_int_equal(params->encoders, 2);
    aoei_tensor_zero(p->ctx, params->value);
    aoei_tensor_zero(p->ctx, params->grad);
    for (size_t e = 0; e < 2; e++) {
        float host[TABLE];
        test_fill_normal(host, TABLE, 1, (uint32_t)e + 1);
        aoei_tensor_write(p->ctx, aoei_params_values(params, e)[AOEI_W_WORD], host);
        for (size_t i = 0; i < TABLE; i++)
            p->x[e * TABLE + i] = (double)host[i];
    }
    if (scaled) {
        const float scale = 1.25f;
        aoei_tensor_write(p->ctx, params->values[aoei_pooled_slot(&p->c, AOEI_PW_HEAD)], &scale);
        p->x[2 * TABLE] = (double)scale;
    }
}

static void tear_down(problem *p) {
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

/* Runs the step, reads the gradient into p->grad, and returns the loss. exchange: 1: the texts of the encoders are
 * exchanged.
 */
static double run(problem *p, int exchange) {
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err = {0};
    aoe_objective_options_defaults(&o);
    aoei_batch_clear(&p->step.buffer);
    for (size_t u = 0; u < 2 * PAIRS; u++) {
        int32_t ids[MOST_TOKENS];
        const size_t encoder = u / PAIRS;
        const size_t n = text_of(ids, text_number(u % PAIRS, exchange ? 1 - encoder : encoder));
        aoei_batch_add(&p->step.buffer, ids, n, (uint32_t)u);
    }
    if (aoei_pair_step_gradient(&p->step, AOE_POOLING_LAST_AVG, &o, targets, NULL, NULL, 1, &r, &err))
        fail_msg("%s", err.message);
    for (size_t e = 0; e < 2; e++)
        test_to_double(p->grad + e * TABLE, aoei_params_grads(&p->step.params, e)[AOEI_W_WORD]);
    if (p->c.training)
        test_to_double(p->grad + 2 * TABLE, p->step.params.grads[aoei_pooled_slot(&p->c, AOEI_PW_HEAD)]);
    return r.total;
}

static const aoei_step_loss *const losses[] = {&aoei_loss_of_tension, &aoei_loss_of_scaled_directions};

static void gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        static problem p;
        set_up(&p, losses[i], 0, 1);
        const double want = loss(&p, p.x), got = run(&p, 0);
        if (!(fabs(got - want) <= 1e-6 * want))
            fail_msg("loss %zu is %g, expected %g", i, got, want);
        test_gradient(loss, &p, p.x, p.grad, CELLS - (i == 0), 1e-5);
        tear_down(&p);
    }
}

static void chunks_and_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double first[CELLS] = {0};
        for (size_t chunk = 0; chunk <= 3; chunk++) {
            static problem p;
            set_up(&p, losses[i], chunk, 1 + chunk);
            run(&p, 0);
            if (chunk)
                assert_memory_equal(first, p.grad, sizeof first);
            memcpy(first, p.grad, sizeof first);
            tear_down(&p);
        }
    }
}

/* If both encoders have equal weights, exchanging their texts exchanges their gradients, bit by bit. */
static void exchanged_texts(void **state) {
    (void)state;
    static problem a, b;
    float host[TABLE];
    test_fill_normal(host, TABLE, 1, 3);
    set_up(&a, &aoei_loss_of_tension, 0, 1);
    set_up(&b, &aoei_loss_of_tension, 0, 1);
    for (size_t e = 0; e < 2; e++) {
        aoei_tensor_write(a.ctx, aoei_params_values(&a.step.params, e)[AOEI_W_WORD], host);
        aoei_tensor_write(b.ctx, aoei_params_values(&b.step.params, e)[AOEI_W_WORD], host);
    }
    assert_true(run(&a, 0) == run(&b, 1));
    assert_memory_equal(a.grad, b.grad + TABLE, TABLE * sizeof *a.grad);
    assert_memory_equal(a.grad + TABLE, b.grad, TABLE * sizeof *a.grad);
    assert_true(memcmp(a.grad, a.grad + TABLE, TABLE * sizeof *a.grad) != 0);
    tear_down(&a);
    tear_down(&b);
}

/* ------------------------------------------------------------------ batches */

/* The first pair of each example is the text with itself. The other pairs are random, contain different texts, and
 * depend only on the seed, the step and the number of the pair. */
static void pairs_of_a_batch(void **state) {
    (void)state;
    enum { TEXTS = 6, EXAMPLES = 3, NEGATIVES = 40, N = EXAMPLES * (1 + NEGATIVES) };
    int32_t ids[TEXTS] = {10, 11, 12, 10, 14, 15};
    size_t offsets[TEXTS + 1] = {0, 1, 2, 3, 4, 5, 6}, texts[EXAMPLES] = {4, 0, 2}, count[TEXTS] = {0};
    uint32_t groups[TEXTS] = {0, 1, 2, 0, 4, 5};
    const aoei_dataset d = {.tokens = {.n = TEXTS, .ids = ids, .offsets = offsets}, .groups = groups};
    aoei_twin_plan plan = {.data = &d, .negatives = NEGATIVES, .seed = 42, .step = 7};
    aoei_batch_buffer b, other;
    double labels[N];
    assert_int_equal(aoei_batch_buffer_create(&b, 2 * N, 2 * N, NULL), 0);
    assert_int_equal(aoei_batch_buffer_create(&other, 2 * N, 2 * N, NULL), 0);
    assert_int_equal(aoei_twin_batch_fill(&b, labels, &plan, texts, EXAMPLES, 100), 100 + 2 * N);
    assert_int_equal(b.batch.n_texts, 2 * N);
    for (size_t i = 0; i < N; i++) {
        const int32_t x = b.ids[i], y = b.ids[N + i];
        const size_t example = i / (1 + NEGATIVES);
        if (i % (1 + NEGATIVES) == 0) {
            assert_true(labels[i] == 1 && x == ids[texts[example]] && y == x);
        } else {
            assert_true(labels[i] == 0 && x != y);
            count[x - 10]++;
        }
    }
    for (size_t k = 0; k < TEXTS; k++)
        if (k != 3) /* token 13 does not occur; token 10 occurs in two texts */
            assert_true(count[k] > (k ? 8u : 20u) && count[k] < (k ? 36u : 70u));
    aoei_twin_batch_fill(&other, labels, &plan, texts, EXAMPLES, 100);
    assert_memory_equal(b.ids, other.ids, 2 * N * sizeof *b.ids);
    plan.step = 8;
    aoei_twin_batch_fill(&other, labels, &plan, texts, EXAMPLES, 100);
    assert_true(memcmp(b.ids, other.ids, 2 * N * sizeof *b.ids) != 0);
    plan.step = 7;
    plan.seed = 43;
    aoei_twin_batch_fill(&other, labels, &plan, texts, EXAMPLES, 100);
    assert_true(memcmp(b.ids, other.ids, 2 * N * sizeof *b.ids) != 0);
    aoei_batch_buffer_destroy(&b);
    aoei_batch_buffer_destroy(&other);
    assert_int_equal(aoei_twin_has_negatives(&d), 1);
    uint32_t equal[TEXTS] = {0};
    const aoei_dataset same = {.tokens = {.n = TEXTS}, .groups = equal};
    assert_int_equal(aoei_twin_has_negatives(&same), 0);
}

/* ------------------------------------------------------------------ training */

static const aoe_method methods[] = {AOE_METHOD_CT, AOE_METHOD_CT_IN_BATCH};

/* Prepares a run of the method on the texts of the table. */
static void begin(train_run *r, aoe_method method) {
    train_run_create(r);
    aoe_train_method_defaults(&r->o, method);
    r->o.args.lr = 1e-3;
    r->o.batch_size = 8;
    r->o.negatives = 2;
}

/* Asserts that the model in the output directory is equal to `want`, or differs if equal is 0. */
static void expect_model(const train_run *r, const char *want, size_t size, int equal) {
    size_t n;
    char *got = train_run_read(r, "model.safetensors", &n);
    assert_non_null(got);
    assert_int_equal(n, size);
    assert_int_equal(!memcmp(got, want, n), equal);
    free(got);
}

static void identical_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        train_run r;
        aoe_error err = {0};
        size_t size;
        begin(&r, methods[i]);
        train_run_ok(&r, 1);
        char *want = train_run_read(&r, "model.safetensors", &size);
        train_run_output(&r, "threads");
        r.o.args.recompute = 1;
        train_run_ok(&r, 3);
        expect_model(&r, want, size, 1);
        train_run_output(&r, "chunks");
        r.o.cache_chunk = 3;
        train_run_ok(&r, 2);
        expect_model(&r, want, size, 1);
        r.o.cache_chunk = 0;
        for (size_t stop = 4; stop <= 8; stop += 4) { /* after an evaluation with the best score, and later */
            train_run_output(&r, stop == 4 ? "stop4" : "stop8");
            r.stop_kind = AOE_TRAIN_STEP;
            r.stop_step = stop;
            r.n = r.evaluations = 0;
            r.o.args.resume = 0;
            assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
            r.stop_kind = -1;
            r.o.args.resume = 1;
            train_run_ok(&r, 2);
            expect_model(&r, want, size, 1);
        }
        r.o.args.resume = 0;
        train_run_output(&r, "seed");
        r.o.args.seed = 7;
        train_run_ok(&r, 1);
        expect_model(&r, want, size, 0);
        free(want);
        train_run_destroy(&r);
    }
}

/* Computes the embedding of the text of train_run.probe by the model in the output directory. */
static void probe(const train_run *r, float v[TRAIN_DIMS]) {
    const aoe_text text = aoe_text_of("the old cat");
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    assert_int_equal(aoe_model_open(&m, ctx, r->output, &o, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, &text, 1, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Each evaluation scores the second encoder, then the first, and again the second if it is better. The saved model is
 * the encoder with the best score, also if the run was interrupted after this score. */
static void better_encoder_is_saved(void **state) {
    (void)state;
    static const double second_first[] = {0.5, 0.4, 0.5, 0.2, 0.3}, first_second[] = {0.4, 0.5, 0.2, 0.3};
    for (int resume = 0; resume < 2; resume++)
        for (int second = 0; second < 2; second++) {
            train_run r;
            aoe_error err = {0};
            float v[TRAIN_DIMS];
            begin(&r, AOE_METHOD_CT);
            r.scores = second ? second_first : first_second;
            r.o.args.max_steps = 8;
            r.o.args.eval_every = 4;
            if (resume) {
                r.stop_kind = AOE_TRAIN_STEP;
                r.stop_step = 5;
                assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
                r.stop_kind = -1;
                r.o.args.resume = 1;
            }
            train_run_ok(&r, 1);
            assert_int_equal(r.evaluations, second ? 5 : 4);
            assert_true(memcmp(r.probe[0], r.probe[1], sizeof v) != 0); /* the encoders differ after the first steps */
            probe(&r, v);
            assert_memory_equal(v, r.probe[second ? 0 : 1], sizeof v);
            train_run_destroy(&r);
        }
}

static void rejected_runs(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r, AOE_METHOD_CT);
    r.o.negatives = 0;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.negatives is 0"));
    r.o.negatives = 1;
    r.o.teachers[0] = r.model;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.teachers"));
    r.o.teachers[0] = NULL;
    char *path = test_write_text(r.dir, "one.txt", "a b\na b\n");
    r.source.path = path;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "only one text"));
    free(path);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_values),      cmocka_unit_test(gradients),
        cmocka_unit_test(chunks_and_threads),      cmocka_unit_test(exchanged_texts),
        cmocka_unit_test(pairs_of_a_batch),        cmocka_unit_test(identical_runs),
        cmocka_unit_test(better_encoder_is_saved), cmocka_unit_test(rejected_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
