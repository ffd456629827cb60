/* SPDX-License-Identifier: MIT
 * The teacher of a run: a model of any architecture, vector size and tokenizer, and its
 * vectors of all texts of the training files, alternatives included. The vectors are computed
 * once, with the teacher's tokenizer, prompt, pooling and maximum length. They are not
 * normalized, like those of the student in training.
 */
#ifndef AOEI_TRAIN_TEACHER_H
#define AOEI_TRAIN_TEACHER_H

#include "table/examples.h"

typedef struct aoei_teacher {
    aoe_model *model; /* owned; NULL after the vectors have been computed */
    const char *dir;  /* borrowed; for messages */
    size_t dims;
    size_t n;             /* training files */
    float **vectors;      /* owned [n], each owned [texts of the file, dims] */
    uint64_t fingerprint; /* of all vectors, in order */
} aoei_teacher;

/* Errors: those of aoe_model_open; AOE_ENOENT (the model has no tokenizer). The caller destroys *t, also on failure. */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err);
/* Embeds the texts of n files and closes the model. Errors: AOE_EFORMAT with file and line (the teacher finds no token in a
 * text), AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed struct */

#endif
