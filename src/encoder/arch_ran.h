/* SPDX-License-Identifier: MIT
 * The architecture RAN, the Recurrent Attention Network.
 */
#ifndef AOEI_ENCODER_ARCH_RAN_H
#define AOEI_ENCODER_ARCH_RAN_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_ran;

#endif
