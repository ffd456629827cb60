/* SPDX-License-Identifier: MIT
 * RAN, the Recurrent Attention Network (Li et al. 2023): the keys of its config.json and the names of its tensors. The
 * names are those of the published Keras checkpoints. Matrices are stored as [out, in]; Keras stores them as [in, out]
 * (docs/ran.md).
 */
#include "encoder/arch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/ran.h"
#include "encoder/ran_slots.h"

#define MAX_TOKENS     ((size_t)1 << 20) /* maximum number of tokens in a text; it is not limited by a position table */
#define DEFAULT_TOKENS ((size_t)512)
#define MAX_LAYERS     ((size_t)1 << 10)
#define MAX_HEADS      ((size_t)1 << 10)
#define MAX_WIDTH      ((size_t)1 << 16) /* maximum of heads * head_size */
#define MAX_WINDOW     ((size_t)1 << 16)
#define NORM_EPS       1e-7
#define WINDOW         ((size_t)256)
#define MIN_WINDOW     ((size_t)16)

static const char *const prefixes[] = {"", NULL};

/* A possible value of an option of config.json whose values are names. */
typedef struct choice {
    const char *name;
    int value;
} choice;

static const choice norms[] = {{"textbook", 0}, {"langml", 1}};
static const choice poolings[] = {
    {"last", AOE_POOLING_CELL_LAST}, {"mean", AOE_POOLING_CELL_MEAN}, {"max", AOE_POOLING_CELL_MAX}};

static int read_choice(int *value, const json_t *config, const char *key, const choice *c, size_t n, const char *file,
                       aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(config, key, &name, NULL, file, err);
    if (rc || !name)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, c[i].name)) {
            *value = c[i].value;
            return 0;
        }
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s \"%s\" is not supported (supported: %s, %s%s)", file, key, name,
                     c[0].name, c[1].name, n > 2 ? ", max" : "");
}

static void defaults_ran(aoei_encoder_config *c) {
    c->norm_eps = NORM_EPS;
    c->hidden_dropout = c->attention_dropout = 0.1;
    c->ran.window = WINDOW;
    c->ran.min_window = MIN_WINDOW;
}

static int read_ran(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc, pooling = AOE_POOLING_AUTO, memory_review = 1;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = aoei_json_need_size(config, "head_size", &c->ran.head_size, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "window_size", &c->ran.window, file, err)) ||
        (rc = aoei_json_size(config, "min_window_size", &c->ran.min_window, file, err)) ||
        (rc = aoei_json_double(config, "layer_norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "dropout", &c->hidden_dropout, file, err)) ||
        (rc = read_choice(&c->ran.langml_norm, config, "norm_variant", norms, 2, file, err)) ||
        (rc = read_choice(&pooling, config, "cell_pooling", poolings, 3, file, err)) ||
        (rc = aoei_json_bool(config, "memory_review", &memory_review, file, err)))
        return rc;
    c->attention_dropout = c->hidden_dropout;
    c->pooling = (aoe_pooling)pooling;
    if (!memory_review)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: memory_review is false; only encoders with memory review are supported", file);
    return 0;
}

static int check_ran(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_check_size("num_hidden_layers", c->layers, 1, MAX_LAYERS, file, err)) ||
        (rc = aoei_check_size("num_attention_heads", c->heads, 1, MAX_HEADS, file, err)) ||
        (rc = aoei_check_size("head_size", c->ran.head_size, 2, MAX_WIDTH / c->heads, file, err)) ||
        (rc = aoei_check_size("window_size", c->ran.window, 1, MAX_WINDOW, file, err)) ||
        (rc = aoei_check_size("min_window_size", c->ran.min_window, 1, c->ran.window, file, err)) ||
        (rc = aoei_check_probability("dropout", c->hidden_dropout, file, err)))
        return rc;
    if (c->ran.head_size % 2)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: head_size %zu is odd, but rotary positions need pairs; use an even size", file,
                         c->ran.head_size);
    return aoei_check_epsilon("layer_norm_eps", c->norm_eps, file, err);
}

static int write_ran(const aoei_encoder_config *c, json_t *config) {
    const char *pooling = c->pooling == AOE_POOLING_AUTO ? NULL : poolings[c->pooling - AOE_POOLING_CELL_LAST].name;
    json_t *keys = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:s*, s:I, s:f}", "model_type",
                             "ran", "hidden_size", (json_int_t)c->hidden, "num_hidden_layers", (json_int_t)c->layers,
                             "num_attention_heads", (json_int_t)c->heads, "head_size", (json_int_t)c->ran.head_size,
                             "window_size", (json_int_t)c->ran.window, "min_window_size", (json_int_t)c->ran.min_window,
                             "vocab_size", (json_int_t)c->vocab, "layer_norm_eps", c->norm_eps, "dropout",
                             c->hidden_dropout, "norm_variant", norms[c->ran.langml_norm != 0].name, "cell_pooling",
                             pooling, "pad_token_id", (json_int_t)0, "initializer_range", 0.02);
    return aoei_keys_add(config, keys);
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "token_embedding.weight",
    [AOEI_W_POSITION] = "", /* the model has no such weight */
    [AOEI_W_TOKEN_TYPE] = "",
    [AOEI_W_EMBED_NORM] = "embedding_layernorm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embedding_layernorm.bias",
    [AOEI_W_FINAL_NORM] = "",
    [AOEI_W_FINAL_NORM_BIAS] = "",
};

