/* SPDX-License-Identifier: MIT
 * Element-wise operations of the encoder of recurrent attention networks (RAN): swish with rotary positions, and gated
 * sums. Rows are computed in float32: bf16 inputs are converted to float32, and bf16 results are rounded once. Rows are
 * independent; each task computes a block of rows.
 */
#include "nn/ran_ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel_table.h"
#include "nn/dropout.h"

enum { BLOCK_ELEMENTS = 16384 }; /* approximate number of elements in a block of rows */

static size_t block_rows(size_t cols) {
    return cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / cols : 1;
}

/* Returns row `row` of t as float32. If t is float32, the result is a pointer into t; otherwise it points to a
 * converted copy in `buffer`. */
static const float *read_row(const aoe_context *ctx, aoei_tensor t, size_t row, float *buffer) {
    if (t.type == AOEI_F32)
        return aoei_tensor_at(t, row, 0);
    aoei_kernels_of(ctx)->from_bf16(buffer, aoei_tensor_at(t, row, 0), t.cols);
    return buffer;
}

/* Returns the memory in which a float32 row is computed. If t is float32, this is the row of t. Otherwise it is
 * `buffer`, and write_row later rounds the row and stores it in t. */
static float *row_memory(aoei_tensor t, size_t row, float *buffer) {
    return t.type == AOEI_F32 ? aoei_tensor_at(t, row, 0) : buffer;
}

static void write_row(const aoe_context *ctx, aoei_tensor t, size_t row, const float *buffer) {
    if (t.type == AOEI_BF16)
        aoei_kernels_of(ctx)->to_bf16(aoei_tensor_at(t, row, 0), buffer, t.cols);
}

/* Rotates pairs of adjacent components of x[n] in place, in each head of `dim` components. angle[dim] contains a cosine
 * and a sine for each pair of a head. direction is 1 for the rotation, or -1 for its inverse. */
static void rotate(float *x, size_t n, const float *angle, size_t dim, float direction) {
    for (size_t h = 0; h < n; h += dim)
        for (size_t i = 0; i < dim; i += 2) {
            const float c = angle[i], s = direction * angle[i + 1], a = x[h + i], b = x[h + i + 1];
            x[h + i] = a * c - b * s;
            x[h + i + 1] = b * c + a * s;
        }
}

typedef struct table_job {
    aoei_tensor table;
    double base;
} table_job;

/* Computes the cosines and sines of one position. */
static void table_task(void *arg, size_t task, size_t worker) {
    const table_job *j = arg;
    const size_t dim = j->table.cols;
    float *row = aoei_tensor_at(j->table, task, 0);
    (void)worker;
    for (size_t i = 0; i < dim; i += 2) {
        const double angle = (double)task * pow(j->base, -(double)i / (double)dim);
        row[i] = (float)cos(angle);
        row[i + 1] = (float)sin(angle);
    }
}

void aoei_rotation_table(const aoe_context *ctx, aoei_tensor table, double base) {
    table_job j = {table, base};
    assert(table.type == AOEI_F32 && table.cols % 2 == 0);
    aoei_parallel_for(ctx->pool, table.rows, table_task, &j);
}

typedef struct swish_job {
    const aoe_context *ctx;
    aoei_tensor y, x, dy; /* y is the output of the forward pass; in the backward pass, y is dx, the gradient of x */
    const aoei_rotation *r;
    size_t rows_per_task;
} swish_job;

/* Returns the cosines and sines of a row, or NULL if rows are not rotated. */
static const float *angles(const swish_job *j, size_t row) {
    return j->r && j->r->position && j->r->position[row] ? aoei_tensor_at(j->r->table, j->r->position[row], 0) : NULL;
}

/* Computes y = x sigmoid(x) for one row and then rotates it, if rows are rotated. */
static void swish_row(const swish_job *j, size_t row, float *scratch) {
    const size_t n = j->x.cols;
    const float *x = read_row(j->ctx, j->x, row, scratch), *angle = angles(j, row);
    float *y = row_memory(j->y, row, scratch);
    aoei_kernels_of(j->ctx)->glu_f32(y, x, x, n);
    if (angle)
        rotate(y, n, angle, j->r->table.cols, 1);
    write_row(j->ctx, j->y, row, y);
}

/* The backward pass of swish_row: computes dx, the gradient of x, for one row. */
static void gradient_row(const swish_job *j, size_t row, float *scratch) {
    const size_t n = j->x.cols;
    float *d = scratch, *dg = scratch + n;
    const float *x = read_row(j->ctx, j->x, row, scratch + 2 * n), *angle = angles(j, row);
    memcpy(d, aoei_tensor_at(j->dy, row, 0), n * sizeof *d);
    if (angle)
        rotate(d, n, angle, j->r->table.cols, -1);
    aoei_kernels_of(j->ctx)->glu_grad_f32(d, dg, d, x, x, n);
    float *dx = row_memory(j->y, row, d);
    aoei_kernels_of(j->ctx)->add_f32(dx, d, dg, n);
    write_row(j->ctx, j->y, row, dx);
}

static void swish_task(void *arg, size_t task, size_t worker) {
    const swish_job *j = arg;
    const size_t first = task * j->rows_per_task, left = j->x.rows - first;
    const size_t end = first + (left < j->rows_per_task ? left : j->rows_per_task);
    float *scratch = aoei_worker_scratch(j->ctx, worker);
    for (size_t row = first; row < end; row++)
        if (j->dy.data)
            gradient_row(j, row, scratch);
        else
            swish_row(j, row, scratch);
}

