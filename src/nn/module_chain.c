/* SPDX-License-Identifier: MIT
 * Forward and backward passes of the modules that follow the pooling.
 */
#include "nn/module_chain.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/batch.h"
#include "nn/batchnorm.h"
#include "nn/dropout.h"
#include "nn/flow.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/pooling.h"

#define LAYERNORM_EPS 1e-5
#define BATCHNORM_EPS 1e-5
#define MIN_NORM      1e-12
#define FIRST_SITE    ((uint32_t)0xff00) /* the dropout site of module i is FIRST_SITE + i; sites have 16 bits */
/* number of rows that a flow computes at a time, in inference and in training; results do not depend on them */
#define FLOW_ROWS          ((size_t)16)
#define FLOW_TRAINING_ROWS ((size_t)64)

static const aoei_tensor none = {0};

/* The tensors of one module for n rows. */
typedef struct pass {
    const aoe_context *ctx;
    const aoei_module *module;
    size_t index;             /* index of the module in the chain */
    aoei_tensor x, y, dx, dy; /* input, output and their gradients */
    aoei_tensor kept;         /* see aoei_module_chain */
    int training;             /* 1: the chain was allocated for training */
    const aoei_tensor *w, *g; /* [AOEI_MODULE_WEIGHTS] weights, and weight gradients */
    const aoei_module_dropout *drop;
} pass;

/* Returns the number of columns in the tensor `kept` of a module; 0: the module needs no such tensor. */
static size_t kept_cols(const aoei_module *m, int training) {
    if (m->kind == AOEI_MODULE_LAYERNORM)
        return training ? 2 : 0;
    if (m->kind != AOEI_MODULE_DENSE)
        return 0;
    return m->residual != AOEI_RESIDUAL_NONE || (training && aoei_dense_needs_input(m->activation)) ? m->out : 0;
}

aoei_flow_shape aoei_module_flow_shape(const aoei_module *m) {
    return (aoei_flow_shape){.dims = m->in, .levels = m->levels, .depth = m->depth, .width = m->width};
}

/* Returns the size in bytes of the workspace of a Flow module. */
static size_t flow_bytes(const aoei_module *m, int training) {
    const aoei_flow_shape shape = aoei_module_flow_shape(m);
    return aoei_flow_doubles(&shape, training ? FLOW_TRAINING_ROWS : FLOW_ROWS, training) * sizeof(double);
}

size_t aoei_module_chain_dims(const aoei_module *module, size_t n, size_t cols) {
    return n ? module[n - 1].out : cols;
}

void aoei_module_chain_layout(aoei_module_chain *c, const aoei_module *module, size_t n, size_t n_rows, size_t cols,
                              int training, aoei_arena *arena) {
    *c = (aoei_module_chain){.module = module, .n = n};
    c->value[0] = c->grad[0] = aoei_tensor_take(arena, n_rows, cols);
    for (size_t i = 0; i < n; i++) {
        const size_t kept = kept_cols(&module[i], training);
        c->value[i + 1] = aoei_tensor_take(arena, n_rows, module[i].out);
        if (training)
            c->grad[i + 1] = aoei_tensor_take(arena, n_rows, module[i].out);
        if (kept)
            c->kept[i] = aoei_tensor_take(arena, n_rows, kept);
        if (module[i].kind == AOEI_MODULE_FLOW)
            c->kept[i] = aoei_workspace_take(arena, flow_bytes(&module[i], training));
    }
}

/* ------------------------------------------------------------------ dense */

static void dense_forward(const pass *p) {
    const aoei_module *m = p->module;
    const aoei_tensor z = p->kept.data ? p->kept : p->y;
    aoei_linear_forward(p->ctx, z, p->x, p->w[AOEI_MODULE_WEIGHT], p->w[AOEI_MODULE_BIAS], NULL);
    if (m->residual == AOEI_RESIDUAL_INPUT)
        aoei_tensor_copy(p->ctx, p->y, p->x);
    else if (m->residual == AOEI_RESIDUAL_WEIGHT)
        aoei_linear_forward(p->ctx, p->y, p->x, p->w[AOEI_MODULE_RESIDUAL], none, NULL);
    aoei_dense_activate(p->ctx, p->y, z, m->activation, m->residual != AOEI_RESIDUAL_NONE);
}

/* dx may share the memory of x, so it is computed after the weight gradients. */
static void dense_backward(const pass *p) {
    const aoei_module *m = p->module;
    const aoei_tensor w = p->w[AOEI_MODULE_WEIGHT], dz = m->residual == AOEI_RESIDUAL_NONE ? p->dy : p->kept;
    aoei_dense_activate_backward(p->ctx, dz, p->dy, p->y, p->kept, m->activation);
    if (m->residual == AOEI_RESIDUAL_NONE) {
        const aoei_linear_grads g = {.dx = p->dx, .dw = p->g[AOEI_MODULE_WEIGHT], .db = p->g[AOEI_MODULE_BIAS]};
        aoei_linear_backward(p->ctx, &g, dz, p->x, w);
        return;
    }
    const aoei_linear_grads weights = {.dw = p->g[AOEI_MODULE_WEIGHT], .db = p->g[AOEI_MODULE_BIAS]};
    aoei_linear_backward(p->ctx, &weights, dz, p->x, w);
    if (m->residual == AOEI_RESIDUAL_WEIGHT) {
        const aoei_linear_grads residual = {.dx = p->dx, .dw = p->g[AOEI_MODULE_RESIDUAL]};
        aoei_linear_backward(p->ctx, &residual, p->dy, p->x, p->w[AOEI_MODULE_RESIDUAL]);
    } else {
        aoei_tensor_copy(p->ctx, p->dx, p->dy);
    }
    const aoei_linear_grads input = {.dx = p->dx, .accumulate = 1};
    aoei_linear_backward(p->ctx, &input, dz, p->x, w);
}

