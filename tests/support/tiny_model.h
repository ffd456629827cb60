/* SPDX-License-Identifier: MIT
 * Tiny models (BERT and other architectures), texts and training tables for the tests of the encoder, the embedder and the
 * trainer. The weights are random and depend only on the seed and the slot. The vocabulary consists of letters and a few words.
 * Norms and biases are random as well, unlike in a newly created model, so that no gradient is zero by symmetry.
 */
#ifndef AOE_TESTS_TINY_MODEL_H
#define AOE_TESTS_TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "encoder/config.h"
#include "encoder/params.h"

typedef struct tiny_model {
    size_t hidden, layers, heads, intermediate, positions, types;
    int tanh_gelu;                           /* 1: GELU with the tanh approximation */
    void (*options)(aoei_encoder_config *c); /* one of the functions below, which selects another architecture; NULL: BERT */
    double dropout;                          /* probability for hidden states and attention, for config.json */
    const char *prefix;                      /* prefix of the tensor names; NULL: none */
    int pooler;                              /* 1: with two tensors of a pooler, which the encoder ignores */
    const char *filled;                      /* name of a tensor whose elements are all `fill`; NULL: none */
    float fill;
    uint32_t seed;
} tiny_model;

void tiny_roberta(aoei_encoder_config *c); /* positions start at 2 */
/* two query heads per key head; all linear layers have biases; RoPE scaling of LLaMA 3 */
void tiny_llama(aoei_encoder_config *c);
void tiny_mistral(aoei_encoder_config *c); /* window of 5 tokens; the heads are larger than D / H; linear RoPE scaling */
void tiny_qwen2(
    aoei_encoder_config *c); /* one key head; window of 70 tokens from layer 1; dynamic RoPE scaling above 6 tokens */
void tiny_billm(aoei_encoder_config *c); /* a LLaMA with bidirectional attention from layer 1 */
void tiny_modern(
    /* not a real architecture: pre-LayerNorm, gated GELU, a window of 4 tokens on both sides, unscaled RoPE */
    aoei_encoder_config *c);
/* Returns hidden size 16, 2 layers, 2 heads, intermediate size 24, 32 positions, 2 token types, dropout 0.1. */
tiny_model tiny_defaults(void);
size_t tiny_vocab(void); /* number of tokens in the vocabulary */
void tiny_config(aoei_encoder_config *c, const tiny_model *o);
/* Writes the weight of a slot to host[rows * cols]. */
void tiny_weight(float *host, const aoei_encoder_config *c, size_t slot, uint32_t seed);
/* Writes every weight to p->values and packs its copy again. Gradients and moments are unchanged. */
void tiny_fill(const aoe_context *ctx, aoei_params *p, const aoei_encoder_config *c, uint32_t seed);
/* Creates dir and writes a model directory with a tokenizer. */
void tiny_model_write(const char *dir, const tiny_model *o);

/* Returns text number i. It consists of 1 to 9 words, most of which are in the vocabulary. The next call overwrites the
 * result. */
const char *tiny_text(uint32_t i);
/* Writes dir/name with the columns text1, text2 and label and n pairs. The label, 0 to 5, is the number of words that the
 * texts share; some texts occur twice. Returns the path; free() it. */
char *tiny_table(const char *dir, const char *name, size_t n, uint32_t seed);

/* Creates a temporary directory. If the system supports it, the directory is in memory, because tests that write thousands of
 * files would otherwise wait for the disk. The caller removes it with test_dir_remove. */
char *tiny_dir_create(void);
/* Returns a context of the tier that AOE_CPU allows; destroy it with aoe_context_destroy. */
aoe_context *tiny_context(size_t threads);

#endif
