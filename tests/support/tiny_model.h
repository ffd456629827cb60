/* SPDX-License-Identifier: MIT
 * Tiny models, texts and training tables for tests of the encoder, the embedder and the trainer. The models are BERT
 * models or models of other architectures. The vocabulary consists of letters and a few words. The weights are random
 * and depend only on the seed and the slot, which is the index of a weight (encoder/slots.h). The weights of
 * normalization layers and the biases are also random, so that no gradient is zero by symmetry.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "encoder/config.h"
#include "encoder/params.h"

typedef struct tiny_model {
    size_t hidden, layers, heads, intermediate, positions, types;
    aoei_activation activation; /* activation of the feed-forward layers; AOEI_IDENTITY: exact GELU */
    /* tiny_roberta or another function below, which selects an architecture; NULL: BERT */
    void (*options)(aoei_encoder_config *c);
    double dropout;     /* dropout probability of hidden states and attention in config.json */
    const char *prefix; /* prefix of the tensor names; NULL: none */
    int pooler;         /* 1: the file also contains two tensors of a pooler */
    const char *filled; /* name of a tensor in which all elements are `fill`; NULL: none */
    float fill;
    uint32_t seed;
} tiny_model;

void tiny_roberta(aoei_encoder_config *c);   /* RoBERTa, whose positions start at 2 */
void tiny_mpnet(aoei_encoder_config *c);     /* MPNet: learned biases of scores, and positions start at 2 */
void tiny_deberta(aoei_encoder_config *c);   /* DeBERTa with 8 buckets of distances for distances up to 30 */
void tiny_jina_code(aoei_encoder_config *c); /* JinaBERT for code: also norms of queries and keys, and a second norm */
void tiny_jina_bert(aoei_encoder_config *c); /* JinaBERT: linear biases of scores, and a gated feed-forward */
/* LLaMA with two query heads per key head, biases in all linear layers, and the RoPE scaling of LLaMA 3 */
void tiny_llama(aoei_encoder_config *c);
void tiny_mistral(aoei_encoder_config *c); /* Mistral with a window of 5 tokens, head size > D / H, linear RoPE
                                              scaling */
/* Qwen2 with one key head, a window of 70 tokens in the layers from layer 1, and dynamic RoPE scaling for more than 6
 * tokens */
void tiny_qwen2(aoei_encoder_config *c);
/* Qwen3 with two query heads per key head, head size > D / H, and a window of 4 tokens in layer 0 only */
void tiny_qwen3(aoei_encoder_config *c);
void tiny_gemma3(aoei_encoder_config *c);     /* Gemma 3 with a window of 4 tokens in layer 0 only */
void tiny_modernbert(aoei_encoder_config *c); /* ModernBERT with a window of 4 tokens in the layers from layer 1 */
void tiny_billm(aoei_encoder_config *c);      /* LLaMA with bidirectional attention from layer 1 on, and YaRN */
/* Options that no architecture of the library has together: pre-LayerNorm, gated GELU, a window of 4 tokens on both
 * sides, and RoPE without scaling. LayerNorm has no bias, no norm precedes layer 0, and layers with a window have
 * another theta. */
void tiny_modern(aoei_encoder_config *c);
void tiny_distilbert(aoei_encoder_config *c); /* DistilBERT */
void tiny_camembert(aoei_encoder_config *c);  /* CamemBERT */
void tiny_electra(aoei_encoder_config *c);    /* ELECTRA with 12 columns in the embedding tables */
void tiny_albert(aoei_encoder_config *c); /* ALBERT with one group of layers, or with 2 groups if there are 3 or more
                                             layers */
void tiny_gte(aoei_encoder_config *c);    /* GTE in the layout of transformers */
void tiny_new(aoei_encoder_config *c);    /* GTE with fused tensors and linear RoPE scaling */
void tiny_nomic(aoei_encoder_config *c);  /* NomicBERT */
void tiny_nomic_partial(aoei_encoder_config *c); /* NomicBERT, rotary positions of half of the components */
void tiny_nomic_fused(aoei_encoder_config *c);   /* NomicBERT in the layout of published checkpoints, with fused
                                                    tensors */
/* Returns default sizes: hidden size 16, 2 layers, 2 heads, intermediate size 24, 32 positions and 2 token types. The
 * dropout probability is 0.1. */
tiny_model tiny_defaults(void);
size_t tiny_vocab(void); /* number of tokens in the vocabulary */
void tiny_config(aoei_encoder_config *c, const tiny_model *o);
/* Writes the random weight of a slot to host[rows * cols]. */
void tiny_weight(float *host, const aoei_encoder_config *c, size_t slot, uint32_t seed);
/* Sets every weight in p->values and updates the packed copies of the weights. Gradients and moments are unchanged. */
void tiny_fill(const aoe_context *ctx, aoei_params *p, const aoei_encoder_config *c, uint32_t seed);
/* Creates dir and writes a model with a tokenizer to it. */
void tiny_model_write(const char *dir, const tiny_model *o);

/* Returns text number i, which consists of 1 to 9 words. Most of the words are in the vocabulary. The next call
 * overwrites the result. */
const char *tiny_text(uint32_t i);
/* Writes a table of n pairs with the columns text1, text2 and label to dir/name. The label, from 0 to 5, is the number
 * of words that both texts contain. Some texts occur twice. Returns the path, which the caller frees. */
char *tiny_table(const char *dir, const char *name, size_t n, uint32_t seed);

/* Creates a temporary directory, which the caller removes with test_dir_remove. It is in memory if the system supports
 * this, because tests that write thousands of files are slow on a disk. */
char *tiny_dir_create(void);
/* Returns a context for the best instruction set that the CPU supports and that the environment variable AOE_CPU
 * allows. The caller destroys it with aoe_context_destroy. */
aoe_context *tiny_context(size_t threads);
