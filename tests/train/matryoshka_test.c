/* SPDX-License-Identifier: MIT
 * Tests Matryoshka representation learning, the loss of truncated embeddings: values that were computed independently,
 * finite differences for every loss with and without a teacher, properties of the loss, and training runs.
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
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/classification_objective.h"
#include "loss/contrastive_objective.h"
#include "loss/direction_objective.h"
#include "loss/pair_objective.h"
#include "loss/regression_objective.h"
#include "train/matryoshka.h"

enum { B = 6, D = 8, ARITY = 2, N = ARITY * B, CLASSES = 3, HEAD = CLASSES * (3 * D + 1), GUIDE = 5 };

typedef struct problem {
    const aoei_step_loss *loss;
    const aoe_prefix *prefix; /* NULL: the loss of whole vectors */
    size_t n;                 /* number of prefixes */
    aoe_objective_options o;
    double label[B];
    int has_labels, has_head;
    aoei_distill distill;
    const float *teacher[N];
    float teacher_vectors[N * D];
    float v[N * D], grad[N * D], head[HEAD], d_head[HEAD]; /* the bias of the classifier follows its weight */
    aoe_objective_result r;
} problem;

/* Fills a problem with random vectors. */
static void create(problem *p, const aoei_step_loss *loss) {
    *p = (problem){.loss = loss, .distill = {.dims = GUIDE}};
    aoe_objective_options_defaults(&p->o);
    p->o.tau_ibn = p->o.tau_cosine = 0.3;
    test_fill_normal(p->v, N * D, 1, 1);
    test_fill_normal(p->head, HEAD, 0.5, 2);
    test_fill_normal(p->teacher_vectors, N * D, 1, 3);
    for (size_t i = 0; i < N; i++)
        p->teacher[i] = p->teacher_vectors + i * D;
    for (size_t i = 0; i < B; i++)
        p->label[i] = (double)(i % CLASSES);
    p->distill.teacher = p->teacher;
}

/* Computes p->r, p->grad and p->d_head. The gradient of the classifier is added to 0. */
static void solve(problem *p) {
    const aoei_loss_shape shape = {.examples = B,
                                   .dims = D,
                                   .arity = p->has_labels ? 0 : ARITY,
                                   .head_rows = p->has_head ? CLASSES : 0,
                                   .head_cols = p->has_head ? 3 * D : 0,
                                   .teacher_dims = D};
    const size_t bytes = p->loss->workspace(&shape) + aoei_distill_objective_workspace(B, D, ARITY);
    aoe_context *ctx = test_context(test_best_tier(), 2);
    aoei_matryoshka m;
    aoe_error err = {0};
    aoei_loss_batch b = {.o = &p->o,
                         .examples = {.B = B, .D = D, .arity = ARITY, .v = p->v, .grad = p->grad},
                         .label = p->has_labels ? p->label : NULL,
                         .teacher = p->teacher,
                         .teacher_dims = p->distill.dims,
                         .distill = p->distill.weight > 0 ? &p->distill : NULL,
                         .scale = 1,
                         .workspace = aoei_aligned(bytes),
                         .workspace_bytes = bytes,
                         .ctx = ctx};
    assert_non_null(b.workspace);
    memset(b.workspace, 0xff, bytes); /* NaN, so that reading uninitialized memory changes the result */
    memset(p->grad, 0xff, sizeof p->grad);
    memset(p->d_head, 0, sizeof p->d_head);
    if (p->has_head) {
        b.head[0] = aoei_tensor_wrap(p->head, CLASSES, 3 * D);
        b.head[1] = aoei_tensor_wrap(p->head + CLASSES * 3 * D, 1, CLASSES);
        b.d_head[0] = aoei_tensor_wrap(p->d_head, CLASSES, 3 * D);
        b.d_head[1] = aoei_tensor_wrap(p->d_head + CLASSES * 3 * D, 1, CLASSES);
    }
    assert_int_equal(aoei_matryoshka_create(&m, N, D, shape.head_rows, shape.head_cols, &err), 0);
    aoei_matryoshka_choose(&m, p->n, 0, 1, 1);
    const int code = p->prefix ? aoei_matryoshka_compute(&m, p->prefix, p->loss, &b, &p->r, &err)
                               : aoei_step_loss_compute(p->loss, &b, &p->r, &err);
    if (code)
        fail_msg("%s", err.message);
    aoei_matryoshka_destroy(&m);
    aoei_aligned_free(b.workspace);
    aoe_context_destroy(ctx);
}

