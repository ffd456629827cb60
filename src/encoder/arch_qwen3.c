/* SPDX-License-Identifier: MIT
 * Qwen3 (Yang et al. 2025; modeling_qwen3.py of the library transformers), the architecture of Qwen3-Embedding. It
 * differs from Qwen2 in these points:
 * - RMSNorm of each head of the queries and keys precedes the rotary positions.
 * - The number of components per head is 128 by default, whatever the hidden size is.
 * - Linear layers have no biases, unless attention_bias is true.
 */
#include "encoder/arch.h"

#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/arch_llama.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "model.", NULL};

#define HEAD_DIM 128 /* default of head_dim */

static void defaults_qwen3(aoei_encoder_config *c) {
    aoei_llama_defaults(c);
    c->positions = 32768;
    c->qk_norm = AOEI_QK_HEADS;
}

static int read_qwen3(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int attention = 0, rc;
    if ((rc = aoei_llama_read_qwen2(c, config, file, err)) ||
        (rc = aoei_json_bool(config, "attention_bias", &attention, file, err)))
        return rc;
    c->no_qkv_bias = c->no_output_bias = !attention;
    aoei_llama_default_head_dim(c, config, HEAD_DIM);
    return 0;
}

static int write_qwen3(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_llama_write_qwen2(c, config);
    return rc ? rc : aoei_keys_add(config, json_pack("{s:b}", "attention_bias", !c->no_qkv_bias));
}

static const aoei_classification_head head = {.class_name = "Qwen3ForSequenceClassification", AOEI_CAUSAL_HEAD_MODULES};

const aoei_arch aoei_arch_qwen3 = {
    .model_type = "qwen3",
    .class_name = "Qwen3Model",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_qwen3,
    .read = read_qwen3,
    .check = aoei_transformer_check,
    .write = write_qwen3,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = aoei_llama_name,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_llama_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_TOKEN,
    .supports_adapters = 1,
};
