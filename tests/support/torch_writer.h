/* SPDX-License-Identifier: MIT
 * Writes small files in the format of torch.save: pickle programs and ZIP archives, valid and invalid ones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct test_bytes {
    unsigned char *data; /* [size] owned */
    size_t size;
} test_bytes;

void test_bytes_add(test_bytes *b, const void *data, size_t size);
void test_bytes_text(test_bytes *b, const char *text); /* without the terminating NUL */
void test_bytes_free(test_bytes *b);

/* Begin and end the program of a dict of tensors. */
void test_pickle_begin(test_bytes *b);
void test_pickle_end(test_bytes *b);
/* Adds the instructions of one item of the dict: a tensor `name` that is a view of the storage `key`, whose class is
 * torch.`storage` ("FloatStorage") and which has `elements` elements. Dimension i has shape[i] elements at a distance
 * of stride[i]. */
void test_pickle_tensor(test_bytes *b, const char *name, const char *storage, const char *key, size_t elements,
                        size_t offset, size_t n_dims, const size_t *shape, const size_t *stride);

/* A record of an archive. */
typedef struct test_record {
    const char *name; /* complete name, such as "archive/data/0" */
    const void *data; /* [size] borrowed */
    size_t size;
    unsigned method;     /* compression method in the headers; 0: not compressed */
    unsigned flags;      /* general purpose flags in the headers */
    const char *local;   /* name in the local header; NULL: `name` */
    size_t claimed_size; /* size in the headers; 0: `size` */
} test_record;

/* Returns an archive of the records. */
test_bytes test_zip(const test_record *records, size_t n);
/* Returns an archive with the records archive/data.pkl and archive/data/0. */
test_bytes test_torch_file(const test_bytes *program, const void *values, size_t size);

/* Returns a file in the format of PyTorch before version 1.6, with the storage "0" of `elements` elements, whose data
 * is values[size]. */
test_bytes test_torch_legacy(const test_bytes *program, size_t elements, const void *values, size_t size);