/* Compares the contrastive loss of example rows with values that were computed independently. */
static void independent_values(void **state) {
    (void)state;
    static const aoe_prefix sizes[] = {{4, 1}, {2, 1}};
    static const struct {
        const aoe_prefix *prefix;
        size_t n;
        double want;
    } cases[] = {{sizes, 1, 8.062589150700}, {sizes + 1, 1, 13.003909147650}, {sizes, 2, 21.066498298349}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum { ROWS = 3, COLS = 4 };
        float v[2 * ROWS * COLS], grad[2 * ROWS * COLS];
        aoe_objective_options o;
        aoe_objective_result r;
        aoei_matryoshka m;
        aoe_error err = {0};
        aoe_context *ctx = test_context(AOEI_TIER_C, 1);
        const aoei_loss_shape shape = {.examples = ROWS, .dims = COLS, .arity = 2};
        const size_t bytes = aoei_loss_of_labels.workspace(&shape);
        aoe_objective_options_defaults(&o);
        for (size_t k = 0; k < ROWS; k++)
            for (size_t c = 0; c < COLS; c++) {
                v[2 * k * COLS + c] = (float)test_example_row(k, c);
                v[(2 * k + 1) * COLS + c] = (float)test_example_row(k + ROWS, c);
            }
        const aoei_loss_batch b = {.o = &o,
                                   .examples = {.B = ROWS, .D = COLS, .arity = 2, .v = v, .grad = grad},
                                   .scale = 1,
                                   .workspace = aoei_aligned(bytes),
                                   .workspace_bytes = bytes,
                                   .ctx = ctx};
        assert_int_equal(aoei_matryoshka_create(&m, 2 * ROWS, COLS, 0, 0, &err), 0);
        aoei_matryoshka_choose(&m, cases[i].n, 0, 7, 3);
        assert_int_equal(aoei_matryoshka_compute(&m, cases[i].prefix, &aoei_loss_of_labels, &b, &r, &err), 0);
        if (!(fabs(r.total - cases[i].want) < 1e-12 * cases[i].want))
            fail_msg("case %zu: the loss is %.13f, expected %.13f", i, r.total, cases[i].want);
        aoei_matryoshka_destroy(&m);
        aoei_aligned_free(b.workspace);
        aoe_context_destroy(ctx);
    }
}

static const struct {
    const char *name;
    const aoei_step_loss *loss;
    int has_labels, has_head;
    double w_teacher;
    aoe_distill form;
} losses[] = {{"pairs", &aoei_loss_of_labels, 1, 0, 0, AOE_DISTILL_COSINE},
              {"positives", &aoei_loss_of_labels, 0, 0, 0, AOE_DISTILL_COSINE},
              {"regression", &aoei_loss_of_regression, 1, 0, 0, AOE_DISTILL_COSINE},
              {"classes", &aoei_loss_of_classes, 1, 1, 0, AOE_DISTILL_COSINE},
              {"directions", &aoei_loss_of_directions, 0, 0, 0, AOE_DISTILL_COSINE},
              {"guide", &aoei_loss_of_guided_directions, 0, 0, 0, AOE_DISTILL_COSINE},
              {"positives and cosines of a teacher", &aoei_loss_of_labels, 0, 0, 0.7, AOE_DISTILL_COSINE},
              {"pairs and distributions of a teacher", &aoei_loss_of_labels, 1, 0, 0.7, AOE_DISTILL_KL}};
enum { LOSSES = sizeof losses / sizeof *losses };

