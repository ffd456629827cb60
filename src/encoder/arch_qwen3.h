/* SPDX-License-Identifier: MIT
 * The architecture Qwen3.
 */
#ifndef AOEI_ENCODER_ARCH_QWEN3_H
#define AOEI_ENCODER_ARCH_QWEN3_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_qwen3;

#endif
