/* SPDX-License-Identifier: MIT
 * Computes two principal axes with the block Krylov method (Golub and Underwood 1977; Musco and Musco 2015). Let X
 * [n, d] be the centered vectors. The axes are eigenvectors of G = X^T X, or X^T times the eigenvectors of G = X X^T,
 * whichever is smaller; G is not computed. An orthonormal basis begins with BLOCK vectors and grows by their products
 * with G. G, restricted to the basis, is a small matrix T, whose eigenvectors give the best approximations in the
 * basis. If these are not accurate enough, the best BLOCK of them begin a new basis. All sums have a fixed order.
 */
#include "serve/pca.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/random.h"

enum {
    BLOCK = 4,       /* vectors that are multiplied together; at least 2 axes */
    MOST_BASIS = 64, /* vectors of a basis */
    MOST_RESTARTS = 20,
    ROWS = 32,   /* rows of X per task */
    COLUMNS = 64 /* columns of X per task */
};

#define DEPENDENT 1e-10 /* a vector is in the span of the basis if this part of its length remains */
#define ACCURATE  1e-10 /* residual of an eigenvector, relative to the largest eigenvalue */
#define NO_AXIS   1e-12 /* an eigenvalue is treated as 0 if it is at most this part of the largest one */

typedef struct work {
    size_t n, d, m;   /* vectors, components, and size of G: min(n, d) */
    aoei_pool *pool;  /* borrowed; may be NULL */
    double *x;        /* [n, d] centered vectors */
    double *q, *g;    /* [MOST_BASIS, m] basis, and its products with G */
    double *next;     /* [BLOCK, m] vectors with which a basis begins */
    double *t, *best; /* [MOST_BASIS, MOST_BASIS] T, then its eigenvectors; [MOST_BASIS] its eigenvalues */
    double *p;        /* [BLOCK, max(n, d)] product of vectors with X or X^T */
    double *axis;     /* [2, d] axes */
    size_t k;         /* vectors in the basis */
    const double *in; /* operands of the current product */
    double *to;
    size_t count; /* number of vectors in the current product, at most BLOCK */
} work;

/* ---------------------------------------------------------------- products */

/* Computes to [count, n] = in [count, d] X^T for one block of rows of X. */
static void rows_task(void *arg, size_t task, size_t worker) {
    const work *w = arg;
    const size_t end = (task + 1) * ROWS < w->n ? (task + 1) * ROWS : w->n;
    (void)worker;
    for (size_t i = task * ROWS; i < end; i++) {
        const double *row = w->x + i * w->d;
        double sum[BLOCK] = {0};
        for (size_t j = 0; j < w->d; j++)
            for (size_t v = 0; v < w->count; v++)
                sum[v] += row[j] * w->in[v * w->d + j];
        for (size_t v = 0; v < w->count; v++)
            w->to[v * w->n + i] = sum[v];
    }
}

/* Computes to [count, d] = in [count, n] X for one block of columns of X. */
static void columns_task(void *arg, size_t task, size_t worker) {
    const work *w = arg;
    const size_t begin = task * COLUMNS, end = begin + COLUMNS < w->d ? begin + COLUMNS : w->d;
    double sum[BLOCK][COLUMNS] = {{0}};
    (void)worker;
    for (size_t i = 0; i < w->n; i++)
        for (size_t v = 0; v < w->count; v++) {
            const double f = w->in[v * w->n + i], *row = w->x + i * w->d;
            for (size_t j = begin; j < end; j++)
                sum[v][j - begin] += f * row[j];
        }
    for (size_t v = 0; v < w->count; v++)
        memcpy(w->to + v * w->d + begin, sum[v], (end - begin) * sizeof *w->to);
}

static void times_rows(work *w, const double *in, double *to, size_t count) {
    w->in = in;
    w->to = to;
    w->count = count;
    aoei_parallel_for(w->pool, (w->n + ROWS - 1) / ROWS, rows_task, w);
}

static void times_columns(work *w, const double *in, double *to, size_t count) {
    w->in = in;
    w->to = to;
    w->count = count;
    aoei_parallel_for(w->pool, (w->d + COLUMNS - 1) / COLUMNS, columns_task, w);
}

