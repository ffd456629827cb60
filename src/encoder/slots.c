/* SPDX-License-Identifier: MIT
 * The table of architectures and what all of them share: finding one by
 * model_type, bounds on the sizes of a config.json (which is untrusted), and
 * the list of weights with their shapes.
 * Invariant: a configuration that aoei_config_read accepted describes weights
 * whose sizes, and whose sum, fit size_t with room for optimiser state.
 */
#include "encoder/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"

static const aoei_arch *const archs[] = {&aoei_arch_bert,    &aoei_arch_roberta, &aoei_arch_xlm_roberta, &aoei_arch_llama,
                                         &aoei_arch_mistral, &aoei_arch_qwen2,   &aoei_arch_static,      &aoei_arch_ran};

#define N_ARCHS (sizeof archs / sizeof *archs)

/* Bounds: far above every published encoder, far below what overflows or stalls. */
#define MAX_HIDDEN       ((size_t)1 << 16)
#define MAX_LAYERS       ((size_t)1 << 10)
#define MAX_INTERMEDIATE ((size_t)1 << 20)
#define MAX_VOCAB        ((size_t)1 << 24)
#define MAX_POSITIONS    ((size_t)1 << 20)
#define MAX_TOKEN_TYPES  ((size_t)1 << 16)
#define STATE_BYTES      64 /* a weight's bytes with copies, gradient and moments, generously */

const aoei_arch *aoei_arch_find(const char *model_type) {
    for (size_t i = 0; i < N_ARCHS; i++)
        if (!strcmp(archs[i]->model_type, model_type) || (archs[i]->other_type && !strcmp(archs[i]->other_type, model_type)))
            return archs[i];
    return NULL;
}

const char *aoei_arch_names(void) {
    return "bert, roberta, xlm-roberta, llama, mistral, qwen2, model2vec, ran";
}

int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err) {
    if (value >= min && value <= max)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %zu, allowed are %zu to %zu; correct the value", file, key, value, min,
                     max);
}

int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err) {
    if (p >= 0 && p < 1)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g, allowed is 0 to below 1; correct the value", file, key, p);
}

static int check_heads(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    int rc;
    if (!c->head_dim && c->hidden % c->heads)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: hidden_size %zu is not a multiple of num_attention_heads %zu; correct one of them", file,
                         c->hidden, c->heads);
    if ((rc = aoei_check_size("head_dim", aoei_head_dim(c), 1, MAX_HIDDEN, file, err)) ||
        (rc = aoei_check_size("num_key_value_heads", aoei_kv_heads(c), 1, c->heads, file, err)))
        return rc;
    if (c->heads % aoei_kv_heads(c))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: num_attention_heads %zu is not a multiple of num_key_value_heads %zu; correct one of them", file,
                         c->heads, c->kv_heads);
    if (c->rope.theta > 0 && aoei_head_dim(c) % 2)
        return aoei_fail(err, AOE_EFORMAT, "%s: heads of %zu components cannot be rotated in pairs; correct \"head_dim\"", file,
                         aoei_head_dim(c));
    return 0;
}

/* The names are those of Hugging Face's configuration. */
static int check_sizes(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_check_size("hidden_size", c->hidden, 1, MAX_HIDDEN, file, err)) ||
        (rc = aoei_check_size("vocab_size", c->vocab, 1, MAX_VOCAB, file, err)) || c->arch->is_static)
        return rc;
    if (c->arch->check)
        return c->arch->check(c, file, err);
    if ((rc = aoei_check_size("num_hidden_layers", c->layers, 1, MAX_LAYERS, file, err)) ||
        (rc = aoei_check_size("num_attention_heads", c->heads, 1, c->hidden, file, err)) ||
        (rc = aoei_check_size("intermediate_size", c->intermediate, 1, MAX_INTERMEDIATE, file, err)) ||
        (rc = aoei_check_size("max_position_embeddings", c->positions, c->position_offset + 1, MAX_POSITIONS, file, err)) ||
        (rc = aoei_check_size("type_vocab_size", c->token_types, 0, MAX_TOKEN_TYPES, file, err)) ||
        (rc = aoei_check_probability("hidden_dropout_prob", c->hidden_dropout, file, err)) ||
        (rc = aoei_check_probability(c->norm == AOEI_RMSNORM ? "attention_dropout" : "attention_probs_dropout_prob",
                                     c->attention_dropout, file, err)))
        return rc;
    if (!(c->norm_eps > 0 && c->norm_eps < 1))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g, allowed is above 0 to below 1; correct the value", file,
                         c->norm == AOEI_RMSNORM ? "rms_norm_eps" : "layer_norm_eps", c->norm_eps);
    return check_heads(c, file, err);
}

