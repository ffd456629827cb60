/* SPDX-License-Identifier: MIT
 * Computes the targets of Espresso sentence embeddings. All matrices except the eigenvectors are stored in panels of
 * AOEI_PANEL_F64 columns (kernels/kernels.h). A range of the columns of a matrix is orthonormalized panel by panel:
 * classical block Gram-Schmidt against the previous panels, then modified Gram-Schmidt in the panel, both twice.
 */
#include "loss/ese_target.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/random.h"
#include "nn/panels.h"

enum {
    P = 24,        /* AOEI_PANEL_F64 */
    STRIP = 2 * P, /* rows of a matmul that one task computes */
    EXTRA = 8,     /* additional columns of the range finder */
    POWER_ITERATIONS = 2,
};

/* Matrices in panels: element (r, c) of a matrix with `rows` rows is at (c / P) * rows * P + r * P + c % P. */
typedef struct state {
    const aoei_ese_target *p;
    size_t l;              /* columns of the range finder */
    double *m;             /* [N, D] vectors */
    double *a;             /* [D, D] A */
    double *y, *z;         /* [D, l] */
    double *gram;          /* [l, l] in panels */
    double *eigen, *value; /* [l, l] row-major: Gram matrix, then eigenvectors; [l] eigenvalues */
    double *basis;         /* [l, c] the first c eigenvectors as columns */
    double *u, *k;         /* [D, c] U diag(S); [N, c] the target */
    double *product;       /* [l, P] products of a panel with the previous panels */
} state;

static size_t cells(size_t rows, size_t cols) {
    return rows * ((cols + P - 1) / P * P);
}

static double *element(double *x, size_t rows, size_t r, size_t c) {
    return x + c / P * rows * P + r * P + c % P;
}

static void lay_out(state *s, aoei_arena *a, size_t N, size_t D, size_t c) {
    *s = (state){.l = c + EXTRA < D ? c + EXTRA : D};
    const size_t l = s->l;
    s->m = aoei_arena_take_array(a, cells(N, D), sizeof(double));
    s->a = aoei_arena_take_array(a, cells(D, D), sizeof(double));
    s->y = aoei_arena_take_array(a, cells(D, l), sizeof(double));
    s->z = aoei_arena_take_array(a, cells(D, l), sizeof(double));
    s->gram = aoei_arena_take_array(a, cells(l, l), sizeof(double));
    s->eigen = aoei_arena_take_array(a, l * l, sizeof(double));
    s->value = aoei_arena_take_array(a, l, sizeof(double));
    s->basis = aoei_arena_take_array(a, cells(l, c), sizeof(double));
    s->u = aoei_arena_take_array(a, cells(D, c), sizeof(double));
    s->k = aoei_arena_take_array(a, cells(N, c), sizeof(double));
    s->product = aoei_arena_take_array(a, cells(l, P), sizeof(double));
}

size_t aoei_ese_target_workspace(size_t N, size_t D, size_t c) {
    aoei_arena a;
    state s;
    if (N > SIZE_MAX / 64 || D > UINT32_MAX || c > D) /* the products of the sizes then do not overflow before they are
                                                         checked */
        return 0;
    aoei_arena_measure(&a);
    lay_out(&s, &a, N, D, c);
    return a.overflow ? 0 : a.used;
}

/* C[M, cols] = A B or A^T B. a_rows and b_rows: numbers of rows of A and B. */
typedef struct product {
    const aoe_context *ctx;
    const double *a, *b;
    double *c;
    size_t M, cols, a_rows, b_rows;
    int transposed;
} product;

static void product_task(void *arg, size_t task, size_t worker) {
    const product *p = arg;
    const size_t r = task * STRIP, rows = p->M - r < STRIP ? p->M - r : STRIP;
    (void)worker;
    aoei_panels_gemm(p->ctx, &(aoei_gemm_f64){.M = rows,
                                              .N = p->cols,
                                              .K = p->b_rows,
                                              .a = p->transposed ? p->a + r * p->a_rows : p->a + r * P,
                                              .a_panel = p->a_rows * P,
                                              .b = p->b,
                                              .b_panel = p->b_rows * P,
                                              .c = p->c + r * P,
                                              .c_panel = p->M * P,
                                              .transposed = p->transposed});
}

