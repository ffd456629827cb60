/* SPDX-License-Identifier: MIT
 * Stores the teacher embeddings of blocks of texts in files, so that later and interrupted runs do not compute them
 * again. A file contains the vectors of one block as a bf16 matrix in the safetensors format, and a hash of the matrix.
 * Its name is the key of the block, a hash of the teacher and of the texts of the block. The file is written when all
 * vectors of the block have been computed, and is mapped into memory when it is read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/bf16.h"
#include "modeldir/safetensors.h"

/* The vectors of a block in a mapped file. A zeroed struct is a block that is not in the cache. */
typedef struct aoei_cached_block {
    aoei_safetensors *file;  /* mapped file; owned; NULL: the file does not exist */
    const aoei_bf16 *vector; /* [rows, dims] vectors in the mapped file */
} aoei_cached_block;

/* Returns 1 if the directory contains the file of the block `key`, which is not opened. */
int aoei_cached_block_exists(const char *dir, uint64_t key);
/* Opens the file of the block `key` in the directory `dir`, if it exists. Errors: AOE_EFORMAT if the file does not
 * contain a matrix of this size with its hash; AOE_EIO, AOE_ENOMEM. */
int aoei_cached_block_open(aoei_cached_block *b, const char *dir, uint64_t key, size_t rows, size_t dims,
                           aoe_error *err);
void aoei_cached_block_close(aoei_cached_block *b); /* accepts a zeroed struct */
/* Writes the file of the block. vectors: [rows, dims], rounded to bf16. The directory must exist. Errors: AOE_EIO,
 * AOE_ENOSPC, AOE_ENOMEM. */
int aoei_cached_block_write(const char *dir, uint64_t key, const float *vectors, size_t rows, size_t dims,
                            aoe_error *err);
