/* SPDX-License-Identifier: MIT
 * DeBERTa-v2 and DeBERTa-v3 (He et al. 2021).
 */
#ifndef AOEI_ENCODER_ARCH_DEBERTA_H
#define AOEI_ENCODER_ARCH_DEBERTA_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_deberta;

#endif
