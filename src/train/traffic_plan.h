/* SPDX-License-Identifier: MIT
 * The bytes that a rank of a distributed run sends in a step. They are computed by the units that send them, for a
 * batch whose texts all have the same number of tokens; with other texts, the shards have other numbers of examples,
 * and only the bytes of the vectors differ. The messages of checkpoints and evaluations are not included.
 */
#pragma once

#include "train/pair_step.h"

/* Bytes by phase (aoei_traffic_kind). */
typedef struct aoei_traffic_plan {
    uint64_t vectors, gradients, norm, weights, agreement;
    uint64_t check; /* bytes that are sent after some steps to compare the weights (aoei_agree_on_weights) */
} aoei_traffic_plan;

/* The batches of a step. */
typedef struct aoei_traffic_batch {
    size_t examples;   /* number of examples in a batch */
    size_t arity;      /* number of texts in an example */
    size_t length;     /* number of tokens in a text */
    size_t references; /* number of references (aoei_pair_step.n_references) */
    size_t batches;    /* number of batches whose gradients are accumulated in a step */
} aoei_traffic_batch;

/* Computes the bytes of a training step on pairs or triplets. s: a step after aoei_pair_step_layout, whose shards name
 * the rank; its memory is not used. Errors: AOE_ENOMEM. */
int aoei_traffic_plan_pairs(aoei_traffic_plan *p, const aoei_pair_step *s, const aoei_traffic_batch *batch,
                            aoe_error *err);
/* Computes the bytes of a step of pretraining. share: share of the rank in the parameters. */
void aoei_traffic_plan_pretraining(aoei_traffic_plan *p, const aoei_shards *shards, const aoei_share *share);
