/* SPDX-License-Identifier: MIT
 * Checks runs before they start, and estimates their memory. For a training run, aoe_train_check_data finds invalid
 * options and data, and the estimate is the sum of the memory that aoe_model_plan computes for the sizes of the
 * training data, three times the size of the training files, and 32 MiB for the process. The memory of a teacher and of
 * a generator is not included.
 */
#pragma once

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_plans aoei_plans; /* estimates computed before; runs with equal options are estimated only once */

int aoei_plans_create(aoei_plans **p, aoe_error *err);
void aoei_plans_free(aoei_plans *p); /* accepts NULL */

/* Checks a run and sets *bytes to the memory of its process. o: options of the run, with an output directory, which is
 * not opened. If evaluates_only is 1, the process only opens the start model and evaluates it. has_dev: 1 if the run
 * evaluates the model on a dev set during training. Errors: see aoe_train that occur before the first step, and those
 * of aoe_model_plan. */
int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes,
                     aoe_error *err);
