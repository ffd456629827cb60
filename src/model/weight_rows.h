/* SPDX-License-Identifier: MIT
 * The values of a model's weights as float32 rows.
 */
#ifndef AOEI_MODEL_WEIGHT_ROWS_H
#define AOEI_MODEL_WEIGHT_ROWS_H

#include "model/model.h"

/* to[n, cols] = rows [first, first + n) of the weight in `slot`, with its adapter merged. */
void aoei_model_rows(const aoe_model *m, float *to, size_t slot, size_t first, size_t n);

#endif
