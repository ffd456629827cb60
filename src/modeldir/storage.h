/* SPDX-License-Identifier: MIT
 * Writes weights in one of the storage types float32, bfloat16 and int8. With int8, a matrix NAME of shape [rows, cols]
 * is stored as two tensors:
 * - NAME, I8 [rows, cols], with values from -127 to 127
 * - NAME_scale, F32 [rows]
 * The token embeddings can be stored as int5 instead:
 * - NAME, U8 [rows, 5 * ((cols + 7) / 8)], values from -15 to 15 in groups of 8 values, which are stored in 5 bytes.
 * Each value is stored as value + 16 in five bits. Value i of a group is stored in the bits 5i to 5i + 4 of the
 * little-endian number of 40 bits. The last group of a row is padded with zeros, which are stored as 16
 * - NAME_scale, F32 [rows]
 * The value of a weight is its int8 or int5 value times the scale of its row, computed in float32. With int8, tensors
 * that are not matrices are stored as F32.
 * Invariant: if weights are read from an int8 or int5 file and converted to the same type again, the bytes are
 * identical (see the proof in docs/model-directories.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_convert.h"
#include "aoe.h"
#include "modeldir/safetensors_writer.h"

/* Quantizes x[n] to int8 and returns the scale. The scale is max|x[i]| / 127, but at least 2^-126, the smallest normal
 * float, so that the scale has full precision. q[i] is x[i] / scale, rounded to nearest, ties to even. If all elements
 * round to 0, the scale is 0. Every |x[i]| must be less than FLT_MAX, because 127 times the scale of FLT_MAX
 * overflows. */
float aoei_int8_row(int8_t *q, const float *x, size_t n);

/* Quantizes x[n] to int5, writes the packed values to packed[aoei_int5_bytes(n)], and returns the scale. The scale is
 * one of 21 candidates. Candidate k, for k = 0 to 20, is max|x[i]| times (50 - k) / 50, computed in float64 and rounded
 * to float32, divided by 15 in float32, but at least 2^-126. With a candidate s, the int5 value of x[i] is x[i] / s,
 * limited to [-15, 15] and rounded to nearest, ties to even. The scale is the candidate with the smallest sum of
 * squared differences, in float64, between the elements and their values in float32; if sums are equal, it is the
 * candidate with the smallest k. If all elements round to 0, the scale is 0. Every |x[i]| must be less than FLT_MAX. */
float aoei_int5_row(unsigned char *packed, const float *x, size_t n);

/* Checks the I8 tensor t of s. The tensor must be a matrix. Its scales must have the correct data type and shape, must
 * not be negative, and must give finite weights. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENUMERIC. */
int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err);
/* Checks the U8 tensor t of s, which contains int5 values in rows of `cols` columns. The tensor must have the shape
 * [rows, aoei_int5_bytes(cols)], and its scales must be valid, as in aoei_int8_check. The padding of each row must
 * contain zeros. Values of -16, which are also invalid, are found by aoei_weights_check. Errors: AOE_EFORMAT,
 * AOE_ENUMERIC. */
int aoei_int5_check(const aoei_safetensors *s, const aoei_st_tensor *t, size_t cols, aoe_error *err);

/* Returns the name of a storage type in aoe_model_info: "F32", "BF16", "I8", or the name of I8 with int5 token
 * embeddings. */
const char *aoei_storage_name(aoe_storage s, aoe_embedding_storage embeddings);
const char *aoei_storage_torch_dtype(aoe_storage s); /* torch_dtype in config.json: "float32" (also for int8) or
                                                        "bfloat16"; static */
/* Returns the size in bytes of a stored tensor of shape [rows, cols], including its scales. vector: 1 if the tensor is
 * not a matrix. */
size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector);
/* Returns the size in bytes of a matrix of shape [rows, cols] that is stored as int5, including its scales. */
size_t aoei_int5_storage_bytes(size_t rows, size_t cols);

/* Writes a safetensors file. aoei_storage_open gets entries[n], the descriptions of the tensors. If `storage` is
 * AOE_STORAGE_INT8, matrices whose field dtype is AOEI_ST_I5 are stored as int5; all other values of the field are
 * ignored.
 * The entries are borrowed until aoei_storage_commit or aoei_storage_abort. aoei_storage_write must be called with the
 * float values of the tensors, in the order of the entries. A call may pass a part of a tensor, which must consist of
 * complete rows. For an empty tensor, aoei_storage_write must be called once with n = 0. Errors: AOE_ENUMERIC (the
 * storage type cannot represent a value), AOE_EIO, AOE_ENOMEM. */
typedef struct aoei_storage_writer aoei_storage_writer;
int aoei_storage_open(aoei_storage_writer **w, const char *path, const aoei_st_entry *entries, size_t n,
                      aoe_storage storage, aoe_error *err);
int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err);
/* Completes the file and frees w, even if the function fails. */
int aoei_storage_commit(aoei_storage_writer *w, aoe_error *err);
/* Removes the incomplete file and frees w. Accepts NULL. */
void aoei_storage_abort(aoei_storage_writer *w);
