/* SPDX-License-Identifier: MIT
 * Evaluates triplets with any model (eval_model.h). The public function aoe_eval_triplets is declared in aoe_eval.h.
 */
#pragma once

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_triplets. o must not be NULL. All inputs are read and checked before the first call of report. */
int aoei_triplets_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_triplet_options *o,
                      aoe_triplet_fn report, void *user, aoe_error *err);
