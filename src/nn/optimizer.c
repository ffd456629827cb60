/* SPDX-License-Identifier: MIT
 * AdamW and the sum of squares for gradient norms. AdamW reads and writes each of its tensors only once per step. A
 * task updates a block of a segment. If the segment is a weight with a packed form, the task also packs the rows of the
 * block while they are in the cache. The sum of squares is computed in at most PARTIALS partial sums, which are added
 * in ascending order of the blocks.
 */
#include "nn/optimizer.h"

#include <math.h>

#include "kernels/kernel_table.h"

enum {
    BLOCK = 16384, /* elements per task */
    PARTIALS = 256 /* maximum number of partial sums, which are stored on the stack */
};

typedef struct optimizer_job {
    const aoe_context *ctx;
    float *value, *grad, *m, *v; /* [n] each: parameters, gradients, and first and second moments */
    const aoei_optimizer *o;     /* arguments of the step */
    aoei_adamw_f32 decay, plain; /* kernel arguments with weight decay; kernel arguments without weight decay */
    aoei_rmsprop_f32 rms_decay, rms_plain; /* the same for RMSprop and SGD */
} optimizer_job;

/* Returns the number of elements in the segment that one task updates. If the segment is a weight with a packed form, a
 * task updates the AOEI_GEMM_PANEL rows of the weight that form one packed panel. */
static size_t block_length(const aoei_optimizer_segment *s) {
    return s->weight ? AOEI_GEMM_PANEL * s->weight->cols : BLOCK;
}

size_t aoei_optimizer_plan(aoei_optimizer_segment *segments, size_t n) {
    size_t tasks = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = segments[i].end - segments[i].begin, block = block_length(&segments[i]);
        segments[i].first_task = tasks;
        tasks += (length + block - 1) / block;
    }
    return tasks;
}

/* Returns the segment that task `task` updates. */
static const aoei_optimizer_segment *segment_of(const aoei_optimizer *o, size_t task) {
    size_t low = 0, high = o->n_segments - 1;
    while (low < high) { /* binary search for the last segment whose first_task is at most `task`. An empty segment is
                            never found, because it has the first_task of the segment after it */
        const size_t middle = (low + high + 1) / 2;
        if (o->segments[middle].first_task <= task)
            low = middle;
        else
            high = middle - 1;
    }
    return &o->segments[low];
}

/* Packs the panel of w whose first row is n0. */
static void repack(const aoe_context *ctx, const aoei_tensor *w, size_t n0) {
    const size_t n1 = w->rows - n0 < AOEI_GEMM_PANEL ? w->rows : n0 + AOEI_GEMM_PANEL;
    aoei_gemm_pack_fn *pack =
        w->packed_type == AOEI_BF16 ? aoei_kernels_of(ctx)->gemm_bf16_pack : aoei_kernels_of(ctx)->gemm_f32_pack;
    pack(w->packed, w->data, AOEI_F32, 1, w->ld, w->cols, n0, n1);
}

/* Updates the elements [at, at + n). moment: index of the moments of the first element. */
static void update(const optimizer_job *j, size_t at, size_t moment, size_t n, int decay) {
    if (j->o->kind == AOEI_ADAMW)
        aoei_kernels_of(j->ctx)->adamw_f32(j->value + at, j->grad + at, j->m + moment, j->v + moment,
                                           decay ? &j->decay : &j->plain, n);
    else if (j->o->kind == AOEI_RMSPROP)
        aoei_kernels_of(j->ctx)->rmsprop_f32(j->value + at, j->grad + at, j->v + moment,
                                             decay ? &j->rms_decay : &j->rms_plain, n);
    else
        aoei_kernels_of(j->ctx)->sgd_f32(j->value + at, j->grad + at, decay ? &j->rms_decay : &j->rms_plain, n);
}

/* Updates those of the elements [at, at + n) that belong to the share. */
static void update_share(const optimizer_job *j, size_t at, size_t n, int decay) {
    const aoei_share *share = j->o->share;
    for (const size_t end = at + n; at < end;) {
        const size_t b = at / share->block, within = at - b * share->block, left = share->block - within;
        const size_t length = end - at < left ? end - at : left;
        if (b % share->ranks == share->rank)
            update(j, at, b / share->ranks * share->block + within, length, decay);
        at += length;
    }
}

