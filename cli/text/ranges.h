/* SPDX-License-Identifier: MIT
 * Reads and writes files with the ranges of the components of embeddings: JSON files with two arrays, the minima and
 * the maxima, and .npy files with an array of shape [2, dims]. quantize_embeddings of sentence-transformers accepts
 * these arrays.
 */
#pragma once

#include <stddef.h>

#include "cli/common/outfile.h"

int cli_ranges_is_file(const char *path); /* returns 1 if the extension is .json or .npy */
/* Reads ranges[2, dims] from a file. Returns 0, or 1 after reporting the error. */
int cli_ranges_read(float *ranges, size_t dims, const char *path);
/* Writes ranges[2, dims] to an open file, in the format of the extension of its path. Returns 0, or 1 after reporting
 * the error. */
int cli_ranges_write(cli_file *f, const float *ranges, size_t dims);
/* Extends ranges[2, dims] with the embeddings in a .npy file with an array [n, dims], and sets *n. Returns 0, or 1
 * after reporting the error. */
int cli_ranges_add_npy(float *ranges, size_t *n, size_t dims, const char *path);
