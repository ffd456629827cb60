/* SPDX-License-Identifier: MIT
 * Creates and destroys contexts. A context is immutable after its creation.
 */
#include "base/context.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"

float *aoei_worker_scratch(const aoe_context *ctx, size_t worker) {
    return ctx->scratch + worker * AOEI_WORKER_SCRATCH;
}

AOEI_DEFAULTS(aoe_context_options) {
    *o = (aoe_context_options){.struct_size = sizeof *o, .threads = aoei_pool_default_threads()};
}

static int create_scratch(aoe_context *ctx, aoe_error *err) {
    const size_t threads = aoei_pool_threads(ctx->pool);
    size_t bytes;
    if (aoei_mul_size(threads, AOEI_WORKER_SCRATCH * sizeof(float), &bytes))
        return aoei_fail(
            err, AOE_EARG,
            "options.threads = %zu is too large: the size of the scratch buffers overflows; use fewer threads",
            threads);
    ctx->scratch = aoei_aligned(bytes);
    return ctx->scratch ? 0 : aoei_fail_nomem(err, bytes);
}

/* Sets the CPU tier and the log function, and creates the thread pool and the scratch buffers. If it fails, the caller
 * must destroy ctx. */
static int create_parts(aoe_context *ctx, const aoe_context_options *o, aoe_error *err) {
    int code = aoei_cpu_tier(&ctx->tier, err);
    ctx->log = (aoei_log){.fn = o->log, .user = o->log_user};
    if (!code)
        code = aoei_pool_create(&ctx->pool, o->threads, err);
    return code ? code : create_scratch(ctx, err);
}

int aoe_context_create(aoe_context **ctx, const aoe_context_options *o, aoe_error *err) {
    if (ctx)
        *ctx = NULL;
    AOEI_CHECK(err, ctx);
    AOEI_OPTIONS(aoe_context_options, o, err);
    aoe_context *created = aoei_calloc(1, sizeof *created);
    if (!created)
        return aoei_fail_nomem(err, sizeof *created);
    int code = create_parts(created, o, err);
    if (code) {
        aoe_context_destroy(created);
        return code;
    }
    *ctx = created;
    return 0;
}

void aoe_context_destroy(aoe_context *ctx) {
    if (!ctx)
        return;
    aoei_context_release(ctx);
    aoei_free(ctx);
}

int aoei_context_init(aoe_context *ctx, const aoe_context *other, const aoei_pool *threads, aoe_error *err) {
    *ctx = (aoe_context){.tier = other->tier, .log = other->log};
    int code = aoei_pool_share(&ctx->pool, threads, err);
    if (!code && (code = create_scratch(ctx, err)))
        aoei_context_release(ctx);
    return code;
}

void aoei_context_release(aoe_context *ctx) {
    aoei_pool_destroy(ctx->pool);
    aoei_aligned_free(ctx->scratch);
    *ctx = (aoe_context){0};
}

int aoei_context_serial(aoe_context *ctx, aoe_error *err) {
    *ctx = (aoe_context){0};
    return aoei_cpu_tier(&ctx->tier, err);
}

size_t aoe_context_threads(const aoe_context *ctx) {
    if (!ctx)
        return 0;
    return aoei_pool_threads(ctx->pool);
}

const char *aoe_context_tier(const aoe_context *ctx) {
    if (!ctx)
        return NULL;
    return aoei_tier_name(ctx->tier);
}