static void create_loss(problem *p, size_t i) {
    create(p, losses[i].loss);
    p->has_labels = losses[i].has_labels;
    p->has_head = losses[i].has_head;
    p->distill.weight = losses[i].w_teacher;
    p->distill.form = losses[i].form;
    p->distill.dims = losses[i].form == AOE_DISTILL_KL ? D : GUIDE;
    p->o.directions |= AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT;
    p->o.joint = 1;
}

/* With the whole size and the weight 1, the loss and the gradients must be bit-identical to those of whole vectors. */
static void whole_size_is_identical(void **state) {
    (void)state;
    static const aoe_prefix whole = {D, 1};
    for (size_t i = 0; i < LOSSES; i++) {
        problem a, b;
        create_loss(&a, i);
        solve(&a);
        create_loss(&b, i);
        b.prefix = &whole;
        b.n = 1;
        solve(&b);
        print_message("%s: %g\n", losses[i].name, a.r.total);
        assert_true(a.r.total > 0);
        assert_memory_equal(&a.r, &b.r, sizeof a.r);
        assert_memory_equal(a.grad, b.grad, sizeof a.grad);
        assert_memory_equal(a.d_head, b.d_head, sizeof a.d_head);
    }
}

/* Stores the vectors, and the weights of the classifier, in one array. */
static size_t inputs(const problem *p, double *x) {
    for (size_t i = 0; i < N * D; i++)
        x[i] = (double)p->v[i];
    for (size_t i = 0; p->has_head && i < HEAD; i++)
        x[N * D + i] = (double)p->head[i];
    return N * D + (p->has_head ? HEAD : 0);
}

/* Returns the loss of float64 vectors with d components. index: index of the loss in `losses`. */
static double plain_loss(problem *p, size_t index, const double *v, size_t d, const double *head) {
    static _Alignas(64) char workspace[1 << 20];
    const aoei_example_batch e = {.B = B, .D = d, .arity = ARITY, .v64 = v};
    aoe_objective_result r = {0};
    aoe_error err = {0};
    int code = 0;
    if (losses[index].loss == &aoei_loss_of_labels && p->has_labels) {
        const aoei_pair_batch pairs = {.B = B, .D = d, .stride = 2 * d, .x64 = v, .y64 = v + d, .label = p->label};
        code = aoei_pair_objective(&p->o, &pairs, workspace, sizeof workspace, NULL, &r, &err);
    } else if (losses[index].loss == &aoei_loss_of_labels) {
        code = aoei_contrastive_objective(&p->o, &e, workspace, sizeof workspace, NULL, &r, &err);
    } else if (losses[index].loss == &aoei_loss_of_regression) {
        code = aoei_regression_objective(p->label, &e, workspace, sizeof workspace, NULL, &r, &err);
    } else if (losses[index].loss == &aoei_loss_of_classes) {
        double weight[CLASSES * 3 * D], d_weight[CLASSES * 3 * D], d_bias[CLASSES];
        for (size_t c = 0; c < CLASSES * 3; c++)
            memcpy(weight + c * d, head + c * D, d * sizeof *weight);
        const aoei_classifier c = {.features = p->o.features,
                                   .classes = CLASSES,
                                   .weight = weight,
                                   .bias = head + CLASSES * 3 * D,
                                   .d_weight = d_weight,
                                   .d_bias = d_bias};
        code = aoei_classification_objective(&c, p->label, &e, workspace, sizeof workspace, NULL, &r, &err);
    } else {
        const aoei_guide guide = {.dims = p->distill.dims, .vectors = p->teacher};
        const aoei_direction_options o = {.directions = p->o.directions,
                                          .joint = 1,
                                          .weight = 1,
                                          .tau = p->o.tau_ibn,
                                          .guide =
                                              losses[index].loss == &aoei_loss_of_guided_directions ? &guide : NULL};
        code = aoei_direction_objective(&o, &e, workspace, sizeof workspace, NULL, &r, &err);
    }
    aoei_distill distill = p->distill;
    distill.dims = distill.form == AOE_DISTILL_KL ? d : distill.dims;
    if (!code && p->distill.weight > 0)
        code = aoei_distill_objective(&distill, &e, workspace, sizeof workspace, NULL, &r, &err);
    if (code)
        fail_msg("%s", err.message);
    return r.total;
}

