/* SPDX-License-Identifier: MIT
 * Models that consist of the word embeddings of another model.
 */
#include "model/word_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_words.h"
#include "encoder/slots.h"
#include "encoder/token_pooling.h"

/* Removes the settings that depend on the removed parts of the model. A prompt with a mask token is a template for mask
 * pooling, so it is removed as well, unless keep_prompt is 1: the caller has chosen the prompt. */
static void reset_settings(aoei_settings *s, aoe_pooling pooling, int keep_prompt) {
    if (!keep_prompt && (strstr(s->prompt, "[MASK]") || strstr(s->prompt, "<mask>")))
        *s->prompt = 0;
    json_decref(s->modules);
    aoei_free(s->layer_pooling);
    aoei_free(s->token_module_folder);
    s->modules = NULL;
    s->layer_pooling = s->token_module_folder = NULL;
    s->token_module = AOEI_TOKEN_MODULE_NONE;
    s->pooling = pooling;
    s->pooling_from = "method";
    s->normalize = s->bidirectional = s->exclude_prompt = s->subtract_empty_prompt = 0;
    s->truncate_dim = 0;
    s->similarity = AOE_SIMILARITY_COSINE;
}

int aoei_word_table_select(aoe_model *m, aoe_pooling pooling, int keep_prompt, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    if (m->config.arch == &aoei_arch_words)
        return AOE_OK;
    if (m->config.lora.r || m->config.modules.classes)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the word embeddings of %s cannot be used; give an embedding model without adapters",
                         m->files.dir, m->config.modules.classes ? "a cross-encoder" : "a model with adapters");
    const aoei_encoder_config words = {.arch = &aoei_arch_words,
                                       .hidden = aoei_embed_width(&m->config),
                                       .vocab = m->config.vocab,
                                       .no_embed_norm = 1,
                                       .frozen_words = 1,
                                       .modules = {.pooled_parts = aoei_pooling_parts(pooling)}};
    json_t *config = json_object();
    if (!config || aoei_arch_words.write(&words, config)) {
        json_decref(config);
        return aoei_fail_nomem(err, 0);
    }
    json_decref(m->files.config_json);
    m->files.config_json = config;
    json_decref(m->files.record);
    m->files.record = NULL;
    for (size_t i = 0; i < n && m->files.tensors; i++)
        if (i != AOEI_W_WORD)
            m->files.tensors[i] = NULL;
    m->config = words;
    reset_settings(&m->settings, pooling, keep_prompt);
    aoei_model_describe_modules(m);
    return AOE_OK;
}
