/* SPDX-License-Identifier: MIT
 * Reads the record data.pkl of a file that torch.save wrote (in files of PyTorch before version 1.6, a part of the
 * file): a program for Python's pickle machine, protocol 2, that builds a
 * dict of tensors. A general pickle program can call any function. This reader executes only the instructions that a
 * dict of tensors needs, and accepts only the constructors of tensors, parameters and dicts. Every other instruction or
 * function is an error that names it, so reading an untrusted file is safe. The instructions are documented in the
 * module pickletools of Python.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#define AOEI_TORCH_MAX_DIMS 8
#define AOEI_TORCH_MAX_KEY  20 /* maximum length of the key of a storage */

/* A tensor of the dict: a view of a storage. All values are as stated in the file and are not checked, except that
 * sizes, strides and offset are not negative. Strides and offset are numbers of elements. */
typedef struct aoei_torch_view {
    char *name;                       /* key of the tensor in the dict, owned */
    const char *dtype;                /* data type in the notation of safetensors, such as "F32"; static */
    size_t width;                     /* bytes per element */
    char key[AOEI_TORCH_MAX_KEY + 1]; /* key of the storage, consisting of letters, digits and _ */
    size_t elements;                  /* number of elements in the storage */
    size_t offset;                    /* offset of the first element in the storage */
    size_t n_dims;
    size_t shape[AOEI_TORCH_MAX_DIMS], stride[AOEI_TORCH_MAX_DIMS];
} aoei_torch_view;

/* A storage that a program names. Several storages may have one key. */
typedef struct aoei_torch_storage {
    char key[AOEI_TORCH_MAX_KEY + 1]; /* key, consisting of letters, digits and _ */
    size_t width;                     /* bytes per element */
} aoei_torch_storage;

/* The result of a program. */
typedef struct aoei_torch_program {
    aoei_torch_view *views; /* [n_views] tensors of the dict, in the order of the dict; owned */
    size_t n_views;
    aoei_torch_storage *storages; /* [n_storages] storages of all tensors, in the order of the program; owned */
    size_t n_storages;
    size_t size; /* length of the program in bytes */
} aoei_torch_program;

/* Executes the program that data[size] begins with, and sets *p to the tensors of the dict that it builds. Other values
 * of the dict are ignored. path: name of the file in messages. The caller frees *p with aoei_torch_program_free.
 * Errors: AOE_EFORMAT (damaged program), AOE_EUNSUPPORTED (other instructions or functions, or a result that is not a
 * dict of tensors), AOE_ENOMEM. */
int aoei_torch_pickle_read(aoei_torch_program *p, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err);
/* Executes the pickle program at the start of data[size], whose result must be a dict. Sets *flag to 1 if the value of
 * `key` is true, otherwise to 0. Sets *used to the length of the program. Errors: see aoei_torch_pickle_read. */
int aoei_torch_pickle_flag(int *flag, size_t *used, const char *key, const unsigned char *data, size_t size,
                           const char *path, aoe_error *err);
/* Executes the program that data[size] begins with, whose result must be a list of keys of storages. Sets p->storages
 * to these keys with widths of 0, and p->size. Errors and freeing: see aoei_torch_pickle_read. */
int aoei_torch_pickle_keys(aoei_torch_program *p, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err);
void aoei_torch_program_free(aoei_torch_program *p); /* accepts a zeroed struct */
