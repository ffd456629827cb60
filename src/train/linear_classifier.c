/* SPDX-License-Identifier: MIT
 * Classifier that consists of several linear layers.
 */
#include "train/linear_classifier.h"

#include <string.h>

void aoei_linear_classifier_layout(aoei_linear_classifier *c, aoei_arena *arena) {
    const size_t n = c->shape.n, classes = c->shape.width[n];
    size_t widest = 0;
    for (size_t i = 0; i <= n; i++) {
        widest = c->shape.width[i] > widest ? c->shape.width[i] : widest;
        c->s[i] = aoei_arena_take_array(arena, classes * c->shape.width[i], sizeof *c->s[i]);
        if (i < n)
            c->q[i] = aoei_arena_take_array(arena, classes * c->shape.width[i], sizeof *c->q[i]);
    }
    c->sum = aoei_arena_take_array(arena, classes, sizeof *c->sum);
    c->d_sum = aoei_arena_take_array(arena, classes, sizeof *c->d_sum);
    c->row = aoei_arena_take_array(arena, widest, sizeof *c->row);
    c->host = aoei_arena_take_array(arena, widest, sizeof *c->host);
}

/* Copies row r of t to c->host. */
static void read_row(const aoei_linear_classifier *c, const aoe_context *ctx, aoei_tensor t, size_t r) {
    aoei_tensor_read(ctx, c->host, aoei_tensor_rows(t, r, 1));
}

/* Adds `factor` times x[n] to y[n]. */
static void add_scaled(double *y, double factor, const float *x, size_t n) {
    for (size_t k = 0; k < n; k++)
        y[k] += factor * (double)x[k];
}

void aoei_linear_classifier_multiply(aoei_linear_classifier *c, const aoe_context *ctx) {
    const size_t n = c->shape.n, classes = c->shape.width[n];
    memset(c->s[n], 0, classes * classes * sizeof *c->s[n]);
    memset(c->sum, 0, classes * sizeof *c->sum);
    for (size_t k = 0; k < classes; k++)
        c->s[n][k * classes + k] = 1;
    for (size_t i = n; i-- > 0;) {
        const size_t in = c->shape.width[i], out = c->shape.width[i + 1];
        memset(c->s[i], 0, classes * in * sizeof *c->s[i]);
        for (size_t r = 0; r < out; r++) {
            read_row(c, ctx, c->weight[i], r);
            for (size_t k = 0; k < classes; k++)
                add_scaled(c->s[i] + k * in, c->s[i + 1][k * out + r], c->host, in);
        }
        read_row(c, ctx, c->bias[i], 0);
        for (size_t k = 0; k < classes; k++)
            for (size_t r = 0; r < out; r++)
                c->sum[k] += c->s[i + 1][k * out + r] * (double)c->host[r];
    }
}

/* Computes Q_(i+1) from Q_i. */
static void next_q(aoei_linear_classifier *c, const aoe_context *ctx, size_t i) {
    const size_t classes = c->shape.width[c->shape.n], in = c->shape.width[i], out = c->shape.width[i + 1];
    double *q = c->q[i + 1];
    read_row(c, ctx, c->bias[i], 0);
    for (size_t k = 0; k < classes; k++)
        for (size_t r = 0; r < out; r++)
            q[k * out + r] = c->d_sum[k] * (double)c->host[r];
    for (size_t r = 0; r < out; r++) {
        read_row(c, ctx, c->weight[i], r);
        for (size_t k = 0; k < classes; k++) {
            double sum = 0;
            for (size_t j = 0; j < in; j++)
                sum += c->q[i][k * in + j] * (double)c->host[j];
            q[k * out + r] += sum;
        }
    }
}

/* Adds c->row to row r of the gradient g. */
static void add_row(const aoei_linear_classifier *c, const aoe_context *ctx, aoei_tensor g, size_t r) {
    const aoei_tensor t = aoei_tensor_rows(g, r, 1);
    aoei_tensor_read(ctx, c->host, t);
    for (size_t j = 0; j < t.cols; j++)
        c->host[j] = (float)((double)c->host[j] + c->row[j]);
    aoei_tensor_write(ctx, t, c->host);
}

void aoei_linear_classifier_gradient(aoei_linear_classifier *c, const aoe_context *ctx, double scale) {
    const size_t n = c->shape.n, classes = c->shape.width[n];
    for (size_t i = 0; i < n; i++) {
        const size_t in = c->shape.width[i], out = c->shape.width[i + 1];
        const double *s = c->s[i + 1];
        for (size_t r = 0; r < out; r++) {
            memset(c->row, 0, in * sizeof *c->row);
            for (size_t k = 0; k < classes; k++)
                for (size_t j = 0; j < in; j++)
                    c->row[j] += scale * s[k * out + r] * c->q[i][k * in + j];
            add_row(c, ctx, c->d_weight[i], r);
        }
        memset(c->row, 0, out * sizeof *c->row);
        for (size_t k = 0; k < classes; k++)
            for (size_t r = 0; r < out; r++)
                c->row[r] += scale * s[k * out + r] * c->d_sum[k];
        add_row(c, ctx, c->d_bias[i], 0);
        if (i + 1 < n)
            next_q(c, ctx, i);
    }
}
