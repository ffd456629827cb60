/* SPDX-License-Identifier: MIT
 * RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020). They differ from
 * BERT in three points:
 * - Positions start at the padding id + 1, so the first rows of the position table are unused.
 * - Most models have only one token type.
 * - The tensors of the masked-LM head have other names, and its activation is exact GELU, whatever hidden_act is.
 */
#include "encoder/arch.h"

#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "roberta.", "camembert.", "xlm-roberta.", NULL};

#define PAD_ID 1 /* default of pad_token_id; all published models use this value */

static void defaults_roberta(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->position_offset = PAD_ID + 1;
    c->token_types = 1;
    c->norm_eps = 1e-5;
    c->mlm_activation = AOEI_GELU;
}

static int read_roberta(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t pad = PAD_ID;
    int rc;
    c->token_types = 2; /* defaults of RobertaConfig in transformers */
    c->norm_eps = 1e-12;
    if ((rc = aoei_bert_read_causal(c, config, file, err)) ||
        (rc = aoei_json_size(config, "pad_token_id", &pad, file, err)))
        return rc;
    c->position_offset = pad + 1;
    return 0;
}

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "lm_head.dense.weight", [AOEI_HW_TRANSFORM_BIAS] = "lm_head.dense.bias",
    [AOEI_HW_NORM] = "lm_head.layer_norm.weight", [AOEI_HW_NORM_BIAS] = "lm_head.layer_norm.bias",
    [AOEI_HW_DECODER_BIAS] = "lm_head.bias",
};

static void name_roberta(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0, head_names[kind]);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_classification_head head_roberta = {.class_name = "RobertaForSequenceClassification",
                                                      .prefix = "roberta.",
                                                      AOEI_ROBERTA_HEAD_MODULES(AOEI_DENSE_TANH, "classifier_dropout")};
static const aoei_classification_head head_camembert = {
    .class_name = "CamembertForSequenceClassification",
    .prefix = "roberta.",
    AOEI_ROBERTA_HEAD_MODULES(AOEI_DENSE_TANH, "classifier_dropout")};
static const aoei_classification_head head_xlm_roberta = {
    .class_name = "XLMRobertaForSequenceClassification",
    .prefix = "roberta.",
    AOEI_ROBERTA_HEAD_MODULES(AOEI_DENSE_TANH, "classifier_dropout")};

#define ROBERTA                                                                                                        \
    .mlm_prefix = "roberta.", .prefixes = prefixes, .defaults = defaults_roberta, .read = read_roberta,                \
    .check = aoei_transformer_check, .write = aoei_bert_write, .set_shape = aoei_transformer_set_shape,                \
    .print_sizes = aoei_transformer_print_sizes, .name = name_roberta, .encoder = &aoei_transformer_ops,               \
    .max_length = aoei_bert_max_length, .poolings = AOEI_TRANSFORMER_POOLINGS,                                         \
    .default_pooling = AOE_POOLING_LAST_AVG, .supports_adapters = 1

const aoei_arch aoei_arch_roberta = {.model_type = "roberta",
                                     .class_name = "RobertaModel",
                                     .mlm_class_name = "RobertaForMaskedLM",
                                     .head = &head_roberta,
                                     ROBERTA};
const aoei_arch aoei_arch_camembert = {.model_type = "camembert",
                                       .class_name = "CamembertModel",
                                       .mlm_class_name = "CamembertForMaskedLM",
                                       .head = &head_camembert,
                                       ROBERTA};
const aoei_arch aoei_arch_xlm_roberta = {.model_type = "xlm-roberta",
                                         .class_name = "XLMRobertaModel",
                                         .mlm_class_name = "XLMRobertaForMaskedLM",
                                         .head = &head_xlm_roberta,
                                         ROBERTA};
