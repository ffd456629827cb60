/* SPDX-License-Identifier: MIT
 * An encoder for tests of evaluations: a text is an angle in degrees and its vector is the point on the unit circle
 * at this angle, so every cosine similarity is known.
 */
#ifndef AOE_TESTS_CIRCLE_H
#define AOE_TESTS_CIRCLE_H

#include "eval/eval_model.h"

#define CIRCLE_RADIANS 0.017453292519943295

typedef struct circle {
    size_t calls, texts;  /* number of calls of the embed function and of texts passed to it */
    size_t specials;      /* number of special tokens that every text has */
    const char *poisoned; /* text whose embedding fails; NULL: none */
    aoe_context *ctx;     /* context that searches use */
} circle;

/* Returns an encoder with vectors of two components. Borrows c. */
aoei_eval_model circle_encoder(circle *c);

#endif
