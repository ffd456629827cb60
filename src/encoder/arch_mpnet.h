/* SPDX-License-Identifier: MIT
 * MPNet (Song et al. 2020).
 */
#ifndef AOEI_ENCODER_ARCH_MPNET_H
#define AOEI_ENCODER_ARCH_MPNET_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_mpnet;

#endif
