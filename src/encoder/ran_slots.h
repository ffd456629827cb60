/* SPDX-License-Identifier: MIT
 * Slots of the weights of a layer of a recurrent attention network (RAN, docs/ran.md), and numbers of its dropout
 * sites. A slot is the index of a weight, here within the layer. A dropout site is one use of dropout.
 */
#pragma once

/* Slots of the weights of a layer. D is the hidden size, and H is heads * head_size. The slot of a bias follows the
 * slot of the weight of its linear layer or norm. */
enum {
    /* linear layers of the attention in a window: query, key and value are [H, D]; output is [D, H] */
    AOEI_RW_Q,
    AOEI_RW_Q_BIAS,
    AOEI_RW_K,
    AOEI_RW_K_BIAS,
    AOEI_RW_V,
    AOEI_RW_V_BIAS,
    AOEI_RW_O,
    AOEI_RW_O_BIAS,
    /* gated linear unit in a window: the linear part and the gate are [D, D] */
    AOEI_RW_GLU,
    AOEI_RW_GLU_BIAS,
    AOEI_RW_GLU_GATE,
    AOEI_RW_GLU_GATE_BIAS,
    AOEI_RW_NORM, /* [1, D] norm that follows the gated linear unit */
    AOEI_RW_NORM_BIAS,
    AOEI_RW_WINDOW_NORM, /* [1, D] norm of the cell and the tokens of a window, before the attention */
    AOEI_RW_WINDOW_NORM_BIAS,
    /* residual from the previous cell: the linear part and the gate of its gated linear unit are [D, D]; its norm is
     * [1, D] */
    AOEI_RW_CELL_GLU,
    AOEI_RW_CELL_GLU_BIAS,
    AOEI_RW_CELL_GLU_GATE,
    AOEI_RW_CELL_GLU_GATE_BIAS,
    AOEI_RW_CELL_NORM,
    AOEI_RW_CELL_NORM_BIAS,
    AOEI_RW_FIRST_CELL, /* [1, D] trained initial cell of every text; exists in the first layer only */
    /* memory review: query, key, value and output are [D, D]; the linear part and the gate of its gated linear unit are
     * [D, D]; its norm is [1, D] */
    AOEI_RW_REVIEW_Q,
    AOEI_RW_REVIEW_Q_BIAS,
    AOEI_RW_REVIEW_K,
    AOEI_RW_REVIEW_K_BIAS,
    AOEI_RW_REVIEW_V,
    AOEI_RW_REVIEW_V_BIAS,
    AOEI_RW_REVIEW_O,
    AOEI_RW_REVIEW_O_BIAS,
    AOEI_RW_REVIEW_GLU,
    AOEI_RW_REVIEW_GLU_BIAS,
    AOEI_RW_REVIEW_GLU_GATE,
    AOEI_RW_REVIEW_GLU_GATE_BIAS,
    AOEI_RW_REVIEW_NORM,
    AOEI_RW_REVIEW_NORM_BIAS,
    AOEI_RW_COUNT
};

/* Dropout sites. Site 0 is the embedding output. Site n of layer l has the number 8 l + n. If there are L layers, site
 * 8 L is the input of the masked-LM head. */
enum {
    AOEI_RAN_SITE_WINDOW = 1,    /* cell and tokens of a window after their norm */
    AOEI_RAN_SITE_ATTENTION = 2, /* attention probabilities */
    AOEI_RAN_SITE_OUTPUT = 3,    /* output layer of the attention */
    AOEI_RAN_SITE_STEP = 4,      /* outputs of a window: its cell and its tokens */
    AOEI_RAN_SITE_CELL = 5,      /* cell that is passed to the next window */
    AOEI_RAN_SITE_REVIEW = 6,    /* output layer of memory review */
    AOEI_RAN_SITE_FIRST = 7,     /* initial cell of a text */
    AOEI_RAN_SITES = 8
};
