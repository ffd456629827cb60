/* SPDX-License-Identifier: MIT
 * Order, shapes and names of the weights. This file describes the weights of transformer layers and all weights outside
 * the layers. The function describe_layer of an architecture (aoei_arch) describes layers that are not transformer
 * layers.
 */
#include "encoder/slots.h"

#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/training_layers.h"

static size_t layer_slots(const aoei_encoder_config *c) {
    return c->arch && c->arch->layer_slots ? c->arch->layer_slots : AOEI_LW_COUNT;
}

size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * layer_slots(c) + kind;
}

size_t aoei_head_slot(const aoei_encoder_config *c, size_t kind) {
    return aoei_slot_of_layer(c, aoei_distinct_layers(c), kind);
}

size_t aoei_pooled_slot(const aoei_encoder_config *c, size_t kind) {
    return aoei_head_slot(c, (c->mlm_head ? AOEI_HW_COUNT : 0) + kind);
}

size_t aoei_slot_count(const aoei_encoder_config *c) {
    return aoei_pooled_slot(
        c, c->modules.n || c->training || c->modules.layer_weights || aoei_has_token_module(c) ? AOEI_PW_COUNT : 0);
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

/* Describes the weight or bias of a norm of rows of `cols` components. The initial values of weights to which 1 is
 * added are
 * 0. */
static void norm_of(const aoei_encoder_config *c, aoei_slot *s, size_t cols, int bias) {
    vector_slot(s, cols);
    s->norm = !bias && !c->norm_plus_one;
    s->absent = bias && (c->norm == AOEI_RMSNORM || c->no_norm_bias);
}

static void norm_slot(const aoei_encoder_config *c, aoei_slot *s, int bias) {
    norm_of(c, s, c->hidden, bias);
}

/* Describes a weight outside the layers: an embedding table, or the weight or bias of a norm. */
static void describe_outer(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    switch (kind) {
    case AOEI_W_WORD:
        matrix_slot(s, c->vocab, aoei_embed_width(c));
        s->linear = c->mlm_head;
        s->table = 1;
        break;
    case AOEI_W_POSITION:
        matrix_slot(s, c->positions, aoei_embed_width(c));
        s->absent = c->positions == 0 || c->rope.theta > 0 || c->alibi || c->no_position_table;
        break;
    case AOEI_W_TOKEN_TYPE:
        matrix_slot(s, c->token_types, aoei_embed_width(c));
        s->absent = c->token_types == 0;
        break;
    case AOEI_W_SCORE_BIAS:
        matrix_slot(s, c->score_buckets, c->heads);
        s->decay = 0;
        s->absent = c->score_buckets == 0;
        break;
    case AOEI_W_RELATIVE:
        matrix_slot(s, 2 * c->relative.span, c->hidden);
        s->absent = c->relative.span == 0;
        break;
    case AOEI_W_RELATIVE_NORM:
    case AOEI_W_RELATIVE_NORM_BIAS:
        norm_slot(c, s, kind == AOEI_W_RELATIVE_NORM_BIAS);
        s->absent |= c->relative.span == 0 || !c->relative.norm;
        break;
    case AOEI_W_FINAL_NORM:
    case AOEI_W_FINAL_NORM_BIAS:
        norm_slot(c, s, kind == AOEI_W_FINAL_NORM_BIAS);
        s->absent |= !c->pre_norm;
        break;
    case AOEI_W_EMBED_PROJECTION:
        linear_slot(s, c->hidden, aoei_embed_width(c));
        s->absent = c->embed_width == 0;
        break;
    case AOEI_W_EMBED_PROJECTION_BIAS:
        bias_slot(s, c->hidden, c->embed_width == 0);
        break;
    case AOEI_W_BIGRAM:
        matrix_slot(s, c->bigrams, c->hidden);
        s->absent = c->bigrams == 0;
        break;
    default:
        norm_of(c, s, aoei_embed_width(c), kind == AOEI_W_EMBED_NORM_BIAS);
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

/* Describes a weight of a transformer layer. */
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
        bias_slot(s, c->intermediate, c->no_ffn_bias || c->no_up_bias);
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
    case AOEI_LW_NORM3:
    case AOEI_LW_NORM3_BIAS:
    case AOEI_LW_NORM4:
    case AOEI_LW_NORM4_BIAS:
        norm_slot(c, s, kind == AOEI_LW_NORM3_BIAS || kind == AOEI_LW_NORM4_BIAS);
        s->absent |= !c->branch_norms && !(c->second_norm && (kind == AOEI_LW_NORM3 || kind == AOEI_LW_NORM3_BIAS));
        break;
    case AOEI_LW_Q_NORM:
    case AOEI_LW_Q_NORM_BIAS:
    case AOEI_LW_K_NORM:
    case AOEI_LW_K_NORM_BIAS:
        norm_of(c, s,
                c->qk_norm != AOEI_QK_LAYERNORM                         ? aoei_head_dim(c)
                : kind == AOEI_LW_Q_NORM || kind == AOEI_LW_Q_NORM_BIAS ? aoei_query_width(c)
                                                                        : aoei_key_width(c),
                kind == AOEI_LW_Q_NORM_BIAS || kind == AOEI_LW_K_NORM_BIAS);
        s->absent |= !c->qk_norm;
        break;
    default:
        describe_attention(c, kind, s);
    }
    if (kind == AOEI_LW_GATE || kind == AOEI_LW_GATE_BIAS)
        s->absent |= !c->gated;
}

/* Describes the weight lora_A or lora_B of an adapter. */
static void describe_adapter(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s) {
    const size_t index = (kind - AOEI_LW_ADAPTERS) / 2, r = aoei_lora_of(&c->lora, layer, index).r;
    aoei_slot of = {0};
    describe_layer(c, aoei_adapter_kind(index), &of);
    if ((kind - AOEI_LW_ADAPTERS) % 2)
        linear_slot(s, of.rows, r);
    else
        linear_slot(s, r, of.cols);
    s->adapter = 1 + (int)((kind - AOEI_LW_ADAPTERS) % 2);
    s->absent = of.absent || !r;
}

/* Sets s->name to the tensor name of an adapter weight: the name of the weight of its linear layer, in which the last
 * component "weight" is replaced. */
static void name_adapter(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s) {
    static const char end[] = "weight";
    c->arch->name(s->name, sizeof s->name, AOEI_GROUP_LAYER, aoei_adapter_kind((kind - AOEI_LW_ADAPTERS) / 2), layer);
    const size_t stem = strlen(s->name) - (sizeof end - 1);
    snprintf(s->name + stem, sizeof s->name - stem, "lora_%c.weight", (kind - AOEI_LW_ADAPTERS) % 2 ? 'B' : 'A');
}

static void describe_head(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    s->head = 1;
    if (kind == AOEI_HW_TRANSFORM)
        linear_slot(s, aoei_embed_width(c), c->hidden);
    else
        vector_slot(s, kind == AOEI_HW_DECODER_BIAS ? c->vocab : aoei_embed_width(c));
    s->norm = kind == AOEI_HW_NORM;
    s->absent =
        (kind == AOEI_HW_TRANSFORM_BIAS && c->no_transform_bias) || (kind == AOEI_HW_NORM_BIAS && c->no_norm_bias);
}

/* Changes the description of a module's weight to the description of a classification head, which has names of its own
 * and is stored in the model's weight file. */
static void describe_classifier(const aoei_encoder_config *c, size_t i, size_t part, aoei_slot *s) {
    const aoei_head_module *m = &c->arch->head->module[i];
    s->pooled = 0;
    s->classifier = i + 1 < c->modules.n ? 1 : 2;
    s->head = !m->in_encoder;
    s->decay = !s->vector;
    snprintf(s->name, sizeof s->name, "%s.%s", m->name ? m->name : "", part == AOEI_MODULE_BIAS ? "bias" : "weight");
}

/* Describes weight `part` (AOEI_MODULE_WEIGHT ...) of a module. m: NULL: the chain has no such module. */
static void describe_module(const aoei_module *m, size_t part, aoei_slot *s) {
    static const char *const dense[] = {"linear.weight", "linear.bias", "residual.weight"};
    static const char *const norm[] = {"norm.weight", "norm.bias", ""};
    const int is_flow = m && m->kind == AOEI_MODULE_FLOW;
    const int is_dense = m && m->kind == AOEI_MODULE_DENSE, is_batchnorm = m && m->kind == AOEI_MODULE_BATCHNORM;
    const int is_norm = is_batchnorm || (m && m->kind == AOEI_MODULE_LAYERNORM);
    snprintf(s->name, sizeof s->name, "%s", is_norm ? norm[part] : dense[part]);
    if (is_dense && part != AOEI_MODULE_BIAS)
        matrix_slot(s, m->out, m->in);
    else
        vector_slot(s, m ? m->out : 0);
    s->norm = is_norm && part == AOEI_MODULE_WEIGHT;
    if (is_flow) {
        const aoei_flow_shape shape = aoei_module_flow_shape(m);
        snprintf(s->name, sizeof s->name, "parameters");
        vector_slot(s, aoei_flow_parameters(&shape));
        s->decay = 1;
        s->absent = part != AOEI_MODULE_WEIGHT;
        return;
    }
    if (part == AOEI_MODULE_RESIDUAL)
        s->absent = !is_dense || m->residual != AOEI_RESIDUAL_WEIGHT;
    else
        s->absent = is_batchnorm ? m->no_bias : is_dense || is_norm ? part == AOEI_MODULE_BIAS && m->no_bias : 1;
}

/* Describes weight `part` (0: weight, 1: bias) of convolution i between the encoder and the pooling. */
static void describe_convolution(const aoei_encoder_config *c, size_t i, size_t part, aoei_slot *s) {
    snprintf(s->name, sizeof s->name, "convs.%zu.%s", i, part ? "bias" : "weight");
    s->fan_in = c->hidden * c->modules.kernels[i];
    if (part)
        vector_slot(s, c->modules.kernel_channels);
    else
        matrix_slot(s, c->modules.kernel_channels, s->fan_in);
}

/* Describes weight `part` (AOEI_LSTM_INPUT ...) of one direction of a layer of the LSTM. */
static void describe_lstm(const aoei_encoder_config *c, size_t layer, int reverse, size_t part, aoei_slot *s) {
    static const char *const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    snprintf(s->name, sizeof s->name, "encoder.%s_l%zu%s", names[part], layer, reverse ? "_reverse" : "");
    s->fan_in = c->modules.lstm_dims;
    if (part == AOEI_LSTM_INPUT)
        matrix_slot(s, 4 * c->modules.lstm_dims, layer ? c->modules.lstm_dims * aoei_lstm_directions(c) : c->hidden);
    else if (part == AOEI_LSTM_RECURRENT)
        matrix_slot(s, 4 * c->modules.lstm_dims, c->modules.lstm_dims);
    else
        vector_slot(s, 4 * c->modules.lstm_dims);
}

/* Describes weight i of the module between the encoder and the pooling. */
static void describe_token_module(const aoei_encoder_config *c, size_t i, aoei_slot *s) {
    const size_t cells = c->modules.lstm_dims ? c->modules.lstm_layers * aoei_lstm_directions(c) : 0,
                 cell = i / AOEI_LSTM_WEIGHTS;
    s->pooled = AOEI_POOLED_TOKEN_MODULE;
    s->absent = i >= 2 * c->modules.n_kernels && cell >= cells;
    if (cell < cells)
        describe_lstm(c, cell / aoei_lstm_directions(c), (int)(cell % aoei_lstm_directions(c)), i % AOEI_LSTM_WEIGHTS,
                      s);
    else if (!s->absent)
        describe_convolution(c, i / 2, i % 2, s);
}

static void describe_pooled(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    const aoei_training_layers *training = aoei_training_layers_of(c);
    if (kind < AOEI_PW_HEAD) {
        const size_t i = kind / AOEI_MODULE_WEIGHTS, part = kind % AOEI_MODULE_WEIGHTS;
        describe_module(i < c->modules.n ? &c->modules.list[i] : NULL, part, s);
        s->pooled = 1 + (int)i;
        if (c->modules.classes && !c->modules.head_in_modules && i < c->modules.n)
            describe_classifier(c, i, part, s);
        return;
    }
    if (kind >= AOEI_PW_TOKEN_MODULE) {
        describe_token_module(c, kind - AOEI_PW_TOKEN_MODULE, s);
        return;
    }
    if (kind >= AOEI_PW_PROJECTION) {
        const size_t i = (kind - AOEI_PW_PROJECTION) / AOEI_MODULE_WEIGHTS,
                     part = (kind - AOEI_PW_PROJECTION) % AOEI_MODULE_WEIGHTS;
        describe_module(i < training->n_projection ? &training->projection[i] : NULL, part, s);
        s->pooled = AOEI_POOLED_PROJECTION;
        s->fan_in = training->projects_features && i < training->n_projection ? training->projection[i].in : 0;
        return;
    }
    if (kind == AOEI_PW_LAYER_WEIGHTS) {
        snprintf(s->name, sizeof s->name, "layer_weights");
        vector_slot(s, c->modules.layer_weights);
        s->decay = 1;
        s->pooled = AOEI_POOLED_LAYERS;
        s->absent = !c->modules.layer_weights;
        return;
    }
    snprintf(s->name, sizeof s->name, "%s", kind == AOEI_PW_HEAD ? "weight" : "bias");
    s->pooled = AOEI_POOLED_HEAD;
    s->fan_in = training->projects_features ? training->head_cols : 0;
    if (kind == AOEI_PW_HEAD)
        matrix_slot(s, training->head_rows, training->head_cols);
    else
        vector_slot(s, training->head_rows);
    s->absent = !training->head_rows;
}

/* Sets the position of the weight `kind` in its fused tensor, if the layout of the weight file has fused tensors. */
static void describe_fused(const aoei_encoder_config *c, size_t kind, aoei_slot *s) {
    for (const aoei_fused *f = c->arch ? c->arch->fused : NULL; f && f->n; f++)
        for (size_t i = 0; i < f->n; i++) {
            if (f->kinds[i] != kind)
                continue;
            for (size_t k = 0; k < f->n; k++) {
                aoei_slot part = {0};
                describe_layer(c, f->kinds[k], &part);
                const size_t rows = part.vector ? part.cols : part.rows;
                s->first += k < i ? rows : 0;
                s->stored_rows += rows;
            }
        }
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
        if (c->arch && c->arch->describe_layer)
            c->arch->describe_layer(c, kind, layer, out);
        else if (kind >= AOEI_LW_ADAPTERS)
            describe_adapter(c, kind, layer, out);
        else
            describe_layer(c, kind, out);
        out->absent |= !aoei_has_norm1(c, layer) && (kind == AOEI_LW_NORM1 || kind == AOEI_LW_NORM1_BIAS);
        describe_fused(c, kind, out);
    } else {
        describe_outer(c, kind, out);
    }
    out->linear &= !out->absent;
    out->frozen = (c->lora.r && !out->adapter) || (c->frozen_words && out->table);
    if (c->arch && out->adapter && !out->absent)
        name_adapter(c, kind, layer, out);
    else if (c->arch && !out->adapter)
        c->arch->name(out->name, sizeof out->name, group, kind, layer);
    return 0;
}

