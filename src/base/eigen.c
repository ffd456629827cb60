/* SPDX-License-Identifier: MIT
 * Computes the eigenvalues and eigenvectors of a symmetric matrix. Rows and blocks of columns are distributed over
 * threads. Every sum has a fixed order of additions, so results do not depend on the number of threads. Eigenvectors
 * are stored as rows, so that a rotation combines two contiguous rows.
 */
#include "base/eigen.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { COLUMNS = 64 /* columns per task */, MAX_SWEEPS = 60 /* QL sweeps per eigenvalue; two or three are usual */ };

typedef struct work {
    size_t n;
    aoei_pool *pool;
    double *a;      /* [n, n] matrix, borrowed; row k stores the reflection vector of column k after the diagonal */
    double *q;      /* [n, n] product of the reflections and rotations so far; its rows become the eigenvectors */
    double *d, *e;  /* [n] diagonal d and subdiagonal e of the tridiagonal matrix */
    double *v, *w;  /* [n] vectors v and w of the current rank-2 update a -= v w^T + w v^T; v defines the reflection */
    double *c, *s;  /* [n] cosines c and sines s of the rotations of a sweep */
    size_t *order;  /* [n] order of the eigenvalues after sorting */
    size_t k;       /* current column; the rows and columns after k form the submatrix that is updated */
    size_t from, m; /* range of the current sweep: for i = m - 1 down to `from`, rows i and i + 1 of q are rotated */
} work;

static size_t blocks(size_t n) {
    return (n + COLUMNS - 1) / COLUMNS;
}

/* ------------------------------------------------------- tridiagonal form */

/* Computes w = A v, where A is the submatrix of the rows and columns after k; one row per task. */
static void multiply_task(void *arg, size_t task, size_t worker) {
    const work *x = arg;
    const size_t i = x->k + 1 + task;
    const double *row = x->a + i * x->n;
    double sum = 0;
    (void)worker;
    for (size_t j = x->k + 1; j < x->n; j++)
        sum += row[j] * x->v[j];
    x->w[i] = sum;
}

/* Computes A -= v w^T + w v^T, where A is the submatrix of the rows and columns after k; one row per task. */
static void update_task(void *arg, size_t task, size_t worker) {
    const work *x = arg;
    const size_t i = x->k + 1 + task;
    double *row = x->a + i * x->n;
    const double vi = x->v[i], wi = x->w[i];
    (void)worker;
    for (size_t j = x->k + 1; j < x->n; j++)
        row[j] -= vi * x->w[j] + wi * x->v[j];
}

/* Computes v of the Householder reflection I - v v^T (|v|^2 = 2) that sets all components of column k below the first
 * subdiagonal component to 0. If these components are already 0, v is set to 0. Returns the subdiagonal component after
 * the reflection. */
static double reflection(work *x) {
    const size_t first = x->k + 1, n = x->n;
    const double *column = x->a + x->k * n; /* row k, which equals column k because the matrix is symmetric */
    double largest = 0, squares = 0, below = 0;
    for (size_t j = first; j < n; j++) {
        largest = fmax(largest, fabs(column[j]));
        below = j > first ? fmax(below, fabs(column[j])) : below;
    }
    memset(x->v, 0, n * sizeof *x->v);
    if (!(below > 0))
        return column[first];
    for (size_t j = first; j < n; j++) {
        x->v[j] = column[j] / largest;
        squares += x->v[j] * x->v[j];
    }
    const double length = x->v[first] > 0 ? -sqrt(squares) : sqrt(squares);
    x->v[first] -= length;
    /* |v|^2 = 2 length (length - old first component); the sign of length avoids cancellation */
    const double scale = 1 / sqrt(-length * x->v[first]);
    for (size_t j = first; j < n; j++)
        x->v[j] *= scale;
    return length * largest;
}

