/* SPDX-License-Identifier: MIT
 * The DistilBERT architecture.
 */
#ifndef AOEI_ENCODER_ARCH_DISTILBERT_H
#define AOEI_ENCODER_ARCH_DISTILBERT_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_distilbert;

#endif
