/* SPDX-License-Identifier: MIT
 * Writes weights in one of the storage types float32, bfloat16 and int8. With int8, a matrix NAME [rows, cols] is stored as two
 * tensors: NAME, I8 [rows, cols] with values from -127 to 127, and NAME_scale, F32 [rows]. A weight is its int8 value times the
 * scale of its row, in float32. Tensors that are not matrices are stored as F32.
 * Invariant: converting weights that were read from int8 to int8 again gives identical bytes (proof:
 * docs/model-directories.md).
 */
#ifndef AOEI_MODELDIR_STORAGE_H
#define AOEI_MODELDIR_STORAGE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"
#include "modeldir/safetensors_writer.h"

/* Quantizes x[n] to q[n] and returns the scale: max|x| / 127, but at least 2^-126 (the smallest normal float) so that the scale
 * has full precision; 0 if every element rounds to 0. q is x / scale rounded to nearest, ties to even. Every |x| must be
 * below FLT_MAX, because 127 times the scale of FLT_MAX is infinite. */
float aoei_int8_row(int8_t *q, const float *x, size_t n);

/* Checks that the I8 tensor t of s is a matrix, and that its scales have the correct type and shape, are not negative and give
 * finite weights. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENUMERIC. */
int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err);

const char *aoei_storage_name(aoe_storage s); /* "F32", "BF16" or "I8", as in aoe_model_info; static */
const char *
aoei_storage_torch_dtype(aoe_storage s); /* torch_dtype in config.json: "float32" (also for int8) or "bfloat16"; static */
/* Returns the size of a stored tensor in bytes, its scales included. vector: 1 if the tensor is not a matrix. */
size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector);

/* Writes a safetensors file. entries: [n] descriptions of the tensors, whose dtype is ignored; borrowed until commit or abort.
 * aoei_storage_write is called with the float values of the tensors in the order of the entries. A call may pass part of a
 * tensor (complete rows); for an empty tensor it is called once with n = 0. Errors: AOE_ENUMERIC (the stored type cannot
 * represent a value), AOE_EIO, AOE_ENOMEM. */
typedef struct aoei_storage_writer aoei_storage_writer;
int aoei_storage_open(aoei_storage_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_storage storage,
                      aoe_error *err);
int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err);
/* Completes the file and frees w, also on failure. */
int aoei_storage_commit(aoei_storage_writer *w, aoe_error *err);
/* Removes the incomplete file and frees w. Accepts NULL. */
void aoei_storage_abort(aoei_storage_writer *w);

#endif
