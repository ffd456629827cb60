/* SPDX-License-Identifier: MIT
 * The teacher of a training run. A teacher is a model whose embeddings the trained model learns to imitate; it may have any
 * architecture, embedding size and tokenizer. aoei_teacher stores its embeddings of all texts in the training files, including
 * alternative texts. They are computed once, with the tokenizer, prompt, pooling and maximum length of the teacher. They are
 * not normalized, because the embeddings of the trained model are not normalized during training either.
 */
#ifndef AOEI_TRAIN_TEACHER_H
#define AOEI_TRAIN_TEACHER_H

#include "table/examples.h"

typedef struct aoei_teacher {
    aoe_model *model; /* teacher model; NULL after the embeddings are computed; owned */
    const char *dir;  /* directory of the teacher model for messages; borrowed */
    size_t dims;      /* number of components of an embedding */
    size_t n;         /* number of training files */
    float **vectors;  /* [n] for each file, an array [number of texts in the file, dims] of embeddings; all arrays are owned */
    uint64_t fingerprint; /* hash of all embeddings, file by file */
} aoei_teacher;

/* Opens the teacher model in the directory dir. The caller calls aoei_teacher_destroy even if this function fails. Errors:
 * AOE_ENOENT if the model has no tokenizer, and the errors of aoe_model_open. */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err);
/* Computes the embeddings of the texts in n files, and then closes the teacher model. Errors:
 * - AOE_EFORMAT if the teacher's vocabulary contains no token of a text; the message contains the file and line
 * - AOE_ENUMERIC, AOE_ENOMEM */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed struct */

#endif
