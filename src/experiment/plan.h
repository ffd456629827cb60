/* SPDX-License-Identifier: MIT
 * Estimates the memory of a run. For a training run, the estimate is the sum of the memory that aoe_model_plan computes, three
 * times the size of the training files, and 32 MiB for the process. aoe_model_plan requires the maximum number of tokens of a
 * text. To find this number, files of labeled pairs are read, except files that set their own prompts. For any other file, the
 * model's maximum length is used, and three texts per example are assumed, or two if the kind of the file is
 * AOE_EXAMPLES_POSITIVES. The memory of a teacher and of a generator is not included.
 */
#ifndef AOEI_EXPERIMENT_PLAN_H
#define AOEI_EXPERIMENT_PLAN_H

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_plans aoei_plans; /* estimates computed before; runs with equal options are estimated only once */

int aoei_plans_create(aoei_plans **p, aoe_error *err);
void aoei_plans_free(aoei_plans *p); /* accepts NULL */

/* Sets *bytes to the memory of a process that trains a model with these options. If evaluates_only is 1, the process only opens
 * the initial model and evaluates it. has_dev: 1 if the run evaluates the model on a dev set during training. Errors: those of
 * aoe_model_open and aoe_model_plan. */
int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes, aoe_error *err);

#endif