/* Reduces A to a tridiagonal matrix by Householder reflections, which remain in the rows of A. */
static void tridiagonal(work *x) {
    const size_t n = x->n;
    for (x->k = 0; x->k + 2 < n; x->k++) {
        const size_t first = x->k + 1;
        double dot = 0;
        x->d[x->k] = x->a[x->k * n + x->k];
        x->e[x->k] = reflection(x);
        aoei_parallel_for(x->pool, n - first, multiply_task, x);
        for (size_t j = first; j < n; j++)
            dot += x->v[j] * x->w[j];
        for (size_t j = first; j < n; j++)
            x->w[j] -= dot / 2 * x->v[j];
        aoei_parallel_for(x->pool, n - first, update_task, x);
        memcpy(x->a + x->k * n + first, x->v + first, (n - first) * sizeof *x->v);
    }
    for (size_t k = n < 2 ? 0 : n - 2; k < n; k++) {
        x->d[k] = x->a[k * n + k];
        x->e[k] = k + 1 < n ? x->a[k * n + k + 1] : 0;
    }
}

/* Computes q = (I - v v^T) q for one block of columns. */
static void reflect_task(void *arg, size_t task, size_t worker) {
    const work *x = arg;
    const size_t n = x->n, begin = task * COLUMNS, end = begin + COLUMNS < n ? begin + COLUMNS : n;
    const double *v = x->a + x->k * n;
    double dot[COLUMNS] = {0};
    (void)worker;
    for (size_t i = x->k + 1; i < n; i++)
        for (size_t j = begin; j < end; j++)
            dot[j - begin] += v[i] * x->q[i * n + j];
    for (size_t i = x->k + 1; i < n; i++)
        for (size_t j = begin; j < end; j++)
            x->q[i * n + j] -= v[i] * dot[j - begin];
}

/* Sets q to the transposed product of all reflections: row i is unit vector i after all reflections. */
static void accumulate(work *x) {
    const size_t n = x->n;
    memset(x->q, 0, n * n * sizeof *x->q);
    for (size_t i = 0; i < n; i++)
        x->q[i * n + i] = 1;
    for (x->k = n < 2 ? 0 : n - 2; x->k-- > 0;)
        aoei_parallel_for(x->pool, blocks(n), reflect_task, x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const double swap = x->q[i * n + j];
            x->q[i * n + j] = x->q[j * n + i];
            x->q[j * n + i] = swap;
        }
}

/* --------------------------------------------------------------------- QL */

/* Applies the rotations of a sweep to one block of columns of q: rotates rows i and i + 1 for i = m - 1 down to
 * from. */
static void rotate_task(void *arg, size_t task, size_t worker) {
    const work *x = arg;
    const size_t n = x->n, begin = task * COLUMNS, end = begin + COLUMNS < n ? begin + COLUMNS : n;
    (void)worker;
    for (size_t i = x->m; i-- > x->from;) {
        double *low = x->q + i * n, *high = low + n;
        const double c = x->c[i], s = x->s[i];
        for (size_t j = begin; j < end; j++) {
            const double h = high[j];
            high[j] = s * low[j] + c * h;
            low[j] = c * low[j] - s * h;
        }
    }
}

/* Returns the square root of a^2 + b^2 without overflow. hypot() of glibc 2.35 has another version than that of older
 * releases, so a library that calls it requires glibc 2.35. */
static double hypotenuse(double a, double b) {
    const double x = fmax(fabs(a), fabs(b)), y = fmin(fabs(a), fabs(b));
    return x > 0 ? x * sqrt(1 + (y / x) * (y / x)) : 0;
}

/* Computes one sweep of QL with Wilkinson's shift over the unreduced block of rows l to m. */
static void sweep(work *x, size_t l, size_t m) {
    double *d = x->d, *e = x->e, c = 1, s = 1, p = 0;
    const double half = (d[l + 1] - d[l]) / (2 * e[l]), root = hypotenuse(half, 1);
    double g = d[m] - d[l] + e[l] / (half + copysign(root, half));
    x->m = m;
    x->from = l;
    for (size_t i = m; i-- > l;) {
        const double f = s * e[i], b = c * e[i], r = hypotenuse(f, g);
        e[i + 1] = r;
        if (!(r > 0)) { /* e[i + 1] is 0, so the block is divided into two blocks at this row */
            d[i + 1] -= p;
            e[m] = 0;
            x->from = i + 1;
            break;
        }
        s = x->s[i] = f / r;
        c = x->c[i] = g / r;
        g = d[i + 1] - p;
        const double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
    }
    if (x->from == l) {
        d[l] -= p;
        e[l] = g;
        e[m] = 0;
    }
    aoei_parallel_for(x->pool, blocks(x->n), rotate_task, x);
}

