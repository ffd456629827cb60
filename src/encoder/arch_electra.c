/* SPDX-License-Identifier: MIT
 * ELECTRA (Clark et al. 2020). The encoder is BERT, except that the embedding size may differ from the hidden size. In
 * this case, a linear layer follows the embedding. The masked-LM head is that of the
 * generator; the head of the discriminator is ignored.
 */
#include "encoder/arch.h"

#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "electra.", NULL};

#define EMBEDDING_SIZE 128 /* default of embedding_size */

static int read_electra(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t width = EMBEDDING_SIZE;
    int rc;
    if ((rc = aoei_bert_read(c, config, file, err)) || (rc = aoei_key_embedding_size(&width, config, file, err)))
        return rc;
    c->embed_width = width != c->hidden ? width : 0;
    return 0;
}

static int write_electra(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_bert_write(c, config);
    const int failed = aoei_keys_add(config, json_pack("{s:I}", "embedding_size", (json_int_t)aoei_embed_width(c)));
    return rc ? rc : failed;
}

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "generator_predictions.dense.weight",
    [AOEI_HW_TRANSFORM_BIAS] = "generator_predictions.dense.bias",
    [AOEI_HW_NORM] = "generator_predictions.LayerNorm.weight",
    [AOEI_HW_NORM_BIAS] = "generator_predictions.LayerNorm.bias",
    [AOEI_HW_DECODER_BIAS] = "generator_lm_head.bias",
};

static void defaults_electra(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->mlm_activation = AOEI_GELU; /* whatever hidden_act is */
}

static void name_electra(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_OUTER && kind == AOEI_W_EMBED_PROJECTION)
        aoei_slot_name(out, size, NULL, 0, "embeddings_project.weight");
    else if (group == AOEI_GROUP_OUTER && kind == AOEI_W_EMBED_PROJECTION_BIAS)
        aoei_slot_name(out, size, NULL, 0, "embeddings_project.bias");
    else if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0, head_names[kind]);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_classification_head head = {.class_name = "ElectraForSequenceClassification",
                                              .prefix = "electra.",
                                              AOEI_ROBERTA_HEAD_MODULES(AOEI_DENSE_GELU, "classifier_dropout")};

const aoei_arch aoei_arch_electra = {
    .model_type = "electra",
    .class_name = "ElectraModel",
    .mlm_class_name = "ElectraForMaskedLM",
    .mlm_prefix = "electra.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_electra,
    .read = read_electra,
    .check = aoei_transformer_check,
    .write = write_electra,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_electra,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
