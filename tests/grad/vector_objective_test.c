/* SPDX-License-Identifier: MIT
 * covers: loss/vector_objective
 * Tests the loss of the method distill: the gradient is compared with finite differences in double for each set of
 * kernels, the values are compared with PyTorch and with a direct computation, and the results must not depend on the
 * number of threads. tags: threads
 */
#include <math.h>
#include <string.h>

#include "../support/example_rows.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/vector_objective.h"

enum {
    MAX_B = 1100,
    MAX_D = 26,
    MAX_DIMS = 50,
    CELLS = 1 << 13,
    MANY = 3 /* components of the vectors of the largest batch */
};

/* A batch. x contains the vectors v, and then the outputs y of the map if there is one; grad contains their
 * gradients. */
typedef struct problem {
    const aoe_context *ctx;
    size_t B, D, dims;
    int mapped;
    aoe_objective_options o;
    double x[CELLS], grad[CELLS];
    float teacher[CELLS];
    const float *row[MAX_B];
    void *workspace; /* owned */
    size_t bytes;
    aoe_objective_result r;
} problem;

static size_t cells(const problem *p) {
    return p->B * (p->D + (p->mapped ? p->dims : 0));
}

/* Computes p->r and, if grad is not NULL, the gradients of x. Returns the error code. */
static int try_solve(problem *p, const double *x, double *grad, aoe_error *err) {
    const size_t n = p->B * p->D;
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = 1, .v64 = x, .grad64 = grad},
                             y = {.B = p->B, .D = p->dims, .arity = 1, .v64 = x + n, .grad64 = grad ? grad + n : NULL};
    const aoei_targets t = {.dims = p->dims, .teacher = p->row, .mapped = p->mapped ? &y : NULL};
    memset(p->workspace, 0xff, p->bytes); /* NaN, so that reading uninitialized memory changes the result */
    return aoei_vector_objective(&p->o, &t, &b, p->workspace, p->bytes, p->ctx, &p->r, err);
}

static void solve(problem *p) {
    aoe_error err = {0};
    memset(p->grad, 0xff, sizeof p->grad);
    if (try_solve(p, p->x, p->grad, &err))
        fail_msg("%s", err.message);
}

static double loss(void *arg, const double *x) {
    problem *p = arg;
    assert_int_equal(try_solve(p, x, NULL, NULL), 0);
    return p->r.total;
}

/* Creates a problem with random vectors. */
static void create(problem *p, const aoe_context *ctx, size_t B, size_t D, size_t dims, int mapped) {
    aoei_rng rng;
    memset(p, 0, sizeof *p);
    *p = (problem){.ctx = ctx, .B = B, .D = D, .dims = dims, .mapped = mapped};
    assert_true(B <= MAX_B && cells(p) <= CELLS && B * dims <= CELLS);
    aoe_objective_options_defaults(&p->o);
    p->o.w_vectors = 0.7;
    p->o.w_similarities = 1.3;
    p->bytes = aoei_vector_objective_workspace(B, D, dims);
    p->workspace = aoei_aligned(p->bytes);
    assert_non_null(p->workspace);
    aoei_rng_init(&rng, B, AOEI_STREAM_TEST, (uint32_t)dims);
    for (size_t i = 0; i < cells(p); i++)
        p->x[i] = aoei_rng_normal(&rng);
    for (size_t i = 0; i < B * dims; i++)
        p->teacher[i] = (float)aoei_rng_normal(&rng);
    for (size_t i = 0; i < B; i++)
        p->row[i] = p->teacher + i * dims;
}

static void destroy(problem *p) {
    aoei_aligned_free(p->workspace);
}

static void assert_close(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
        fail_msg("found %.17g, expected %.17g", got, want);
}

/* --------------------------------------------------------- direct computation */

static double cosine_of(const double *a, const double *b, size_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t k = 0; k < n; k++) {
        ab += a[k] * b[k];
        aa += a[k] * a[k];
        bb += b[k] * b[k];
    }
    return ab / sqrt(aa * bb);
}

