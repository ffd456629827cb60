/* SPDX-License-Identifier: MIT
 * Long short-term memory (LSTM, Hochreiter and Schmidhuber 1997) over the tokens of each text, as nn.LSTM of PyTorch.
 * For token t of a text, with the gates in the order i, f, g, o:
 *     (a_i a_f a_g a_o) = W x_t + b + U h_(t-1) + b'
 *     c_t = sigma(a_f) c_(t-1) + sigma(a_i) tanh(a_g),    h_t = sigma(a_o) tanh(c_t)
 * h and c are 0 before the first token. The reverse direction starts at the last token of a text. Shapes: N tokens, T
 * texts, D input components, H output components; W is [4 H, D], U is [4 H, H], b and b' are [1, 4 H].
 *
 * The texts of a batch are sorted by their lengths, and the products with U of all texts are computed with one matmul
 * per token position. The output of a text does not depend on the other texts of the batch. Gradients of weights are
 * added token by token in the order of the batch, as in nn/linear.h.
 */
#pragma once

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

enum { AOEI_LSTM_INPUT, AOEI_LSTM_RECURRENT, AOEI_LSTM_INPUT_BIAS, AOEI_LSTM_RECURRENT_BIAS, AOEI_LSTM_WEIGHTS };

/* Buffers that the directions and layers of a model can share, except those whose comment says otherwise. All of them
 * are float32. */
typedef struct aoei_lstm {
    size_t out;            /* H */
    int reverse;           /* 1: the reverse direction */
    const aoei_tensor *w;  /* [AOEI_LSTM_WEIGHTS] W, U, b and b' */
    aoei_tensor gates;     /* [N, 4 H] gates; the backward pass needs those of its own layer and direction */
    aoei_tensor cells;     /* [N, H] c of each token; the backward pass needs those of its own layer and direction */
    aoei_tensor state;     /* [T, H] previous h of each text; in the backward pass, its gradient */
    aoei_tensor recurrent; /* [T, 4 H] products with U; in the backward pass, the gradients of the arguments of the
                              gates */
    aoei_tensor zeros;     /* [1, H] zeros */
    aoei_tensor grad_cell; /* [T, H] gradient of c of each text; backward pass only */
    aoei_tensor previous;  /* [N, H] previous h of each token; backward pass only */
    uint32_t *order;       /* [T] texts in descending order of their lengths */
    size_t *active;        /* [longest + 1] number of texts that have more than t tokens, for each t */
    void *packed;          /* aoei_lstm_packed_size bytes for the packed form of U, aligned to 64 bytes */
    aoei_tensor workspace; /* aoei_linear_workspace bytes for weights of [4 H, max(D, H)] and N tokens of float32 */
} aoei_lstm;

/* Returns the size in bytes of aoei_lstm.packed. */
size_t aoei_lstm_packed_size(const aoe_context *ctx, size_t out);
/* Computes the outputs y[N, H] from x[N, D]. Both are float32; y may be a column view. The batch has at least one
 * text. */
void aoei_lstm_forward(const aoe_context *ctx, const aoei_lstm *l, aoei_tensor y, aoei_tensor x,
                       const aoei_batch *batch);
/* Computes the backward pass from dy[N, H], the gradient of y; both may be column views. Adds the weight gradients to
 * g[AOEI_LSTM_WEIGHTS], whose elements may be absent. Adds the gradient of x to dx[N, D]. Overwrites l->gates. */
void aoei_lstm_backward(const aoe_context *ctx, const aoei_lstm *l, aoei_tensor dx, const aoei_tensor *g,
                        aoei_tensor dy, aoei_tensor y, aoei_tensor x, const aoei_batch *batch);
