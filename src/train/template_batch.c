/* SPDX-License-Identifier: MIT
 * Fills batches with texts in two templates and with empty templates.
 */
#include "train/template_batch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "encoder/arch.h"
#include "modeldir/settings.h"
#include "tokenizer/tokenizer.h"

/* The dropout masks of a reference depend on its template and its n, but not on its batch. */
#define REFERENCE_INDEX(k, n) ((uint32_t)1 << 31 | (uint32_t)(k) << 24 | (uint32_t)(n))

/* Tokenizes one template with a text of one word, which is then removed. */
static int read_template(aoei_templates *t, size_t k, const aoe_model *m, const char *prompt, aoe_error *err) {
    aoe_encode_options o;
    aoe_ids ids = {0};
    size_t before = 0, after = 0, masks = 0;
    if (!prompt || !strstr(prompt, AOEI_PLACEHOLDER))
        return aoei_fail(err, AOE_EARG, "the template '%s' contains no {text}; add it", prompt ? prompt : "");
    aoe_encode_options_defaults(&o);
    o.prompt = prompt;
    o.lowercase = m->settings.lowercase;
    int code = aoei_tokenizer_encode_marked(m->tokenizer, aoe_text_of("a"), &o, &ids, &before, &after, err);
    if (code)
        return code;
    t->n[k] = before + after;
    t->before[k] = before;
    t->ids[k] = aoei_malloc_array(before + after + 1, sizeof **t->ids);
    if (t->ids[k]) {
        memcpy(t->ids[k], ids.id, before * sizeof **t->ids);
        memcpy(t->ids[k] + before, ids.id + ids.n - after, after * sizeof **t->ids);
        for (size_t i = 0; i < t->n[k]; i++)
            masks += t->ids[k][i] == m->config.mask_id;
    } else {
        code = aoei_fail_nomem(err, before + after);
    }
    aoe_ids_free(&ids);
    if (!code && masks != 1)
        code =
            aoei_fail(err, AOE_EARG,
                      "the template '%s' contains the mask token of the tokenizer %zu times; write it once, as [MASK] or, for "
                      "models such as RoBERTa, as <mask>",
                      prompt, masks);
    return code;
}

int aoei_templates_create(aoei_templates *t, const aoe_model *m, const char *second, size_t longest, aoe_error *err) {
    *t = (aoei_templates){.longest = 0};
    if (m->settings.pooling != AOE_POOLING_MASK)
        return aoei_fail(
            err, AOE_EARG,
            "the vector of a text in a template is the state of [MASK], but the pooling is %s; set options.pooling to "
            "mask",
            aoe_pooling_name(m->settings.pooling));
    int code = read_template(t, 0, m, m->settings.prompt, err);
    if (!code)
        code = read_template(t, 1, m, second, err);
    if (code)
        return code;
    t->longest = longest > t->n[0] ? longest - t->n[0] : 0;
    if (t->longest + t->n[1] > m->config.arch->max_length(&m->config))
        return aoei_fail(err, AOE_EARG,
                         "a text in the template '%s' can have %zu tokens, but the model has only %zu positions; "
                         "lower the maximum sequence length",
                         second, t->longest + t->n[1], m->config.positions);
    const size_t most = t->n[0] > t->n[1] ? t->n[0] : t->n[1];
    t->row = aoei_malloc_array(AOEI_TEMPLATES * (t->longest + 1), sizeof *t->row);
    t->text = aoei_malloc_array(t->longest + most, sizeof *t->text);
    return t->row && t->text ? AOE_OK : aoei_fail_nomem(err, t->longest * sizeof *t->row);
}

void aoei_templates_destroy(aoei_templates *t) {
    for (size_t k = 0; k < AOEI_TEMPLATES; k++)
        aoei_free(t->ids[k]);
    aoei_free(t->row);
    aoei_free(t->text);
    *t = (aoei_templates){.longest = 0};
}

size_t aoei_templates_references(const aoei_templates *t, size_t n) {
    return AOEI_TEMPLATES * (n < t->longest + 1 ? n : t->longest + 1);
}

size_t aoei_templates_tokens(const aoei_templates *t, size_t n, size_t tokens) {
    const size_t more = t->n[1] > t->n[0] ? n * (t->n[1] - t->n[0]) : 0;
    return tokens + more + aoei_templates_references(t, n) / AOEI_TEMPLATES * (t->n[0] + t->n[1]);
}

int aoei_templates_check(const aoei_templates *t, const aoei_dataset *d, const char *path, aoe_error *err) {
    const size_t before = t->before[0], after = t->n[0] - before;
    for (size_t i = 0; i < d->tokens.n; i++) {
        const int32_t *ids = d->tokens.ids + d->tokens.offsets[i];
        const size_t n = aoei_token_count(&d->tokens, i);
        if (n < t->n[0] || memcmp(ids, t->ids[0], before * sizeof *ids) != 0 ||
            memcmp(ids + n - after, t->ids[0] + before, after * sizeof *ids) != 0)
            return aoei_fail(err, AOE_EARG,
                             "%s: the tokenizer joins characters of text %zu and of the template to one token, so the template "
                             "cannot be separated from the text; choose templates with spaces around {text}",
                             path, i + 1);
    }
    return AOE_OK;
}

/* Adds the text x[n] in template k. */
static void add_text(aoei_templates *t, aoei_batch_buffer *b, size_t k, const int32_t *x, size_t n, uint32_t text_index) {
    const size_t before = t->before[k];
    memcpy(t->text, t->ids[k], before * sizeof *t->text);
    memcpy(t->text + before, x, n * sizeof *t->text);
    memcpy(t->text + before + n, t->ids[k] + before, (t->n[k] - before) * sizeof *t->text);
    aoei_batch_add(b, t->text, t->n[k] + n, text_index);
}

size_t aoei_templates_fill(aoei_templates *t, aoei_batch_buffer *b, uint32_t *reference, const aoei_dataset *d,
                           const size_t *texts, size_t n, size_t first) {
    const size_t lengths = t->longest + 1, n_texts = AOEI_TEMPLATES * n;
    size_t references = 0;
    memset(t->row, 0, AOEI_TEMPLATES * lengths * sizeof *t->row);
    aoei_batch_clear(b);
    for (size_t i = 0; i < n; i++) {
        const size_t length = aoei_token_count(&d->tokens, texts[i]) - t->n[0];
        for (size_t k = 0; k < AOEI_TEMPLATES; k++) {
            uint32_t *row = &t->row[k * lengths + length];
            add_text(t, b, k, d->tokens.ids + d->tokens.offsets[texts[i]] + t->before[0], length,
                     (uint32_t)(first + AOEI_TEMPLATES * i + k));
            if (!*row)
                *row = (uint32_t)(n_texts + references++);
            reference[AOEI_TEMPLATES * i + k] = *row;
        }
    }
    /* the references in the order of their rows, which is the order in which they occur first */
    size_t next = n_texts;
    for (size_t i = 0; i < n_texts; i++) {
        const size_t k = i % AOEI_TEMPLATES, length = aoei_token_count(&d->tokens, texts[i / AOEI_TEMPLATES]) - t->n[0];
        if (reference[i] != next)
            continue;
        next++;
        aoei_batch_add(b, t->ids[k], t->n[k], REFERENCE_INDEX(k, length));
        for (size_t j = b->offsets[b->batch.n_texts - 1] + t->before[k]; j < b->offsets[b->batch.n_texts]; j++)
            b->positions[j] += (uint32_t)length;
    }
    return references;
}
