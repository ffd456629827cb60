/* SPDX-License-Identifier: MIT
 * Activations and workspace of the recurrent encoder (docs/ran.md), in the arena of the encoder's state. Shape letters: N is
 * the number of tokens of the batch, C the number of windows of the batch, M the maximum number of rows of a round, D the
 * hidden size, and H = heads * head_size. In training M = N + C. In inference, M is at most about aoei_ran_limits.rows.
 * ran_windows.h defines the orders of rows and windows.
 */
#ifndef AOEI_ENCODER_RAN_STATE_H
#define AOEI_ENCODER_RAN_STATE_H

#include "encoder/ran_windows.h"
#include "nn/tensor.h"

/* Activations of n rows (cells or tokens) in the attention of a window. In inference some of the tensors share memory. */
typedef struct aoei_ran_rows {
    aoei_tensor in;         /* [n, D] cells and tokens */
    aoei_tensor in_stats;   /* [n, 2] float32 statistics of the norm of `in` (training) */
    aoei_tensor z;          /* [n, D] `in` after norm and dropout */
    aoei_tensor pre;        /* [n, 3H] queries, keys and values before swish */
    aoei_tensor qkv;        /* [n, 3H] queries, keys and values after swish, rotated; shared by all layers */
    aoei_tensor heads;      /* [n, H] output of the attention */
    aoei_tensor o;          /* [n, D] output projection before swish */
    aoei_tensor glu;        /* [n, 2D] linear parts of GLU(z) */
    aoei_tensor sum;        /* [n, D] sum of projection and GLU */
    aoei_tensor sum_stats;  /* [n, 2] float32 statistics of the norm of `sum` (training) */
    aoei_tensor unit;       /* [n, D] output of the norm of `sum` */
    aoei_tensor unit_stats; /* [n, 2] float32 statistics of the norm of `unit`, which has no trained weights (training) */
} aoei_ran_rows;

typedef struct aoei_ran_layer {
    aoei_ran_rows rows;  /* [M] activations of all rows of a round */
    aoei_ran_rows cells; /* [C] activations of the cells in step order; in inference only the cells of one step */
    /* cells, in step order */
    aoei_tensor g;           /* [C, D] raw cells: outputs of the windows for their cells, before the residual */
    aoei_tensor before;      /* [C, D] for each window the raw cell of the previous window of its text */
    aoei_tensor carry_glu;   /* [C, 2D] linear parts of GLU(before) */
    aoei_tensor carry;       /* [C, D] g + GLU(before) */
    aoei_tensor carry_stats; /* [C, 2] float32 statistics of the norm of `carry` (training) */
    aoei_tensor after;       /* [C, D] cell after each window */
    /* memory review */
    aoei_tensor s;            /* [C, D] raw cells in text order */
    aoei_tensor tokens;       /* [N, D] outputs of the windows */
    aoei_tensor q_pre;        /* [N, D] queries before swish */
    aoei_tensor kv_pre;       /* [C, 2D] keys and values before swish */
    aoei_tensor review;       /* [N, D] output of the attention */
    aoei_tensor review_o;     /* [N, D] output projection before swish */
    aoei_tensor review_glu;   /* [N, 2D] linear parts of the GLU */
    aoei_tensor review_sum;   /* [N, D] sum of projection and GLU */
    aoei_tensor review_stats; /* [N, 2] float32 statistics of the norm of `review_sum` (training) */
    aoei_tensor out;          /* [N, D] output of the layer */
} aoei_ran_layer;

/* Gradients of n rows. Each field is the gradient of the field of aoei_ran_rows with its name. */
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
    aoei_ran_layer *layers; /* [n_layers] tensors of each layer, in the arena */
    aoei_tensor ones;       /* [1, D] float32 weight of the norm without trained weights, all ones */
    aoei_tensor zeros;      /* [1, D] float32 bias of the norm without trained weights, all zeros */
    float *host;            /* [D] host copy of `ones` */
    aoei_tensor table;      /* [window rows, head size] float32 cosines and sines of the positions in a window */
    aoei_tensor result;     /* [M, D] outputs of the steps, shared by all layers */
    aoei_tensor review_q;   /* [N, D] queries of memory review, shared by all layers; in inference only the queries of one block
                               of tokens */
    aoei_tensor review_kv;  /* [C, 2D] keys and values of memory review, shared by all layers */
    aoei_tensor scratch;    /* workspace of the attention */
    aoei_tensor workspace;  /* workspace of the linear layers, for packing (training) */
    /* training */
    aoei_tensor embed_sum;   /* [N, D] input of the embedding norm */
    aoei_tensor embed_stats; /* [N, 2] float32 statistics of the embedding norm */
    aoei_ran_grads d;        /* [M] gradients of the rows of a round */
    aoei_ran_grads d_cells;  /* [C] gradients of the cells in step order */
    aoei_tensor d_g;         /* [C, D] float32 gradient of `g` in step order */
    aoei_tensor d_after;     /* [C, D] float32 gradient of `after` in step order */
    aoei_tensor d_carry;     /* [C, D] float32 gradient of `carry` in step order */
    aoei_tensor d_carry_glu; /* [C, 2D] gradient of `carry_glu` in step order */
    aoei_tensor d_s;         /* [C, D] float32 gradient of `s` in text order */
    aoei_tensor d_first;     /* [texts, D] float32 gradient of the initial cells of a layer */
    aoei_tensor d_review;    /* [N, D] gradient of `review` */
    aoei_tensor d_review_kv; /* [C, 2D] float32 gradient of `review_kv` */
    aoei_tensor d_kv_pre;    /* [C, 2D] gradient of `kv_pre` */
    /* rows of the windows that are not the first window of their text, copied in text order to compute weight gradients */
    aoei_tensor later_a;     /* [C, D] rows of `carry`, then rows of `g` of the previous windows */
    aoei_tensor later_glu;   /* [C, 2D] rows of d_carry_glu */
    aoei_tensor later_d;     /* [C, D] float32 rows of d_after */
    aoei_tensor later_stats; /* [C, 2] float32 rows of carry_stats */
    /* gradients from the pooling of cells */
    aoei_tensor pool_cells; /* [C, D] float32 gradient of the cells from the pooling, in text order */
    aoei_tensor pool_last;  /* [texts, D] float32 gradient of the last cells from the pooling */
    int pooled_cells;       /* 1: pool_cells and pool_last are set, and the last hidden state has no gradient */
} aoei_ran_state;

#endif