static size_t loss_index; /* index of the loss that loss_of computes */

/* Returns the loss of the problem's truncated vectors x, computed in float64 with the objectives of whole vectors. */
static double loss_of(void *arg, const double *x) {
    problem *p = arg;
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        double v[N * D];
        const size_t d = p->prefix[i].dims;
        for (size_t k = 0; k < N; k++)
            memcpy(v + k * d, x + k * D, d * sizeof *v);
        sum += p->prefix[i].weight * plain_loss(p, loss_index, v, d, x + N * D);
    }
    return sum;
}

/* Compares the loss with the sum of the losses of float64 prefixes, and the gradient with finite differences.
 * Components beyond the largest size have no gradient. */
static void finite_differences(void **state) {
    (void)state;
    static const aoe_prefix sizes[] = {{6, 1}, {2, 0.5}, {4, 2}};
    for (loss_index = 0; loss_index < LOSSES; loss_index++) {
        problem p;
        double x[N * D + HEAD], grad[N * D + HEAD];
        create_loss(&p, loss_index);
        p.prefix = sizes;
        p.n = 3;
        solve(&p);
        const size_t n = inputs(&p, x);
        for (size_t i = 0; i < n; i++)
            grad[i] = i < N * D ? (double)p.grad[i] : (double)p.d_head[i - N * D];
        const double want = loss_of(&p, x);
        print_message("%s: %g\n", losses[loss_index].name, want);
        assert_true(fabs(p.r.total - want) <= 1e-12 * want);
        test_gradient(loss_of, &p, x, grad, n, TEST_GRAD_TOLERANCE);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 6; k < D; k++)
                assert_true(p.grad[i * D + k] == 0);
    }
}

/* Doubling all weights doubles the loss and the gradient exactly. */
static void linear_in_the_weights(void **state) {
    (void)state;
    static const aoe_prefix one[] = {{8, 1}, {4, 0.5}}, two[] = {{8, 2}, {4, 1}};
    problem a, b;
    create_loss(&a, 0);
    a.prefix = one, a.n = 2;
    solve(&a);
    create_loss(&b, 0);
    b.prefix = two, b.n = 2;
    solve(&b);
    assert_true(b.r.total == 2 * a.r.total);
    for (size_t i = 0; i < N * D; i++)
        assert_true(b.grad[i] == 2 * a.grad[i]);
}

/* The sizes of a step are distinct, in ascending order of their index, and depend only on the seed and the step. */
static void drawn_sizes(void **state) {
    (void)state;
    size_t count[5] = {0};
    int changes = 0;
    aoei_matryoshka m = {0}, again = {0}, other = {0};
    for (uint64_t step = 0; step < 200; step++) {
        aoei_matryoshka_choose(&m, 5, 2, 42, step);
        aoei_matryoshka_choose(&again, 5, 2, 42, step);
        aoei_matryoshka_choose(&other, 5, 2, 43, step);
        assert_int_equal(m.n_sizes, 2);
        assert_true(m.sizes[0] < m.sizes[1] && m.sizes[1] < 5);
        assert_memory_equal(m.sizes, again.sizes, sizeof m.sizes);
        changes += memcmp(m.sizes, other.sizes, 2 * sizeof *m.sizes) != 0;
        count[m.sizes[0]]++, count[m.sizes[1]]++;
    }
    assert_true(changes > 100);
    for (size_t i = 0; i < 5; i++)
        assert_true(count[i] > 50 && count[i] < 110); /* the expected number is 80, the standard deviation is 7 */
    aoei_matryoshka_choose(&m, 3, 0, 42, 0);
    assert_int_equal(m.n_sizes, 3);
}

/* Returns the weights of the trained model. */
static char *weights_of(const train_run *r, size_t *size) {
    char *data = train_run_read(r, "model.safetensors", size);
    assert_non_null(data);
    return data;
}

/* Trains with the options of r into the directory `name` and asserts that the weights are equal (equal is 1) or
 * differ. */
