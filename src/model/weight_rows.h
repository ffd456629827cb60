/* SPDX-License-Identifier: MIT
 * Reads the weights of a model as float32 rows.
 */
#pragma once

#include "model/model.h"

/* Writes rows [first, first + n) of a weight to to[n, cols], where cols is the number of columns in the weight. slot:
 * index of the weight in m->weights. If the weight has an adapter, the adapter is merged into the rows. */
void aoei_model_rows(const aoe_model *m, float *to, size_t slot, size_t first, size_t n);
/* Merges the adapters of the layers of a classification head (aoei_head_adapter) into m->weights, which then point to
 * m->memory.head. Errors: AOE_ENOMEM, AOE_ENUMERIC (a merged weight is not finite). */
int aoei_head_adapters_merge(aoe_model *m, aoe_error *err);
