/* SPDX-License-Identifier: MIT
 * The architectures LLaMA, Mistral and Qwen2.
 */
#ifndef AOEI_ENCODER_ARCH_LLAMA_H
#define AOEI_ENCODER_ARCH_LLAMA_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_llama;
extern const aoei_arch aoei_arch_mistral;
extern const aoei_arch aoei_arch_qwen2;

#endif
