/* SPDX-License-Identifier: MIT
 * Evaluates whether the similarity of a text pair predicts the binary label of the pair, with any model (eval_model.h).
 * The function aoe_binary computes the metrics.
 */
#pragma once

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_binary. o must not be NULL. All inputs are read and checked before the first call of report. */
int aoei_binary_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_binary_options *o,
                    aoe_binary_fn report, void *user, aoe_error *err);
