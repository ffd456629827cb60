/* SPDX-License-Identifier: MIT
 * Activations and workspaces of the encoder of recurrent attention networks (RAN, docs/ran.md). They are stored in the
 * arena of the encoder's state. In comments, N is the number of tokens in the batch, C is its number of windows, M is
 * the maximum number of rows in a round, D is the hidden size, and H is heads * head_size. In training, one round
 * contains all windows, so M is N + C. In inference, M is also limited by the field `rows` of aoei_ran_limits.
 * ran_windows.h defines rounds and steps, and the orders of rows and windows.
 */
#pragma once

#include "encoder/ran_windows.h"
#include "nn/tensor.h"

/* Activations of n rows, which are cells or tokens, in the attention of a window. In inference, some of the tensors use
 * the same memory. */
typedef struct aoei_ran_rows {
    aoei_tensor in;        /* [n, D] inputs: cells and tokens */
    aoei_tensor in_stats;  /* [n, 2] float32 statistics of the norm of `in`; used in training only */
    aoei_tensor z;         /* [n, D] `in` after its norm and dropout */
    aoei_tensor pre;       /* [n, 3H] queries, keys and values before swish */
    aoei_tensor qkv;       /* [n, 3H] queries, keys and values after swish and rotation; one tensor for all layers */
    aoei_tensor heads;     /* [n, H] output of the attention */
    aoei_tensor o;         /* [n, D] result of the output layer of the attention, before swish */
    aoei_tensor glu;       /* [n, 2D] linear part and gate of GLU(z), the gated linear unit of z */
    aoei_tensor sum;       /* [n, D] swish(o) + GLU(z), with dropout of swish(o) */
    aoei_tensor sum_stats; /* [n, 2] float32 statistics of the norm of `sum`; used in training only */
    aoei_tensor unit;      /* [n, D] output of the norm of `sum` */
    /* [n, 2] float32 statistics of the norm of `unit`, which has no trained weights; used in training only */
    aoei_tensor unit_stats;
} aoei_ran_rows;

typedef struct aoei_ran_layer {
    aoei_ran_rows rows;  /* activations of the M rows of a round */
    aoei_ran_rows cells; /* activations of the C cells, in step order; in inference, activations of the cells of one
                            step */
    /* one row per cell, in step order */
    aoei_tensor g;      /* [C, D] raw cells: for each window, its output for the row of its cell, before the residual is
                           added */
    aoei_tensor before; /* [C, D] for each window, the raw cell of the previous window of its text */
    aoei_tensor carry_glu;   /* [C, 2D] linear part and gate of GLU(before) */
    aoei_tensor carry;       /* [C, D] g + GLU(before) */
    aoei_tensor carry_stats; /* [C, 2] float32 statistics of the norm of `carry`; used in training only */
    aoei_tensor after;       /* [C, D] for each window, the cell after the window */
    /* memory review */
    aoei_tensor s;            /* [C, D] raw cells in text order */
    aoei_tensor tokens;       /* [N, D] outputs of the windows */
    aoei_tensor q_pre;        /* [N, D] queries before swish */
    aoei_tensor kv_pre;       /* [C, 2D] keys and values before swish */
    aoei_tensor review;       /* [N, D] output of the attention */
    aoei_tensor review_o;     /* [N, D] result of the output layer of the attention, before swish */
    aoei_tensor review_glu;   /* [N, 2D] linear part and gate of the gated linear unit of memory review */
    aoei_tensor review_sum;   /* [N, D] swish(review_o), with dropout, + result of the gated linear unit */
    aoei_tensor review_stats; /* [N, 2] float32 statistics of the norm of `review_sum`; used in training only */
    aoei_tensor out;          /* [N, D] output of the layer */
} aoei_ran_layer;

/* Gradients of n rows. Each field is the gradient of the field of aoei_ran_rows that has its name. */
typedef struct aoei_ran_grads {
    aoei_tensor unit;  /* [n, D] float32 */
    aoei_tensor sum;   /* [n, D] float32 */
    aoei_tensor o;     /* [n, D] */
    aoei_tensor glu;   /* [n, 2D] */
    aoei_tensor heads; /* [n, H] */
    aoei_tensor qkv;   /* [n, 3H] float32 */
    aoei_tensor pre;   /* [n, 3H] */
} aoei_ran_grads;

typedef struct aoei_ran_state {
    aoei_ran_windows windows; /* windows of the batch */
    size_t n_layers;
    aoei_ran_layer *layers; /* [n_layers] tensors of each layer, in the arena of the encoder's state */
    aoei_tensor ones;       /* [1, D] float32 ones: weight of the norm that has no trained weights */
    aoei_tensor zeros;      /* [1, D] float32 zeros: bias of the norm that has no trained weights */
    float *host;            /* [D] ones, from which the tensor `ones` is filled */
    aoei_tensor table;      /* [window rows, head_size] float32 cosines and sines for the positions in a window */
    aoei_tensor result;     /* [M, D] outputs of the windows; one tensor for all layers */
    aoei_tensor review_q;  /* [N, D] queries of memory review; one tensor for all layers; in inference, only the queries
                              of one block of tokens */
    aoei_tensor review_kv; /* [C, 2D] keys and values of memory review; one tensor for all layers */
    aoei_tensor scratch;   /* workspace of the attention */
    aoei_tensor workspace; /* workspace in which linear layers pack operands; used in training only */
    /* used in training only */
    aoei_tensor embed_sum;   /* [N, D] input of the embedding norm */
    aoei_tensor embed_stats; /* [N, 2] float32 statistics of the embedding norm */
    aoei_ran_grads d;        /* gradients of the M rows of a round */
    aoei_ran_grads d_cells;  /* gradients of the C cells in step order */
    aoei_tensor d_g;         /* [C, D] float32 gradient of `g` in step order */
    aoei_tensor d_after;     /* [C, D] float32 gradient of `after` in step order */
    aoei_tensor d_carry;     /* [C, D] float32 gradient of `carry` in step order */
    aoei_tensor d_carry_glu; /* [C, 2D] gradient of `carry_glu` in step order */
    aoei_tensor d_s;         /* [C, D] float32 gradient of `s` in text order */
    aoei_tensor d_first;     /* [texts, D] float32 gradient of the initial cell of each text */
    aoei_tensor d_review;    /* [N, D] gradient of `review` */
    aoei_tensor d_review_kv; /* [C, 2D] float32 gradient of `review_kv` */
    aoei_tensor d_kv_pre;    /* [C, 2D] gradient of `kv_pre` */
    /* Copies of the rows of all windows except the first window of each text, in text order. Weight gradients are
     * computed from them. */
    aoei_tensor later_a;     /* [C, D] first the rows of `carry`, then the rows of `g` of the previous windows */
    aoei_tensor later_glu;   /* [C, 2D] rows of d_carry_glu */
    aoei_tensor later_d;     /* [C, D] float32 rows of d_after */
    aoei_tensor later_stats; /* [C, 2] float32 rows of carry_stats */
    /* gradients from the pooling of cells */
    aoei_tensor pool_cells; /* [C, D] float32 gradient of the cells that comes from the pooling, in text order */
    aoei_tensor pool_last;  /* [texts, D] float32 gradient of the last cell of each text that comes from the pooling */
    int pooled_cells;       /* 1: pool_cells and pool_last are set, and the last hidden state has no gradient */
} aoei_ran_state;
