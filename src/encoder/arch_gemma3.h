/* SPDX-License-Identifier: MIT
 * The architecture Gemma 3.
 */
#ifndef AOEI_ENCODER_ARCH_GEMMA3_H
#define AOEI_ENCODER_ARCH_GEMMA3_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_gemma3;

#endif
