/* SPDX-License-Identifier: MIT
 * The teachers of a training run. A teacher is a model whose embeddings the trained model learns to imitate; it may
 * have any architecture, embedding size and tokenizer. aoei_teacher contains the embeddings of all texts in the
 * training files, including alternative texts. They are computed once for each distinct text of a file, with the
 * tokenizer, prompt, pooling and maximum length of the teacher.
 * Teacher embeddings are not normalized, because the embeddings of the trained model are not normalized during training
 * either. With several teachers, the teacher embedding of a text is the concatenation of their embeddings, each
 * normalized to unit length. The cosine of two such embeddings is the mean of the teachers' cosines.
 */
#pragma once

#include "aoe_train.h"
#include "base/distinct.h"
#include "base/part.h"
#include "table/examples.h"

typedef struct aoei_teacher_vectors aoei_teacher_vectors; /* teacher embeddings for the texts of a file */

/* The texts of a training file. */
typedef struct aoei_teacher_texts {
    size_t *place;          /* [texts of the file] index of each text among the distinct texts of the file; owned */
    size_t *first;          /* [distinct texts] index in the file of the first text that is equal; owned, NULL after the
                               embeddings are computed */
    aoei_distinct distinct; /* distinct texts, whose bytes belong to the file; empty after the embeddings are
                               computed */
} aoei_teacher_texts;

/* One of the teachers. */
typedef struct aoei_teacher_model {
    const char *dir;               /* model directory, for messages; borrowed */
    aoe_model *model;              /* NULL after the embeddings are computed; owned */
    size_t dims;                   /* embedding size */
    aoei_teacher_vectors *vectors; /* [aoei_teacher.files] embeddings of the distinct texts of each file; owned */
} aoei_teacher_model;

typedef struct aoei_teacher {
    aoei_teacher_model model[AOE_MAX_TEACHERS]; /* [n] teachers */
    size_t n;
    aoei_teacher_texts *texts; /* [files] texts of each training file; owned */
    size_t files;              /* number of training files */
    size_t dims;               /* number of components of the vector of a text, the sum over the teachers */
    aoei_part part;       /* n > 0: only the blocks of this part are computed, and no vector is kept in memory; requires
                             `cache` */
    const char *cache;    /* directory in which embeddings are stored (teacher_cache.h); NULL: they are only in memory;
                             borrowed */
    uint64_t fingerprint; /* hash of all embeddings, or with a cache, of all keys of blocks */
} aoei_teacher;

/* Opens the teachers in the list `dirs`, whose end is NULL or the AOE_MAX_TEACHERS-th element. cache: directory for the
 * embeddings, which aoei_teacher_embed creates, or NULL. The caller calls aoei_teacher_destroy even if this function
 * fails. Errors: AOE_ENOENT if a model has no tokenizer, AOE_EEXIST or AOE_EIO if the directory cannot be created, and
 * the errors of aoe_model_open. */
int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *const *dirs, aoe_dtype dtype, const char *cache,
                      aoe_error *err);
/* Computes the embeddings of the texts in n files, and then closes the models. args: the event callback receives the
 * progress (AOE_TRAIN_EMBED). Errors:
 * - AOE_EFORMAT if the vocabulary of a teacher contains no token of a text; the message contains the file and line
 * - AOE_ECANCELLED if the event callback requested to stop
 * - AOE_ENUMERIC, AOE_ENOMEM, AOE_EIO, AOE_ENOSPC */
int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoe_training_args *args, const aoei_examples *files,
                       size_t n, aoe_error *err);
/* Copies the vector of a text to out[t->dims]. */
void aoei_teacher_read(const aoei_teacher *t, size_t file, size_t text, float *out);
void aoei_teacher_destroy(aoei_teacher *t); /* accepts a zeroed struct */
