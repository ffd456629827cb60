/* SPDX-License-Identifier: MIT
 * Counts the examples of each class in training files whose labels are classes.
 */
#pragma once

#include <jansson.h>

#include "aoe_train.h"
#include "base/log.h"
#include "train/batch_plan.h"

/* Checks that the examples of all files have at least two classes. files: [n] training files. sources: [n] their
 * examples. Errors: AOE_EFORMAT. */
int aoei_class_counts_check(const aoe_train_data *files, const aoei_source *sources, size_t n, aoe_error *err);
/* Logs the number of examples of each class in a file. Errors: AOE_ENOMEM. */
int aoei_class_counts_log(const aoei_log *log, const char *path, const aoei_dataset *d, aoe_error *err);
/* Logs a warning if a class from 0 to classes - 1 has no examples in any of the files. sources: [n] examples of the
 * files. Errors: AOE_ENOMEM. */
int aoei_class_counts_warn(const aoei_log *log, const aoei_source *sources, size_t n, size_t classes, aoe_error *err);
/* Returns a JSON array with the number of examples of each class, from class 0 to the highest class. Returns NULL if
 * out of memory. */
json_t *aoei_class_counts_json(const aoei_dataset *d);
