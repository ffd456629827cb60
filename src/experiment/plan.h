/* SPDX-License-Identifier: MIT
 * The memory that a run is expected to use: the result of aoe_model_plan for its batch size and the maximum number of tokens
 * per text in its training files, 32 MiB, and three times the size of the training files. To find the maximum number of tokens,
 * files of labeled pairs without a prompt of their own are read. If there is another file, each example is assumed to have
 * three texts of the maximum length. The memory of a teacher is not included.
 */
#ifndef AOEI_EXPERIMENT_PLAN_H
#define AOEI_EXPERIMENT_PLAN_H

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_plans aoei_plans; /* results computed so far, so that equal plans are computed once */

int aoei_plans_create(aoei_plans **p, aoe_error *err);
void aoei_plans_free(aoei_plans *p); /* accepts NULL */

/* Sets *bytes to the memory of a process that trains with these options or, if evaluates_only is 1, that opens the initial
 * model and evaluates it. has_dev: 1 if the run evaluates on a dev set. Errors: those of aoe_model_open and aoe_model_plan. */
int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes, aoe_error *err);

#endif
