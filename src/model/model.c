/* SPDX-License-Identifier: MIT
 * Implements aoe_model_close and the functions that return properties of an open model.
 */
#include "model/model.h"

#include <stdio.h>

#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/struct_layout.h"
#include "modeldir/cross_encoder.h"
#include "nn/dtype.h"

void aoe_model_close(aoe_model *m) {
    if (!m)
        return;
    if (!m->base)
        aoe_tokenizer_close(m->tokenizer);
    aoei_settings_free(&m->settings);
    aoei_aligned_free(m->memory.packed);
    if (m->later) {
        aoei_aligned_free(m->later->packed);
        aoei_free(m->later->weights);
        aoei_free(m->later);
    }
    aoei_aligned_free(m->memory.converted);
    aoei_aligned_free(m->memory.generated);
    aoei_free(m->memory.head);
    for (size_t i = 0; i < AOEI_MAX_ADDED; i++)
        aoei_aligned_free(m->memory.added[i]);
    aoei_model_files_close(&m->files);
    aoei_free(m->weights);
    aoei_free(m->lora_targets);
    aoei_free(m);
}

void aoei_model_describe_modules(aoe_model *m) {
    static const char *const functions[] = {"linear", "tanh", "relu", "sigmoid", "gelu", "silu"};
    static const char *const kinds[] = {"dense", "layer norm", "dropout", "normalize", "flow", "batch norm"};
    size_t at = 0;
    *m->modules_text = 0;
    if (aoei_has_token_module(&m->config))
        at = (size_t)snprintf(m->modules_text, sizeof m->modules_text, "%s before the pooling",
                              m->config.modules.n_kernels ? "convolutions" : "LSTM");
    for (size_t i = 0; i < m->config.modules.n && at < sizeof m->modules_text; i++) {
        const aoei_module *module = &m->config.modules.list[i];
        const int is_dense = module->kind == AOEI_MODULE_DENSE;
        at += (size_t)snprintf(m->modules_text + at, sizeof m->modules_text - at, "%s%s%s%s%s%s", at ? ", " : "",
                               kinds[module->kind], is_dense ? " (" : "", is_dense ? functions[module->activation] : "",
                               is_dense ? ")" : "", module->residual != AOEI_RESIDUAL_NONE ? " with residual" : "");
    }
    if (m->settings.subtract_empty_prompt && at < sizeof m->modules_text)
        snprintf(m->modules_text + at, sizeof m->modules_text - at, "%sminus the empty prompt", at ? ", " : "");
}

const char *aoei_model_computed(const aoe_model *m) {
    const int bf16 = m->type == AOEI_BF16;
    return m->dtype == AOE_DTYPE_INT8 ? (bf16 ? "int8 and bf16" : "int8 and f32") : (bf16 ? "bf16" : "f32");
}

void aoe_model_get_info(const aoe_model *m, aoe_model_info *info) {
    if (!m || !info)
        return;
    const aoei_encoder_config *c = &m->config;
    const aoe_model_info full = {
        .struct_size = sizeof full,
        .architecture = c->arch->model_type,
        .hidden = c->hidden,
        .layers = c->layers,
        .heads = c->heads,
        .intermediate = c->intermediate,
        .vocab = c->vocab,
        .positions = c->positions,
        .token_types = c->token_types,
        .parameters = aoei_base_count(c),
        .dims = aoe_model_dims(m),
        .modules = *m->modules_text ? m->modules_text : NULL,
        .pooling = m->settings.pooling,
        .pooling_from = m->settings.pooling_from,
        .max_length = m->settings.max_length,
        .max_length_from = m->settings.max_length_from,
        .longest = c->arch->max_length(c),
        .prompt = m->settings.prompt,
        .normalize = m->settings.normalize,
        .dtype = aoei_dtype_in_use(m->dtype, m->type),
        .computed = aoei_model_computed(m),
        .tier = aoei_tier_name(m->ctx->tier),
        .storage = m->files.storage,
        .tokenizer = m->tokenizer ? aoe_tokenizer_kind(m->tokenizer) : NULL,
        .dropout = c->hidden_dropout,
        .kv_heads = aoei_kv_heads(c),
        .causal = c->causal,
        .bidirectional_from = !c->causal                          ? 0
                              : c->bidirectional_from < c->layers ? c->bidirectional_from
                                                                  : c->layers,
        .head_size = c->ran.head_size,
        .window = c->ran.window,
        .min_window = c->ran.min_window,
        .base = m->files.base_dir,
        .lora_r = m->lora.r,
        .lora_alpha = m->lora.alpha,
        .lora_dropout = m->lora.dropout,
        .lora_targets = m->lora_targets ? m->lora_targets : "",
        .similarity = aoei_similarity_name(m->settings.similarity),
        .chat_template = m->settings.chat != NULL,
    };
    aoei_struct_write(info, &full, &aoei_layout_aoe_model_info);
}

const char *aoe_model_prompt(const aoe_model *m, const char *name) {
    if (!m || !name)
        return NULL;
    return aoei_prompt_find(m->settings.prompts, name);
}

const char *aoe_model_prompt_name(const aoe_model *m, size_t i) {
    const char *name;
    const json_t *value;
    if (m)
        json_object_foreach(m->settings.prompts, name, value) {
            if (i-- == 0)
                return name;
        }
    return NULL;
}

aoe_context *aoe_model_context(const aoe_model *m) {
    return m ? m->ctx : NULL;
}

size_t aoe_model_dims(const aoe_model *m) {
    if (!m)
        return 0;
    return m->dims ? m->dims : aoei_settings_dims(&m->settings, aoei_vector_dims(&m->config));
}

int aoe_model_is_cross_encoder(const aoe_model *m) {
    return m && m->has_head;
}

size_t aoe_model_classes(const aoe_model *m) {
    return m ? m->config.modules.classes : 0;
}

aoe_score_activation aoe_model_activation(const aoe_model *m) {
    return m ? m->settings.activation : AOE_SCORE_LOGIT;
}

const char *aoe_model_class_name(const aoe_model *m, size_t i) {
    return m && i < m->config.modules.classes ? aoei_head_class_name(m->files.config_json, i) : NULL;
}

const char *aoe_score_activation_name(aoe_score_activation a) {
    static const char *const names[] = {"logit", "sigmoid", "softmax", "tanh"};
    return a >= AOE_SCORE_LOGIT && a <= AOE_SCORE_TANH ? names[a] : NULL;
}

const aoe_tokenizer *aoe_model_tokenizer(const aoe_model *m) {
    if (!m)
        return NULL;
    return m->tokenizer;
}
