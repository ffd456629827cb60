/* SPDX-License-Identifier: MIT
 * The architecture of word embeddings: the module WordEmbeddings of sentence-transformers. See arch_words.c.
 */
#pragma once

#include "encoder/arch.h"

#define AOEI_WORDS_TENSOR   "emb_layer.weight" /* name of the only tensor, [V, D] */
#define AOEI_BIGRAMS_TENSOR "bigrams.weight"   /* name of the bigram embeddings, [bigrams, D] */
