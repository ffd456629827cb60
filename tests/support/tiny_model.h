/* SPDX-License-Identifier: MIT
 * Tiny models, BERT and others, texts and training tables for the tests of encoder, embedder
 * and trainer: random weights that are a pure function of (seed, slot), a
 * vocabulary of letters and a few words. Far from initialisation: norms and biases
 * are random too, so that no gradient is zero by symmetry.
 */
#ifndef AOE_TESTS_TINY_MODEL_H
#define AOE_TESTS_TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "encoder/config.h"
#include "encoder/params.h"

typedef struct tiny_model {
    size_t hidden, layers, heads, intermediate, positions, types;
    int tanh_gelu;                           /* 1: the tanh form */
    void (*options)(aoei_encoder_config *c); /* what makes another architecture of it: one of those below; NULL: BERT */
    double dropout;                          /* hidden and attention, for config.json */
    const char *prefix;                      /* of the tensor names; NULL: none */
    int pooler;                              /* two tensors besides, that the encoder has no use for */
    const char *filled;                      /* tensor whose elements are all `fill`; NULL: none */
    float fill;
    uint32_t seed;
} tiny_model;

void tiny_roberta(aoei_encoder_config *c); /* positions from 2 on */
void tiny_llama(aoei_encoder_config *c);   /* two heads a key, all biases; rope as LLaMA 3 has it */
void tiny_mistral(aoei_encoder_config *c); /* a window of 5 tokens, heads wider than D / H; rope stretched linearly */
void tiny_qwen2(
    aoei_encoder_config *c); /* one key for all heads; a window of 70 from layer 1 on; rope that grows from 6 tokens */
void tiny_billm(aoei_encoder_config *c); /* a LLaMA whose layers from 1 on attend in both directions */
void tiny_modern(
    aoei_encoder_config *c); /* no architecture: LayerNorm before, gated GELU, window of 4 to both sides, plain rope */
/* hidden 16, 2 layers, 2 heads, intermediate 24, 32 positions, 2 token types, dropout 0.1. */
tiny_model tiny_defaults(void);
size_t tiny_vocab(void); /* tokens in the vocabulary */
void tiny_config(aoei_encoder_config *c, const tiny_model *o);
/* host[rows * cols] = the weight of a slot. */
void tiny_weight(float *host, const aoei_encoder_config *c, size_t slot, uint32_t seed);
/* Every weight into p->values and its packed copy; gradients and moments are left alone. */
void tiny_fill(const aoe_context *ctx, aoei_params *p, const aoei_encoder_config *c, uint32_t seed);
/* A model directory with tokenizer; dir is created. */
void tiny_model_write(const char *dir, const tiny_model *o);

/* Text number i: 1 to 9 words of the vocabulary and beyond it. In static memory, until the next call. */
const char *tiny_text(uint32_t i);
/* dir/name: "text1, text2, label" with n pairs, labels 0 to 5 that follow the words the texts share; some texts twice.
 * The path; free() it. */
char *tiny_table(const char *dir, const char *name, size_t n, uint32_t seed);

/* A temporary directory in memory where the system has one: tests that write thousands of files do not wait for a disk.
 * test_dir_remove. */
char *tiny_dir_create(void);
/* A context of the tier that AOE_CPU allows; aoe_context_destroy. */
aoe_context *tiny_context(size_t threads);

#endif
