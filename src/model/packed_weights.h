/* SPDX-License-Identifier: MIT
 * Creates packed copies of the linear weights for inference. A packed copy has the memory layout that the matmul kernels use.
 */
#ifndef AOEI_MODEL_PACKED_WEIGHTS_H
#define AOEI_MODEL_PACKED_WEIGHTS_H

#include "model/model.h"

/* Returns the total size in bytes of the packed copies that aoei_model_pack creates for m. The function can be called before
 * the copies are created. */
size_t aoei_model_packed_bytes(const aoe_model *m);
/* Creates the packed copies. Adapters are merged into the packed copies, and m->config.lora is set to 0. Errors: AOE_ENOMEM. */
int aoei_model_pack(aoe_model *m, aoe_error *err);

#endif
