/* SPDX-License-Identifier: MIT
 * The NomicBERT architecture.
 */
#pragma once

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_nomic_fused; /* layout of the published checkpoints, with a fused tensor for query,
                                                 key, value */

/* The names of the tensors that transformers 5 writes for NomicBERT and GTE. */
void aoei_nomic_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer);
