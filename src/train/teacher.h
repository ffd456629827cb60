/* SPDX-License-Identifier: MIT
 * The teacher of a run: a model of any kind, width and tokenizer, and its vectors of
 * every text of the training files, alternatives too. They are made once, with the
 * teacher's own tokenizer, prompt, pooling and maximum length, and as pooled: not
 * normalized, like the student's in training. A pure function of model and texts.
 */
#ifndef AOEI_TRAIN_TEACHER_H
#define AOEI_TRAIN_TEACHER_H

#include "table/examples.h"

typedef struct aoei_teacher {
    aoe_model *model; /* owned; NULL once the vectors are there */
    const char *dir;  /* borrowed; for messages */
    size_t dims;
    size_t n;             /* training files */
    float **vectors;      /* owned [n], each owned [texts of the file, dims] */
    uint64_t fingerprint; /* of all vectors, in order */
} aoei_teacher;

/* Errors: those of aoe_model_open; AOE_ENOENT (it has no tokenizer). *t is to be destroyed either way. */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err);
/* Embeds the texts of n files and closes the model. Errors: AOE_EFORMAT with file and line (the teacher finds no token in a
 * text), AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed one */

#endif