/* Returns the threshold below which a subdiagonal element is treated as 0: the rounding error of the largest
 * element. */
static double negligible(const work *x) {
    double largest = 0;
    for (size_t i = 0; i < x->n; i++)
        largest = fmax(largest, fabs(x->d[i]) + fabs(x->e[i]));
    return DBL_EPSILON / 2 * largest;
}

/* Makes the tridiagonal matrix diagonal by sweeps of the QL algorithm; d then contains the eigenvalues. */
static int diagonal(work *x, aoe_error *err) {
    const double threshold = negligible(x);
    for (size_t l = 0; l < x->n; l++)
        for (int sweeps = 0;; sweeps++) {
            size_t m = l;
            while (m + 1 < x->n && fabs(x->e[m]) > threshold)
                m++;
            if (m == l)
                break;
            if (sweeps == MAX_SWEEPS)
                return aoei_fail(
                    err, AOE_ENUMERIC,
                    "the computation of the eigenvalues of a %zu x %zu matrix did not converge; check that the values "
                    "of the matrix are not too large",
                    x->n, x->n);
            sweep(x, l, m);
        }
    return 0;
}

/* ---------------------------------------------------------------- results */

/* Sorts the eigenvalues by insertion in descending order; equal values keep their order. */
static void sort_values(work *x) {
    for (size_t i = 0; i < x->n; i++) {
        size_t at = i;
        for (; at > 0 && x->d[x->order[at - 1]] < x->d[i]; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = i;
    }
}

/* Writes the eigenvalues in descending order to value[n] and their eigenvectors to the rows of A. The component of an
 * eigenvector with the largest magnitude is made positive. */
static void write_rows(const work *x, double *value) {
    const size_t n = x->n;
    for (size_t i = 0; i < n; i++) {
        const double *from = x->q + x->order[i] * n;
        size_t largest = 0;
        for (size_t j = 1; j < n; j++)
            largest = fabs(from[j]) > fabs(from[largest]) ? j : largest;
        value[i] = x->d[x->order[i]];
        for (size_t j = 0; j < n; j++)
            x->a[i * n + j] = from[largest] < 0 ? -from[j] : from[j];
    }
}

int aoei_eigen_symmetric(double *a, double *value, size_t n, aoei_pool *pool, aoe_error *err) {
    work x = {.n = n, .pool = pool, .a = a};
    size_t cells = 0;
    int rc = n == 0 || aoei_mul_size(n, n, &cells) ? aoei_fail_nomem(err, SIZE_MAX) : 0;
    for (size_t i = 0; i < cells && !rc; i++)
        if (!isfinite(a[i]))
            rc = aoei_fail(
                err, AOE_ENUMERIC,
                "cannot compute eigenvalues: row %zu of a %zu x %zu matrix has a value that is not finite; check the "
                "input vectors",
                i / n, n, n);
    double *vectors = rc ? NULL : aoei_malloc_array(n, 6 * sizeof *vectors);
    x.q = rc ? NULL : aoei_malloc_array(cells, sizeof *x.q);
    x.order = rc ? NULL : aoei_malloc_array(n, sizeof *x.order);
    if (!rc && !(vectors && x.q && x.order))
        rc = aoei_fail_nomem(err, cells * sizeof *x.q);
    if (!rc) {
        double **const part[] = {&x.d, &x.e, &x.v, &x.w, &x.c, &x.s};
        for (size_t i = 0; i < 6; i++)
            *part[i] = vectors + i * n;
        tridiagonal(&x);
        accumulate(&x);
        rc = diagonal(&x, err);
    }
    if (!rc) {
        sort_values(&x);
        write_rows(&x, value);
    }
    aoei_free(vectors);
    aoei_free(x.q);
    aoei_free(x.order);
    return rc;
}
