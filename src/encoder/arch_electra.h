/* SPDX-License-Identifier: MIT
 * The ELECTRA architecture.
 */
#ifndef AOEI_ENCODER_ARCH_ELECTRA_H
#define AOEI_ENCODER_ARCH_ELECTRA_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_electra;

#endif
