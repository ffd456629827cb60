/* SPDX-License-Identifier: MIT
 * The part of aoe_data_convert that converts between kinds of examples: labeled pairs, positives and triplets.
 */
#ifndef AOEI_DATASET_CONVERT_EXAMPLES_H
#define AOEI_DATASET_CONVERT_EXAMPLES_H

#include "aoe.h"
#include "aoe_data.h"

/* The arguments and errors are those of aoe_data_convert. *result must be zeroed. */
int aoei_convert_examples(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result, aoe_error *err);

#endif
