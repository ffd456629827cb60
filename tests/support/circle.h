/* SPDX-License-Identifier: MIT
 * An encoder for tests of evaluations. Each text is an angle in degrees, such as "37.5". Its vector is the point of the unit
 * circle at this angle, so the cosine similarity of two texts is the cosine of the difference of the angles.
 */
#ifndef AOE_TESTS_CIRCLE_H
#define AOE_TESTS_CIRCLE_H

#include "eval/eval_model.h"

#define CIRCLE_RADIANS 0.017453292519943295

typedef struct circle {
    size_t calls, texts;  /* number of calls of the embed function, and of the texts in all calls */
    size_t specials;      /* number of special tokens per text */
    const char *poisoned; /* embedding this text fails; NULL: no text fails */
    aoe_context *ctx;     /* context for searches of nearest texts */
} circle;

/* Returns an encoder with vectors of two components. It borrows c. */
aoei_eval_model circle_encoder(circle *c);

#endif
