/* SPDX-License-Identifier: MIT
 * Writes weights in one of the storage types float32, bfloat16 and int8. With int8, a matrix NAME of shape [rows, cols] is
 * stored as two tensors:
 * - NAME, I8 [rows, cols], with values from -127 to 127
 * - NAME_scale, F32 [rows]
 * The value of a weight is its int8 value times the scale of its row, computed in float32. With int8, tensors that are not
 * matrices are stored as F32.
 * Invariant: if weights are read from an int8 file and converted to int8 again, the bytes are identical (see the proof in
 * docs/model-directories.md).
 */
#ifndef AOEI_MODELDIR_STORAGE_H
#define AOEI_MODELDIR_STORAGE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"
#include "modeldir/safetensors_writer.h"

/* Quantizes x[n] to int8 and returns the scale. The scale is max|x[i]| / 127, but at least 2^-126, the smallest normal float,
 * so that the scale has full precision. q[i] is x[i] / scale, rounded to nearest, ties to even. If all elements round to 0, the
 * scale is 0. Every |x[i]| must be less than FLT_MAX, because 127 times the scale of FLT_MAX overflows. */
float aoei_int8_row(int8_t *q, const float *x, size_t n);

/* Checks the I8 tensor t of s. The tensor must be a matrix. Its scales must have the correct data type and shape, must not be
 * negative, and must give finite weights. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENUMERIC. */
int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err);

const char *aoei_storage_name(aoe_storage s); /* "F32", "BF16" or "I8", as in aoe_model_info; static */
const char *
aoei_storage_torch_dtype(aoe_storage s); /* torch_dtype in config.json: "float32" (also for int8) or "bfloat16"; static */
/* Returns the size in bytes of a stored tensor of shape [rows, cols], including its scales. vector: 1 if the tensor is not a
 * matrix. */
size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector);

/* Writes a safetensors file. aoei_storage_open gets entries[n], the descriptions of the tensors. Their field dtype is ignored.
 * The entries are borrowed until aoei_storage_commit or aoei_storage_abort. aoei_storage_write must be called with the float
 * values of the tensors, in the order of the entries. A call may pass a part of a tensor, which must consist of complete rows.
 * For an empty tensor, aoei_storage_write must be called once with n = 0. Errors: AOE_ENUMERIC (the storage type cannot
 * represent a value), AOE_EIO, AOE_ENOMEM. */
typedef struct aoei_storage_writer aoei_storage_writer;
int aoei_storage_open(aoei_storage_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_storage storage,
                      aoe_error *err);
int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err);
/* Completes the file and frees w, even if the function fails. */
int aoei_storage_commit(aoei_storage_writer *w, aoe_error *err);
/* Removes the incomplete file and frees w. Accepts NULL. */
void aoei_storage_abort(aoei_storage_writer *w);

#endif