static void run_swish(swish_job *j) {
    assert(j->y.type == j->x.type && 3 * j->x.cols <= AOEI_WORKER_SCRATCH);
    j->rows_per_task = block_rows(j->x.cols);
    aoei_parallel_for(j->ctx->pool, (j->x.rows + j->rows_per_task - 1) / j->rows_per_task, swish_task, j);
}

void aoei_swish_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_rotation *r) {
    swish_job j = {.ctx = ctx, .y = y, .x = x, .r = r};
    run_swish(&j);
}

void aoei_swish_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x,
                         const aoei_rotation *r) {
    swish_job j = {.ctx = ctx, .y = dx, .x = x, .dy = dy, .r = r};
    assert(dy.type == AOEI_F32);
    run_swish(&j);
}

typedef struct sum_job {
    const aoe_context *ctx;
    const aoei_gated_sum *s;
    aoei_tensor y;              /* output of the forward pass */
    aoei_tensor dgated, dx, dy; /* gradients; absent in the forward pass */
    size_t rows_per_task;
} sum_job;

/* Computes one output row of the gated sum. */
static void sum_row(const sum_job *j, size_t row, const aoei_dropout_row *drop, float *scratch) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t D = j->y.cols;
    float *sum = scratch, *branch = scratch + D;
    const float *gated = read_row(j->ctx, j->s->gated, row, scratch + 2 * D), *x;
    k->glu_f32(sum, gated, gated + D, D);
    x = read_row(j->ctx, j->s->x, row, branch);
    if (j->s->swish) {
        k->glu_f32(branch, x, x, D);
        x = branch;
    }
    float *y = row_memory(j->y, row, sum);
    if (drop)
        k->dropout_f32(y, x, sum, drop, D);
    else
        k->add_f32(y, sum, x, D);
    write_row(j->ctx, j->y, row, y);
}

/* Computes the gradient of `gated` for one row and, if swish is 1, the gradient of x. */
static void sum_gradient_row(const sum_job *j, size_t row, const aoei_dropout_row *drop, float *scratch) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t D = j->dy.cols;
    float *d = scratch, *buffer = scratch + D;
    const float *gated = read_row(j->ctx, j->s->gated, row, buffer), *dy = aoei_tensor_at(j->dy, row, 0);
    float *dgated = row_memory(j->dgated, row, buffer);
    k->glu_grad_f32(dgated, dgated + D, dy, gated, gated + D, D);
    write_row(j->ctx, j->dgated, row, dgated);
    if (!j->s->swish)
        return;
    if (drop)
        k->dropout_f32(d, dy, NULL, drop, D);
    else
        memcpy(d, dy, D * sizeof *d);
    const float *x = read_row(j->ctx, j->s->x, row, buffer);
    k->glu_grad_f32(d, buffer + D, d, x, x, D);
    float *dx = row_memory(j->dx, row, d);
    k->add_f32(dx, d, buffer + D, D);
    write_row(j->ctx, j->dx, row, dx);
}

/* Computes a block of rows of the forward pass, or of the backward pass if dy is present. */
static void sum_task(void *arg, size_t task, size_t worker) {
    const sum_job *j = arg;
    const aoei_gated_sum *s = j->s;
    const int dropped = s->batch && s->drop.p > 0;
    const size_t first = task * j->rows_per_task, left = s->x.rows - first;
    const size_t end = first + (left < j->rows_per_task ? left : j->rows_per_task);
    float *scratch = aoei_worker_scratch(j->ctx, worker);
    size_t text = dropped ? aoei_batch_text(s->batch, first) : 0;
    for (size_t row = first; row < end; row++) {
        aoei_dropout_row d;
        if (dropped) {
            while (row >= s->batch->offsets[text + 1])
                text++;
            d = aoei_dropout_token(&s->drop, s->batch, text, row);
        }
        if (j->dy.data)
            sum_gradient_row(j, row, dropped ? &d : NULL, scratch);
        else
            sum_row(j, row, dropped ? &d : NULL, scratch);
    }
}

static void run_sum(sum_job *j) {
    const size_t D = j->s->x.cols;
    assert(j->s->gated.cols == 2 * D && 4 * D <= AOEI_WORKER_SCRATCH);
    j->rows_per_task = block_rows(D);
    aoei_parallel_for(j->ctx->pool, (j->s->x.rows + j->rows_per_task - 1) / j->rows_per_task, sum_task, j);
}

void aoei_gated_sum_forward(const aoe_context *ctx, aoei_tensor y, const aoei_gated_sum *s) {
    sum_job j = {.ctx = ctx, .s = s, .y = y};
    assert(y.type == s->x.type && y.type == s->gated.type);
    run_sum(&j);
}

void aoei_gated_sum_backward(const aoe_context *ctx, aoei_tensor dgated, aoei_tensor dx, aoei_tensor dy,
                             const aoei_gated_sum *s) {
    sum_job j = {.ctx = ctx, .s = s, .dgated = dgated, .dx = dx, .dy = dy};
    assert(dy.type == AOEI_F32 && dgated.type == s->gated.type);
    run_sum(&j);
}
