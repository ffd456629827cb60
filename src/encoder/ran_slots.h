/* SPDX-License-Identifier: MIT
 * Slot numbers of the weights of a RAN layer, and numbers of its dropout sites, the places where dropout is applied
 * (docs/ran.md).
 */
#ifndef AOEI_ENCODER_RAN_SLOTS_H
#define AOEI_ENCODER_RAN_SLOTS_H

/* Slots of a layer. D: hidden size; H = heads * head_size. The bias of a linear layer or norm has the slot after its weight. */
enum {
    /* attention in a window: query, key, value [H, D]; output [D, H] */
    AOEI_RW_Q,
    AOEI_RW_Q_BIAS,
    AOEI_RW_K,
    AOEI_RW_K_BIAS,
    AOEI_RW_V,
    AOEI_RW_V_BIAS,
    AOEI_RW_O,
    AOEI_RW_O_BIAS,
    /* gated linear unit: linear part [D, D], gate [D, D] */
    AOEI_RW_GLU,
    AOEI_RW_GLU_BIAS,
    AOEI_RW_GLU_GATE,
    AOEI_RW_GLU_GATE_BIAS,
    AOEI_RW_NORM, /* [1, D] norm after the gated linear unit */
    AOEI_RW_NORM_BIAS,
    AOEI_RW_WINDOW_NORM, /* [1, D] norm of the cell and tokens before the attention */
    AOEI_RW_WINDOW_NORM_BIAS,
    /* gated linear unit and norm of the residual from the previous cell: linear part [D, D], gate [D, D], norm [1, D] */
    AOEI_RW_CELL_GLU,
    AOEI_RW_CELL_GLU_BIAS,
    AOEI_RW_CELL_GLU_GATE,
    AOEI_RW_CELL_GLU_GATE_BIAS,
    AOEI_RW_CELL_NORM,
    AOEI_RW_CELL_NORM_BIAS,
    AOEI_RW_FIRST_CELL, /* [1, D] initial cell of a text, in the first layer only */
    /* memory review: query, key, value, output [D, D]; gated linear unit: linear part [D, D], gate [D, D]; norm [1, D] */
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

/* Dropout sites. Site 0 is the embedding output, site 8 l + n is site n of layer l, and site 8 L (L layers) is the input of
 * the masked-LM head. */
enum {
    AOEI_RAN_SITE_WINDOW = 1,    /* normalized cell and tokens of a window */
    AOEI_RAN_SITE_ATTENTION = 2, /* attention probabilities */
    AOEI_RAN_SITE_OUTPUT = 3,    /* output projection of the attention */
    AOEI_RAN_SITE_STEP = 4,      /* cell and outputs of a window */
    AOEI_RAN_SITE_CELL = 5,      /* cell passed to the next window */
    AOEI_RAN_SITE_REVIEW = 6,    /* output projection of memory review */
    AOEI_RAN_SITE_FIRST = 7,     /* initial cell of a text */
    AOEI_RAN_SITES = 8
};

#endif
