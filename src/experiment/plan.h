/* SPDX-License-Identifier: MIT
 * The memory that a run is expected to use: the plan of aoe_model_plan for its batch size and the text with the most tokens in
 * its training files. Only files of pairs are read for that; other files count as texts of the maximum length, three per
 * example. The memory of a teacher is not counted.
 */
#ifndef AOEI_EXPERIMENT_PLAN_H
#define AOEI_EXPERIMENT_PLAN_H

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_plans aoei_plans; /* plans made so far, so that equal ones are computed once */

int aoei_plans_create(aoei_plans **p, aoe_error *err);
void aoei_plans_free(aoei_plans *p); /* NULL accepted */

/* *bytes: memory of a process that trains with these options, or with evaluates_only opens the start model and evaluates
 * it. has_dev: the run evaluates on a dev set. Errors: those of aoe_model_open and aoe_model_plan. */
int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes, aoe_error *err);

#endif
