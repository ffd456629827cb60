/* SPDX-License-Identifier: MIT
 * Computes the embeddings of evaluations. The cache contains complete embeddings, so that evaluations with several
 * numbers of components share them.
 */
#include "eval/eval_cache.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "eval/embedding_cache.h"
#include "model/embedder.h"

struct aoe_eval_cache {
    aoe_embedder *e;            /* borrowed */
    aoei_embedding_cache table; /* owned */
};

int aoe_eval_cache_create(aoe_eval_cache **c, aoe_embedder *e, aoe_error *err) {
    if (c)
        *c = NULL;
    AOEI_CHECK(err, c, e);
    if (*aoei_embedder_eval_cache(e))
        return aoei_fail(err, AOE_EARG,
                         "the embedder has a cache for evaluations; destroy it before you create another");
    aoe_eval_cache *created = aoei_calloc(1, sizeof *created);
    if (!created)
        return aoei_fail_nomem(err, sizeof *created);
    created->e = e;
    *c = *aoei_embedder_eval_cache(e) = created;
    return AOE_OK;
}

void aoe_eval_cache_destroy(aoe_eval_cache *c) {
    if (!c)
        return;
    *aoei_embedder_eval_cache(c->e) = NULL;
    aoei_embedding_cache_clear(&c->table);
    aoei_free(c);
}

static size_t complete_dims(const aoe_embedder *e) {
    return aoei_vector_dims(&aoe_embedder_model(e)->config);
}

/* Adds the texts that are not in the cache, and sets entry[n] to the entries of all texts. source: [n] workspace; text:
 * [n] workspace. */
static int fill(aoe_eval_cache *cache, const aoe_text *texts, size_t n, size_t *entry, size_t *source, aoe_text *text,
                size_t *failed, aoe_error *err) {
    aoei_embedding_cache *c = &cache->table;
    const size_t D = complete_dims(cache->e), first = c->n;
    int code = AOE_OK;
    for (size_t i = 0; i < n && !code; i++) {
        const size_t before = c->n;
        code = aoei_embedding_cache_find(c, texts[i], &entry[i], err);
        if (!code && c->n > before) {
            text[before - first] = c->entry[before].text;
            source[before - first] = i;
        }
    }
    const size_t missing = c->n - first;
    if (code || !missing)
        return code;
    float *vectors = aoei_embedding_cache_block(c, missing, D, err);
    aoe_text_info *info = vectors ? aoei_malloc_array(missing, sizeof *info) : NULL;
    if (!info) {
        code = vectors ? aoei_fail_nomem(err, missing * sizeof *info) : AOE_ENOMEM;
    } else if ((code = aoei_embed_complete(cache->e, text, missing, vectors, info, err))) {
        const size_t bad = aoe_embed_failed_text(cache->e);
        *failed = bad < missing ? source[bad] : (size_t)-1;
    }
    for (size_t i = 0; i < missing && !code; i++) {
        c->entry[first + i].vector = vectors + i * D;
        c->entry[first + i].info = info[i];
    }
    aoei_free(info);
    return code;
}

static int embed_with_cache(aoe_eval_cache *cache, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                            size_t *failed, aoe_error *err) {
    const size_t D = aoe_embedder_dims(cache->e);
    size_t *entry = aoei_malloc_array(n ? 2 * n : 1, sizeof *entry);
    aoe_text *text = aoei_malloc_array(n ? n : 1, sizeof *text);
    int code = entry && text ? fill(cache, texts, n, entry, entry + n, text, failed, err)
                             : aoei_fail_nomem(err, n * sizeof *text);
    for (size_t i = 0; i < n && !code; i++) {
        const aoei_cached_embedding *c = &cache->table.entry[entry[i]];
        aoei_embed_truncate(cache->e, vectors + i * D, c->vector);
        info[i] = c->info;
    }
    if (code)
        aoei_embedding_cache_clear(&cache->table);
    aoei_free(entry);
    aoei_free(text);
    return code;
}

static int embed_without_cache(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                               size_t *failed, aoe_error *err) {
    const size_t D = aoe_embedder_dims(e), all = complete_dims(e);
    float *complete = D == all ? vectors : aoei_malloc_array(n ? n : 1, all * sizeof *complete);
    if (!complete)
        return aoei_fail_nomem(err, n * all * sizeof *complete);
    const int code = aoei_embed_complete(e, texts, n, complete, info, err);
    if (code)
        *failed = aoe_embed_failed_text(e);
    for (size_t i = 0; i < n && !code && complete != vectors; i++)
        aoei_embed_truncate(e, vectors + i * D, complete + i * all);
    if (complete != vectors)
        aoei_free(complete);
    return code;
}

int aoei_eval_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                    size_t *failed, aoe_error *err) {
    aoe_eval_cache *cache = *aoei_embedder_eval_cache(e);
    *failed = (size_t)-1;
    return cache ? embed_with_cache(cache, texts, n, vectors, info, failed, err)
                 : embed_without_cache(e, texts, n, vectors, info, failed, err);
}