/* Computes to [count, m] = in [count, m] G. */
static void times_g(work *w, const double *in, double *to, size_t count) {
    if (w->m == w->d) {
        times_rows(w, in, w->p, count);
        times_columns(w, w->p, to, count);
    } else {
        times_columns(w, in, w->p, count);
        times_rows(w, w->p, to, count);
    }
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Computes a += f b. */
static void add_scaled(double *a, double f, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        a[i] += f * b[i];
}

/* Divides a by its length. Returns the length. */
static double normalize(double *a, size_t n) {
    const double length = sqrt(dot(a, a, n));
    for (size_t i = 0; i < n && length > 0; i++)
        a[i] /= length;
    return length;
}

/* ------------------------------------------------------------------- basis */

/* Appends the part of v [m] that is orthogonal to the basis, unless it is too small or the basis is complete. */
static void extend(work *w, const double *v) {
    const size_t limit = w->m < MOST_BASIS ? w->m : MOST_BASIS;
    if (w->k == limit)
        return;
    double *q = w->q + w->k * w->m;
    memcpy(q, v, w->m * sizeof *q);
    if (!(normalize(q, w->m) > 0))
        return;
    for (int pass = 0; pass < 3; pass++) { /* the second pass removes what rounding left in the first */
        for (size_t i = 0; i < w->k; i++)
            add_scaled(q, -dot(q, w->q + i * w->m, w->m), w->q + i * w->m, w->m);
        if (!(normalize(q, w->m) > DEPENDENT))
            return;
    }
    w->k++;
}

/* Computes the basis that begins with `next`, and its products with G. */
static void grow(work *w) {
    w->k = 0;
    for (size_t v = 0; v < BLOCK; v++)
        extend(w, w->next + v * w->m);
    for (size_t done = 0; done < w->k;) {
        const size_t count = w->k - done < BLOCK ? w->k - done : BLOCK;
        times_g(w, w->q + done * w->m, w->g + done * w->m, count);
        for (size_t v = done; v < done + count; v++)
            extend(w, w->g + v * w->m);
        done += count;
    }
}

/* Computes the eigenvectors of G in the basis and writes the first BLOCK of them to `next`. Returns the largest
 * residual of the first two, relative to the largest eigenvalue, in *residual. */
static int best_in_basis(work *w, double *residual, aoe_error *err) {
    const size_t k = w->k, m = w->m;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++)
            w->t[i * k + j] = w->t[j * k + i] = dot(w->q + i * m, w->g + j * m, m);
    const int rc = aoei_eigen_symmetric(w->t, w->best, k, w->pool, err);
    if (rc)
        return rc;
    *residual = 0;
    for (size_t v = 0; v < BLOCK; v++) {
        double *u = w->next + v * m, *r = w->p; /* r = G u - value u */
        memset(u, 0, m * sizeof *u);
        memset(r, 0, m * sizeof *r);
        for (size_t i = 0; i < k && v < k; i++) {
            add_scaled(u, w->t[v * k + i], w->q + i * m, m);
            add_scaled(r, w->t[v * k + i], w->g + i * m, m);
        }
        add_scaled(r, v < k ? -w->best[v] : 0, u, m);
        if (v < 2 && w->best[0] > 0)
            *residual = fmax(*residual, sqrt(dot(r, r, m)) / w->best[0]);
    }
    return 0;
}

/* Computes the two eigenvectors of G with the largest eigenvalues: the first two of `next`, with values in `best`. The
 * number of eigenvectors is returned in *found; it is 0 if all vectors are equal. */
static int eigenvectors(work *w, size_t *found, aoe_error *err) {
    aoei_rng rng;
    double residual = 1;
    int rc = 0;
    *found = 0;
    aoei_rng_init(&rng, 0, AOEI_STREAM_PCA, 0);
    for (size_t i = 0; i < BLOCK * w->m; i++)
        w->next[i] = aoei_rng_uniform(&rng) - 0.5;
    for (int i = 0; i <= MOST_RESTARTS && residual > ACCURATE && !rc; i++) {
        grow(w);
        rc = best_in_basis(w, &residual, err);
    }
    for (size_t v = 0; v < 2 && v < w->k && !rc; v++)
        *found += w->best[v] > NO_AXIS * w->best[0];
    return rc;
}

