/* SPDX-License-Identifier: MIT
 * The types in which weights are stored: float32, bfloat16, int8 rows. With int8, a matrix NAME is stored as I8 [rows, cols] in
 * -127..127 and NAME_scale F32 [rows]; a value is int8 * scale in float32. Tensors that are not matrices stay F32.
 * Invariant: weights read from int8 rows are stored as identical int8 rows again (docs/model-directories.md has the proof).
 */
#ifndef AOEI_MODELDIR_STORAGE_H
#define AOEI_MODELDIR_STORAGE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"
#include "modeldir/safetensors_writer.h"

/* Quantizes x[n] to q[n] and returns the scale: max|x| / 127, but at least 2^-126 (the smallest normal float) so that the scale
 * has full precision; 0 if every element rounds to 0. q is x / scale rounded to nearest, ties to even. Magnitudes must be below
 * FLT_MAX, because 127 times the scale of FLT_MAX is infinite. */
float aoei_int8_row(int8_t *q, const float *x, size_t n);

/* Checks that the I8 tensor t of s is a matrix whose scales have the right type and shape and are finite and non-negative.
 * Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENUMERIC. */
int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err);

const char *aoei_storage_name(aoe_storage s);  /* name in aoe_model_info: "F32", "BF16", "I8"; static */
const char *aoei_storage_torch(aoe_storage s); /* torch_dtype of config.json; "float32" also for int8; static */
/* Bytes of a tensor, its scales included. */
size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector);

/* Writes a safetensors file from float values. entries: [n], borrowed until commit or abort; their dtype is ignored. The values
 * are written in the order of the entries, each tensor in one or more pieces of complete rows (an empty tensor as one empty
 * piece). Errors: AOE_ENUMERIC (the stored type cannot represent a value), AOE_EIO, AOE_ENOMEM. */
typedef struct aoei_storage_writer aoei_storage_writer;
int aoei_storage_open(aoei_storage_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_storage storage,
                      aoe_error *err);
int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err);
int aoei_storage_commit(aoei_storage_writer *w, aoe_error *err); /* closes w */
void aoei_storage_abort(aoei_storage_writer *w);                 /* accepts NULL */

#endif
