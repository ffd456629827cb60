/* SPDX-License-Identifier: MIT
 * BERT (Devlin et al. 2019): the keys of its config.json and the names of its tensors. BERT has learned absolute
 * position embeddings, token type embeddings, LayerNorm after each residual sum, and GELU (exact or tanh
 * approximation). If config.json requests a variant that is not supported, aoei_bert_read fails, and the message names
 * the key. RoBERTa (arch_roberta.c) has these keys too; its tensor names differ only in the masked-LM head.
 */
#include "encoder/arch_bert.h"

#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "bert.", NULL};

void aoei_bert_defaults(aoei_encoder_config *c) {
    c->token_types = 2;
    c->activation = AOEI_GELU;
    c->norm_eps = 1e-12;
    c->hidden_dropout = c->attention_dropout = 0.1;
}

int aoei_bert_read_sizes(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc = aoei_key_activation(c, config, file, err);
    if (rc)
        return rc;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = aoei_json_need_size(config, "intermediate_size", &c->intermediate, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_need_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_size(config, "type_vocab_size", &c->token_types, file, err)))
        return rc;
    if ((rc = aoei_json_double(config, "layer_norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "hidden_dropout_prob", &c->hidden_dropout, file, err)))
        return rc;
    return aoei_json_double(config, "attention_probs_dropout_prob", &c->attention_dropout, file, err);
}

int aoei_bert_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const int rc = aoei_key_reject_true(config, "is_decoder",
                                        "only encoders with bidirectional attention are supported", file, err);
    return rc ? rc : aoei_bert_read_causal(c, config, file, err);
}

int aoei_bert_read_causal(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const char cross[] = "only encoders without cross attention are supported";
    int rc;
    if ((rc = aoei_key_must_be(config, "position_embedding_type", "absolute", file, err)) ||
        (rc = aoei_key_must_be(config, "feed_forward_type", "original", file, err)) ||
        (rc = aoei_json_bool(config, "is_decoder", &c->causal, file, err)) ||
        (rc = aoei_key_reject_true(config, "add_cross_attention", cross, file, err)))
        return rc;
    c->bidirectional_from = c->causal ? AOEI_NO_LAYER : 0;
    return aoei_bert_read_sizes(c, config, file, err);
}

int aoei_bert_write(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:s, s:f, s:f, s:f, s:s}", "model_type",
        c->arch->model_type, "hidden_size", (json_int_t)c->hidden, "num_attention_heads", (json_int_t)c->heads,
        "intermediate_size", (json_int_t)c->intermediate, "num_hidden_layers", (json_int_t)c->layers, "vocab_size",
        (json_int_t)c->vocab, "max_position_embeddings", (json_int_t)c->positions, "type_vocab_size",
        (json_int_t)c->token_types, "layer_norm_eps", c->norm_eps, "pad_token_id",
        (json_int_t)(c->position_offset ? c->position_offset - 1 : 0), "hidden_act",
        aoei_activation_name(c->activation), "hidden_dropout_prob", c->hidden_dropout, "attention_probs_dropout_prob",
        c->attention_dropout, "initializer_range", 0.02, "position_embedding_type", "absolute");
    const int rc = aoei_keys_add(config, keys);
    return rc || !c->causal ? rc : aoei_keys_add(config, json_pack("{s:b}", "is_decoder", 1));
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embeddings.word_embeddings.weight",
    [AOEI_W_POSITION] = "embeddings.position_embeddings.weight",
    [AOEI_W_TOKEN_TYPE] = "embeddings.token_type_embeddings.weight",
    [AOEI_W_EMBED_NORM] = "embeddings.LayerNorm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embeddings.LayerNorm.bias",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attention.self.query.weight",
    [AOEI_LW_Q_BIAS] = "attention.self.query.bias",
    [AOEI_LW_K] = "attention.self.key.weight",
    [AOEI_LW_K_BIAS] = "attention.self.key.bias",
    [AOEI_LW_V] = "attention.self.value.weight",
    [AOEI_LW_V_BIAS] = "attention.self.value.bias",
    [AOEI_LW_O] = "attention.output.dense.weight",
    [AOEI_LW_O_BIAS] = "attention.output.dense.bias",
    [AOEI_LW_NORM1] = "attention.output.LayerNorm.weight",
    [AOEI_LW_NORM1_BIAS] = "attention.output.LayerNorm.bias",
    [AOEI_LW_UP] = "intermediate.dense.weight",
    [AOEI_LW_UP_BIAS] = "intermediate.dense.bias",
    [AOEI_LW_DOWN] = "output.dense.weight",
    [AOEI_LW_DOWN_BIAS] = "output.dense.bias",
    [AOEI_LW_NORM2] = "output.LayerNorm.weight",
    [AOEI_LW_NORM2_BIAS] = "output.LayerNorm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "cls.predictions.transform.dense.weight",
    [AOEI_HW_TRANSFORM_BIAS] = "cls.predictions.transform.dense.bias",
    [AOEI_HW_NORM] = "cls.predictions.transform.LayerNorm.weight",
    [AOEI_HW_NORM_BIAS] = "cls.predictions.transform.LayerNorm.bias",
    [AOEI_HW_DECODER_BIAS] = "cls.predictions.bias",
};

void aoei_bert_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const char *const *names = group == AOEI_GROUP_LAYER  ? layer_names
                               : group == AOEI_GROUP_HEAD ? head_names
                                                          : outer_names;
    aoei_slot_name(out, size, group == AOEI_GROUP_LAYER ? "encoder.layer." : NULL, layer, names[kind]);
}

size_t aoei_bert_max_length(const aoei_encoder_config *c) {
    return c->positions - c->position_offset;
}

static const aoei_classification_head head = {
    .class_name = "BertForSequenceClassification", .prefix = "bert.", AOEI_BERT_HEAD_MODULES};

const aoei_arch aoei_arch_bert = {
    .model_type = "bert",
    .class_name = "BertModel",
    .mlm_class_name = "BertForMaskedLM",
    .mlm_prefix = "bert.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = aoei_bert_defaults,
    .read = aoei_bert_read_causal,
    .check = aoei_transformer_check,
    .write = aoei_bert_write,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = aoei_bert_name,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
