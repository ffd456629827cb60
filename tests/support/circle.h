/* SPDX-License-Identifier: MIT
 * An encoder for tests of evaluations. Each text is an angle in degrees, such as "37.5". Its vector is the point of the
 * unit circle at this angle, so the cosine similarity of two texts is the cosine of the difference of the angles.
 */
#pragma once

#include "eval/eval_model.h"

#define CIRCLE_RADIANS 0.017453292519943295

typedef struct circle {
    size_t calls, texts;  /* calls: number of calls of the embed function; texts: number of texts in all these calls */
    size_t specials;      /* number of special tokens per text */
    const char *poisoned; /* the embed function fails for this text; NULL: it fails for no text */
    aoe_similarity_function similarity; /* similarity of the vectors */
    aoe_context *ctx;                   /* context that the evaluation uses to search for the nearest texts */
} circle;

/* Returns an encoder with vectors of two components. The caller keeps c, which must stay valid while the encoder is
 * used. */
aoei_eval_model circle_encoder(circle *c);
