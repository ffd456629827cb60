/* SPDX-License-Identifier: MIT
 * Fills batches with texts in templates and with empty templates.
 */
#include "train/template_batch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "encoder/arch.h"

/* The dropout masks of a reference depend on its template and its n, but not on its batch. */
#define REFERENCE_INDEX(k, n) ((uint32_t)1 << 31 | (uint32_t)(k) << 24 | (uint32_t)(n))

int aoei_templates_create(aoei_templates *t, const aoe_model *m, const char *second, size_t longest, aoe_error *err) {
    const char *const prompts[AOEI_MAX_TEMPLATES] = {m->settings.prompt, second};
    const size_t count = second ? 2 : 1;
    size_t most = 0, largest = 0; /* number of tokens and index of the longest template */
    int code = AOE_OK;
    *t = (aoei_templates){.count = count};
    for (size_t k = 0; k < count && !code; k++) {
        code = aoei_empty_prompt_create(&t->empty[k], m, prompts[k], err);
        if (t->empty[k].n > most) {
            most = t->empty[k].n;
            largest = k;
        }
    }
    if (code)
        return code;
    t->longest = longest > t->empty[0].n ? longest - t->empty[0].n : 0;
    if (t->longest + most > m->config.arch->max_length(&m->config))
        return aoei_fail(
            err, AOE_EARG,
            "a text in the template '%s' can have %zu tokens, but the maximum length of the model is %zu tokens; "
            "lower options.max_length",
            prompts[largest], t->longest + most, m->config.arch->max_length(&m->config));
    t->row = aoei_malloc_array(count * (t->longest + 1), sizeof *t->row);
    t->text = aoei_malloc_array(t->longest + most, sizeof *t->text);
    return t->row && t->text ? AOE_OK : aoei_fail_nomem(err, t->longest * sizeof *t->row);
}

void aoei_templates_destroy(aoei_templates *t) {
    for (size_t k = 0; k < AOEI_MAX_TEMPLATES; k++)
        aoei_empty_prompt_destroy(&t->empty[k]);
    aoei_free(t->row);
    aoei_free(t->text);
    *t = (aoei_templates){.longest = 0};
}

size_t aoei_templates_references(const aoei_templates *t, size_t n) {
    return t->count * (n < t->longest + 1 ? n : t->longest + 1);
}

size_t aoei_templates_tokens(const aoei_templates *t, size_t n, size_t tokens) {
    const size_t per_template = aoei_templates_references(t, n) / t->count;
    for (size_t k = 0; k < t->count; k++)
        tokens +=
            per_template * t->empty[k].n + (t->empty[k].n > t->empty[0].n ? n * (t->empty[k].n - t->empty[0].n) : 0);
    return tokens;
}

void aoei_templates_measure(const aoei_templates *t, size_t n, size_t *references, size_t *tokens, size_t *longest) {
    const size_t first = t->empty[0].n, last = t->empty[t->count - 1].n;
    *references = aoei_templates_references(t, n);
    *tokens = aoei_templates_tokens(t, n, *tokens);
    *longest += last > first ? last - first : 0;
}

int aoei_templates_check(const aoei_templates *t, const aoei_dataset *d, const char *path, aoe_error *err) {
    for (size_t i = 0; i < d->tokens.n; i++)
        if (!aoei_empty_prompt_matches(&t->empty[0], d->tokens.ids + d->tokens.offsets[i],
                                       aoei_token_count(&d->tokens, i)))
            return aoei_fail(
                err, AOE_EARG,
                "%s: the tokenizer joins characters of text %zu and of the template to one token, so the template "
                "cannot be separated from the text; choose templates with spaces around {text}",
                path, i + 1);
    return AOE_OK;
}

/* Adds the text x[n] in template k. */
static void add_text(aoei_templates *t, aoei_batch_buffer *b, size_t k, const int32_t *x, size_t n,
                     uint32_t text_index) {
    const aoei_empty_prompt *p = &t->empty[k];
    memcpy(t->text, p->ids, p->before * sizeof *t->text);
    memcpy(t->text + p->before, x, n * sizeof *t->text);
    memcpy(t->text + p->before + n, p->ids + p->before, (p->n - p->before) * sizeof *t->text);
    aoei_batch_add(b, t->text, p->n + n, text_index);
}

size_t aoei_templates_fill(aoei_templates *t, aoei_batch_buffer *b, uint32_t *reference, const aoei_dataset *d,
                           const size_t *texts, size_t n, size_t first) {
    const size_t lengths = t->longest + 1, n_texts = t->count * n;
    size_t references = 0;
    memset(t->row, 0, t->count * lengths * sizeof *t->row);
    aoei_batch_clear(b);
    for (size_t i = 0; i < n; i++) {
        const size_t length = aoei_token_count(&d->tokens, texts[i]) - t->empty[0].n;
        for (size_t k = 0; k < t->count; k++) {
            uint32_t *row = &t->row[k * lengths + length];
            add_text(t, b, k, d->tokens.ids + d->tokens.offsets[texts[i]] + t->empty[0].before, length,
                     (uint32_t)(first + t->count * i + k));
            if (!*row)
                *row = (uint32_t)(n_texts + references++);
            reference[t->count * i + k] = *row;
        }
    }
    /* the references in the order of their rows, which is the order in which they occur first */
    size_t next = n_texts;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->count; k++) {
            if (reference[t->count * i + k] != next)
                continue;
            const size_t length = aoei_token_count(&d->tokens, texts[i]) - t->empty[0].n;
            next++;
            aoei_empty_prompt_add(&t->empty[k], b, length, REFERENCE_INDEX(k, length));
        }
    return references;
}
