/* SPDX-License-Identifier: MIT
 * The architecture of static models (Model2Vec, and the module StaticEmbedding of sentence-transformers).
 */
#pragma once

#include "encoder/arch.h"

#define AOEI_STATIC_TENSOR   "embeddings"       /* name of the only tensor of a static model of Model2Vec, [V, D] */
#define AOEI_SENTENCE_TENSOR "embedding.weight" /* its name in the module StaticEmbedding of sentence-transformers */