/* -------------------------------------------------------------- normalize */

/* Computes the gradient of one row: dx = (dy - y (y dy)) / |x|. If |x| is less than MIN_NORM, y = x / MIN_NORM, so dx =
 * dy / MIN_NORM. */
static void normalize_task(void *arg, size_t row, size_t worker) {
    const pass *p = arg;
    const float *x = aoei_tensor_at(p->x, row, 0), *y = aoei_tensor_at(p->y, row, 0),
                *dy = aoei_tensor_at(p->dy, row, 0);
    float *dx = aoei_tensor_at(p->dx, row, 0);
    double squares = 0, dot = 0;
    (void)worker;
    for (size_t k = 0; k < p->x.cols; k++) {
        squares += (double)x[k] * (double)x[k];
        dot += (double)y[k] * (double)dy[k];
    }
    const double norm = sqrt(squares);
    for (size_t k = 0; k < p->x.cols; k++)
        dx[k] = (float)(norm < MIN_NORM ? (double)dy[k] / MIN_NORM : ((double)dy[k] - (double)y[k] * dot) / norm);
}

/* ------------------------------------------------------------------- flow */

/* Sets *f to the flow of the module, in its workspace. */
static void flow_of(const pass *p, aoei_flow *f) {
    const aoei_flow_shape shape = aoei_module_flow_shape(p->module);
    const float *weight = aoei_f32(p->w[AOEI_MODULE_WEIGHT]);
    aoei_flow_place(f, &shape, p->training ? FLOW_TRAINING_ROWS : FLOW_ROWS, p->training, p->kept.data);
    for (size_t k = 0; k < f->parameters; k++)
        f->value[k] = (double)weight[k];
    aoei_flow_update(f);
}

/* Copies rows [first, first + n) of t to values [n, cols]. */
static void read_rows(double *values, aoei_tensor t, size_t first, size_t n) {
    for (size_t r = 0; r < n; r++) {
        const float *row = aoei_tensor_at(t, first + r, 0);
        for (size_t k = 0; k < t.cols; k++)
            values[r * t.cols + k] = (double)row[k];
    }
}

static void write_rows(aoei_tensor t, const double *values, size_t first, size_t n) {
    for (size_t r = 0; r < n; r++) {
        float *row = aoei_tensor_at(t, first + r, 0);
        for (size_t k = 0; k < t.cols; k++)
            row[k] = (float)values[r * t.cols + k];
    }
}

static void flow_forward(const pass *p) {
    aoei_flow f;
    flow_of(p, &f);
    for (size_t first = 0; first < p->x.rows; first += f.max_rows) {
        const size_t n = p->x.rows - first < f.max_rows ? p->x.rows - first : f.max_rows;
        read_rows(f.input, p->x, first, n);
        aoei_flow_forward(&f, p->ctx->pool, n);
        write_rows(p->y, f.output, first, n);
    }
}

/* The forward pass of each block of rows is repeated, because the workspace contains the values of one block only. dx
 * may share the memory of x. */
static void flow_backward(const pass *p) {
    aoei_flow f;
    flow_of(p, &f);
    memset(f.grad, 0, f.parameters * sizeof *f.grad);
    for (size_t first = 0; first < p->x.rows; first += f.max_rows) {
        const size_t n = p->x.rows - first < f.max_rows ? p->x.rows - first : f.max_rows;
        read_rows(f.input, p->x, first, n);
        aoei_flow_forward(&f, p->ctx->pool, n);
        read_rows(f.output, p->dy, first, n);
        aoei_flow_backward(&f, p->ctx->pool, n);
        write_rows(p->dx, f.input, first, n);
    }
    float *g = p->g[AOEI_MODULE_WEIGHT].data ? aoei_f32(p->g[AOEI_MODULE_WEIGHT]) : NULL;
    for (size_t k = 0; g && k < f.parameters; k++)
        g[k] = (float)((double)g[k] + f.grad[k]);
}

/* ---------------------------------------------------------------- dropout */

