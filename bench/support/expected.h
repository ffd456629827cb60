/* SPDX-License-Identifier: MIT
 * The vectors that the answers of a server must contain. Answers are JSON in the form of text-embeddings-inference or
 * of OpenAI: each list of numbers is a vector, and so is the value of a key "embedding" that is a text in base64
 * (float32, little endian).
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

typedef struct expected {
    float *row; /* [n, dims], owned; NULL: dims is that of the first row that is stored */
    size_t n, dims;
    double tolerance; /* largest difference of a component that is not an error */
    double largest;   /* largest difference so far */
} expected;

int expected_read(expected *e, const char *path, size_t n, aoe_error *err); /* from an .npy file with n rows */
/* Stores the vector of an answer as row i. Returns 1 if it does not contain exactly one vector of the right size. */
int expected_store(expected *e, size_t i, const char *body);
/* Returns 1 if an answer does not contain the rows from `first` on, n of them, which start again after the last one. */
int expected_compare(expected *e, size_t first, size_t n, const char *body);
void expected_free(expected *e);
