/* SPDX-License-Identifier: MIT
 * Reader of safetensors files, which maps them into memory. Headers are untrusted: lengths, offsets,
 * shapes and overlaps are checked before use, and errors name file and tensor.
 * File layout: header length (uint64, little-endian), JSON header, data.
 */
#ifndef AOEI_MODELDIR_SAFETENSORS_H
#define AOEI_MODELDIR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef enum aoei_st_dtype { AOEI_ST_F32, AOEI_ST_F16, AOEI_ST_BF16, AOEI_ST_I8, AOEI_ST_I64, AOEI_ST_OTHER } aoei_st_dtype;

#define AOEI_ST_MAX_DIMS  8
#define AOEI_SCALE_SUFFIX "_scale" /* modeldir/storage.h */
typedef struct aoei_st_tensor {
    const char *name; /* owned by the reader */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
    const unsigned char *data;          /* [bytes], in the mapped file; may be unaligned */
    size_t bytes;                       /* size of data */
    const struct aoei_st_tensor *scale; /* I8 tensor NAME: the tensor NAME_scale, not checked; NULL: none */
} aoei_st_tensor;

typedef struct aoei_safetensors aoei_safetensors; /* one file, or the shards of an index */

int aoei_safetensors_open(aoei_safetensors **s, const char *path, aoe_error *err);
/* Opens a file in memory. data is borrowed until the object is closed; `name` is used as path in messages. */
int aoei_safetensors_open_memory(aoei_safetensors **s, const void *data, size_t size, const char *name, aoe_error *err);
/* Opens DIR/model.safetensors, or DIR/model.safetensors.index.json with its shards, which must be in DIR. */
int aoei_safetensors_open_dir(aoei_safetensors **s, const char *dir, aoe_error *err);
void aoei_safetensors_close(aoei_safetensors *s);
size_t aoei_safetensors_count(const aoei_safetensors *s);
const aoei_st_tensor *aoei_safetensors_at(const aoei_safetensors *s, size_t i);
const aoei_st_tensor *aoei_safetensors_find(const aoei_safetensors *s, const char *name); /* NULL: no such tensor */
const char *aoei_safetensors_path(const aoei_safetensors *s, const aoei_st_tensor *t);    /* path of the file that contains t */
/* The tensor NAME_scale of a tensor NAME of any type; NULL: none. */
const aoei_st_tensor *aoei_safetensors_scale(const aoei_safetensors *s, const aoei_st_tensor *t);
/* The I8 tensor NAME if t is called NAME_scale; NULL: none. */
const aoei_st_tensor *aoei_safetensors_scaled(const aoei_safetensors *s, const aoei_st_tensor *t);
const char *aoei_st_dtype_name(aoei_st_dtype d);
size_t aoei_st_dtype_size(aoei_st_dtype d); /* bytes per element; 0 for AOEI_ST_OTHER */
size_t aoei_st_elements(const aoei_st_tensor *t);
/* Converts all elements from F32, F16 or BF16 to float, or from I8 if aoei_int8_check accepted the tensor. */
void aoei_st_to_float(float *out, const aoei_st_tensor *t);
/* Converts the rows [first, first + n) of a matrix; a vector is one row. */
void aoei_st_rows_to_float(float *out, const aoei_st_tensor *t, size_t first, size_t n);

/* Releases the physical memory of the mapped files; the data can still be read. */
void aoei_safetensors_drop(const aoei_safetensors *s);

#endif
