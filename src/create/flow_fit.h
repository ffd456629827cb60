/* SPDX-License-Identifier: MIT
 * Trains a normalizing flow (nn/flow.h) on vectors in memory. All arithmetic is in double. The results do not depend on
 * the number of threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/pool.h"
#include "nn/flow.h"

/* Vectors of examples. An example has one text or several texts, such as the two texts of a pair. */
typedef struct aoei_flow_data {
    const float *vectors; /* [first[examples], D] vectors of the texts, sorted by example */
    const size_t *first;  /* [examples + 1] index of the first text of each example; the last element is the number of
                             texts */
    size_t examples;      /* number of examples */
} aoei_flow_data;

/* Receives the number of finished steps and of all steps. Returns 0 to continue. Otherwise aoei_flow_fit returns
 * AOE_ECANCELLED. */
typedef int (*aoei_flow_step_fn)(void *user, size_t done, size_t total);

typedef struct aoei_flow_fit_options {
    size_t epochs;              /* number of passes over the examples, at least 1 */
    size_t batch_size;          /* number of examples per step, at least 2 */
    double lr;                  /* learning rate of all steps */
    uint64_t seed;              /* determines the initial weights and the order of the examples */
    aoei_flow_step_fn progress; /* NULL: none */
    void *user;                 /* first argument of progress */
} aoei_flow_fit_options;

typedef struct aoei_flow_fit_result {
    size_t steps;      /* number of optimizer steps */
    double bits_start; /* mean over all texts of the loss in bits per component (aoei_flow_bits), with the initial
                          parameters */
    double bits;       /* the same with the final parameters */
} aoei_flow_fit_result;

enum { AOEI_FLOW_FIT_ROWS = 64 }; /* the value of max_rows of the flow; results do not depend on it */

/* Initializes the parameters of f from the first batch and trains them. f: flow for training. The loss of a batch is
 * the mean over its examples of the sum of the losses of their texts; for pairs this is the sum of the mean over the
 * first texts and of the mean over the second texts. The optimizer is AdamW with beta (0.9, 0.999), epsilon 1e-6 and
 * weight decay 0.01 for all parameters, without bias correction; the norm of the gradient is clipped to 1. At the end,
 * the parameters are rounded to float32. Errors: AOE_EFORMAT (the vectors of the first batch are equal), AOE_ENUMERIC
 * (the loss or a parameter is not finite), AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_flow_fit(aoei_flow *f, const aoei_flow_data *data, const aoei_flow_fit_options *o, aoei_pool *pool,
                  aoei_flow_fit_result *result, aoe_error *err);
