/* SPDX-License-Identifier: MIT
 * Implements the evaluation model that uses an embedder or a cross-encoder, and progress reports.
 */
#include "eval/eval_model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "eval/eval_cache.h"
#include "model/model.h"
#include "model/text_batch.h"

/* Makes sure that the workspace has room for n texts or pairs. */
static int reserve(aoei_embedder_adapter *s, size_t n, aoe_error *err) {
    if (s->capacity >= n)
        return 0;
    aoei_free(s->info);
    aoei_free(s->outputs);
    s->info = aoei_malloc_array(n, sizeof *s->info);
    s->outputs = aoei_malloc_array(n, sizeof *s->outputs);
    s->capacity = s->info && s->outputs ? n : 0;
    return s->capacity ? 0 : aoei_fail_nomem(err, n * sizeof *s->info);
}

static int embed(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *truncated, size_t *failed,
                 aoe_error *err) {
    aoei_embedder_adapter *s = user;
    *failed = (size_t)-1;
    int rc = reserve(s, n, err);
    if (rc)
        return rc;
    rc = aoei_eval_embed(s->e, texts, n, vectors, s->info, failed, err);
    for (size_t i = 0; !rc && i < n; i++)
        truncated[i] = s->info[i].truncated;
    return rc;
}

static int score(void *user, const aoe_text *first, const aoe_text *second, size_t n, double *scores,
                 uint8_t *truncated, size_t *failed, aoe_error *err) {
    aoei_embedder_adapter *s = user;
    const size_t outputs = aoe_model_classes(aoe_embedder_model(s->e));
    *failed = (size_t)-1;
    if (outputs != 1)
        return aoei_fail(
            err, AOE_EARG,
            "the cross-encoder has %zu outputs, so a pair has no single score; give a model with one output", outputs);
    int rc = reserve(s, n, err);
    if (rc)
        return rc;
    rc = aoe_score_pairs(s->e, first, second, n, s->outputs, s->info, err);
    for (size_t i = 0; !rc && i < n; i++) {
        scores[i] = (double)s->outputs[i];
        truncated[i] = s->info[i].truncated;
    }
    *failed = rc ? aoe_embed_failed_text(s->e) : (size_t)-1;
    return rc;
}

static int count_tokens(void *user, aoe_text text, size_t *n, aoe_error *err) {
    aoei_embedder_adapter *s = user;
    const aoe_model *m = aoe_embedder_model(s->e);
    const aoe_tokenizer *t = aoe_model_tokenizer(m);
    /* If the model has no tokenizer, aoe_embed reports the error. If the model accepts texts without tokens, no check
     * is needed. In both cases, tokens are not counted. */
    if (!t || aoei_allows_no_tokens(m))
        return 0;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(m, &info);
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options),
                            .max_length = info.max_length,
                            .prompt = *info.prompt ? info.prompt : NULL,
                            .lowercase = m->settings.lowercase,
                            .chat_template = m->settings.chat != NULL};
    int rc = aoe_tokenizer_encode(t, text, &o, &s->ids, err);
    *n = s->ids.n;
    return rc;
}

aoei_eval_model aoei_eval_model_open(aoei_embedder_adapter *s, aoe_embedder *e) {
    const aoe_model *m = aoe_embedder_model(e);
    *s = (aoei_embedder_adapter){.e = e};
    return (aoei_eval_model){.dims = aoe_embedder_dims(e),
                             .ctx = m->ctx,
                             .embed = embed,
                             .count_tokens = count_tokens,
                             .score = aoe_model_classes(m) ? score : NULL,
                             .user = s};
}

int aoei_eval_model_set_similarity(aoei_eval_model *e, aoe_similarity_function similarity, aoe_error *err) {
    if ((unsigned)similarity >= AOE_SIMILARITY_COUNT)
        return aoei_fail(err, AOE_EARG, "options.similarity is %d, which is no aoe_similarity_function",
                         (int)similarity);
    if (e->score && similarity != AOE_SIMILARITY_COSINE)
        return aoei_fail(err, AOE_EARG,
                         "the model is a cross-encoder, whose scores are used; remove options.similarity, which "
                         "applies to embeddings");
    e->similarity = similarity;
    return 0;
}

void aoei_eval_model_close(aoei_embedder_adapter *s) {
    aoe_ids_free(&s->ids);
    aoei_free(s->info);
    aoei_free(s->outputs);
}

int aoei_eval_model_has_specials(const aoei_eval_model *e, int *any, aoe_error *err) {
    size_t tokens = 1;
    int rc = e->count_tokens ? e->count_tokens(e->user, aoe_text_of(""), &tokens, err) : 0;
    *any = tokens > 0;
    return rc;
}

int aoei_eval_advance(aoei_eval_progress *p, size_t n, aoe_error *err) {
    if (!p)
        return 0;
    p->done += n;
    if (p->fn && p->fn(p->user, p->done, p->total))
        return aoei_fail(err, AOE_ECANCELLED, "the evaluation was cancelled");
    return 0;
}
