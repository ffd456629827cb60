/* SPDX-License-Identifier: MIT
 * JSON descriptions of training options. A description identifies a configuration: two runs with equal descriptions and seeds
 * train the same model. Options that do not change the result (threads, checkpoints, memory) are not included.
 */
#ifndef AOEI_EXPERIMENT_DESCRIBE_H
#define AOEI_EXPERIMENT_DESCRIBE_H

#include <jansson.h>

#include "aoe_train.h"

/* Returns a flat JSON object with one key per option, owned by the caller; NULL if memory runs out. */
json_t *aoei_describe_options(const aoe_train_options *o);

/* Returns the path of an evaluation file as a JSON string or, if table options differ from their defaults, an object with the
 * path and these options. If f is NULL, returns JSON null. Owned by the caller; NULL if memory runs out. */
json_t *aoei_describe_file(const aoe_evaluation_file *f);

/* Writes the first difference between two descriptions to text[size], for example "options.lr was 0.001 and is now 0.01".
 * Returns 1, or 0 if the descriptions are equal. */
int aoei_describe_difference(const json_t *before, const json_t *now, char *text, size_t size);

#endif