/* The sum of all weights fits. */
static int check_total(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    size_t total = 0, n, bytes;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!slot.absent && (aoei_mul_size(slot.rows, slot.cols, &n) || aoei_add_size(total, n, &total)))
            goto fail;
    }
    if (aoei_mul_size(total, STATE_BYTES, &bytes))
        goto fail;
    return 0;
fail:
    return aoei_fail(err, AOE_EFORMAT, "%s: the sizes multiply to more than memory can hold; correct them", file);
}

int aoei_config_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const char *model_type = NULL;
    *c = (aoei_encoder_config){0};
    if (!json_is_object(config))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; a model's config.json is expected", file);
    int rc = aoei_json_string(config, "model_type", &model_type, NULL, file, err);
    if (rc)
        return rc;
    if (!model_type)
        return aoei_fail(err, AOE_EFORMAT, "%s: no \"model_type\"; add it (supported: %s)", file, aoei_arch_names());
    const aoei_arch *arch = aoei_arch_find(model_type);
    if (!arch)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: architecture '%s' is not supported (supported: %s)", file, model_type,
                         aoei_arch_names());
    if (arch->defaults)
        arch->defaults(c);
    if ((rc = arch->read(c, config, file, err)))
        return rc;
    c->arch = arch;
    if ((rc = check_sizes(c, file, err)))
        return rc;
    return check_total(c, file, err);
}

static size_t layer_slots(const aoei_encoder_config *c) {
    return c->arch && c->arch->layer_slots ? c->arch->layer_slots : AOEI_LW_COUNT;
}

size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * layer_slots(c) + kind;
}

size_t aoei_slot_count(const aoei_encoder_config *c) {
    return aoei_pooled_slot(c, c->dense || c->head_rows ? AOEI_PW_COUNT : 0);
}

static void vector_slot(aoei_slot *s, size_t cols) {
    s->rows = 1;
    s->cols = cols;
    s->vector = 1;
}

static void matrix_slot(aoei_slot *s, size_t rows, size_t cols) {
    s->rows = rows;
    s->cols = cols;
    s->decay = 1;
}

static void linear_slot(aoei_slot *s, size_t out, size_t in) {
    matrix_slot(s, out, in);
    s->linear = 1;
}

static void bias_slot(aoei_slot *s, size_t out, int absent) {
    vector_slot(s, out);
    s->absent = absent;
}

/* A norm's weight, or its bias. */
static void norm_slot(const aoei_encoder_config *c, aoei_slot *s, int bias) {
    vector_slot(s, c->hidden);
    s->norm = !bias;
    s->absent = bias && c->norm == AOEI_RMSNORM;
}

static void describe_outer(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    switch (kind) {
    case AOEI_W_WORD:
        matrix_slot(s, c->vocab, c->hidden);
        s->linear = c->mlm_head;
        s->table = 1;
        break;
    case AOEI_W_POSITION:
        matrix_slot(s, c->positions, c->hidden);
        s->absent = c->positions == 0 || c->rope.theta > 0;
        break;
    case AOEI_W_TOKEN_TYPE:
        matrix_slot(s, c->token_types, c->hidden);
        s->absent = c->token_types == 0;
        break;
    case AOEI_W_FINAL_NORM:
    case AOEI_W_FINAL_NORM_BIAS:
        norm_slot(c, s, kind == AOEI_W_FINAL_NORM_BIAS);
        s->absent |= !c->pre_norm;
        break;
    default:
        norm_slot(c, s, kind == AOEI_W_EMBED_NORM_BIAS);
        s->absent |= c->no_embed_norm;
    }
}

