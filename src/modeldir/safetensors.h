/* SPDX-License-Identifier: MIT
 * Maps safetensors files into memory and reads their tensors. Headers are not trusted: lengths, offsets, shapes and overlaps
 * are checked when a file is opened, and error messages name the file and the tensor. File layout: header length (uint64,
 * little-endian), JSON header, data. aoe's int8 storage of a matrix NAME consists of two tensors: NAME (I8) and NAME_scale (one
 * F32 scale per row; storage.h).
 */
#ifndef AOEI_MODELDIR_SAFETENSORS_H
#define AOEI_MODELDIR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* Data type of a tensor. OTHER: a type that aoe cannot convert. */
typedef enum aoei_st_dtype { AOEI_ST_F32, AOEI_ST_F16, AOEI_ST_BF16, AOEI_ST_I8, AOEI_ST_I64, AOEI_ST_OTHER } aoei_st_dtype;

#define AOEI_ST_MAX_DIMS  8
#define AOEI_SCALE_SUFFIX "_scale" /* suffix of the names of scales */
typedef struct aoei_st_tensor {
    const char *name; /* owned by aoei_safetensors */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
    const unsigned char *data;          /* [bytes] data in the mapped file, little-endian, may be unaligned */
    size_t bytes;                       /* size of `data` */
    const struct aoei_st_tensor *scale; /* scales of a tensor of type I8 (the tensor NAME_scale), not checked; otherwise NULL */
} aoei_st_tensor;

typedef struct aoei_safetensors aoei_safetensors; /* one file, or the shards of an index */

/* Opens a file. Errors of this and the following two functions: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED (too many
 * dimensions), AOE_EIO, AOE_ENOMEM. */
int aoei_safetensors_open(aoei_safetensors **s, const char *path, aoe_error *err);
/* Opens a file in memory. data: [size] bytes, borrowed until the object is closed; name: path for messages, copied. */
int aoei_safetensors_open_memory(aoei_safetensors **s, const void *data, size_t size, const char *name, aoe_error *err);
/* Opens DIR/model.safetensors, or DIR/model.safetensors.index.json with its shards, which must be in DIR. */
int aoei_safetensors_open_dir(aoei_safetensors **s, const char *dir, aoe_error *err);
void aoei_safetensors_close(aoei_safetensors *s); /* accepts NULL */
/* aoei_safetensors_count returns the number of tensors; aoei_safetensors_at returns the i-th tensor in ascending order of
 * names. */
size_t aoei_safetensors_count(const aoei_safetensors *s);
const aoei_st_tensor *aoei_safetensors_at(const aoei_safetensors *s, size_t i);
const aoei_st_tensor *aoei_safetensors_find(const aoei_safetensors *s, const char *name); /* NULL: no such tensor */
const char *aoei_safetensors_path(const aoei_safetensors *s, const aoei_st_tensor *t);    /* path of the file that contains t */
/* For a tensor NAME of any type, returns the tensor NAME_scale; NULL if the file contains no such tensor. */
const aoei_st_tensor *aoei_safetensors_scale(const aoei_safetensors *s, const aoei_st_tensor *t);
/* For a tensor NAME_scale, returns the tensor NAME if its type is I8. Otherwise, and for any other name, returns NULL. */
const aoei_st_tensor *aoei_safetensors_scaled(const aoei_safetensors *s, const aoei_st_tensor *t);
const char *aoei_st_dtype_name(aoei_st_dtype d);  /* "F32" ...; "unsupported" for AOEI_ST_OTHER; static */
size_t aoei_st_dtype_size(aoei_st_dtype d);       /* bytes per element; 0 for AOEI_ST_OTHER */
size_t aoei_st_elements(const aoei_st_tensor *t); /* number of elements */
/* Converts all elements to float. The type must be F32, F16, BF16, or I8 if aoei_int8_check (storage.h) accepts the tensor. */
void aoei_st_to_float(float *out, const aoei_st_tensor *t);
/* Like aoei_st_to_float for the rows [first, first + n) of a matrix; a vector is one row. */
void aoei_st_rows_to_float(float *out, const aoei_st_tensor *t, size_t first, size_t n);

/* Releases the physical memory of the mapped files; the data can still be read. */
void aoei_safetensors_drop(const aoei_safetensors *s);

#endif
