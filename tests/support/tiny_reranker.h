/* SPDX-License-Identifier: MIT
 * Directories with tiny cross-encoders of two BERT layers, for tests. Their words are w0 to w34, they read 64 tokens,
 * and their tokenizer sets token types.
 */
#pragma once

#include <aoe.h>

/* Creates dir and writes a cross-encoder with one output. */
void tiny_reranker_write(const char *dir);
/* Creates dir and writes a cross-encoder with two outputs. labels: their names as the value of id2label in config.json;
 * NULL: they have no names. */
void tiny_classifier_write(const char *dir, const char *labels);
/* Opens a model, and computes the outputs of n pairs with aoe_score_sequences. second[i] is NULL for a text that is
 * scored alone. activation: an aoe_score_activation. scores: [n, number of outputs] */
void tiny_reranker_scores(const char *dir, const char *const *first, const char *const *second, size_t n,
                          int activation, float *scores);
