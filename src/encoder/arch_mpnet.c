/* SPDX-License-Identifier: MIT
 * MPNet (Song et al. 2020; modeling_mpnet.py of the library transformers). It differs from BERT in these points:
 * - A learned bias is added to every attention score. It depends on the head and on the bucket of the distance between
 *   query and key (nn/score_bias.h). All layers use the same table.
 * - There are no token types. Positions start at 2, so the first two rows of the position table are unused.
 * - Tensors have other names.
 */
#include "encoder/arch.h"

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"
#include "nn/score_bias.h"

static const char *const prefixes[] = {"", "mpnet.", NULL};

static void defaults_mpnet(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->position_offset = 2; /* transformers sets the padding index to 1, whatever pad_token_id is */
    c->token_types = 0;
    c->norm_eps = 1e-5; /* the value of microsoft/mpnet-base */
    c->score_buckets = AOEI_SCORE_BUCKETS;
    c->mlm_activation = AOEI_GELU; /* whatever hidden_act is */
}

static int read_mpnet(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t buckets = AOEI_SCORE_BUCKETS;
    int rc;
    c->norm_eps = 1e-12; /* default of MPNetConfig in transformers */
    if ((rc = aoei_bert_read(c, config, file, err)) ||
        (rc = aoei_json_size(config, "relative_attention_num_buckets", &buckets, file, err)))
        return rc;
    c->token_types = 0; /* MPNet has no token types, whatever type_vocab_size is */
    if (buckets == AOEI_SCORE_BUCKETS)
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: relative_attention_num_buckets %zu is not supported (supported: %zu)",
                     file, buckets, AOEI_SCORE_BUCKETS);
}

static int write_mpnet(const aoei_encoder_config *c, json_t *config) {
    const int code = aoei_bert_write(c, config);
    if (code)
        return code;
    json_object_del(config, "type_vocab_size");
    json_object_del(config, "position_embedding_type");
    return aoei_keys_add(config, json_pack("{s:I, s:i, s:i}", "relative_attention_num_buckets",
                                           (json_int_t)c->score_buckets, "bos_token_id", 0, "eos_token_id", 2));
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embeddings.word_embeddings.weight",
    [AOEI_W_POSITION] = "embeddings.position_embeddings.weight",
    [AOEI_W_EMBED_NORM] = "embeddings.LayerNorm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embeddings.LayerNorm.bias",
    [AOEI_W_SCORE_BIAS] = "encoder.relative_attention_bias.weight",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attention.attn.q.weight",        [AOEI_LW_Q_BIAS] = "attention.attn.q.bias",
    [AOEI_LW_K] = "attention.attn.k.weight",        [AOEI_LW_K_BIAS] = "attention.attn.k.bias",
    [AOEI_LW_V] = "attention.attn.v.weight",        [AOEI_LW_V_BIAS] = "attention.attn.v.bias",
    [AOEI_LW_O] = "attention.attn.o.weight",        [AOEI_LW_O_BIAS] = "attention.attn.o.bias",
    [AOEI_LW_NORM1] = "attention.LayerNorm.weight", [AOEI_LW_NORM1_BIAS] = "attention.LayerNorm.bias",
    [AOEI_LW_UP] = "intermediate.dense.weight",     [AOEI_LW_UP_BIAS] = "intermediate.dense.bias",
    [AOEI_LW_DOWN] = "output.dense.weight",         [AOEI_LW_DOWN_BIAS] = "output.dense.bias",
    [AOEI_LW_NORM2] = "output.LayerNorm.weight",    [AOEI_LW_NORM2_BIAS] = "output.LayerNorm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "lm_head.dense.weight", [AOEI_HW_TRANSFORM_BIAS] = "lm_head.dense.bias",
    [AOEI_HW_NORM] = "lm_head.layer_norm.weight", [AOEI_HW_NORM_BIAS] = "lm_head.layer_norm.bias",
    [AOEI_HW_DECODER_BIAS] = "lm_head.bias",
};

static void name_mpnet(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const char *const *names = group == AOEI_GROUP_LAYER  ? layer_names
                               : group == AOEI_GROUP_HEAD ? head_names
                                                          : outer_names;
    aoei_slot_name(out, size, group == AOEI_GROUP_LAYER ? "encoder.layer." : NULL, layer, names[kind]);
}

static const aoei_classification_head head = {.class_name = "MPNetForSequenceClassification",
                                              .prefix = "mpnet.",
                                              AOEI_ROBERTA_HEAD_MODULES(AOEI_DENSE_TANH, NULL)};

const aoei_arch aoei_arch_mpnet = {
    .model_type = "mpnet",
    .class_name = "MPNetModel",
    .mlm_class_name = "MPNetForMaskedLM",
    .mlm_prefix = "mpnet.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_mpnet,
    .read = read_mpnet,
    .check = aoei_transformer_check,
    .write = write_mpnet,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_mpnet,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
