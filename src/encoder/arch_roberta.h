/* SPDX-License-Identifier: MIT
 * The architectures RoBERTa and XLM-RoBERTa.
 */
#ifndef AOEI_ENCODER_ARCH_ROBERTA_H
#define AOEI_ENCODER_ARCH_ROBERTA_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_roberta;
extern const aoei_arch aoei_arch_camembert;
extern const aoei_arch aoei_arch_xlm_roberta;

#endif
