/* SPDX-License-Identifier: MIT
 * Embeds a fixed text as a query and as a document, with the prompts of the model, and compares the vectors with those
 * that were stored when the index was created.
 */
#include "index/model_check.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "model/model.h"

#define LEAST_COSINE 0.999 /* of vectors of the same model in other data types */

static const char probe[] = "A search index stores documents, their words and their embeddings (2026).";

/* Sets *vector to the vector of the probe text, with the prompt of queries or documents. */
static int embed_probe(aoe_embedder *e, int is_query, float **vector, aoe_error *err) {
    const size_t dims = aoe_embedder_dims(e);
    const aoe_text text = aoe_text_of(probe);
    if (!(*vector = aoei_malloc_array(dims, sizeof **vector)))
        return aoei_fail_nomem(err, dims * sizeof **vector);
    return is_query ? aoe_embed_queries(e, &text, 1, *vector, NULL, err)
                    : aoe_embed_documents(e, &text, 1, *vector, NULL, err);
}

static char *copy_or_empty(const char *s) {
    return aoei_strdup(s ? s : "");
}

/* Sets the fields of the settings that describe the model of an embedder, and its vectors of the probe text. */
int aoei_model_describe(aoei_index_settings *s, aoe_embedder *e, const char *name, aoe_error *err) {
    const aoe_model *m = aoe_embedder_model(e);
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(m, &info);
    const char *query = aoe_model_prompt(m, "query"), *document = aoe_model_prompt(m, "document");
    s->dims = aoe_embedder_dims(e);
    s->model = copy_or_empty(name);
    s->pooling = copy_or_empty(aoe_pooling_name(info.pooling));
    s->query_prompt = copy_or_empty(query ? query : info.prompt);
    s->document_prompt = copy_or_empty(document ? document : info.prompt);
    if (!s->model || !s->pooling || !s->query_prompt || !s->document_prompt)
        return aoei_fail_nomem(err, 0);
    const int rc = embed_probe(e, 1, &s->query_probe, err);
    return rc ? rc : embed_probe(e, 0, &s->document_probe, err);
}

static int is_zero(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] > 0 || x[i] < 0)
            return 0;
    return 1;
}

static double agreement(const float *x, const float *y, size_t n) {
    return is_zero(x, n) && is_zero(y, n) ? 1 : aoe_cosine(x, y, n);
}

/* Fails because the open model is not the model of the index. */
static int fail_model(const aoei_index_settings *then, const char *place, const aoei_index_settings *now, double cosine,
                      aoe_error *err) {
    if (now->dims != then->dims)
        return aoei_fail(
            err, AOE_EMISMATCH,
            "%s: the index was created with the model '%s' and %zu components, but the model '%s' computes "
            "%zu; use the model of the index, or create another index",
            place, then->model, then->dims, now->model, now->dims);
    return aoei_fail(err, AOE_EMISMATCH,
                     "%s: the index was created with the model '%s' (pooling %s, query prompt '%s', document prompt "
                     "'%s'), and the vectors of the model '%s' (pooling %s, query prompt '%s', document prompt '%s') "
                     "differ (cosine %.4f for the same text); use the model of the index, or create another index",
                     place, then->model, then->pooling, then->query_prompt, then->document_prompt, now->model,
                     now->pooling, now->query_prompt, now->document_prompt, cosine);
}

int aoei_model_check(const aoei_index_settings *then, const char *place, aoe_embedder *e, const char *name,
                     aoe_error *err) {
    aoei_index_settings now = {0};
    char *dir = name && *name ? NULL : aoei_full_path(aoe_embedder_model(e)->files.dir);
    int rc = 0;
    name = dir ? dir : name;
    if (aoe_embedder_dims(e) != then->dims) {
        now.dims = aoe_embedder_dims(e);
        now.model = copy_or_empty(name);
        rc = now.model ? fail_model(then, place, &now, 0, err) : aoei_fail_nomem(err, 0);
    } else if (!(rc = aoei_model_describe(&now, e, name, err))) {
        const double query = agreement(now.query_probe, then->query_probe, now.dims);
        const double document = agreement(now.document_probe, then->document_probe, now.dims);
        const double least = query < document ? query : document;
        if (!(least >= LEAST_COSINE))
            rc = fail_model(then, place, &now, least, err);
    }
    aoei_index_settings_free(&now);
    aoei_free(dir);
    return rc;
}