static void compare_with_definition(const problem *p) {
    static double t[CELLS];
    const size_t n = p->mapped ? p->dims : p->D;
    const double *y = p->mapped ? p->x + p->B * p->D : p->x, B = (double)p->B;
    double vectors = 0, similarities = 0;
    for (size_t i = 0; i < p->B * p->dims; i++)
        t[i] = (double)p->teacher[i];
    for (size_t i = 0; i < p->B; i++) {
        double squares = 0;
        for (size_t k = 0; k < n; k++)
            squares += pow(y[i * n + k] - t[i * p->dims + k], 2) / (double)n;
        vectors += p->o.vector_loss == AOE_VECTOR_LOSS_SQUARES ? squares : 1 - cosine_of(y + i * n, t + i * p->dims, n);
        for (size_t j = 0; j < i; j++)
            similarities += 2 * pow(cosine_of(p->x + i * p->D, p->x + j * p->D, p->D) -
                                        cosine_of(t + i * p->dims, t + j * p->dims, p->dims),
                                    2);
    }
    assert_close(p->r.vectors, vectors / B, 1e-13);
    assert_close(p->r.similarities, p->B > 1 ? similarities / (B * (B - 1)) : 0, 1e-13);
    assert_close(p->r.total, 0.7 * p->r.vectors + 1.3 * p->r.similarities, 1e-15);
}

/* ------------------------------------------------------------------ gradients */

static void check_shape(const aoe_context *ctx, size_t B, size_t D, size_t dims, int mapped) {
    static problem p;
    for (int form = AOE_VECTOR_LOSS_COSINE; form <= AOE_VECTOR_LOSS_SQUARES; form++) {
        create(&p, ctx, B, D, dims, mapped);
        p.o.vector_loss = (aoe_vector_loss)form;
        solve(&p);
        compare_with_definition(&p);
        test_gradient(loss, &p, p.x, p.grad, cells(&p), 1e-8);
        destroy(&p);
    }
}

static void check_tier(const aoe_context *ctx) {
    check_shape(ctx, 1, 3, 3, 0); /* a single text has no similarities */
    check_shape(ctx, 1, 4, 6, 1);
    check_shape(ctx, 2, 3, 5, 1);
    check_shape(ctx, 5, 6, 6, 0);
    check_shape(ctx, 5, 4, 7, 0);           /* the first components of the teacher */
    check_shape(ctx, 5, 7, 4, 1);           /* a map to fewer components */
    check_shape(ctx, 70, MAX_D, MAX_D, 1);  /* more than one tile */
    check_shape(ctx, 33, 25, MAX_DIMS, 0);  /* a tile of one row */
    check_shape(ctx, MAX_B, MANY, MANY, 1); /* more than one strip */
}

static void finite_differences(void **state) {
    (void)state;
    test_each_tier(check_tier);
}

/* A term whose weight is 0 is not computed, and has no gradient. Only the vectors need a map if the sizes differ. */
static void single_terms(void **state) {
    static problem p;
    (void)state;
    for (int mapped = 0; mapped < 2; mapped++) {
        create(&p, NULL, 6, 5, 4, mapped);
        p.o.w_vectors = 0;
        solve(&p);
        assert_true(p.r.vectors <= 0 && p.r.similarities > 0.01);
        assert_close(p.r.total, 1.3 * p.r.similarities, 1e-15);
        for (size_t i = p.B * p.D; i < cells(&p); i++)
            assert_true(p.grad[i] <= 0 && p.grad[i] >= 0);
        test_gradient(loss, &p, p.x, p.grad, cells(&p), 1e-8);
        destroy(&p);
        create(&p, NULL, 6, 4, 5, mapped);
        p.o.w_similarities = 0;
        solve(&p);
        assert_true(p.r.vectors > 0.01 && p.r.similarities <= 0);
        assert_close(p.r.total, 0.7 * p.r.vectors, 1e-15);
        for (size_t i = 0; i < p.B * p.D && mapped; i++)
            assert_true(p.grad[i] <= 0 && p.grad[i] >= 0);
        test_gradient(loss, &p, p.x, p.grad, cells(&p), 1e-8);
        destroy(&p);
    }
}

