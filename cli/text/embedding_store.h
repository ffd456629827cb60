/* SPDX-License-Identifier: MIT
 * Stores texts and their embeddings in a temporary file, so that a command can process all embeddings before it writes
 * the first one, without memory that grows with the number of texts.
 */
#pragma once

#include <aoe.h>
#include <stdio.h>

#include "cli/common/text_batch.h"

typedef struct cli_embedding_store {
    FILE *file;  /* temporary file, owned; it has no name and is removed when it is closed. NULL: not open */
    size_t dims; /* components of an embedding */
    size_t n;    /* number of texts that were stored and not yet read */
    /* private */
    int has_texts;   /* 1: the texts are stored; 0: only their embeddings and infos */
    char *text;      /* [capacity] workspace: a text, owned */
    size_t capacity; /* bytes */
} cli_embedding_store;

/* Creates the temporary file. The arguments are the values of the fields. Returns 0, or 1 after reporting the error. */
int cli_embedding_store_open(cli_embedding_store *s, size_t dims, int has_texts);
/* Stores a batch of texts. The names of their files are borrowed until the store is closed. vectors: [batch->n, dims];
 * info: [batch->n]. Returns 0, or 1 after reporting the error. */
int cli_embedding_store_add(cli_embedding_store *s, const cli_batch *batch, const float *vectors,
                            const aoe_text_info *info);
/* Prepares reading, after the last text was stored. Returns 0, or 1 after reporting the error. */
int cli_embedding_store_rewind(cli_embedding_store *s);
/* Fills the batch with the next texts, in the order in which they were stored. vectors: [batch->capacity, dims]; info:
 * [batch->capacity]. Texts that are not stored are empty. Returns 1 if at least one text was read, 0 if no text
 * remained, or -1 after reporting an error. */
int cli_embedding_store_read(cli_embedding_store *s, cli_batch *batch, float *vectors, aoe_text_info *info);
void cli_embedding_store_close(cli_embedding_store *s); /* accepts a zeroed struct */