static void describe_attention(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    const size_t width = kind == AOEI_LW_Q || kind == AOEI_LW_Q_BIAS ? aoei_query_width(c) : aoei_key_width(c);
    switch (kind) {
    case AOEI_LW_O:
        linear_slot(s, c->hidden, aoei_query_width(c));
        break;
    case AOEI_LW_O_BIAS:
        bias_slot(s, c->hidden, c->no_output_bias);
        break;
    case AOEI_LW_Q:
    case AOEI_LW_K:
    case AOEI_LW_V:
        linear_slot(s, width, c->hidden);
        break;
    default:
        bias_slot(s, width, c->no_qkv_bias);
    }
}

static void describe_layer(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    switch (kind) {
    case AOEI_LW_GATE:
    case AOEI_LW_UP:
        linear_slot(s, c->intermediate, c->hidden);
        break;
    case AOEI_LW_DOWN:
        linear_slot(s, c->hidden, c->intermediate);
        break;
    case AOEI_LW_GATE_BIAS:
    case AOEI_LW_UP_BIAS:
        bias_slot(s, c->intermediate, c->no_ffn_bias);
        break;
    case AOEI_LW_DOWN_BIAS:
        bias_slot(s, c->hidden, c->no_ffn_bias);
        break;
    case AOEI_LW_NORM1:
    case AOEI_LW_NORM1_BIAS:
    case AOEI_LW_NORM2:
    case AOEI_LW_NORM2_BIAS:
        norm_slot(c, s, kind == AOEI_LW_NORM1_BIAS || kind == AOEI_LW_NORM2_BIAS);
        break;
    default:
        describe_attention(c, kind, s);
    }
    if (kind == AOEI_LW_GATE || kind == AOEI_LW_GATE_BIAS)
        s->absent |= !c->gated;
}

/* lora_A or lora_B of one of the layer's linear layers. */
static void describe_adapter(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    const size_t index = (kind - AOEI_LW_ADAPTERS) / 2;
    aoei_slot of = {0};
    describe_layer(c, aoei_adapter_kind(index), &of);
    if ((kind - AOEI_LW_ADAPTERS) % 2)
        linear_slot(s, of.rows, c->lora.r);
    else
        linear_slot(s, c->lora.r, of.cols);
    s->adapter = 1 + (int)((kind - AOEI_LW_ADAPTERS) % 2);
    s->absent = of.absent || !c->lora.r || !(c->lora.targets >> index & 1);
}

/* The name of an adapter's tensor, from that of its layer's weight. */
static void name_adapter(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s) {
    static const char end[] = "weight";
    c->arch->name(s->name, sizeof s->name, AOEI_GROUP_LAYER, aoei_adapter_kind((kind - AOEI_LW_ADAPTERS) / 2), layer);
    const size_t stem = strlen(s->name) - (sizeof end - 1);
    snprintf(s->name + stem, sizeof s->name - stem, "lora_%c.weight", (kind - AOEI_LW_ADAPTERS) % 2 ? 'B' : 'A');
}

static void describe_head(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    s->head = 1;
    if (kind == AOEI_HW_TRANSFORM)
        linear_slot(s, c->hidden, c->hidden);
    else
        vector_slot(s, kind == AOEI_HW_DECODER_BIAS ? c->vocab : c->hidden);
    s->norm = kind == AOEI_HW_NORM;
}

static void describe_pooled(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    static const char *const names[AOEI_PW_COUNT] = {"linear.weight", "linear.bias", "weight", "bias"};
    const int dense = kind == AOEI_PW_DENSE || kind == AOEI_PW_DENSE_BIAS;
    snprintf(s->name, sizeof s->name, "%s", names[kind]);
    s->pooled = dense ? 1 : 2;
    if (kind == AOEI_PW_DENSE || kind == AOEI_PW_HEAD)
        matrix_slot(s, dense ? c->dense : c->head_rows, dense ? c->hidden : c->head_cols);
    else
        vector_slot(s, dense ? c->dense : c->head_rows);
    s->absent = dense ? !c->dense || (kind == AOEI_PW_DENSE_BIAS && c->dense_no_bias) : !c->head_rows;
}