/* Computes to = dropout(from). Each row is one text of one token. */
static void apply_dropout(const pass *p, aoei_tensor to, aoei_tensor from) {
    if (!p->drop) {
        aoei_tensor_copy(p->ctx, to, from);
        return;
    }
    const aoei_dropout d = {
        .p = p->module->dropout, .key = {p->drop->key[0], p->drop->key[1]}, .site = FIRST_SITE + (uint32_t)p->index};
    const uint32_t offsets[2] = {0, 1};
    for (size_t r = 0; r < to.rows; r++) {
        const uint32_t text = (uint32_t)r;
        const aoei_batch one = {.n_tokens = 1, .n_texts = 1, .longest = 1, .offsets = offsets, .text_index = &text};
        aoei_dropout_add(p->ctx, aoei_tensor_rows(to, r, 1), aoei_tensor_rows(from, r, 1), none, &one, &d);
    }
}

/* ------------------------------------------------------------------ chain */

static void forward(const pass *p) {
    switch (p->module->kind) {
    case AOEI_MODULE_DENSE:
        dense_forward(p);
        break;
    case AOEI_MODULE_LAYERNORM:
        aoei_layernorm_forward(p->ctx, p->y, p->kept, p->x, p->w[AOEI_MODULE_WEIGHT], p->w[AOEI_MODULE_BIAS],
                               p->module->norm_eps > 0 ? p->module->norm_eps : LAYERNORM_EPS);
        break;
    case AOEI_MODULE_DROPOUT:
        apply_dropout(p, p->y, p->x);
        break;
    case AOEI_MODULE_NORMALIZE:
        aoei_tensor_copy(p->ctx, p->y, p->x);
        aoei_l2_normalize(p->ctx, p->y);
        break;
    case AOEI_MODULE_FLOW:
        flow_forward(p);
        break;
    case AOEI_MODULE_BATCHNORM:
        aoei_batchnorm_forward(p->ctx, p->y, p->x, p->w[AOEI_MODULE_WEIGHT], p->w[AOEI_MODULE_BIAS], BATCHNORM_EPS);
        aoei_dense_activate(p->ctx, p->y, p->y, p->module->activation, 0);
    }
}

static void backward(const pass *p) {
    assert(p->g);
    switch (p->module->kind) {
    case AOEI_MODULE_DENSE:
        dense_backward(p);
        break;
    case AOEI_MODULE_LAYERNORM:
        aoei_layernorm_backward(p->ctx, p->dy, p->g[AOEI_MODULE_WEIGHT], p->g[AOEI_MODULE_BIAS], p->dy, p->x, p->kept,
                                p->w[AOEI_MODULE_WEIGHT]);
        aoei_tensor_copy(p->ctx, p->dx, p->dy);
        break;
    case AOEI_MODULE_DROPOUT:
        apply_dropout(p, p->dx, p->dy);
        break;
    case AOEI_MODULE_NORMALIZE:
        aoei_parallel_for(p->ctx->pool, p->x.rows, normalize_task, (void *)p);
        break;
    case AOEI_MODULE_FLOW:
        flow_backward(p);
        break;
    case AOEI_MODULE_BATCHNORM:
        aoei_dense_activate_backward(p->ctx, p->dy, p->dy, p->y, none, p->module->activation);
        aoei_batchnorm_backward(p->ctx, p->dx, p->g[AOEI_MODULE_WEIGHT], p->g[AOEI_MODULE_BIAS], p->dy, p->x,
                                p->w[AOEI_MODULE_WEIGHT], BATCHNORM_EPS);
    }
}

/* Returns the tensors of module i for the first n rows. g is NULL in the forward pass. */
static pass pass_of(const aoe_context *ctx, const aoei_module_chain *c, size_t i, size_t n, const aoei_tensor *w,
                    const aoei_tensor *g, const aoei_module_dropout *drop) {
    pass p = {.ctx = ctx,
              .module = &c->module[i],
              .index = i,
              .x = aoei_tensor_rows(c->value[i], 0, n),
              .y = aoei_tensor_rows(c->value[i + 1], 0, n),
              .training = c->n && c->grad[c->n].data,
              .w = w + AOEI_MODULE_WEIGHTS * i,
              .drop = drop};
    if (c->kept[i].data && p.module->kind == AOEI_MODULE_FLOW)
        p.kept = c->kept[i];
    else if (c->kept[i].data)
        p.kept = aoei_tensor_rows(c->kept[i], 0, n);
    if (g) {
        p.g = g + AOEI_MODULE_WEIGHTS * i;
        p.dx = aoei_tensor_rows(c->grad[i], 0, n);
        p.dy = aoei_tensor_rows(c->grad[i + 1], 0, n);
    }
    return p;
}

void aoei_module_chain_forward(const aoe_context *ctx, const aoei_module_chain *c, size_t n_rows, const aoei_tensor *w,
                               const aoei_module_dropout *drop) {
    for (size_t i = 0; i < c->n; i++) {
        const pass p = pass_of(ctx, c, i, n_rows, w, NULL, drop);
        forward(&p);
    }
}

void aoei_module_chain_backward(const aoe_context *ctx, const aoei_module_chain *c, size_t n_rows, const aoei_tensor *w,
                                const aoei_tensor *g, const aoei_module_dropout *drop) {
    for (size_t i = c->n; i-- > 0;) {
        const pass p = pass_of(ctx, c, i, n_rows, w, g, drop);
        backward(&p);
    }
}
