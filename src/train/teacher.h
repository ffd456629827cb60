/* SPDX-License-Identifier: MIT
 * The teacher of a run: a model of any architecture, vector size and tokenizer, and its vectors of
 * all texts of the training files, alternatives included. The vectors are computed once, with the
 * teacher's tokenizer, prompt, pooling and maximum length. They are not normalized, because the
 * vectors of the student are not normalized during training either.
 */
#ifndef AOEI_TRAIN_TEACHER_H
#define AOEI_TRAIN_TEACHER_H

#include "table/examples.h"

typedef struct aoei_teacher {
    aoe_model *model;     /* owned; NULL after the vectors have been computed */
    const char *dir;      /* borrowed; for messages */
    size_t dims;          /* components of a vector */
    size_t n;             /* training files */
    float **vectors;      /* [n], owned; vectors [texts of the file, dims] of each file, owned */
    uint64_t fingerprint; /* hash of all vectors, in order */
} aoei_teacher;

/* Opens the model in dir. The caller destroys *t, also on failure. Errors: see aoe_model_open; AOE_ENOENT (no tokenizer). */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err);
/* Embeds the texts of n files and closes the model. Errors: AOE_EFORMAT with file and line (a text has no token in the
 * teacher's vocabulary), AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed struct */

#endif
