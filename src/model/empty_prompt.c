/* SPDX-License-Identifier: MIT
 * Tokenizes prompt templates without a text, and adds them to batches.
 */
#include "model/empty_prompt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "tokenizer/encode.h"
#include "tokenizer/prompt.h"

/* Returns the number of mask tokens of the template. */
static size_t count_masks(const aoei_empty_prompt *p, const aoe_model *m) {
    size_t masks = 0;
    for (size_t i = 0; i < p->n; i++)
        masks += p->ids[i] == m->config.mask_id;
    return masks;
}

int aoei_empty_prompt_create(aoei_empty_prompt *p, const aoe_model *m, const char *prompt, aoe_error *err) {
    aoe_encode_options o;
    aoe_ids ids = {0};
    size_t before = 0, after = 0, masks = 0;
    *p = (aoei_empty_prompt){.n = 0};
    if (m->settings.pooling != AOE_POOLING_MASK)
        return aoei_fail(err, AOE_EARG,
                         "the vector of a text in a template is the state of [MASK], but the pooling is %s; set "
                         "options.pooling to mask",
                         aoe_pooling_name(m->settings.pooling));
    int code = aoei_template_check("the template", prompt ? prompt : "", err);
    if (code)
        return code;
    aoe_encode_options_defaults(&o);
    o.prompt = prompt;
    o.lowercase = m->settings.lowercase;
    o.chat_template = m->settings.chat != NULL;
    /* the template with a text of one word, which is then removed */
    code = aoei_tokenizer_encode_marked(m->tokenizer, aoe_text_of("a"), &o, &ids, &before, &after, err);
    if (code) {
        aoe_ids_free(&ids);
        return code;
    }
    p->ids = aoei_malloc_array(before + after + 1, sizeof *p->ids);
    if (p->ids) {
        p->n = before + after;
        p->before = before;
        memcpy(p->ids, ids.id, before * sizeof *p->ids);
        memcpy(p->ids + before, ids.id + ids.n - after, after * sizeof *p->ids);
        masks = count_masks(p, m);
    } else {
        code = aoei_fail_nomem(err, before + after);
    }
    aoe_ids_free(&ids);
    if (!code && masks != 1)
        code = aoei_fail(
            err, AOE_EARG,
            "the template '%s' contains the mask token of the tokenizer %zu times; write it once, as [MASK] or, for "
            "models such as RoBERTa, as <mask>",
            prompt, masks);
    return code;
}

void aoei_empty_prompt_destroy(aoei_empty_prompt *p) {
    aoei_free(p->ids);
    *p = (aoei_empty_prompt){.n = 0};
}

int aoei_empty_prompt_matches(const aoei_empty_prompt *p, const int32_t *ids, size_t n) {
    const size_t after = p->n - p->before;
    return n >= p->n && memcmp(ids, p->ids, p->before * sizeof *ids) == 0 &&
           memcmp(ids + n - after, p->ids + p->before, after * sizeof *ids) == 0;
}

void aoei_empty_prompt_add(const aoei_empty_prompt *p, aoei_batch_buffer *b, size_t n, uint32_t index) {
    aoei_batch_add(b, p->ids, p->n, index);
    for (size_t i = b->batch.n_tokens - p->n + p->before; i < b->batch.n_tokens; i++)
        b->positions[i] += (uint32_t)n;
}
