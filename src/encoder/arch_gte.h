/* SPDX-License-Identifier: MIT
 * The GTE architecture (model types "new" and "gte").
 */
#ifndef AOEI_ENCODER_ARCH_GTE_H
#define AOEI_ENCODER_ARCH_GTE_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_new; /* model type "new", with fused tensors */
extern const aoei_arch aoei_arch_gte; /* model type "gte", in the layout of transformers 5 */

#endif
