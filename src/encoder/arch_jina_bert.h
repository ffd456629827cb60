/* SPDX-License-Identifier: MIT
 * JinaBERT (Günther et al. 2023), the architecture of jina-embeddings-v2.
 */
#ifndef AOEI_ENCODER_ARCH_JINA_BERT_H
#define AOEI_ENCODER_ARCH_JINA_BERT_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_jina_bert;
extern const aoei_arch aoei_arch_jina_code; /* the model for code, with more norms */

#endif
