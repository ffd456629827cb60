/* SPDX-License-Identifier: MIT
 * Computes the head of a reranker that is a language model.
 */
#include "model/logit_score_head.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "encoder/slots.h"
#include "modeldir/weight_layout.h"

/* Sets *id to the token of the word. The word must be one token. */
static int find_token(size_t *id, const aoe_model *m, const char *word, aoe_error *err) {
    const aoe_encode_options o = {.struct_size = sizeof o, .no_special_tokens = 1};
    aoe_ids ids = {0};
    int rc = aoe_tokenizer_encode(m->tokenizer, aoe_text_of(word), &o, &ids, err);
    const aoe_text token = !rc && ids.n == 1 ? aoe_tokenizer_token(m->tokenizer, ids.id[0]) : (aoe_text){0};
    const int found = token.len == strlen(word) && !memcmp(token.data, word, token.len);
    if (!rc && (!found || ids.id[0] < 0 || (size_t)ids.id[0] >= m->config.vocab))
        rc = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has no classification head, and '%s' is not a token of its tokenizer, so it is not a "
            "reranker; give a cross-encoder, or train one with the method cross-encoder",
            m->files.dir, word);
    *id = rc ? 0 : (size_t)ids.id[0];
    aoe_ids_free(&ids);
    return rc;
}

/* Checks that the tokens of the module LogitScore are in the vocabulary. */
static int check_tokens(const aoe_model *m, aoe_error *err) {
    const aoei_logit_score *s = &m->files.logit_score;
    const size_t worst = s->false_token == AOE_AUTO || s->true_token > s->false_token ? s->true_token : s->false_token;
    if (worst < m->config.vocab)
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the module LogitScore names token %zu, but the model has only %zu tokens (vocab_size); download the "
        "model again",
        m->files.dir, worst, m->config.vocab);
}

/* Reads row `id` of the decoder to row[hidden]. */
static int read_row(const aoe_model *m, float *row, size_t id, aoe_error *err) {
    const aoei_st_tensor *t =
        m->files.decoder == AOEI_DECODER_UNTIED ? aoei_weight_find(m->files.weights, "", "lm_head.weight") : NULL;
    if (m->files.decoder != AOEI_DECODER_UNTIED) {
        aoei_tensor_read(m->ctx, row, aoei_tensor_rows(m->weights[AOEI_W_WORD], id, 1));
        return 0;
    }
    if (!t || t->n_dims != 2 || t->shape[0] != m->config.vocab || t->shape[1] != m->config.hidden ||
        (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tie_word_embeddings is false, but there is no float tensor 'lm_head.weight' of shape [%zu, %zu]; "
            "download the model again",
            aoei_weights_dir(&m->files), m->config.vocab, m->config.hidden);
    aoei_st_rows_to_float(row, t, id, 1);
    return 0;
}

int aoei_logit_score_head_set(aoe_model *m, aoe_error *err) {
    const size_t D = m->config.hidden;
    const aoei_tensor weight = m->weights[aoei_pooled_slot(&m->config, AOEI_MODULE_WEIGHT)];
    const aoei_logit_score *score = &m->files.logit_score;
    size_t yes = score->true_token, no = score->false_token;
    if (!m->tokenizer)
        return aoei_fail(err, AOE_ENOENT, "%s: the directory contains no tokenizer; add tokenizer.json", m->files.dir);
    float *rows = aoei_malloc_array(2 * D, sizeof *rows);
    if (!rows)
        return aoei_fail_nomem(err, 2 * D * sizeof *rows);
    int rc = score->given ? check_tokens(m, err) : find_token(&yes, m, "yes", err);
    if (!rc && !score->given)
        rc = find_token(&no, m, "no", err);
    if (!rc)
        rc = read_row(m, rows, yes, err);
    if (!rc && no != AOE_AUTO)
        rc = read_row(m, rows + D, no, err);
    for (size_t i = 0; i < D && !rc && no != AOE_AUTO; i++)
        rows[i] -= rows[D + i];
    if (!rc)
        aoei_tensor_write(m->ctx, weight, rows);
    aoei_free(rows);
    return rc;
}
