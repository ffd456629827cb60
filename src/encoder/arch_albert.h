/* SPDX-License-Identifier: MIT
 * The ALBERT architecture.
 */
#ifndef AOEI_ENCODER_ARCH_ALBERT_H
#define AOEI_ENCODER_ARCH_ALBERT_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_albert;

#endif
