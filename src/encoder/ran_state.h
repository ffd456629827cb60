/* SPDX-License-Identifier: MIT
 * What the recurrent encoder lays out (docs/ran.md): tensors alone, part of aoei_encoder_state. Letters beside the shape
 * letters: C windows of the batch, M = N + C rows of a round (in inference at most about aoei_ran_limits.rows), H the width
 * of all heads.
 */
#ifndef AOEI_ENCODER_RAN_STATE_H
#define AOEI_ENCODER_RAN_STATE_H

#include "encoder/ran_windows.h"
#include "nn/tensor.h"

/* The way of a row, a cell's or a token's, through a window's attention. In inference one memory serves several. */
typedef struct aoei_ran_rows {
    aoei_tensor in;               /* [n, D] the cell and the tokens */
    aoei_tensor in_stats;         /* [n, 2] float32 (training) */
    aoei_tensor z;                /* [n, D] normalised, after dropout */
    aoei_tensor pre;              /* [n, 3H] queries, keys, values before swish */
    aoei_tensor qkv;              /* [n, 3H] after it, rotated: of all layers in turn */
    aoei_tensor heads;            /* [n, H] attention output */
    aoei_tensor o;                /* [n, D] its projection before swish */
    aoei_tensor glu;              /* [n, 2D] the linear halves of GLU(z) */
    aoei_tensor sum, sum_stats;   /* [n, D], [n, 2] */
    aoei_tensor unit, unit_stats; /* [n, D] sum normalised, [n, 2] of its own norm without weights */
} aoei_ran_rows;

typedef struct aoei_ran_layer {
    aoei_ran_rows rows;  /* [M] by row of the round */
    aoei_ran_rows cells; /* [C] by turn; in inference a step's */
    /* by turn */
    aoei_tensor g;                  /* [C, D] raw cells */
    aoei_tensor before;             /* [C, D] those of the windows before */
    aoei_tensor carry_glu;          /* [C, 2D] the linear halves of GLU(before) */
    aoei_tensor carry, carry_stats; /* [C, D], [C, 2] g + GLU(before) */
    aoei_tensor after;              /* [C, D] the cell behind each window */
    aoei_tensor s;                  /* [C, D] raw cells in text order */
    /* memory review */
    aoei_tensor tokens;                   /* [N, D] the windows' outputs */
    aoei_tensor q_pre, kv_pre;            /* [N, D], [C, 2D] before swish */
    aoei_tensor review, review_o;         /* [N, D] attention output, its projection before swish */
    aoei_tensor review_glu;               /* [N, 2D] */
    aoei_tensor review_sum, review_stats; /* [N, D], [N, 2] */
    aoei_tensor out;                      /* [N, D] */
} aoei_ran_layer;

typedef struct aoei_ran_grads {
    aoei_tensor unit;          /* [M, D] float32 */
    aoei_tensor sum;           /* [M, D] float32 */
    aoei_tensor o, glu, heads; /* [M, D], [M, 2D], [M, H] */
    aoei_tensor qkv;           /* [M, 3H] float32 */
    aoei_tensor pre;           /* [M, 3H] */
} aoei_ran_grads;

typedef struct aoei_ran_state {
    aoei_ran_windows windows;
    size_t n_layers;
    aoei_ran_layer *layers;    /* [layers], in the arena */
    aoei_tensor ones, zeros;   /* [1, D] float32: weights of the norm that has none */
    float *host;               /* [D] what is written to one of them */
    aoei_tensor table;         /* [rows of a window, head size] float32 cosines and sines */
    aoei_tensor result;        /* [M, D] steps' outputs, of all layers in turn */
    aoei_tensor review_q;      /* [N, D] of all layers in turn; in inference of a block */
    aoei_tensor review_kv;     /* [C, 2D] likewise */
    aoei_tensor scratch, room; /* attention; packing room of the linear layers (training) */
    /* training */
    aoei_ran_grads d, d_cells;         /* by row, by turn */
    aoei_tensor d_g, d_after, d_carry; /* [C, D] float32 by turn */
    aoei_tensor d_carry_glu;           /* [C, 2D] by turn */
    aoei_tensor d_s;                   /* [C, D] float32 in text order */
    aoei_tensor d_first;               /* [texts, D] float32 of the cells that a layer begins with */
    aoei_tensor d_review, d_review_kv; /* [N, D]; [C, 2D] float32 */
    aoei_tensor d_kv_pre;              /* [C, 2D] */
    aoei_tensor later_a, later_glu;    /* [C, D], [C, 2D] rows in text order */
    aoei_tensor later_d, later_stats;  /* [C, D], [C, 2] float32 likewise */
    aoei_tensor pool_cells, pool_last; /* [C, D] in text order, [texts, D] float32: gradients of a pooling of cells */
    int pooled_cells;                  /* 1: the two are set, and the last hidden state has no gradient */
} aoei_ran_state;

#endif
