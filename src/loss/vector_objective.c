/* SPDX-License-Identifier: MIT
 * Distillation from the teacher embeddings. The matrix of the similarities of a batch is computed one strip of rows at
 * a time, so that its memory is limited. A tile of rows of a strip is one task: it computes the differences between the
 * similarities of the student and of the teacher, and the gradients of its rows.
 */
#include "loss/vector_objective.h"

#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/pool.h"
#include "loss/example_sweep.h"
#include "loss/unit_rows.h"
#include "nn/panels.h"

enum {
    P = AOEI_PANEL_F64,
    TILE = 32,            /* maximum number of rows in a task */
    STRIP_CELLS = 1 << 20 /* maximum number of similarities of a strip with more than one tile */
};

/* State of one call of aoei_vector_objective. The arrays are in the workspace. */
typedef struct state {
    const aoe_objective_options *o;  /* weights; borrowed */
    const aoei_targets *t;           /* targets; borrowed */
    const aoe_context *ctx;          /* threads and kernels; borrowed */
    aoei_sweep students, compared;   /* sweeps over v and y; without a map, y is v */
    aoei_unit_rows student, teacher; /* [B, D] and [B, dims] unit vectors of the student and of the teacher */
    double *target;                  /* [B, dims] teacher embeddings */
    double *vector_term, *pair_term; /* [B] contribution of each text to each of the terms */
    double *strip, *teacher_strip; /* [rows, B] similarities of a strip in panels; `strip` later contains differences */
    size_t from, rows;             /* rows [from, from + rows) are the current strip */
    int with_grad;                 /* 1: gradients are computed */
} state;

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns the number of rows in a strip for B texts. */
static size_t strip_rows(size_t B) {
    const size_t rows = STRIP_CELLS / B / TILE * TILE;
    return min_size(rows > TILE ? rows : TILE, B);
}

/* Returns an upper bound for the number of elements in a strip, padded to whole panels. The bound does not decrease if
 * B increases.
 */
static size_t strip_capacity(size_t B) {
    const size_t padded = (B + P - 1) / P * P, cells = padded * min_size(padded, TILE),
                 limit = STRIP_CELLS + STRIP_CELLS / P;
    return cells > limit ? cells : min_size(padded * padded, limit);
}

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 2^16, so the sizes of a strip cannot overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t dims) {
    *p = (state){0};
    aoei_sweep_lay_out(&p->students, a, B, 1, D);
    aoei_sweep_lay_out(&p->compared, a, B, 1, D > dims ? D : dims);
    aoei_unit_rows_lay_out(&p->student, a, B, D);
    aoei_unit_rows_lay_out(&p->teacher, a, B, dims);
    p->target = aoei_arena_take_array(a, B, dims * sizeof *p->target);
    p->vector_term = aoei_arena_take_array(a, B, sizeof *p->vector_term);
    p->pair_term = aoei_arena_take_array(a, B, sizeof *p->pair_term);
    p->strip = aoei_arena_take_array(a, strip_capacity(B), sizeof *p->strip);
    p->teacher_strip = aoei_arena_take_array(a, strip_capacity(B), sizeof *p->teacher_strip);
}

size_t aoei_vector_objective_workspace(size_t B, size_t D, size_t dims) {
    aoei_arena a;
    state p;
    if (B == 0 || B > SIZE_MAX >> 16 || dims > SIZE_MAX >> 16)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, dims);
    return a.overflow ? 0 : a.used;
}

/* ----------------------------------------------------------------- vectors */

/* Returns the term of text i. y: its vector, or its output of the map. g: NULL, or receives the gradient: weight times
 * the derivative of the term is added. */
static double vector_term(const state *p, size_t i, const double *y, double weight, double *g) {
    const size_t n = p->compared.e.D;
    const double *t = p->target + i * p->t->dims;
    double yy = 0, tt = 0, yt = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        yy += y[k] * y[k];
        tt += t[k] * t[k];
        yt += y[k] * t[k];
        squares += (y[k] - t[k]) * (y[k] - t[k]);
    }
    if (p->o->vector_loss == AOE_VECTOR_LOSS_SQUARES) {
        for (size_t k = 0; g && k < n; k++)
            g[k] += weight * 2 * (y[k] - t[k]) / (double)n;
        return squares / (double)n;
    }
    const double norms = sqrt(yy) * sqrt(tt), cosine = norms > 0 ? yt / norms : 0;
    for (size_t k = 0; g && norms > 0 && k < n; k++)
        g[k] -= weight * (t[k] / norms - cosine * y[k] / yy);
    return 1 - cosine;
}

static void vector_value(void *arg, size_t i, const double *y, double *g) {
    state *p = arg;
    (void)g;
    p->vector_term[i] = vector_term(p, i, y, 0, NULL);
}

static void vector_gradient(void *arg, size_t i, const double *y, double *g) {
    const state *p = arg;
    if (p->o->w_vectors > 0)
        vector_term(p, i, y, p->o->w_vectors / (double)p->compared.e.n, g);
}

/* ------------------------------------------------------------ similarities */

/* Computes the similarities of rows [row, row + rows) of the strip with all texts. */
static void similarities(const state *p, double *strip, const aoei_unit_rows *r, size_t row, size_t rows) {
    aoei_panels_gemm(p->ctx, &(aoei_gemm_f64){.M = rows,
                                              .N = r->N,
                                              .K = r->D,
                                              .a = r->z + (p->from + row) * P,
                                              .a_panel = r->N * P,
                                              .b = r->zt,
                                              .b_panel = r->D * P,
                                              .c = strip + row * P,
                                              .c_panel = p->rows * P});
}

