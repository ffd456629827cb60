/* SPDX-License-Identifier: MIT
 * The layers that only training uses. Their weights have slots of their own (slot_layout.h), and a saved model does not
 * contain them.
 */
#pragma once

#include "encoder/config.h"

struct aoei_training_layers {
    /* [n_projection] modules between the embeddings and the loss, such as the projection of SimCSE */
    size_t n_projection;
    aoei_module projection[AOEI_MAX_PROJECTION];
    /* 1: the projection consists of linear layers that are applied to the features of a pair instead of to the
     * embeddings. The training head is applied to their output (train/linear_classifier.h) */
    int projects_features;
    /* shape of the weight of the training head, a linear layer such as a classifier; 0: there is none */
    size_t head_rows, head_cols;
};

/* Returns the training layers of a configuration; without training layers, returns a struct of zeros. */
static inline const aoei_training_layers *aoei_training_layers_of(const aoei_encoder_config *c) {
    static const aoei_training_layers none;
    return c->training ? c->training : &none;
}
