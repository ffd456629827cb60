/* SPDX-License-Identifier: MIT
 * Functions for programs that need only one object: an embedder that owns its model and its context, the similarity of
 * two texts, and the search for texts.
 */
#include "model/embedder.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

int aoe_embedder_open(aoe_embedder **e, const char *name, aoe_error *err) {
    if (e)
        *e = NULL;
    AOEI_CHECK(err, e);
    aoe_context *ctx;
    aoe_model *model = NULL;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = AOE_AUTO;
    int code = aoe_context_create(&ctx, NULL, err);
    if (!code)
        code = aoe_model_open(&model, ctx, name, &o, err);
    if (!code)
        code = aoe_embedder_create(e, model, NULL, err);
    if (code) {
        aoe_model_close(model);
        aoe_context_destroy(ctx);
        return code;
    }
    aoei_embedder_own_model(*e);
    return AOE_OK;
}

int aoe_similarity(aoe_embedder *e, aoe_text a, aoe_text b, double *cosine, aoe_error *err) {
    AOEI_CHECK(err, e, cosine);
    const aoe_text texts[2] = {a, b};
    const size_t D = aoe_embedder_dims(e);
    float *vectors = aoei_malloc_array(2 * D, sizeof *vectors);
    if (!vectors)
        return aoei_fail_nomem(err, 2 * D * sizeof *vectors);
    const int code = aoe_embed(e, texts, 2, vectors, NULL, err);
    if (!code)
        *cosine = aoe_cosine(vectors, vectors + D, D);
    aoei_free(vectors);
    return code;
}

int aoe_search(aoe_embedder *e, const aoe_text *queries, size_t n_queries, const float *vectors, size_t n, size_t k,
               aoe_neighbor *neighbors, aoe_error *err) {
    AOEI_CHECK(err, e);
    if (n_queries)
        AOEI_CHECK(err, queries);
    if (n)
        AOEI_CHECK(err, vectors);
    if (n_queries && k)
        AOEI_CHECK(err, neighbors);
    const size_t D = aoe_embedder_dims(e);
    float *embedded = aoei_malloc_array(n_queries ? n_queries : 1, D * sizeof *embedded);
    if (!embedded)
        return aoei_fail_nomem(err, n_queries * D * sizeof *embedded);
    int code = aoe_embed_queries(e, queries, n_queries, embedded, NULL, err);
    if (!code)
        code = aoe_nearest(aoe_model_context(aoe_embedder_model(e)), embedded, n_queries, vectors, n, D, k, neighbors,
                           err);
    aoei_free(embedded);
    return code;
}
