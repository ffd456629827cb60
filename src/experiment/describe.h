/* SPDX-License-Identifier: MIT
 * A JSON description of resolved training options. It identifies a configuration: runs whose descriptions are equal train
 * the same model. Options that do not change the result (threads, checkpoints, memory) are not part of it.
 */
#ifndef AOEI_EXPERIMENT_DESCRIBE_H
#define AOEI_EXPERIMENT_DESCRIBE_H

#include <jansson.h>

#include "aoe_train.h"

/* A flat object, one key per option. The caller owns it; NULL: no memory. */
json_t *aoei_describe_options(const aoe_train_options *o);

/* The path, or an object with the path and the table options that differ from their defaults; null for NULL.
 * The caller owns it; NULL: no memory. */
json_t *aoei_describe_file(const aoe_evaluation_file *f);

/* Writes the first difference between two descriptions into text[size]: "options.lr was 0.001 and is now 0.01".
 * Returns 1, or 0 if the descriptions are equal. */
int aoei_describe_difference(const json_t *before, const json_t *now, char *text, size_t size);

#endif
