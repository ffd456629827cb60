/* SPDX-License-Identifier: MIT
 * Batches of texts for two encoders (pair_step.h). Each example is a text, which both encoders encode. Random pairs of
 * different texts can be added to each example as negatives (Contrastive Tension, Carlsson et al. 2021).
 */
#pragma once

#include "model/text_batch.h"
#include "train/training_set.h"

/* The examples of a batch, and how pairs are added to them. */
typedef struct aoei_twin_plan {
    const aoei_dataset *data; /* data set of texts; borrowed */
    size_t negatives;    /* number of random pairs per example; if above 0, the data set contains two different texts */
    uint64_t seed, step; /* the random pairs are a function of seed, step and the number of the pair in the step */
} aoei_twin_plan;

/* Returns 1 if the data set contains two different texts. */
int aoei_twin_has_negatives(const aoei_dataset *d);
/* Fills the buffer with n (1 + negatives) pairs: the text texts[i] with itself, followed by random pairs, for each
 * example i. The first texts of all pairs precede all second texts. labels: [n (1 + negatives)] receives 1 for a text
 * with itself, and 0 for a random pair. first: number of the first text in the step, from which the numbers of the
 * texts continue. Returns the number of the next text. */
size_t aoei_twin_batch_fill(aoei_batch_buffer *b, double *labels, const aoei_twin_plan *p, const size_t *texts,
                            size_t n, size_t first);