/* A zero vector has the cosine 0 with every vector, and no gradient of the cosines. */
static void zero_vectors(void **state) {
    static problem p;
    (void)state;
    create(&p, NULL, 3, 4, 4, 0);
    memset(p.x, 0, p.D * sizeof *p.x);
    memset(p.teacher + p.dims, 0, p.dims * sizeof *p.teacher);
    solve(&p);
    assert_close(p.r.vectors,
                 (3 - cosine_of(p.x + 8,
                                (double[]){(double)p.teacher[8], (double)p.teacher[9], (double)p.teacher[10],
                                           (double)p.teacher[11]},
                                4)) /
                     3,
                 1e-14);
    for (size_t k = 0; k < p.D; k++)
        assert_true(p.grad[k] <= 0 && p.grad[k] >= 0);
    for (size_t k = p.D; k < cells(&p); k++)
        assert_true(isfinite(p.grad[k]));
    destroy(&p);
}

/* If the vectors are those of the teacher, multiplied by a positive factor, the loss with cosines is 0. */
static void equal_vectors(void **state) {
    static problem p;
    (void)state;
    create(&p, NULL, 40, 7, 7, 0);
    for (size_t i = 0; i < cells(&p); i++)
        p.x[i] = 3 * (double)p.teacher[i];
    solve(&p);
    assert_close(p.r.total, 0, 1e-14);
    for (size_t i = 0; i < cells(&p); i++)
        assert_close(p.grad[i], 0, 1e-14);
    destroy(&p);
}

/* ------------------------------------------------------------------- PyTorch */

static double norm_of(const double *x, size_t n) {
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return sqrt(square);
}

/* The vectors are v_i[k] = r(i, k) for 6 texts and 4 components, those of the teacher are t_i[k] = r(2 i + 1, k) for 5
 * components, where r is test_example_row. The map is nn.Linear with the weights (r == c) + ((3 r + 2 c) mod 5 - 2) / 8
 * and the biases (r - 2) / 8. PyTorch 2 computed the numbers in float64: V = (1 - F.cosine_similarity(y, t)).mean() or
 * F.mse_loss(y, t), S = ((cv - ct)^2 * (1 - eye(6))).sum() / 30 with the cosines cv = F.normalize(v) @ F.normalize(v).T
 * and ct = F.normalize(t) @ F.normalize(t).T, and backward() of 0.7 V + 1.3 S. Without the map, y = v, and t is t[:,
 * :4] in V. */
