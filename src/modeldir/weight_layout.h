/* SPDX-License-Identifier: MIT
 * The names of the tensors in a weight file. Checkpoints of some architectures have several layouts (encoder/arch.h),
 * and the names may begin with a prefix that depends on the class of the model, such as "bert.".
 */
#pragma once

#include "encoder/config.h"
#include "modeldir/safetensors.h"

/* Returns the tensor with the name prefix + name. If there is no such tensor, returns the tensor with the alternative
 * name, or NULL. Old checkpoints use the names LayerNorm.gamma and LayerNorm.beta, and the bias of a masked-LM head may
 * be stored as the bias of the decoder of the head. */
const aoei_st_tensor *aoei_weight_find(const aoei_safetensors *f, const char *prefix, const char *name);
/* Sets c->arch to the layout of the weight file, if the architecture has several layouts (encoder/arch.h). If the
 * tensors match no layout, c->arch is unchanged; aoei_weight_tensors_find then returns an error. */
void aoei_weight_layout_find(aoei_encoder_config *c, const aoei_safetensors *weights);