int aoei_slot_describe(const aoei_encoder_config *c, size_t slot, aoei_slot *out) {
    *out = (aoei_slot){0};
    if (slot >= aoei_slot_count(c))
        return AOE_EARG;
    aoei_slot_group group = AOEI_GROUP_OUTER;
    size_t kind = slot, layer = 0;
    if (slot >= aoei_pooled_slot(c, 0)) {
        describe_pooled(c, slot - aoei_pooled_slot(c, 0), out);
        return 0;
    }
    if (slot >= aoei_head_slot(c, 0)) {
        group = AOEI_GROUP_HEAD;
        kind = slot - aoei_head_slot(c, 0);
        describe_head(c, kind, out);
    } else if (slot >= AOEI_W_LAYERS) {
        group = AOEI_GROUP_LAYER;
        kind = (slot - AOEI_W_LAYERS) % layer_slots(c);
        layer = (slot - AOEI_W_LAYERS) / layer_slots(c);
        if (c->arch && c->arch->describe)
            c->arch->describe(c, kind, layer, out);
        else if (kind >= AOEI_LW_ADAPTERS)
            describe_adapter(c, kind, out);
        else
            describe_layer(c, kind, out);
    } else {
        describe_outer(c, kind, out);
    }
    out->linear &= !out->absent;
    out->frozen = c->lora.r && !out->adapter;
    if (c->arch && out->adapter && !out->absent)
        name_adapter(c, kind, layer, out);
    else if (c->arch && !out->adapter)
        c->arch->name(out->name, sizeof out->name, group, kind, layer);
    return 0;
}

double aoei_lora_scale(const aoei_lora *l) {
    return l->alpha / (l->rank_stabilized ? sqrt((double)l->r) : (double)l->r);
}

size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot) {
    if (!c->lora.r || slot < AOEI_W_LAYERS || slot >= aoei_head_slot(c, 0))
        return 0;
    const size_t kind = (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT, index = aoei_adapter_index(kind);
    if (kind >= AOEI_LW_ADAPTERS || aoei_adapter_kind(index) != kind || !(c->lora.targets >> index & 1))
        return 0;
    return slot - kind + AOEI_LW_ADAPTERS + 2 * index;
}

static size_t count_slots(const aoei_encoder_config *c, int adapters) {
    size_t total = 0;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!slot.absent && !slot.pooled && (adapters || !slot.adapter))
            total += slot.rows * slot.cols;
    }
    return total;
}

size_t aoei_parameter_count(const aoei_encoder_config *c) {
    return count_slots(c, 1);
}

size_t aoei_base_count(const aoei_encoder_config *c) {
    return count_slots(c, 0);
}

/* Slots that came later have numbers of their own, above all others. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot) {
    enum { OUTER = 5, A_LAYER = AOEI_LW_GATE, LATER = 1 << 28, POOLED = 1 << 29 };
    const size_t in_layers = slot - AOEI_W_LAYERS, kind = in_layers % AOEI_LW_COUNT, layer = in_layers / AOEI_LW_COUNT;
    if (slot >= aoei_pooled_slot(c, 0))
        return (uint32_t)(POOLED + slot - aoei_pooled_slot(c, 0));
    if (layer_slots(c) != AOEI_LW_COUNT)
        return (uint32_t)slot;
    if (slot >= aoei_head_slot(c, 0))
        return (uint32_t)(OUTER + c->layers * A_LAYER + slot - aoei_head_slot(c, 0));
    if (slot < AOEI_W_LAYERS)
        return (uint32_t)(slot < OUTER ? slot : LATER + slot);
    return (uint32_t)(kind < A_LAYER ? OUTER + layer * A_LAYER + kind : LATER + slot);
}
