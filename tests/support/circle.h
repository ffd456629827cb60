/* SPDX-License-Identifier: MIT
 * An encoder for tests of evaluations. A text is the decimal form of an angle in degrees, and its vector is the point of the
 * unit circle at this angle. Every cosine similarity is therefore known.
 */
#ifndef AOE_TESTS_CIRCLE_H
#define AOE_TESTS_CIRCLE_H

#include "eval/eval_model.h"

#define CIRCLE_RADIANS 0.017453292519943295

typedef struct circle {
    size_t calls, texts;  /* number of calls of the embed function and of texts passed to it */
    size_t specials;      /* number of special tokens that every text has */
    const char *poisoned; /* text whose embedding fails; NULL: none */
    aoe_context *ctx;     /* context that searches for nearest texts use */
} circle;

/* Returns an encoder with vectors of two components. Borrows c. */
aoei_eval_model circle_encoder(circle *c);

#endif
