/* SPDX-License-Identifier: MIT
 * Packed copies of the linear weights for inference, in the memory layout that the matmul kernels use.
 */
#ifndef AOEI_MODEL_PACKED_WEIGHTS_H
#define AOEI_MODEL_PACKED_WEIGHTS_H

#include "model/model.h"

/* Returns the size in bytes that the packed copies of the model need, whether they exist or not. */
size_t aoei_model_packed_bytes(const aoe_model *m);
/* Creates the packed copies. Adapters are merged into them, and m->config.lora is cleared. Errors: AOE_ENOMEM. */
int aoei_model_pack(aoe_model *m, aoe_error *err);

#endif
