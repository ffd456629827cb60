/* SPDX-License-Identifier: MIT
 * Copies of the linear weights in the layout that the kernels read, for inference.
 */
#ifndef AOEI_MODEL_PACKED_WEIGHTS_H
#define AOEI_MODEL_PACKED_WEIGHTS_H

#include "model/model.h"

/* Bytes of the packed copies for the model's type on its context, whether they exist or not. */
size_t aoei_model_packed_bytes(const aoe_model *m);
/* Makes the packed copies. Adapters are merged into them: m->config then has none. Errors: AOE_ENOMEM. */
int aoei_model_pack(aoe_model *m, aoe_error *err);

#endif
