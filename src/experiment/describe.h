/* SPDX-License-Identifier: MIT
 * Describes training options as JSON. A description identifies a configuration: two runs with equal descriptions and
 * equal seeds train the same model. Options that do not change the trained model (threads, checkpoints, memory) are not
 * included.
 */
#pragma once

#include <jansson.h>

#include "aoe_experiment.h"
#include "aoe_train.h"

/* Returns a JSON object with one key for each option. The caller frees the object. Returns NULL if out of memory. */
json_t *aoei_describe_options(const aoe_train_options *o);

/* Describes an evaluation file. Returns its path as a JSON string. If table options of the file differ from their
 * defaults, returns an object with the path and these options. If f is NULL, returns JSON null. The caller frees the
 * result. Returns NULL if out of memory. */
json_t *aoei_describe_file(const aoe_evaluation_file *f);

/* Writes the first difference between two descriptions to text[size], for example "options.lr was 0.001 and is now
 * 0.01". An option that is missing in `before`, which an earlier version wrote, counts as its default value. Returns 1
 * if there is a difference, 0 if the descriptions are equal, and AOE_ENOMEM. */
int aoei_describe_difference(const json_t *before, const json_t *now, char *text, size_t size);
