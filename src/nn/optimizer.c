/* SPDX-License-Identifier: MIT
 * What the optimiser does to flat tensors: AdamW and the norm's sum of squares.
 * Split over fixed blocks; the sum of squares adds at most PARTIALS partial sums in order.
 */
#include <math.h>

#include "nn/nn.h"

enum {
    BLOCK = 16384, /* elements of a task */
    PARTIALS = 256 /* partial sums, on the stack */
};

typedef struct adamw_job {
    const aoe_context *ctx;
    float *value, *m, *v; /* [n] */
    const float *grad;    /* [n] */
    size_t n;
    const size_t *no_decay; /* [n_no_decay][2] */
    size_t n_no_decay;
    aoei_adamw_f32 decay, plain; /* weight decay on and off */
} adamw_job;

static void update(const adamw_job *j, const aoei_adamw_f32 *a, size_t begin, size_t end) {
    if (begin < end)
        j->ctx->kernels.adamw_f32(j->value + begin, j->grad + begin, j->m + begin, j->v + begin, a, end - begin);
}

static void adamw_task(void *arg, size_t task, size_t worker) {
    const adamw_job *j = arg;
    (void)worker;
    size_t at = task * BLOCK;
    const size_t end = at + BLOCK < j->n ? at + BLOCK : j->n;
    for (size_t i = 0; i < j->n_no_decay && at < end; i++) {
        size_t from = j->no_decay[2 * i], to = j->no_decay[2 * i + 1];
        if (to <= at)
            continue;
        from = from < at ? at : from < end ? from : end;
        to = to < end ? to : end;
        update(j, &j->decay, at, from);
        update(j, &j->plain, from, to);
        at = to;
    }
    update(j, &j->decay, at, end);
}

void aoei_adamw_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                     const aoei_adamw *o) {
    const double t = (double)o->step;
    const aoei_adamw_f32 plain = {
        .lr_decay = 0,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .eps = (float)o->eps,
        .step_size = (float)(o->lr / (1 - pow(o->beta1, t))),
        .sqrt_bias2 = (float)sqrt(1 - pow(o->beta2, t)),
        .grad_scale = (float)o->grad_scale,
        .one_minus_beta1 = (float)(1 - o->beta1),
        .one_minus_beta2 = (float)(1 - o->beta2),
    };
    adamw_job j = {.ctx = ctx,
                   .value = value.data,
                   .m = m.data,
                   .v = v.data,
                   .grad = grad.data,
                   .n = value.rows * value.cols,
                   .no_decay = o->no_decay,
                   .n_no_decay = o->n_no_decay,
                   .decay = plain,
                   .plain = plain};
    j.decay.lr_decay = (float)(o->lr * o->weight_decay);
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, adamw_task, &j);
}

typedef struct squares_job {
    const aoe_context *ctx;
    const float *x; /* [n] */
    size_t n, block;
    double partial[PARTIALS];
} squares_job;

static void squares_task(void *arg, size_t task, size_t worker) {
    squares_job *j = arg;
    (void)worker;
    const size_t first = task * j->block, left = j->n - first;
    j->partial[task] = j->ctx->kernels.sum_squares_f32(j->x + first, left < j->block ? left : j->block);
}

double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t) {
    squares_job j = {.ctx = ctx, .x = t.data, .n = t.rows * t.cols};
    /* BLOCK, or its multiple from where on there are at most PARTIALS */
    j.block = (j.n / BLOCK / PARTIALS + 1) * BLOCK;
    const size_t n_tasks = (j.n + j.block - 1) / j.block;
    aoei_parallel_for(ctx->pool, n_tasks, squares_task, &j);
    double sum = 0;
    for (size_t i = 0; i < n_tasks; i++)
        sum += j.partial[i];
    return sum;
}
