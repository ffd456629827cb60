/* SPDX-License-Identifier: MIT
 * DistilBERT (Sanh et al. 2019). It is BERT without token types and with other keys in config.json. The epsilon of the
 * norms is always 1e-12. If sinusoidal_pos_embds is true, the position table contains sines and cosines; it is stored
 * and trained like a learned table.
 */
#include "encoder/arch.h"

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "distilbert.", NULL};

/* Sets the defaults of DistilBertConfig in transformers. */
static void defaults_distilbert(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->token_types = 0;
    c->hidden = 768;
    c->layers = 6;
    c->heads = 12;
    c->intermediate = 3072;
    c->vocab = 30522;
    c->positions = 512;
}

static int read_distilbert(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_key_activation_of(c, config, "activation", file, err)) ||
        (rc = aoei_json_size(config, "dim", &c->hidden, file, err)) ||
        (rc = aoei_json_size(config, "n_layers", &c->layers, file, err)) ||
        (rc = aoei_json_size(config, "n_heads", &c->heads, file, err)) ||
        (rc = aoei_json_size(config, "hidden_dim", &c->intermediate, file, err)) ||
        (rc = aoei_json_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_key_dropout(config, "dropout", &c->hidden_dropout, file, err)) ||
        (rc = aoei_key_dropout(config, "attention_dropout", &c->attention_dropout, file, err)))
        return rc;
    if (!c->hidden || !c->intermediate)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is 0; it must be at least 1", file,
                         c->hidden ? "hidden_dim" : "dim");
    return 0;
}

static int write_distilbert(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:b, s:I}", "model_type",
                             c->arch->model_type, "dim", (json_int_t)c->hidden, "n_layers", (json_int_t)c->layers,
                             "n_heads", (json_int_t)c->heads, "hidden_dim", (json_int_t)c->intermediate, "vocab_size",
                             (json_int_t)c->vocab, "max_position_embeddings", (json_int_t)c->positions, "activation",
                             aoei_activation_name(c->activation), "dropout", c->hidden_dropout, "attention_dropout",
                             c->attention_dropout, "initializer_range", 0.02, "sinusoidal_pos_embds", 0, "pad_token_id",
                             (json_int_t)0);
    return aoei_keys_add(config, keys);
}

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attention.q_lin.weight",
    [AOEI_LW_Q_BIAS] = "attention.q_lin.bias",
    [AOEI_LW_K] = "attention.k_lin.weight",
    [AOEI_LW_K_BIAS] = "attention.k_lin.bias",
    [AOEI_LW_V] = "attention.v_lin.weight",
    [AOEI_LW_V_BIAS] = "attention.v_lin.bias",
    [AOEI_LW_O] = "attention.out_lin.weight",
    [AOEI_LW_O_BIAS] = "attention.out_lin.bias",
    [AOEI_LW_NORM1] = "sa_layer_norm.weight",
    [AOEI_LW_NORM1_BIAS] = "sa_layer_norm.bias",
    [AOEI_LW_UP] = "ffn.lin1.weight",
    [AOEI_LW_UP_BIAS] = "ffn.lin1.bias",
    [AOEI_LW_DOWN] = "ffn.lin2.weight",
    [AOEI_LW_DOWN_BIAS] = "ffn.lin2.bias",
    [AOEI_LW_NORM2] = "output_layer_norm.weight",
    [AOEI_LW_NORM2_BIAS] = "output_layer_norm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "vocab_transform.weight",  [AOEI_HW_TRANSFORM_BIAS] = "vocab_transform.bias",
    [AOEI_HW_NORM] = "vocab_layer_norm.weight",      [AOEI_HW_NORM_BIAS] = "vocab_layer_norm.bias",
    [AOEI_HW_DECODER_BIAS] = "vocab_projector.bias",
};

static void name_distilbert(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "transformer.layer.", layer, layer_names[kind]);
    else if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0, head_names[kind]);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_classification_head head = {
    .class_name = "DistilBertForSequenceClassification",
    .prefix = "distilbert.",
    .pooling = AOE_POOLING_CLS,
    .n = 3,
    .module = {{.kind = AOEI_MODULE_DENSE, .name = "pre_classifier", .activation = AOEI_DENSE_RELU},
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = "seq_classif_dropout", .dropout = 0.2},
               {.kind = AOEI_MODULE_DENSE, .name = "classifier"}}};

const aoei_arch aoei_arch_distilbert = {
    .model_type = "distilbert",
    .class_name = "DistilBertModel",
    .mlm_class_name = "DistilBertForMaskedLM",
    .mlm_prefix = "distilbert.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_distilbert,
    .read = read_distilbert,
    .check = aoei_transformer_check,
    .write = write_distilbert,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_distilbert,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