static void equals_pytorch(void **state) {
    enum { B = 6, D = 4, T = 5 };
    static const struct {
        aoe_vector_loss form;
        int mapped;
        double vectors, total, dv00, dv; /* dv00: first component of the gradient; dv: its norm */
        double dw10, dw, db; /* an element of the gradient of the weights of the map, its norm, and that of biases */
    } cases[] = {
        {AOE_VECTOR_LOSS_COSINE, 1, 0.813211275911, 1.070043487258, -0.001775788829, 0.292231625129, 0.067590458855,
         0.232779072695, 0.222169884590},
        {AOE_VECTOR_LOSS_COSINE, 0, 0.810642147762, 1.068245097553, 0.008937461566, 0.301142798105, 0, 0, 0},
        {AOE_VECTOR_LOSS_SQUARES, 1, 0.943424479167, 1.161192729537, -0.058790171809, 0.300897902111, 0.123229166667,
         0.436182782698, 0.296038074691},
        {AOE_VECTOR_LOSS_SQUARES, 0, 1.184895833333, 1.330222677454, -0.081941213476, 0.400336806175, 0, 0, 0},
    };
    static problem p;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double w[T][D], dv[B][D], dw[T][D] = {{0}}, db[T] = {0};
        create(&p, NULL, B, D, T, cases[i].mapped);
        p.o.vector_loss = cases[i].form;
        for (size_t r = 0; r < T; r++)
            for (size_t c = 0; c < D; c++)
                w[r][c] = (r == c) + ((double)((3 * r + 2 * c) % 5) - 2) / 8;
        for (size_t u = 0; u < B; u++) {
            for (size_t k = 0; k < D; k++)
                p.x[u * D + k] = test_example_row(u, k);
            for (size_t r = 0; r < T; r++) {
                double y = ((double)r - 2) / 8;
                for (size_t k = 0; k < D; k++)
                    y += w[r][k] * test_example_row(u, k);
                p.teacher[u * T + r] = (float)test_example_row(2 * u + 1, r);
                if (p.mapped)
                    p.x[B * D + u * T + r] = y;
            }
        }
        solve(&p);
        memcpy(dv, p.grad, sizeof dv);
        for (size_t u = 0; u < B && p.mapped; u++)
            for (size_t r = 0; r < T; r++) {
                const double dy = p.grad[B * D + u * T + r];
                db[r] += dy;
                for (size_t k = 0; k < D; k++) {
                    dv[u][k] += w[r][k] * dy;
                    dw[r][k] += dy * test_example_row(u, k);
                }
            }
        assert_close(p.r.similarities, 0.385227380092, 1e-12);
        assert_close(p.r.vectors, cases[i].vectors, 1e-12);
        assert_close(p.r.total, cases[i].total, 1e-12);
        assert_close(dv[0][0], cases[i].dv00, 1e-12);
        assert_close(norm_of(dv[0], (size_t)B * D), cases[i].dv, 1e-12);
        assert_close(dw[1][0], cases[i].dw10, 1e-12);
        assert_close(norm_of(dw[0], (size_t)T * D), cases[i].dw, 1e-12);
        assert_close(norm_of(db, T), cases[i].db, 1e-12);
        destroy(&p);
    }
}

/* ---------------------------------------------------------- threads, float32 */

/* The results are bit-identical for any number of threads. The gradient in float32 is that in float64, rounded once. */
static void threads_and_floats(void **state) {
    static problem p;
    static float v[CELLS], g[CELLS];
    static const struct {
        size_t B, D, dims;
        int mapped;
    } cases[] = {{70, 24, 30, 1}, {70, 24, 30, 0}, {MAX_B, MANY, MANY, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_objective_result want = {0};
        static double grad[CELLS];
        for (size_t threads = 1; threads <= 3; threads += 2) {
            aoe_context *ctx = test_context(test_best_tier(), threads);
            create(&p, ctx, cases[i].B, cases[i].D, cases[i].dims, cases[i].mapped);
            for (size_t k = 0; k < cells(&p); k++)
                p.x[k] = (double)(v[k] = (float)p.x[k]);
            solve(&p);
            if (threads > 1) {
                assert_memory_equal(&p.r, &want, sizeof want);
                assert_memory_equal(p.grad, grad, cells(&p) * sizeof *grad);
            }
            want = p.r;
            memcpy(grad, p.grad, sizeof grad);
            const size_t n = p.B * p.D;
            const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 1, .v = v, .grad = g},
                                     y = {.B = p.B, .D = p.dims, .arity = 1, .v = v + n, .grad = g + n};
            const aoei_targets t = {.dims = p.dims, .teacher = p.row, .mapped = p.mapped ? &y : NULL};
            assert_int_equal(aoei_vector_objective(&p.o, &t, &b, p.workspace, p.bytes, ctx, &p.r, NULL), 0);
            assert_memory_equal(&p.r, &want, sizeof want);
            for (size_t k = 0; k < cells(&p); k++) {
                const float rounded = (float)grad[k];
                assert_memory_equal(&g[k], &rounded, sizeof rounded);
            }
            destroy(&p);
            aoe_context_destroy(ctx);
        }
    }
}

