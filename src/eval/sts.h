/* SPDX-License-Identifier: MIT
 * Evaluates semantic textual similarity with any model (eval_model.h).
 */
#pragma once

#include "aoe_data.h"
#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_sts. o may be NULL. All inputs are read and checked before the first call of report. */
int aoei_sts_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_sts_options *o,
                 aoe_sts_fn report, void *user, aoe_error *err);
/* Implements aoe_eval_pairs. */
int aoei_sts_pairs(const aoei_eval_model *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err);
