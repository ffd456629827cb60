/* SPDX-License-Identifier: MIT
 * NomicBERT (Nussbaum et al. 2024), the architecture of nomic-embed-text. It differs from BERT in three points: it has
 * rotary position embeddings, a gated feed-forward, and no biases except those of the norms. There are two kinds of
 * directories:
 * - Published checkpoints have the keys of GPT-2 in config.json (n_embd and others). The weights of query, key and
 * value are one fused tensor.
 * - transformers 5 writes the keys of BERT, and one tensor for each weight.
 * The tensor names decide about the layout, and the keys decide how config.json is read, because published checkpoints
 * may have been saved again with additional keys.
 */
#include "encoder/arch_nomic.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/arch_llama.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "nomic_bert.", "bert.", NULL};

#define POSITIONS 2048 /* default of max_position_embeddings */
#define WIDTH_MULTIPLE                                                                                                 \
    256 /* published checkpoints round the size of a gated feed-forward up to a multiple of this number */

static void defaults_nomic(aoei_encoder_config *c) {
    c->token_types = 2;
    c->positions = POSITIONS;
    c->rope.theta = 1000;
    c->gated = c->no_qkv_bias = c->no_output_bias = c->no_ffn_bias = 1;
    c->activation = AOEI_SILU;
    c->norm_eps = 1e-12;
}

static size_t round_up(size_t n, size_t multiple) {
    return multiple && n <= SIZE_MAX - multiple ? (n + multiple - 1) / multiple * multiple : n;
}

/* Reads the sizes from a config.json with the keys of GPT-2. */
static int read_sizes(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t multiple = 1;
    int rc;
    if ((rc = aoei_json_need_size(config, "n_embd", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "n_layer", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "n_head", &c->heads, file, err)) ||
        (rc = aoei_json_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_size(config, "n_positions", &c->positions, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "pad_vocab_size_multiple", &multiple, file, err)) ||
        (rc = aoei_json_size(config, "type_vocab_size", &c->token_types, file, err)) ||
        (rc = aoei_json_double(config, "layer_norm_epsilon", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "resid_pdrop", &c->hidden_dropout, file, err)) ||
        (rc = aoei_json_double(config, "attn_pdrop", &c->attention_dropout, file, err)))
        return rc;
    c->vocab = round_up(c->vocab, multiple);
    c->intermediate = c->hidden <= SIZE_MAX / 4 ? 4 * c->hidden : c->hidden;
    if ((rc = aoei_json_size(config, "n_inner", &c->intermediate, file, err)))
        return rc;
    c->intermediate = c->gated ? round_up(c->intermediate, WIDTH_MULTIPLE) : c->intermediate;
    return 0;
}

/* Reads the keys activation_function and the biases. */
static int read_feed_forward(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        aoei_activation activation;
        int gated;
    } kinds[] = {{"swiglu", AOEI_SILU, 1},
                 {"geglu", AOEI_GELU, 1},
                 {"gelu", AOEI_GELU, 0},
                 {"gelu_new", AOEI_GELU_TANH, 0},
                 {"gelu_fast", AOEI_GELU_TANH, 0},
                 {"gelu_approx", AOEI_GELU_TANH, 0},
                 {"gelu_pytorch_tanh", AOEI_GELU_TANH, 0}};
    const size_t n = sizeof kinds / sizeof *kinds;
    const char *name = "gelu";
    int qkv = 1, up = 1, down = 1, rc;
    size_t i = 0;
    if ((rc = aoei_json_string(config, "activation_function", &name, NULL, file, err)) ||
        (rc = aoei_json_bool(config, "qkv_proj_bias", &qkv, file, err)) ||
        (rc = aoei_json_bool(config, "mlp_fc1_bias", &up, file, err)) ||
        (rc = aoei_json_bool(config, "mlp_fc2_bias", &down, file, err)))
        return rc;
    while (i < n && strcmp(kinds[i].name, name) != 0)
        i++;
    if (i == n)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: activation_function \"%s\" is not supported (supported: swiglu, geglu, gelu, gelu_new, "
                         "gelu_fast, gelu_approx, gelu_pytorch_tanh)",
                         file, name);
    if (up && !down)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: mlp_fc1_bias true with mlp_fc2_bias false is not supported; both must be equal, or only "
                         "mlp_fc2_bias true",
                         file);
    c->activation = kinds[i].activation;
    c->gated = kinds[i].gated;
    c->no_qkv_bias = c->no_output_bias = !qkv;
    c->no_ffn_bias = !down;
    c->no_up_bias = down && !up;
    return 0;
}