static void multiply(const state *s, double *c, const double *a, size_t a_rows, int transposed, const double *b,
                     size_t b_rows, size_t M, size_t cols) {
    product p = {.ctx = s->p->ctx,
                 .a = a,
                 .b = b,
                 .c = c,
                 .M = M,
                 .cols = cols,
                 .a_rows = a_rows,
                 .b_rows = b_rows,
                 .transposed = transposed};
    aoei_parallel_for(s->p->ctx->pool, (M + STRIP - 1) / STRIP, product_task, &p);
}

/* Replaces row r of m^T m by the softmax of the row divided by sqrt(D). */
static void softmax_task(void *arg, size_t r, size_t worker) {
    state *s = arg;
    const size_t D = s->p->D;
    const double scale = 1 / sqrt((double)D);
    double max = -INFINITY, sum = 0;
    (void)worker;
    for (size_t c = 0; c < D; c++) {
        const double x = *element(s->a, D, r, c) * scale;
        max = x > max ? x : max;
    }
    for (size_t c = 0; c < D; c++) {
        double *x = element(s->a, D, r, c);
        *x = exp(*x * scale - max);
        sum += *x;
    }
    for (size_t c = 0; c < D; c++)
        *element(s->a, D, r, c) /= sum;
}

/* Subtracts from the columns of panel p of y [D, l] their projections on the previous panels, which are orthonormal. */
static void project_out(const state *s, double *y, size_t p) {
    const size_t D = s->p->D, before = p * P, n = s->l - before < P ? s->l - before : P;
    double *panel = y + p * D * P;
    if (!p)
        return;
    multiply(s, s->product, y, D, 1, panel, D, before, n);
    for (size_t i = 0; i < before * P; i++)
        s->product[i] = -s->product[i];
    aoei_panels_gemm(s->p->ctx, &(aoei_gemm_f64){.M = D,
                                                 .N = n,
                                                 .K = before,
                                                 .a = y,
                                                 .a_panel = D * P,
                                                 .b = s->product,
                                                 .b_panel = before * P,
                                                 .c = panel,
                                                 .c_panel = D * P,
                                                 .accumulate = 1});
}

/* Orthonormalizes n columns of a panel [D, P] with modified Gram-Schmidt. lengths: [n] lengths of the columns before
 * any projection; a column that is shorter than the rounding error of this length becomes 0. */
static void orthonormalize_panel(double *x, size_t D, size_t n, const double *lengths) {
    for (size_t j = 0; j < n; j++) {
        double dot[P] = {0};
        for (size_t r = 0; r < D; r++)
            for (size_t c = j; c < n; c++)
                dot[c] += x[r * P + j] * x[r * P + c];
        const double length = sqrt(dot[j]), inverse = length > 1e-13 * lengths[j] && length > 0 ? 1 / length : 0;
        for (size_t r = 0; r < D; r++) {
            const double unit = x[r * P + j] * inverse;
            x[r * P + j] = unit;
            for (size_t c = j + 1; c < n; c++)
                x[r * P + c] -= unit * (dot[c] * inverse);
        }
    }
}

/* Orthonormalizes the columns of y [D, l]. */
static void orthonormalize(const state *s, double *y) {
    const size_t D = s->p->D;
    for (size_t p = 0; p * P < s->l; p++) {
        const size_t n = s->l - p * P < P ? s->l - p * P : P;
        double lengths[P] = {0};
        double *panel = y + p * D * P;
        for (size_t r = 0; r < D; r++)
            for (size_t c = 0; c < n; c++)
                lengths[c] += panel[r * P + c] * panel[r * P + c];
        for (size_t c = 0; c < n; c++)
            lengths[c] = sqrt(lengths[c]);
        for (int pass = 0; pass < 2; pass++) {
            project_out(s, y, p);
            orthonormalize_panel(panel, D, n, lengths);
            for (size_t c = 0; c < n; c++)
                lengths[c] = 1; /* the columns have the length 1 before the second pass, or are 0 */
        }
    }
}