/* Updates one block of a segment. If the segment is a weight with a packed form, also packs the rows of the block. */
static void optimizer_task(void *arg, size_t task, size_t worker) {
    const optimizer_job *j = arg;
    (void)worker;
    const aoei_optimizer_segment *s = segment_of(j->o, task);
    const size_t block = block_length(s), within = task - s->first_task, at = s->begin + within * block;
    const size_t n = s->end - at < block ? s->end - at : block;
    const int decay = s->decay || j->o->decay_all;
    if (j->o->share) {
        update_share(j, at, n, decay);
        return;
    }
    update(j, at, at, n, decay);
    if (s->weight &&
        /* blocks after the last row of the weight contain only padding, which is not packed */
        within * AOEI_GEMM_PANEL < s->weight->rows)
        repack(j->ctx, s->weight, within * AOEI_GEMM_PANEL);
}

void aoei_optimizer_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                         const aoei_optimizer *o) {
    const double t = (double)o->step;
    const aoei_adamw_f32 plain = {
        .lr_decay = 0,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .eps = (float)o->eps,
        .step_size = (float)(o->no_bias_correction ? o->lr : o->lr / (1 - pow(o->beta1, t))),
        .sqrt_bias2 = o->no_bias_correction ? 1 : (float)sqrt(1 - pow(o->beta2, t)),
        .grad_scale = (float)o->grad_scale,
        .one_minus_beta1 = (float)(1 - o->beta1),
        .one_minus_beta2 = (float)(1 - o->beta2),
    };
    optimizer_job j = {.ctx = ctx,
                       .value = aoei_f32(value),
                       .grad = aoei_f32(grad),
                       .m = m.data ? aoei_f32(m) : NULL,
                       .v = v.data ? aoei_f32(v) : NULL,
                       .o = o,
                       .decay = plain,
                       .plain = plain,
                       .rms_plain = {.rho = (float)o->beta2,
                                     .one_minus_rho = (float)(1 - o->beta2),
                                     .eps = (float)o->eps,
                                     .lr = (float)o->lr,
                                     .grad_scale = (float)o->grad_scale}};
    j.rms_decay = j.rms_plain;
    j.decay.lr_decay = j.rms_decay.lr_decay = (float)(o->lr * o->weight_decay);
    aoei_parallel_for(ctx->pool, o->n_tasks, optimizer_task, &j);
}

/* Returns the number of elements of a block: a multiple of BLOCK, so large that there are at most PARTIALS blocks. */
static size_t squares_block(size_t count) {
    return (count / BLOCK / PARTIALS + 1) * BLOCK;
}

aoei_share aoei_share_of(size_t count, size_t rank, size_t ranks) {
    return (aoei_share){.rank = rank, .ranks = ranks ? ranks : 1, .count = count, .block = squares_block(count)};
}

size_t aoei_share_count(const aoei_share *s) {
    size_t n = 0;
    for (size_t b = s->rank; b < aoei_share_blocks(s); b += s->ranks)
        n += aoei_share_length(s, b);
    return n;
}

typedef struct squares_job {
    const aoe_context *ctx;
    const float *x;          /* [share->count] input */
    const aoei_share *share; /* blocks to sum; one per task */
    double *sums;            /* sum of the squares of each block of the share */
} squares_job;

/* Computes the sum of squares of one block. */
static void squares_task(void *arg, size_t task, size_t worker) {
    const squares_job *j = arg;
    (void)worker;
    const size_t b = task * j->share->ranks + j->share->rank;
    j->sums[task] =
        aoei_kernels_of(j->ctx)->sum_squares_f32(j->x + b * j->share->block, aoei_share_length(j->share, b));
}

void aoei_block_squares(const aoe_context *ctx, double *sums, aoei_tensor t, const aoei_share *share) {
    squares_job j = {.ctx = ctx, .x = aoei_f32(t), .share = share, .sums = sums};
    const size_t blocks = aoei_share_blocks(share);
    if (blocks > share->rank)
        aoei_parallel_for(ctx->pool, (blocks - share->rank + share->ranks - 1) / share->ranks, squares_task, &j);
}

double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t) {
    double sums[PARTIALS], sum = 0;
    const aoei_share all = aoei_share_of(t.rows * t.cols, 0, 1);
    aoei_block_squares(ctx, sums, t, &all);
    for (size_t i = 0; i < aoei_share_blocks(&all); i++)
        sum += sums[i];
    return sum;
}
