/* SPDX-License-Identifier: MIT
 * Measures the matmuls of each shape once and multiplies the times by the number of layers with this shape. The values
 * are zeros, because the time of a matmul does not depend on them.
 */
#include "train/step_speed.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "encoder/slots.h"
#include "nn/gemm.h"
#include "nn/linear.h"

enum {
    TOKENS = 256,    /* number of tokens of a measured matmul */
    RUNS = 3,        /* the fastest of these runs counts */
    MAX_SHAPES = 64, /* further shapes count as the last one of these */
};

/* Linear layers of the same shape. */
typedef struct shape {
    size_t rows, cols, n; /* n: number of layers */
    int frozen;           /* 1: the gradient of the weight is not computed */
} shape;

/* Lists the linear layers that process tokens. Returns the number of shapes. */
static size_t list_shapes(shape list[MAX_SHAPES], const aoei_encoder_config *c) {
    const size_t end = aoei_pooled_slot(c, 0), times = c->layers / aoei_distinct_layers(c);
    size_t n = 0;
    for (size_t s = 0; s < end; s++) {
        aoei_slot d;
        size_t i = 0;
        aoei_slot_describe(c, s, &d);
        if (d.absent || !d.linear)
            continue;
        while (i < n && (list[i].rows != d.rows || list[i].cols != d.cols || list[i].frozen != d.frozen))
            i++;
        if (i == n && n < MAX_SHAPES)
            list[n++] = (shape){.rows = d.rows, .cols = d.cols, .frozen = d.frozen};
        list[i < n ? i : n - 1].n += times;
    }
    return n;
}

/* The operands of a linear layer. */
typedef struct layer {
    aoei_tensor x, y, dx, w, dw, workspace;
    void *packed;
} layer;

static void lay_out(layer *l, const shape *s, const aoe_context *ctx, aoei_dtype type, aoei_arena *arena) {
    l->x = aoei_tensor_take_typed(arena, type, TOKENS, s->cols);
    l->y = aoei_tensor_take_typed(arena, type, TOKENS, s->rows);
    l->dx = aoei_tensor_take_typed(arena, type, TOKENS, s->cols);
    l->w = aoei_tensor_take(arena, s->rows, s->cols);
    l->dw = s->frozen ? (aoei_tensor){0} : aoei_tensor_take(arena, s->rows, s->cols);
    l->packed = type == AOEI_F32 ? NULL : aoei_arena_take(arena, aoei_weight_packed_size(ctx, type, s->rows, s->cols));
    l->workspace = aoei_workspace_take(arena, aoei_linear_workspace(ctx, type, TOKENS, s->rows, s->cols));
}

/* Returns the seconds of the forward and the backward pass of a layer. */
static double run(const layer *l, const aoe_context *ctx) {
    const aoei_linear_epilogue e = {.workspace = l->workspace};
    const aoei_linear_grads g = {.dx = l->dx, .dw = l->dw, .workspace = l->workspace};
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        const double start = aoei_now();
        aoei_linear_forward(ctx, l->y, l->x, l->w, (aoei_tensor){0}, &e);
        aoei_linear_backward(ctx, &g, l->y, l->x, l->w);
        const double seconds = aoei_now() - start;
        best = i && best < seconds ? best : seconds;
    }
    return best;
}

static int measure(double *seconds, const shape *s, const aoe_context *ctx, aoei_dtype type, aoe_error *err) {
    aoei_arena arena;
    layer l;
    aoei_arena_measure(&arena);
    lay_out(&l, s, ctx, type, &arena);
    const size_t bytes = arena.used;
    const int code = aoei_arena_create(&arena, bytes, err);
    if (code)
        return code;
    lay_out(&l, s, ctx, type, &arena);
    aoei_tensor_zero(ctx, l.x);
    aoei_tensor_zero(ctx, l.w);
    if (l.dw.data)
        aoei_tensor_zero(ctx, l.dw);
    if (l.packed)
        aoei_weight_pack(ctx, type, &l.w, l.packed);
    *seconds = run(&l, ctx);
    aoei_arena_destroy(&arena);
    return AOE_OK;
}

int aoei_step_speed(double *tokens_per_second, const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type,
                    aoe_error *err) {
    shape list[MAX_SHAPES];
    const size_t n = list_shapes(list, c);
    double all = 0;
    *tokens_per_second = 0;
    for (size_t i = 0; i < n; i++) {
        double seconds = 0;
        const int code = measure(&seconds, &list[i], ctx, type, err);
        if (code)
            return code;
        all += (double)list[i].n * seconds;
    }
    *tokens_per_second = all > 0 ? TOKENS / all : 0;
    return AOE_OK;
}
