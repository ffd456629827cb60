/* SPDX-License-Identifier: MIT
 * The architecture of static models (Model2Vec).
 */
#ifndef AOEI_ENCODER_ARCH_STATIC_H
#define AOEI_ENCODER_ARCH_STATIC_H

#include "encoder/arch.h"

#define AOEI_STATIC_TENSOR "embeddings" /* name of the only tensor of a static model, [V, D] */

extern const aoei_arch aoei_arch_static;

#endif
