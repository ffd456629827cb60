/* SPDX-License-Identifier: MIT
 * Static models (Model2Vec).
 */
#ifndef AOEI_ENCODER_ARCH_STATIC_H
#define AOEI_ENCODER_ARCH_STATIC_H

#include "encoder/arch.h"

#define AOEI_STATIC_TENSOR "embeddings" /* name of the only tensor [V, D] */

extern const aoei_arch aoei_arch_static;

#endif
