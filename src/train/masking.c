/* SPDX-License-Identifier: MIT
 * Implements whole-word masking. The words of a sequence are visited in random order. A word is skipped if its tokens
 * would exceed the number of tokens to select; otherwise it is selected. This is the algorithm of
 * create_masked_lm_predictions in google-research/bert.
 */
#include "train/masking.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tokenizer/tokenizer.h"

#include <math.h>
#include <string.h>

int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err) {
    memset(m, 0, sizeof *m);
    m->rate = rate;
    m->mask = aoei_tokenizer_mask_id(model->tokenizer);
    m->vocab = aoe_tokenizer_vocab_size(model->tokenizer);
    m->vocab = m->vocab < model->config.vocab ? m->vocab : model->config.vocab; /* number of ids that both the tokenizer
                                                                                   and the model have */
    m->longest = longest;
    if (m->mask < 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the tokenizer has no [MASK] token; add one to its vocabulary",
                         model->files.dir);
    if ((size_t)m->mask >= m->vocab)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the [MASK] token has id %d, but the model has only %zu token embeddings; use the tokenizer of "
            "the model",
            model->files.dir, (int)m->mask, m->vocab);
    m->kind = aoei_malloc_array(m->vocab, sizeof *m->kind);
    m->ordinary = aoei_malloc_array(m->vocab, sizeof *m->ordinary);
    m->words = aoei_malloc_array(longest, sizeof *m->words);
    if (!m->kind || !m->ordinary || !m->words) {
        aoei_masking_destroy(m);
        return aoei_fail_nomem(err, m->vocab * sizeof *m->ordinary);
    }
    aoei_tokenizer_kinds(model->tokenizer, m->kind, m->vocab);
    for (size_t i = 0; i < m->vocab; i++)
        if (m->kind[i] == AOEI_TOKEN_WORD || m->kind[i] == AOEI_TOKEN_CONTINUATION)
            m->ordinary[m->n_ordinary++] = (int32_t)i;
    if (m->n_ordinary)
        return AOE_OK;
    aoei_masking_destroy(m);
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the tokenizer contains only special tokens; use a tokenizer with a vocabulary",
                     model->files.dir);
}

void aoei_masking_destroy(aoei_masking *m) {
    aoei_free(m->kind);
    aoei_free(m->ordinary);
    aoei_free(m->words);
    memset(m, 0, sizeof *m);
}

static int is_maskable(const aoei_masking *m, int32_t id) {
    return m->kind[id] == AOEI_TOKEN_WORD || m->kind[id] == AOEI_TOKEN_CONTINUATION;
}

size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (size_t)is_maskable(m, ids[i]);
    return count;
}

/* Returns the end of the word that begins at `start`: the index after its last token. */
static size_t word_end(const aoei_masking *m, const int32_t *ids, size_t n, size_t start) {
    size_t end = start + 1;
    while (end < n && m->kind[ids[end]] == AOEI_TOKEN_CONTINUATION)
        end++;
    return end;
}

/* Returns the token id that replaces a selected token `id`: [MASK] with probability 0.8, a random word token with
 * probability 0.1, or `id` itself. */
static int32_t replacement(const aoei_masking *m, aoei_rng *rng, int32_t id) {
    const double u = aoei_rng_uniform(rng);
    if (u < 0.8)
        return m->mask;
    return u < 0.9 ? m->ordinary[aoei_rng_below(rng, (uint32_t)m->n_ordinary)] : id;
}

size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index,
                          int32_t *target) {
    size_t n_words = 0, maskable = 0, n_selected = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (is_maskable(m, ids[i])) {
            if (m->kind[ids[i]] == AOEI_TOKEN_WORD || i == 0 || !is_maskable(m, ids[i - 1]))
                m->words[n_words++] = i;
            maskable++;
        }
    if (maskable == 0)
        return 0;
    const double target_count = nearbyint(m->rate * (double)maskable);
    const size_t budget = target_count < 1 ? 1 : (size_t)target_count;
    aoei_rng_shuffle(rng, m->words, n_words);
    memset(target, 0, n * sizeof *target); /* until the last loop, target[i] is 1 if token i is selected */
    for (size_t w = 0; w < n_words && n_selected < budget; w++) {
        const size_t end = word_end(m, ids, n, m->words[w]);
        if (n_selected + (end - m->words[w]) > budget)
            continue;
        for (size_t i = m->words[w]; i < end; i++)
            target[i] = 1;
        n_selected += end - m->words[w];
    }
    for (size_t i = 0; i < n; i++)
        if (target[i]) {
            index[count] = (uint32_t)i;
            target[count++] = ids[i];
            ids[i] = replacement(m, rng, ids[i]);
        }
    return count;
}