/* --------------------------------------------------------------------- axes */

/* Sets x to the vectors minus their mean. Returns the sum of the squares of x in *total. */
static int center(work *w, const float *vectors, double *total, aoe_error *err) {
    *total = 0;
    for (size_t i = 0; i < w->n * w->d; i++) {
        if (!isfinite(vectors[i]))
            return aoei_fail(err, AOE_ENUMERIC, "vector %zu has a component that is not finite (component %zu)",
                             i / w->d, i % w->d);
        w->x[i] = (double)vectors[i];
    }
    for (size_t j = 0; j < w->d; j++) {
        double mean = 0;
        for (size_t i = 0; i < w->n; i++)
            mean += w->x[i * w->d + j];
        mean /= (double)w->n;
        for (size_t i = 0; i < w->n; i++) {
            w->x[i * w->d + j] -= mean;
            *total += w->x[i * w->d + j] * w->x[i * w->d + j];
        }
    }
    return 0;
}

/* Sets the axes from the first two vectors of `next`, with their signs. */
static void set_axes(work *w, size_t found) {
    if (w->m == w->d)
        memcpy(w->axis, w->next, 2 * w->d * sizeof *w->axis);
    else
        times_columns(w, w->next, w->axis, 2);
    for (size_t v = 0; v < 2; v++) {
        double *a = w->axis + v * w->d;
        size_t largest = 0;
        for (size_t j = 1; j < w->d; j++)
            largest = fabs(a[j]) > fabs(a[largest]) ? j : largest;
        (void)normalize(a, w->d);
        const double sign = v >= found ? 0 : a[largest] < 0 ? -1 : 1;
        for (size_t j = 0; j < w->d; j++)
            a[j] *= sign;
    }
}

/* Allocates the arrays of w in one block, which is returned. */
static double *allocate(work *w) {
    const size_t longest = w->n > w->d ? w->n : w->d;
    size_t cells = 0, basis = 0, parts = 0, all = 0;
    const int overflow = aoei_mul_size(w->n, w->d, &cells) || aoei_mul_size(w->m, 2 * MOST_BASIS + BLOCK, &basis) ||
                         aoei_mul_size(longest, BLOCK + 2, &parts) || aoei_add_size(cells, basis, &all) ||
                         aoei_add_size(all, parts, &all) ||
                         aoei_add_size(all, (size_t)MOST_BASIS * MOST_BASIS + MOST_BASIS, &all);
    double *block = overflow ? NULL : aoei_malloc_array(all, sizeof *block);
    if (!block)
        return NULL;
    w->x = block;
    w->q = w->x + cells;
    w->g = w->q + MOST_BASIS * w->m;
    w->next = w->g + MOST_BASIS * w->m;
    w->p = w->next + BLOCK * w->m;
    w->axis = w->p + BLOCK * longest;
    w->t = w->axis + 2 * longest;
    w->best = w->t + (size_t)MOST_BASIS * MOST_BASIS;
    return block;
}

int aoei_pca(const float *vectors, size_t n, size_t d, float *out, double *share, aoei_pool *pool, aoe_error *err) {
    work w = {.n = n, .d = d, .m = n < d ? n : d, .pool = pool};
    double total = 0;
    size_t found = 0;
    if (share)
        share[0] = share[1] = 0;
    double *block = allocate(&w);
    int rc = block ? center(&w, vectors, &total, err) : aoei_fail_nomem(err, n * sizeof *out);
    for (size_t i = 0; i < 2 * n && !rc; i++)
        out[i] = 0;
    if (!rc && total > 0)
        rc = eigenvectors(&w, &found, err);
    if (!rc && found) {
        set_axes(&w, found);
        times_rows(&w, w.axis, w.p, 2);
        for (size_t i = 0; i < n; i++) {
            out[2 * i] = (float)w.p[i];
            out[2 * i + 1] = (float)w.p[n + i];
        }
        for (size_t v = 0; v < found && share; v++)
            share[v] = fmin(w.best[v] / total, 1);
    }
    aoei_free(block);
    return rc;
}
