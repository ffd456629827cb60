/* SPDX-License-Identifier: MIT
 * The scores of cross-encoders in answers: the activation function, the order, and the names of the outputs. Scores are
 * activated as text-embeddings-inference does, whatever the model directory says: the sigmoid of a single output is
 * in [0, 1], and so is the softmax of several.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "serve/models.h"

typedef struct aoei_ranked {
    float score;
    uint32_t index; /* index of the text or of the output */
} aoei_ranked;

/* Returns the aoe_score_activation of the outputs of a cross-encoder. raw: 1: none */
int aoei_scores_activation(const aoei_served *served, int raw);
/* Sorts by descending score; if scores are equal, the lower index comes first. */
void aoei_scores_sort(aoei_ranked *ranked, size_t n);
/* Appends the name of output i as a JSON string: that of config.json, otherwise LABEL_i. */
void aoei_scores_label(aoei_buffer *b, const aoei_served *served, size_t i);