/* Computes the terms of the texts of a tile, and the gradients of their unit vectors. */
static void tile_task(void *arg, size_t task, size_t worker) {
    state *p = arg;
    const size_t B = p->student.N, row = task * TILE, rows = min_size(p->rows - row, TILE);
    const double pairs = (double)B * ((double)B - 1), scale = p->o->w_similarities * 4 / pairs;
    (void)worker;
    similarities(p, p->strip, &p->student, row, rows);
    similarities(p, p->teacher_strip, &p->teacher, row, rows);
    for (size_t r = row; r < row + rows; r++) {
        double sum = 0;
        for (size_t j = 0; j < B; j++) {
            const size_t at = j / P * p->rows * P + r * P + j % P;
            const double error = j == p->from + r ? 0 : p->strip[at] - p->teacher_strip[at];
            sum += error * error;
            p->strip[at] = scale * error;
        }
        p->pair_term[p->from + r] = sum;
    }
    if (p->with_grad)
        aoei_panels_gemm(p->ctx, &(aoei_gemm_f64){.M = rows,
                                                  .N = p->student.D,
                                                  .K = B,
                                                  .a = p->strip + row * P,
                                                  .a_panel = p->rows * P,
                                                  .b = p->student.z,
                                                  .b_panel = B * P,
                                                  .c = p->student.dz + (p->from + row) * P,
                                                  .c_panel = B * P});
}

static double similarity_loss(state *p) {
    const size_t B = p->student.N;
    double sum = 0;
    if (B < 2)
        return 0;
    for (p->from = 0; p->from < B; p->from += p->rows) {
        p->rows = min_size(strip_rows(B), B - p->from);
        aoei_parallel_for(p->ctx->pool, (p->rows + TILE - 1) / TILE, tile_task, p);
    }
    for (size_t i = 0; i < B; i++)
        sum += p->pair_term[i];
    return sum / ((double)B * ((double)B - 1));
}

/* --------------------------------------------------------------- both terms */

/* Stores the unit vectors of text i. */
static void store_text(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    double *t = p->target + i * p->t->dims;
    (void)g;
    for (size_t k = 0; k < p->t->dims; k++)
        t[k] = (double)p->t->teacher[i][k];
    aoei_unit_rows_set(&p->student, i, v);
    aoei_unit_rows_set(&p->teacher, i, t);
}

/* Adds the gradients of the loss with respect to the vector of text i. */
static void text_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    if (p->o->w_similarities > 0)
        aoei_unit_rows_grad(&p->student, i, 1.0, g);
    if (!p->t->mapped)
        vector_gradient(arg, i, v, g);
}

static int run(state *p, aoe_objective_result *result, aoe_error *err) {
    const size_t B = p->student.N;
    int code = aoei_sweep_read(&p->students, p->ctx, store_text, p, err);
    if (!code && p->o->w_vectors > 0)
        code = aoei_sweep_read(&p->compared, p->ctx, vector_value, p, err);
    if (code)
        return code;
    for (size_t i = 0; i < B && p->o->w_vectors > 0; i++)
        result->vectors += p->vector_term[i] / (double)B;
    if (p->o->w_similarities > 0)
        result->similarities = similarity_loss(p);
    result->total = p->o->w_vectors * result->vectors + p->o->w_similarities * result->similarities;
    if (!p->with_grad)
        return AOE_OK;
    code = aoei_sweep_write(&p->students, p->ctx, text_gradient, p, err);
    return code || !p->t->mapped ? code : aoei_sweep_write(&p->compared, p->ctx, vector_gradient, p, err);
}

static int check(const aoe_objective_options *o, const aoei_targets *t, const aoei_example_batch *b, aoe_error *err) {
    if (!(o->w_vectors >= 0 && o->w_similarities >= 0 && isfinite(o->w_vectors + o->w_similarities)))
        return aoei_fail(err, AOE_EARG, "options.w_vectors and options.w_similarities must be finite and non-negative");
    if (b->B == 0 || b->D == 0 || b->arity != 1 || t->dims == 0)
        return aoei_fail(err, AOE_EARG, "the batch has %zu examples of %zu vectors; an example must be one text", b->B,
                         b->arity);
    const aoei_example_batch *y = t->mapped;
    if (y ? y->B != b->B || y->D != t->dims || y->arity != 1 : o->w_vectors > 0 && b->D > t->dims)
        return aoei_fail(
            err, AOE_EARG,
            "the embeddings have %zu components, but the teacher embeddings have %zu; use a linear map between them",
            y ? y->D : b->D, t->dims);
    return AOE_OK;
}

int aoei_vector_objective(const aoe_objective_options *o, const aoei_targets *t, const aoei_example_batch *batch,
                          void *workspace, size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                          aoe_error *err) {
    aoe_context serial;
    state p;
    *result = (aoe_objective_result){0};
    int code = check(o, t, batch, err);
    if (code)
        return code;
    code = aoei_objective_begin(&ctx, &serial, aoei_vector_objective_workspace(batch->B, batch->D, t->dims),
                                workspace_bytes, err);
    if (code)
        return code;
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    lay_out(&p, &arena, batch->B, batch->D, t->dims);
    p.o = o;
    p.t = t;
    p.ctx = ctx;
    p.with_grad = batch->v64 ? batch->grad64 != NULL : batch->grad != NULL;
    p.students.e = aoei_example_vectors(batch);
    p.compared.e = aoei_example_vectors(t->mapped ? t->mapped : batch);
    return run(&p, result, err);
}