/* Sets y [D, l] to random numbers with a normal distribution. */
static void fill_random(const state *s) {
    aoei_rng r;
    aoei_rng_init(&r, s->p->seed, AOEI_STREAM_ESE, (uint32_t)s->p->step);
    r.index = (uint64_t)s->p->layer << 32;
    for (size_t c = 0; c < s->l; c++)
        for (size_t i = 0; i < s->p->D; i++)
            *element(s->y, s->p->D, i, c) = aoei_rng_normal(&r);
}

/* Computes s->y [D, l], an orthonormal basis of the approximate range of A. */
static void find_range(const state *s) {
    const size_t D = s->p->D;
    fill_random(s);
    multiply(s, s->z, s->a, D, 0, s->y, D, D, s->l);
    orthonormalize(s, s->z);
    for (int i = 0; i < POWER_ITERATIONS; i++) {
        multiply(s, s->y, s->a, D, 1, s->z, D, D, s->l);
        orthonormalize(s, s->y);
        multiply(s, s->z, s->a, D, 0, s->y, D, D, s->l);
        orthonormalize(s, s->z);
    }
    memcpy(s->y, s->z, cells(D, s->l) * sizeof *s->y);
}

/* Computes s->u, the first c columns of U diag(S), from the basis Q in s->y: the eigenvectors of Q^T A A^T Q are the
 * left singular vectors of Q^T A, and the eigenvalues are the squares of the singular values. */
static int decompose(state *s, aoe_error *err) {
    const size_t D = s->p->D, l = s->l, c = s->p->c;
    multiply(s, s->z, s->a, D, 1, s->y, D, D, l);
    multiply(s, s->gram, s->z, D, 1, s->z, D, l, l);
    for (size_t i = 0; i < l; i++)
        for (size_t j = 0; j < l; j++)
            s->eigen[i * l + j] = *element(s->gram, l, i < j ? i : j, i < j ? j : i);
    const int code = aoei_eigen_symmetric(s->eigen, s->value, l, s->p->ctx->pool, err);
    if (code)
        return code;
    for (size_t i = 0; i < l; i++)
        for (size_t j = 0; j < c; j++)
            *element(s->basis, l, i, j) = s->eigen[j * l + i];
    multiply(s, s->u, s->y, D, 0, s->basis, l, D, c);
    for (size_t j = 0; j < c; j++) {
        size_t largest = 0;
        for (size_t i = 1; i < D; i++)
            if (fabs(*element(s->u, D, i, j)) > fabs(*element(s->u, D, largest, j)))
                largest = i;
        const double S = s->value[j] > 0 ? sqrt(s->value[j]) : 0;
        const double factor = *element(s->u, D, largest, j) < 0 ? -S : S;
        for (size_t i = 0; i < D; i++)
            *element(s->u, D, i, j) *= factor;
    }
    return AOE_OK;
}

int aoei_ese_target_compute(const aoei_ese_target *p, aoe_error *err) {
    const size_t N = p->N, D = p->D;
    aoei_arena arena = {.base = p->workspace, .size = SIZE_MAX};
    state s;
    lay_out(&s, &arena, N, D, p->c);
    s.p = p;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) {
            *element(s.m, N, i, j) = p->m[i * D + j];
            if (!(fabs(p->m[i * D + j]) < 1e100))
                return aoei_fail(err, AOE_ENUMERIC, "vector %zu is not finite; check the weights and the learning rate",
                                 i);
        }
    multiply(&s, s.a, s.m, N, 1, s.m, N, D, D);
    aoei_parallel_for(p->ctx->pool, D, softmax_task, &s);
    find_range(&s);
    const int code = decompose(&s, err);
    if (code)
        return code;
    multiply(&s, s.k, s.m, N, 0, s.u, D, N, p->c);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < p->c; j++)
            p->k[i * p->c + j] = *element(s.k, N, i, j);
    return AOE_OK;
}