/* Rejects the variants of published configurations that are not supported. */
static int check_variants(const json_t *config, const char *file, aoe_error *err) {
    static const char *const flags[] = {"prenorm", "parallel_block", "use_rms_norm", "causal",
                                        "rotary_emb_interleaved"};
    static const char *const counts[] = {"num_experts", "moe_every_n_layers", "num_heads_kv", "rotary_emb_scale_base"};
    int rc = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags && !rc; i++)
        rc = aoei_key_reject_true(config, flags[i], "this variant of NomicBERT is not supported", file, err);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !rc; i++) {
        double v = 0;
        rc = aoei_json_double(config, counts[i], &v, file, err);
        if (!rc && v != 0)
            rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s is %g; this variant of NomicBERT is not supported", file,
                           counts[i], v);
    }
    return rc;
}

/* Reads the rotary position embeddings of a published configuration. If rotary_scaling_factor is set, the positions of
 * texts that are longer than max_trained_positions have dynamic scaling. */
static int read_rotary(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    double fraction = 0, factor = 0;
    size_t trained = POSITIONS;
    int rc;
    c->rope.theta = 10000;
    if ((rc = aoei_json_double(config, "rotary_emb_base", &c->rope.theta, file, err)) ||
        (rc = aoei_json_double(config, "rotary_emb_fraction", &fraction, file, err)) ||
        (rc = aoei_json_double(config, "rotary_scaling_factor", &factor, file, err)) ||
        (rc = aoei_json_size(config, "max_trained_positions", &trained, file, err)))
        return rc;
    if (!(c->rope.theta >= 1))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"rotary_emb_base\" is %g; it must be at least 1", file, c->rope.theta);
    const size_t head_dim = c->heads ? c->hidden / c->heads : 0;
    const double rotated = fraction * (double)head_dim;
    if (!(fraction > 0 && fraction <= 1) || (fraction < 1 && (rotated < 2 || fmod(rotated, 2) != 0)))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: rotary_emb_fraction %g is not supported: it must be at most 1, and the number of rotated "
                         "components of a head must be even and above 0",
                         file, fraction);
    c->rope.dims = fraction < 1 ? (size_t)rotated : 0;
    if ((rc = aoei_llama_read_rope(c, config, file, err)) || factor == 0)
        return rc;
    if (!(factor >= 1) || !trained)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"rotary_scaling_factor\" is %g and \"max_trained_positions\" is %zu; both must be at least 1", file,
            factor, trained);
    c->rope.scaling = AOEI_ROPE_DYNAMIC;
    c->rope.factor = factor;
    c->rope.positions = trained;
    return 0;
}

static int read_published(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = check_variants(config, file, err)) || (rc = read_feed_forward(c, config, file, err)) ||
        (rc = read_sizes(c, config, file, err)))
        return rc;
    return read_rotary(c, config, file, err);
}

static int read_nomic(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *published = json_object_get(config, "n_embd");
    int rc;
    if (published && !json_is_null(published))
        return read_published(c, config, file, err);
    if ((rc = aoei_bert_read_sizes(c, config, file, err)) || (rc = aoei_llama_read_rope(c, config, file, err)))
        return rc;
    return aoei_key_head_dim(c, config, "head_dim", file, err);
}

static int write_nomic(const aoei_encoder_config *c, json_t *config) {
    json_t *keys =
        json_pack("{s:s, s:I, s:f, s:o}", "model_type", c->arch->model_type, "head_dim", (json_int_t)aoei_head_dim(c),
                  "rope_theta", c->rope.theta, "rope_scaling", aoei_llama_scaling_json(&c->rope));
    const int rc = aoei_bert_write(c, config);
    json_object_del(config, "position_embedding_type");
    const int failed = aoei_keys_add(config, keys);
    return rc ? rc : failed;
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embeddings.word_embeddings.weight",
    [AOEI_W_TOKEN_TYPE] = "embeddings.token_type_embeddings.weight",
    [AOEI_W_EMBED_NORM] = "embeddings.LayerNorm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embeddings.LayerNorm.bias",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "self_attn.q_proj.weight",
    [AOEI_LW_Q_BIAS] = "self_attn.q_proj.bias",
    [AOEI_LW_K] = "self_attn.k_proj.weight",
    [AOEI_LW_K_BIAS] = "self_attn.k_proj.bias",
    [AOEI_LW_V] = "self_attn.v_proj.weight",
    [AOEI_LW_V_BIAS] = "self_attn.v_proj.bias",
    [AOEI_LW_O] = "self_attn.o_proj.weight",
    [AOEI_LW_O_BIAS] = "self_attn.o_proj.bias",
    [AOEI_LW_NORM1] = "post_attention_layernorm.weight",
    [AOEI_LW_NORM1_BIAS] = "post_attention_layernorm.bias",
    [AOEI_LW_UP] = "mlp.up_proj.weight",
    [AOEI_LW_DOWN] = "mlp.down_proj.weight",
    [AOEI_LW_DOWN_BIAS] = "mlp.down_proj.bias",
    [AOEI_LW_NORM2] = "post_mlp_layernorm.weight",
    [AOEI_LW_NORM2_BIAS] = "post_mlp_layernorm.bias",
    [AOEI_LW_GATE] = "mlp.gate_proj.weight",
};

