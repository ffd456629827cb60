/* SPDX-License-Identifier: MIT
 * LSTM between the encoder and the pooling.
 */
#include "encoder/token_lstm.h"

#include <string.h>

#include "encoder/slots.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/lstm.h"

/* The site of the dropout of the input of layer 1. The sites of the encoder layers are smaller. */
#define SITE ((uint32_t)4 * AOEI_MAX_LAYERS + 4)

/* Buffers of the LSTM. A cell is one direction of one layer. */
typedef struct aoei_token_lstm {
    aoei_tensor input[AOEI_MAX_LSTM_LAYERS]; /* [N, D] float32 input of each layer, after dropout */
    aoei_tensor grad_input;                  /* [N, lstm_dims directions] float32 gradient of an input; training only */
    aoei_tensor gates[2 * AOEI_MAX_LSTM_LAYERS]; /* [N, 4 lstm_dims] gates of each cell; in inference, all cells share
                                                    them */
    aoei_tensor cells[2 * AOEI_MAX_LSTM_LAYERS]; /* [N, lstm_dims] c of each cell; in inference, all cells share them */
    /* [N, lstm_dims directions] output of each layer before dropout; that of the last layer is s->tokens */
    aoei_tensor output[AOEI_MAX_LSTM_LAYERS];
    aoei_lstm shared; /* the other buffers, which all cells share */
} aoei_token_lstm;

static size_t input_width(const aoei_encoder_config *c, size_t layer) {
    return layer ? aoei_token_width(c) : c->hidden;
}

/* Allocates the buffers that all cells share. */
static void layout_shared(aoei_lstm *l, const aoei_encoder_state *s, const aoe_context *ctx,
                          const aoei_encoder_config *c, aoei_arena *arena) {
    const size_t H = c->modules.lstm_dims, widest = c->hidden > aoei_token_width(c) ? c->hidden : aoei_token_width(c);
    l->out = H;
    l->state = aoei_tensor_take(arena, s->n_texts, H);
    l->recurrent = aoei_tensor_take(arena, s->n_texts, 4 * H);
    l->zeros = aoei_tensor_take(arena, 1, H);
    l->order = aoei_arena_take_array(arena, s->n_texts, sizeof *l->order);
    l->active = aoei_arena_take_array(arena, s->longest + 1, sizeof *l->active);
    l->packed = aoei_arena_take(arena, aoei_lstm_packed_size(ctx, H));
    l->workspace = aoei_workspace_take(arena, aoei_linear_workspace(ctx, AOEI_F32, s->n_tokens, 4 * H, widest));
    if (!s->mode.training)
        return;
    l->grad_cell = aoei_tensor_take(arena, s->n_texts, H);
    l->previous = aoei_tensor_take(arena, s->n_tokens, H);
}

void aoei_token_lstm_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c,
                            aoei_arena *arena) {
    aoei_token_lstm buffers = {.shared = {.out = 0}};
    if (!c->modules.lstm_dims)
        return;
    const size_t N = s->n_tokens, n_cells = c->modules.lstm_layers * aoei_lstm_directions(c);
    s->tokens = aoei_tensor_take(arena, N, aoei_token_width(c));
    for (size_t layer = 0; layer < c->modules.lstm_layers; layer++) {
        const int is_last = layer + 1 == c->modules.lstm_layers;
        buffers.input[layer] = aoei_tensor_take(arena, N, input_width(c, layer));
        buffers.output[layer] = is_last ? s->tokens : aoei_tensor_take(arena, N, aoei_token_width(c));
    }
    for (size_t i = 0; i < n_cells; i++) {
        const int is_new = s->mode.training || i == 0;
        buffers.gates[i] = is_new ? aoei_tensor_take(arena, N, 4 * c->modules.lstm_dims) : buffers.gates[0];
        buffers.cells[i] = is_new ? aoei_tensor_take(arena, N, c->modules.lstm_dims) : buffers.cells[0];
    }
    layout_shared(&buffers.shared, s, ctx, c, arena);
    if (s->mode.training) {
        buffers.grad_input = aoei_tensor_take(arena, N, aoei_token_width(c));
        s->grad_tokens = aoei_tensor_take(arena, N, aoei_token_width(c));
    }
    s->lstm = aoei_arena_take(arena, sizeof *s->lstm);
    if (s->lstm)
        *s->lstm = buffers;
}

/* Returns one direction of a layer. */
static aoei_lstm cell_of(const aoei_encoder_config *c, const aoei_tensor *w, const aoei_encoder_state *s, size_t layer,
                         size_t direction) {
    const size_t i = layer * aoei_lstm_directions(c) + direction;
    aoei_lstm l = s->lstm->shared;
    l.reverse = direction == 1;
    l.w = w + aoei_pooled_slot(c, AOEI_PW_TOKEN_MODULE + AOEI_LSTM_WEIGHTS * i);
    l.gates = s->lstm->gates[i];
    l.cells = s->lstm->cells[i];
    return l;
}

/* Returns the columns of t, an output of a layer or its gradient, that belong to a direction. */
static aoei_tensor half_of(const aoei_encoder_config *c, aoei_tensor t, size_t direction, size_t n) {
    return aoei_tensor_cols(aoei_tensor_rows(t, 0, n), direction * c->modules.lstm_dims, c->modules.lstm_dims);
}

/* Copies x to y, with the dropout of the input of a layer. */
static void apply_dropout(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor x,
                          size_t layer, const aoei_batch *batch, const aoei_encoder_dropout *drop) {
    const aoei_dropout d = {.p = drop ? c->modules.lstm_dropout : 0,
                            .key = {drop ? drop->key[0] : 0, drop ? drop->key[1] : 0},
                            .site = SITE + (uint32_t)layer};
    aoei_dropout_add(ctx, y, x, (aoei_tensor){0}, batch, &d);
}

void aoei_token_lstm_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                             const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    for (size_t layer = 0; c->modules.lstm_dims && layer < c->modules.lstm_layers; layer++) {
        const aoei_tensor x = aoei_tensor_rows(s->lstm->input[layer], 0, n);
        if (layer)
            apply_dropout(ctx, c, x, aoei_tensor_rows(s->lstm->output[layer - 1], 0, n), layer, batch, drop);
        else
            aoei_tensor_copy(ctx, x, aoei_tensor_rows(s->hidden[c->layers], 0, n));
        for (size_t d = 0; d < aoei_lstm_directions(c); d++) {
            const aoei_lstm l = cell_of(c, w, s, layer, d);
            aoei_lstm_forward(ctx, &l, half_of(c, s->lstm->output[layer], d, n), x, batch);
        }
    }
}

void aoei_token_lstm_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                              const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    for (size_t layer = c->modules.lstm_dims ? c->modules.lstm_layers : 0; layer-- > 0;) {
        const aoei_tensor dx = aoei_tensor_rows(layer ? s->lstm->grad_input : s->grad_last, 0, n);
        aoei_tensor_zero(ctx, dx);
        for (size_t d = 0; d < aoei_lstm_directions(c); d++) {
            const aoei_lstm l = cell_of(c, w, s, layer, d);
            aoei_lstm_backward(ctx, &l, dx, grads + (l.w - w), half_of(c, s->grad_tokens, d, n),
                               half_of(c, s->lstm->output[layer], d, n), aoei_tensor_rows(s->lstm->input[layer], 0, n),
                               batch);
        }
        if (layer) /* the gradient of the output of the layer before */
            apply_dropout(ctx, c, aoei_tensor_rows(s->grad_tokens, 0, n), dx, layer, batch, drop);
    }
}