size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot) {
    if (!c->lora.r || slot < AOEI_W_LAYERS || slot >= aoei_head_slot(c, 0))
        return 0;
    const size_t kind = (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT, index = aoei_adapter_index(kind);
    const size_t layer = (slot - AOEI_W_LAYERS) / AOEI_LW_COUNT;
    if (kind >= AOEI_LW_ADAPTERS || aoei_adapter_kind(index) != kind || !aoei_lora_of(&c->lora, layer, index).r)
        return 0;
    return slot - kind + AOEI_LW_ADAPTERS + 2 * index;
}

static size_t count_slots(const aoei_encoder_config *c, int adapters) {
    size_t total = 0;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        const int is_training_only = slot.pooled == AOEI_POOLED_HEAD || slot.pooled == AOEI_POOLED_PROJECTION;
        if (!slot.absent && !is_training_only && (adapters || !slot.adapter))
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

/* Numbers of slots of earlier versions of the library, and ranges of random streams (aoei_slot_stream). The first
 * version had FIRST_OUTER slots before the layers and AOEI_LW_GATE slots per layer. The second version had SECOND_OUTER
 * slots before the layers and SECOND_LAYER slots per layer. LATER and POOLED are the first streams of slots that were
 * added in the second version, ADDED is the first stream of slots that were added since. */
enum {
    FIRST_OUTER = 5,
    SECOND_OUTER = 7,
    SECOND_LAYER = 32,
    ADDED = 1 << 27,
    LATER = 1 << 28,
    POOLED = 1 << 29,
    PROJECTION = 64,   /* added to POOLED */
    TOKEN_MODULE = 256 /* added to POOLED */
};

/* Returns the stream of the weight `kind` of layer `layer` of a transformer. */
static uint32_t layer_stream(size_t layer, size_t kind) {
    const size_t second = LATER + SECOND_OUTER + layer * SECOND_LAYER;
    if (kind < AOEI_LW_GATE)
        return (uint32_t)(FIRST_OUTER + layer * AOEI_LW_GATE + kind);
    if (kind <= AOEI_LW_GATE_BIAS)
        return (uint32_t)(second + kind);
    if (kind >= AOEI_LW_ADAPTERS)
        return (uint32_t)(second + AOEI_LW_GATE_BIAS + 1 + kind - AOEI_LW_ADAPTERS);
    return (uint32_t)(ADDED + (layer + 1) * SECOND_LAYER + kind - AOEI_LW_GATE_BIAS);
}

/* The stream of a slot must not change between versions of the library, so that a seed always gives the same initial
 * weights. The streams of the slots of the second version are computed from their slot numbers in that version and in
 * the first version. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot) {
    const size_t in_layers = slot - AOEI_W_LAYERS;
    if (slot >= aoei_pooled_slot(c, 0)) {
        /* in the first version, the weights after the pooling were weight and bias of a dense layer, then of the head,
         * which could be a projection */
        const size_t pooled = slot - aoei_pooled_slot(c, 0);
        if (pooled >= AOEI_PW_TOKEN_MODULE)
            return (uint32_t)(POOLED + TOKEN_MODULE + pooled - AOEI_PW_TOKEN_MODULE);
        if (pooled >= AOEI_PW_PROJECTION) {
            const size_t k = pooled - AOEI_PW_PROJECTION;
            return (uint32_t)(POOLED + (k < 2 && !aoei_training_layers_of(c)->head_rows ? 2 + k : PROJECTION + k));
        }
        return (uint32_t)(POOLED + (pooled >= AOEI_PW_HEAD ? 2 + pooled - AOEI_PW_HEAD
                                    : pooled < 2           ? pooled
                                                           : pooled + 2));
    }
    if (slot < AOEI_W_LAYERS && slot >= SECOND_OUTER)
        return (uint32_t)(ADDED + slot - SECOND_OUTER);
    if (layer_slots(c) != AOEI_LW_COUNT)
        return (uint32_t)(slot < SECOND_OUTER ? slot : SECOND_OUTER + in_layers);
    if (slot >= aoei_head_slot(c, 0))
        return (uint32_t)(FIRST_OUTER + c->layers * AOEI_LW_GATE + slot - aoei_head_slot(c, 0));
    if (slot < AOEI_W_LAYERS)
        return (uint32_t)(slot < FIRST_OUTER ? slot : LATER + slot);
    return layer_stream(in_layers / AOEI_LW_COUNT, in_layers % AOEI_LW_COUNT);
}
