/* SPDX-License-Identifier: MIT
 * Evaluates the STS test sets of SentEval with any model (eval_model.h). The public function aoe_eval_suite is declared
 * in aoe_eval.h.
 */
#pragma once

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_suite. o must not be NULL. All sets are read and checked before the first call of report. */
int aoei_suite_run(const aoei_eval_model *e, const char *const *dirs, size_t n_dirs, const aoe_suite_options *o,
                   aoe_suite_fn report, void *user, aoe_error *err);
