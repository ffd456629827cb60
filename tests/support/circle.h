/* SPDX-License-Identifier: MIT
 * An encoder for tests of evaluations: a text is an angle in degrees, its vector the
 * point on the circle, so every cosine is known.
 */
#ifndef AOE_TESTS_CIRCLE_H
#define AOE_TESTS_CIRCLE_H

#include "eval/eval_model.h"

#define CIRCLE_RADIANS 0.017453292519943295

typedef struct circle {
    size_t calls, texts;  /* of embed */
    size_t specials;      /* tokens every text has */
    const char *poisoned; /* embedding this text fails */
    aoe_context *ctx;     /* of searches */
} circle;

/* Of two components; borrows c. */
aoei_eval_model circle_encoder(circle *c);

#endif