/* -------------------------------------------------------------------- errors */

static void expect_error(problem *p, int code, const char *fragment) {
    aoe_error err = {0};
    assert_int_equal(try_solve(p, p->x, p->grad, &err), code);
    if (!strstr(err.message, fragment))
        fail_msg("'%s' does not contain '%s'", err.message, fragment);
}

static void errors(void **state) {
    static problem p;
    aoe_error err = {0};
    (void)state;
    create(&p, NULL, 5, 4, 6, 1);
    p.bytes--;
    expect_error(&p, AOE_EARG, "is too small for the batch");
    p.bytes++;
    p.o.w_vectors = -1;
    expect_error(&p, AOE_EARG, "options.w_vectors and options.w_similarities must be finite and non-negative");
    p.o.w_vectors = (double)NAN;
    expect_error(&p, AOE_EARG, "must be finite");
    p.o.w_vectors = 1;
    const aoei_example_batch pairs = {.B = 2, .D = 4, .arity = 2, .v64 = p.x};
    const aoei_targets t = {.dims = 6, .teacher = p.row};
    assert_int_equal(aoei_vector_objective(&p.o, &t, &pairs, p.workspace, p.bytes, NULL, &p.r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "an example must be one text"));
    p.x[2 * p.D + 1] = (double)NAN;
    expect_error(&p, AOE_ENUMERIC, "text 2: the vector is not finite");
    p.x[2 * p.D + 1] = 0;
    p.x[p.B * p.D + 3 * p.dims] = (double)INFINITY;
    expect_error(&p, AOE_ENUMERIC, "text 3: the vector is not finite");
    destroy(&p);
    create(&p, NULL, 5, 4, 3, 0);
    expect_error(&p, AOE_EARG, "the embeddings have 4 components, but the teacher embeddings have 3; use a linear map");
    destroy(&p);
    create(&p, NULL, 2, 4, 4, 0);
    const float v[8] = {1e-44F, 0, 0, 0, 1, 1, 1, 1};
    float g[8];
    const aoei_example_batch small = {.B = 2, .D = 4, .arity = 1, .v = v, .grad = g};
    const aoei_targets same = {.dims = 4, .teacher = p.row};
    assert_int_equal(aoei_vector_objective(&p.o, &same, &small, p.workspace, p.bytes, NULL, &p.r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "text 0: the gradient overflows"));
    destroy(&p);
    assert_int_equal(aoei_vector_objective_workspace(0, 4, 4), 0);
    assert_int_equal(aoei_vector_objective_workspace(SIZE_MAX / 2, 4, 4), 0);
    assert_int_equal(aoei_vector_objective_workspace(4, SIZE_MAX / 8, 4), 0);
    assert_int_equal(aoei_vector_objective_workspace(4, 4, SIZE_MAX / 8), 0);
}

/* The size of the workspace does not decrease if an argument increases, also where the number of rows of a strip
 * decreases. */
static void workspace_sizes(void **state) {
    size_t before = 0;
    (void)state;
    for (size_t B = 1; B < 40000; B += 1 + B / 50) {
        const size_t bytes = aoei_vector_objective_workspace(B, 8, 12);
        assert_true(bytes >= before);
        assert_true(aoei_vector_objective_workspace(B, 9, 12) >= bytes &&
                    aoei_vector_objective_workspace(B, 8, 13) >= bytes);
        before = bytes;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(single_terms),
        cmocka_unit_test(zero_vectors),
        cmocka_unit_test(equal_vectors),
        cmocka_unit_test(equals_pytorch),
        cmocka_unit_test(threads_and_floats),
        cmocka_unit_test(errors),
        cmocka_unit_test(workspace_sizes),
    };
    return cmocka_run_group_tests_name("vector_objective", tests, NULL, NULL);
}
