/* SPDX-License-Identifier: MIT
 * Creates and destroys contexts. A context is immutable after its creation.
 */
#include "base/context.h"

#include "base/alloc.h"
#include "base/error.h"

float *aoei_worker_scratch(const aoe_context *ctx, size_t worker) {
    return ctx->scratch + worker * AOEI_WORKER_SCRATCH;
}

void aoe_context_options_defaults(aoe_context_options *o) {
    o->threads = 0;
    o->log = NULL;
    o->log_user = NULL;
}

static int create_parts(aoe_context *ctx, const aoe_context_options *o, aoe_error *err) {
    int code = aoei_cpu_tier(&ctx->tier, err);
    if (code)
        return code;
    ctx->log = (aoei_log){.fn = o->log, .user = o->log_user};
    code = aoei_pool_create(&ctx->pool, o->threads, err);
    if (code)
        return code;
    size_t bytes;
    if (aoei_mul_size(aoei_pool_threads(ctx->pool), AOEI_WORKER_SCRATCH * sizeof(float), &bytes))
        return aoei_fail(err, AOE_EARG, "%zu threads are more than memory can serve; ask for fewer", o->threads);
    ctx->scratch = aoei_aligned(bytes);
    if (!ctx->scratch)
        return aoei_fail_nomem(err, bytes);
    return 0;
}

int aoe_context_create(aoe_context **out, const aoe_context_options *options, aoe_error *err) {
    aoe_context_options defaults;
    aoe_context_options_defaults(&defaults);
    *out = NULL;
    aoe_context *ctx = aoei_calloc(1, sizeof *ctx);
    if (!ctx)
        return aoei_fail_nomem(err, sizeof *ctx);
    int code = create_parts(ctx, options ? options : &defaults, err);
    if (code) {
        aoe_context_destroy(ctx);
        return code;
    }
    *out = ctx;
    return 0;
}

void aoe_context_destroy(aoe_context *ctx) {
    if (!ctx)
        return;
    aoei_pool_destroy(ctx->pool);
    aoei_aligned_free(ctx->scratch);
    aoei_free(ctx);
}

int aoei_context_serial(aoe_context *ctx, aoe_error *err) {
    *ctx = (aoe_context){0};
    return aoei_cpu_tier(&ctx->tier, err);
}

size_t aoe_context_threads(const aoe_context *ctx) {
    return aoei_pool_threads(ctx->pool);
}

const char *aoe_context_tier(const aoe_context *ctx) {
    return aoei_tier_name(ctx->tier);
}
