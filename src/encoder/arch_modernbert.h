/* SPDX-License-Identifier: MIT
 * The architecture ModernBERT.
 */
#ifndef AOEI_ENCODER_ARCH_MODERNBERT_H
#define AOEI_ENCODER_ARCH_MODERNBERT_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_modernbert;

#endif