void aoei_nomic_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "layers.", layer, layer_names[kind]);
    else
        aoei_slot_name(out, size, NULL, 0, group == AOEI_GROUP_OUTER ? outer_names[kind] : NULL);
}

/* Names of the fused layout. The names of the feed-forward without a gate are in plain_names. */
static const char *const fused_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attn.Wqkv.weight",     [AOEI_LW_K] = "attn.Wqkv.weight",
    [AOEI_LW_V] = "attn.Wqkv.weight",     [AOEI_LW_Q_BIAS] = "attn.Wqkv.bias",
    [AOEI_LW_K_BIAS] = "attn.Wqkv.bias",  [AOEI_LW_V_BIAS] = "attn.Wqkv.bias",
    [AOEI_LW_O] = "attn.out_proj.weight", [AOEI_LW_O_BIAS] = "attn.out_proj.bias",
    [AOEI_LW_NORM1] = "norm1.weight",     [AOEI_LW_NORM1_BIAS] = "norm1.bias",
    [AOEI_LW_UP] = "mlp.fc11.weight",     [AOEI_LW_UP_BIAS] = "mlp.fc11.bias",
    [AOEI_LW_DOWN] = "mlp.fc2.weight",    [AOEI_LW_DOWN_BIAS] = "mlp.fc2.bias",
    [AOEI_LW_NORM2] = "norm2.weight",     [AOEI_LW_NORM2_BIAS] = "norm2.bias",
    [AOEI_LW_GATE] = "mlp.fc12.weight",   [AOEI_LW_GATE_BIAS] = "mlp.fc12.bias",
};

static void name_fused(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const char *norm = kind == AOEI_W_EMBED_NORM        ? "emb_ln.weight"
                       : kind == AOEI_W_EMBED_NORM_BIAS ? "emb_ln.bias"
                                                        : NULL;
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "encoder.layers.", layer, fused_names[kind]);
    else
        aoei_slot_name(out, size, NULL, 0, group == AOEI_GROUP_HEAD ? NULL : norm ? norm : outer_names[kind]);
}

static void name_plain(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER && (kind == AOEI_LW_UP || kind == AOEI_LW_UP_BIAS))
        aoei_slot_name(out, size, "encoder.layers.", layer, kind == AOEI_LW_UP ? "mlp.fc1.weight" : "mlp.fc1.bias");
    else
        name_fused(out, size, group, kind, layer);
}

static const aoei_fused fused[] = {
    {3, {AOEI_LW_Q, AOEI_LW_K, AOEI_LW_V}}, {3, {AOEI_LW_Q_BIAS, AOEI_LW_K_BIAS, AOEI_LW_V_BIAS}}, {0, {0}}};

static const aoei_classification_head head_nomic = {
    .class_name = "NomicBertForSequenceClassification", .prefix = "nomic_bert.", AOEI_BERT_HEAD_MODULES};

#define NOMIC                                                                                                          \
    .model_type = "nomic_bert", .class_name = "NomicBertModel", .head = &head_nomic, .prefixes = prefixes,             \
    .defaults = defaults_nomic, .read = read_nomic, .check = aoei_transformer_check, .write = write_nomic,             \
    .set_shape = aoei_transformer_set_shape, .print_sizes = aoei_transformer_print_sizes,                              \
    .encoder = &aoei_transformer_ops, .max_length = aoei_bert_max_length, .poolings = AOEI_TRANSFORMER_POOLINGS,       \
    .default_pooling = AOE_POOLING_LAST_AVG, .supports_adapters = 1

const aoei_arch aoei_arch_nomic_fused = {NOMIC, .name = name_fused, .fused = fused};
static const aoei_arch nomic_plain = {NOMIC, .name = name_plain, .fused = fused};
static const aoei_arch *const layouts[] = {&aoei_arch_nomic, &aoei_arch_nomic_fused, &nomic_plain, NULL};
const aoei_arch aoei_arch_nomic = {NOMIC, .name = aoei_nomic_name, .layouts = layouts};
