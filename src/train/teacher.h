/* SPDX-License-Identifier: MIT
 * The teacher of a training run, which is a model of any architecture, vector size and tokenizer. aoei_teacher contains its
 * vectors of all texts of the training files, including alternative texts. The vectors are computed once, with the tokenizer,
 * prompt, pooling and maximum length of the teacher. They are not normalized, because the vectors of the trained model are not
 * normalized during training either.
 */
#ifndef AOEI_TRAIN_TEACHER_H
#define AOEI_TRAIN_TEACHER_H

#include "table/examples.h"

typedef struct aoei_teacher {
    aoe_model *model;     /* teacher model; NULL after the vectors have been computed; owned */
    const char *dir;      /* model directory, for messages; borrowed */
    size_t dims;          /* number of components of a vector */
    size_t n;             /* number of training files */
    float **vectors;      /* [n] for each file an array [texts of the file, dims] of vectors; all arrays are owned */
    uint64_t fingerprint; /* hash of all vectors in order */
} aoei_teacher;

/* Opens the teacher model in dir. The caller destroys *t, even if the function fails. Errors: those of aoe_model_open;
 * AOE_ENOENT (no tokenizer). */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err);
/* Computes the vectors of the texts of n files, and closes the model. Errors: AOE_EFORMAT with file and line (a text has no
 * token in the vocabulary of the teacher), AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed struct */

#endif