static void expect_weights(train_run *r, const char *name, size_t threads, const char *want, size_t size, int equal) {
    size_t n;
    train_run_output(r, name);
    r->n = r->evaluations = 0;
    train_run_ok(r, threads);
    char *got = weights_of(r, &n);
    assert_int_equal(n, size);
    assert_int_equal(!memcmp(got, want, n), equal);
    free(got);
}

static void training_runs(void **state) {
    (void)state;
    static const aoe_prefix whole = {TRAIN_DIMS, 1}, sizes[] = {{TRAIN_DIMS, 1}, {8, 0.5}, {4, 1}};
    static const aoe_method methods[] = {AOE_METHOD_ANGLE, AOE_METHOD_SBERT_REGRESSION, AOE_METHOD_COSENT};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        train_run r;
        aoe_error err = {0};
        size_t size;
        train_run_create(&r);
        r.o.method = methods[i];
        train_run_ok(&r, 1);
        char *base = weights_of(&r, &size);
        r.o.matryoshka = &whole;
        r.o.n_matryoshka = 1;
        expect_weights(&r, "whole", 1, base, size, 1);
        r.o.matryoshka = sizes;
        r.o.n_matryoshka = 3;
        r.o.matryoshka_per_step = 2;
        expect_weights(&r, "prefixes", 1, base, size, 0);
        char *want = weights_of(&r, &size), *record = train_run_read(&r, "aoe.json", NULL);
        assert_non_null(strstr(record, "\"matryoshka\""));
        expect_weights(&r, "threads", 3, want, size, 1);
        r.o.cache_chunk = 3;
        expect_weights(&r, "chunks", 2, want, size, 1);
        r.o.cache_chunk = 0;
        train_run_output(&r, "stopped");
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 5;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.o.n_matryoshka = 2;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "matryoshka"));
        r.o.n_matryoshka = 3;
        train_run_ok(&r, 2);
        size_t n;
        char *resumed = weights_of(&r, &n);
        assert_true(n == size && !memcmp(resumed, want, n));
        free(base);
        free(want);
        free(record);
        free(resumed);
        train_run_destroy(&r);
    }
}

static void rejected_options(void **state) {
    (void)state;
    static const struct {
        aoe_method method;
        aoe_prefix sizes[2];
        size_t per_step;
        const char *fragment;
    } cases[] = {{AOE_METHOD_ANGLE, {{0, 1}, {4, 1}}, 0, "size 0 with weight 1 is invalid"},
                 {AOE_METHOD_ANGLE, {{8, 1}, {4, 0}}, 0, "size 4 with weight 0 is invalid"},
                 {AOE_METHOD_ANGLE, {{8, 1}, {8, 2}}, 0, "size 8 is listed twice"},
                 {AOE_METHOD_ANGLE, {{8, 1}, {18, 1}}, 0, "size 18 is above 16, the number of components"},
                 {AOE_METHOD_ANGLE, {{8, 1}, {5, 1}}, 0, "the angle loss requires even sizes, not 5"},
                 {AOE_METHOD_ANGLE, {{8, 1}, {4, 1}}, 3, "options.matryoshka_per_step is 3"},
                 {AOE_METHOD_SIMCSE_UNSUP, {{8, 1}, {4, 1}}, 0, "set options.no_projection"},
                 {AOE_METHOD_CROSS_ENCODER, {{8, 1}, {4, 1}}, 0, "cross-encoder has no embeddings"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        aoe_error err = {0};
        train_run_create(&r);
        r.o.method = cases[i].method;
        r.o.matryoshka = cases[i].sizes;
        r.o.n_matryoshka = 2;
        r.o.matryoshka_per_step = cases[i].per_step;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("found the message \"%s\", expected \"%s\"", err.message, cases[i].fragment);
        train_run_destroy(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_values), cmocka_unit_test(whole_size_is_identical),
        cmocka_unit_test(finite_differences), cmocka_unit_test(linear_in_the_weights),
        cmocka_unit_test(drawn_sizes),        cmocka_unit_test(training_runs),
        cmocka_unit_test(rejected_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