/* Names of linear layers and norms, without ".weight" and ".bias", indexed by the slot of the weight (AOEI_RW_*,
 * ran_slots.h). An entry that is NULL is the bias of the layer or norm before it; only AOEI_RW_FIRST_CELL is a weight
 * without an entry. */
static const char *const layer_names[AOEI_RW_COUNT] = {
    [AOEI_RW_Q] = "encode_attn.dense_q",
    [AOEI_RW_K] = "encode_attn.dense_k",
    [AOEI_RW_V] = "encode_attn.dense_v",
    [AOEI_RW_O] = "encode_attn.dense_o",
    [AOEI_RW_GLU] = "encode_attn.glu.dense_t",
    [AOEI_RW_GLU_GATE] = "encode_attn.glu.dense_g",
    [AOEI_RW_NORM] = "encode_attn.layernorm",
    [AOEI_RW_WINDOW_NORM] = "concat_layernorm",
    [AOEI_RW_CELL_GLU] = "cell_glu.dense_t",
    [AOEI_RW_CELL_GLU_GATE] = "cell_glu.dense_g",
    [AOEI_RW_CELL_NORM] = "cell_residual_layernorm",
    [AOEI_RW_REVIEW_Q] = "output_attn.dense_q",
    [AOEI_RW_REVIEW_K] = "output_attn.dense_k",
    [AOEI_RW_REVIEW_V] = "output_attn.dense_v",
    [AOEI_RW_REVIEW_O] = "output_attn.dense_o",
    [AOEI_RW_REVIEW_GLU] = "output_attn.glu.dense_t",
    [AOEI_RW_REVIEW_GLU_GATE] = "output_attn.glu.dense_g",
    [AOEI_RW_REVIEW_NORM] = "output_attn.layernorm",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "mlm_hidden.dense.weight", [AOEI_HW_TRANSFORM_BIAS] = "mlm_hidden.dense.bias",
    [AOEI_HW_NORM] = "mlm_hidden.layernorm.weight",  [AOEI_HW_NORM_BIAS] = "mlm_hidden.layernorm.bias",
    [AOEI_HW_DECODER_BIAS] = "mlm_matching.bias",
};

static void name_ran(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group != AOEI_GROUP_LAYER)
        snprintf(out, size, "%s", group == AOEI_GROUP_HEAD ? head_names[kind] : outer_names[kind]);
    else if (kind == AOEI_RW_FIRST_CELL)
        snprintf(out, size, "ran.%zu.cell_initializer_layernorm.bias", layer);
    else if (layer_names[kind])
        snprintf(out, size, "ran.%zu.%s.weight", layer, layer_names[kind]);
    else
        snprintf(out, size, "ran.%zu.%s.bias", layer, layer_names[kind - 1]);
}

static void matrix(aoei_slot *s, size_t out, size_t in) {
    s->rows = out;
    s->cols = in;
    s->decay = s->linear = 1;
}

static void describe_ran(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s) {
    const size_t D = c->hidden, H = c->heads * c->ran.head_size;
    switch (kind) {
    case AOEI_RW_Q:
    case AOEI_RW_K:
    case AOEI_RW_V:
        matrix(s, H, D);
        return;
    case AOEI_RW_O:
        matrix(s, D, H);
        return;
    case AOEI_RW_NORM:
    case AOEI_RW_WINDOW_NORM:
    case AOEI_RW_CELL_NORM:
    case AOEI_RW_REVIEW_NORM:
        s->norm = 1;
        break;
    default:
        if (layer_names[kind]) {
            matrix(s, D, D);
            return;
        }
    }
    s->rows = 1;
    s->cols = kind == AOEI_RW_Q_BIAS || kind == AOEI_RW_K_BIAS || kind == AOEI_RW_V_BIAS ? H : D;
    s->vector = 1;
    s->absent = kind == AOEI_RW_FIRST_CELL && layer > 0;
}

static void set_shape_ran(aoei_encoder_config *c, const aoe_shape *s) {
    c->hidden = s->hidden;
    c->layers = s->layers;
    c->heads = s->heads;
    c->vocab = s->vocab;
    c->ran.head_size = s->head_size;
    c->ran.window = s->window;
    if (c->ran.min_window > s->window)
        c->ran.min_window = s->window;
}

static void print_ran(const aoei_encoder_config *c, char *out, size_t size) {
    snprintf(out, size,
             "%zu layers, hidden size %zu, %zu heads of %zu, windows of %zu tokens (the last one of at least %zu)",
             c->layers, c->hidden, c->heads, c->ran.head_size, c->ran.window, c->ran.min_window);
}

static size_t max_length_ran(const aoei_encoder_config *c) {
    (void)c;
    return MAX_TOKENS;
}

const aoei_arch aoei_arch_ran = {
    .model_type = "ran",
    .class_name = "RanModel",
    .mlm_class_name = "RanForMaskedLM",
    .mlm_prefix = "",
    .prefixes = prefixes,
    .defaults = defaults_ran,
    .read = read_ran,
    .check = check_ran,
    .write = write_ran,
    .set_shape = set_shape_ran,
    .print_sizes = print_ran,
    .name = name_ran,
    .layer_slots = AOEI_RW_COUNT,
    .describe_layer = describe_ran,
    .encoder = &aoei_ran_ops,
    .max_length = max_length_ran,
    .default_length = DEFAULT_TOKENS,
    .poolings = AOEI_TOKEN_POOLINGS | AOEI_CELL_POOLINGS,
    .default_pooling = AOE_POOLING_CELL_MEAN,
    .library = AOEI_LIBRARY_NONE,
};
