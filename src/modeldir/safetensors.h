/* SPDX-License-Identifier: MIT
 * Maps safetensors files into memory and reads their tensors. A file consists of the length of the header (uint64,
 * little-endian), the JSON header and the data. When a file is opened, all lengths, offsets, shapes and overlaps in the
 * header are checked. Error messages name the file and the tensor. If aoe stores a matrix NAME as int8 or int5, the
 * file contains two tensors: NAME (I8 or U8) and NAME_scale (one F32 scale per row; storage.h).
 * Files that torch.save wrote (torch_file.h), such as pytorch_model.bin, are read as well; the first bytes of a file
 * determine its format.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aoe.h"

/* The data type of a tensor. aoe cannot convert AOEI_ST_U8, AOEI_ST_F64 and AOEI_ST_OTHER to float. A matrix of int5
 * values has the type AOEI_ST_U8 in a file. AOEI_ST_I5 is the type of its description with the number of columns before
 * packing, which weight_tensors.c creates, because the file does not contain this number. */
typedef enum aoei_st_dtype {
    AOEI_ST_F32,
    AOEI_ST_F16,
    AOEI_ST_BF16,
    AOEI_ST_I8,
    AOEI_ST_I5,
    AOEI_ST_U8,
    AOEI_ST_I64,
    AOEI_ST_F64,
    AOEI_ST_OTHER
} aoei_st_dtype;

#define AOEI_ST_MAX_DIMS  8
#define AOEI_SCALE_SUFFIX "_scale" /* suffix of the name of a tensor that contains scales */
typedef struct aoei_st_tensor {
    const char *name; /* name of the tensor, owned by the aoei_safetensors */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
    const unsigned char *data; /* [bytes] data in the mapped file, little-endian, possibly unaligned */
    size_t bytes;              /* size of `data` in bytes */
    /* The tensor NAME_scale, if this tensor has the type I8, U8 or I5 and the file contains its scales; otherwise NULL.
     * The scales are not checked when the file is opened. */
    const struct aoei_st_tensor *scale;
} aoei_st_tensor;

typedef struct aoei_safetensors aoei_safetensors; /* one open file, or the open shards of an index */

/* Opens the file `path`. Errors: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED (too many dimensions), AOE_EIO,
 * AOE_ENOMEM. */
int aoei_safetensors_open(aoei_safetensors **s, const char *path, aoe_error *err);
/* Opens data[size], the contents of a safetensors file. The data is borrowed until *s is closed. `name` is copied, and
 * replaces the path in messages. Errors: see aoei_safetensors_open. */
int aoei_safetensors_open_memory(aoei_safetensors **s, const void *data, size_t size, const char *name, aoe_error *err);
/* Opens the weights in the directory DIR: the first of model.safetensors, model.safetensors.index.json,
 * pytorch_model.bin and pytorch_model.bin.index.json that exists. The files that an index lists must be in DIR. Errors:
 * see aoei_safetensors_open. */
int aoei_safetensors_open_dir(aoei_safetensors **s, const char *dir, aoe_error *err);
void aoei_safetensors_close(aoei_safetensors *s); /* accepts NULL */
/* aoei_safetensors_count returns the number of tensors. aoei_safetensors_at returns tensor i; tensors are sorted by
 * name. */
size_t aoei_safetensors_count(const aoei_safetensors *s);
const aoei_st_tensor *aoei_safetensors_at(const aoei_safetensors *s, size_t i);
const aoei_st_tensor *aoei_safetensors_find(const aoei_safetensors *s, const char *name); /* returns NULL if not
                                                                                             found */
const char *aoei_safetensors_path(const aoei_safetensors *s, const aoei_st_tensor *t); /* returns the path of the file
                                                                                          of t */
/* Returns the tensor NAME_scale, where NAME is the name of t, or NULL if the file contains no such tensor. t may have
 * any data type. */
const aoei_st_tensor *aoei_safetensors_scale(const aoei_safetensors *s, const aoei_st_tensor *t);
/* If the name of t is NAME_scale and there is a tensor NAME of the type I8 or U8, returns the tensor NAME. Otherwise,
 * returns NULL. */
const aoei_st_tensor *aoei_safetensors_scaled(const aoei_safetensors *s, const aoei_st_tensor *t);
const char *aoei_st_dtype_name(aoei_st_dtype d);  /* name such as "F32"; "unsupported" for AOEI_ST_OTHER; static */
size_t aoei_st_dtype_size(aoei_st_dtype d);       /* bytes per element; 0 for AOEI_ST_I5 and AOEI_ST_OTHER */
size_t aoei_st_elements(const aoei_st_tensor *t); /* number of elements */
#define AOEI_INT5_GROUP_BYTES ((size_t)5)   /* size in bytes of a group of 8 int5 values, which storage.h describes */
#define AOEI_INT5_ZEROS       0x8421084210u /* number of a group of 8 zeros, whose values are all stored as 16 */
/* Returns the number of bytes of a row of n int5 values: 5 bytes for each group of 8 values. */
static inline size_t aoei_int5_bytes(size_t n) {
    return AOEI_INT5_GROUP_BYTES * (n / 8 + (n % 8 != 0));
}
/* Returns the little-endian number of 40 bits that the group of int5 values at p contains. */
static inline uint64_t aoei_int5_group(const unsigned char *p) {
    uint32_t low;
    memcpy(&low, p, sizeof low);
    return low | (uint64_t)p[4] << 32;
}
/* Unpacks a row of n int5 values to q[n]. */
void aoei_int5_unpack(int8_t *q, const unsigned char *packed, size_t n);
/* Converts all elements of t to float and writes them to `out`. The type of t must be F32, F16, BF16, I8 or I5. If the
 * type is I8 or I5, the caller must first check the tensor with aoei_int8_check or aoei_int5_check (storage.h). */
void aoei_st_to_float(float *out, const aoei_st_tensor *t);
/* Converts the rows [first, first + n) of a matrix to float as aoei_st_to_float does. A vector is a matrix with one
 * row. */
void aoei_st_rows_to_float(float *out, const aoei_st_tensor *t, size_t first, size_t n);

/* Releases the physical memory of the mapped files. The data can still be read, because the system loads it again. */
void aoei_safetensors_drop(const aoei_safetensors *s);
