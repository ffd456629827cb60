/* SPDX-License-Identifier: MIT
 * Reads and writes arrays of two dimensions in numpy's .npy format (versions 1.0, 2.0 and 3.0).
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "aoe.h"
#include "base/file.h"

enum { AOEI_NPY_HEADER = 128 }; /* size in bytes of the headers of aoei_npy_header; it does not depend on the shape */

/* An open .npy file with an array [rows, columns] of floating-point numbers. A zeroed struct means that no file is
 * open. */
typedef struct aoei_npy {
    size_t rows, columns;
    aoei_map map;              /* private: contents of the file, owned; zeroed after aoei_npy_parse */
    const unsigned char *data; /* private: first byte of the array */
    size_t item;               /* private: 4 for float32, 8 for float64 */
} aoei_npy;

/* Writes the header of a file with an array [rows, columns] to header[AOEI_NPY_HEADER]. type: numpy's name of the data
 * type, for example "<f4". The rows of the array follow the header. */
void aoei_npy_header(char *header, const char *type, size_t rows, size_t columns);
/* Writes n float32 values after a header with the type "<f4". ferror(f) shows whether writing failed. */
void aoei_npy_write(FILE *f, const float *v, size_t n);
/* Opens a file and checks its header and its size. The array must have two dimensions, the data type float32 or
 * float64, and row-major order. Errors: see aoei_map_open; AOE_EFORMAT, AOE_EUNSUPPORTED (another data type, shape or
 * order). The caller calls aoei_npy_close. */
int aoei_npy_open(aoei_npy *a, const char *path, aoe_error *err);
/* Like aoei_npy_open, but reads data[size], which must stay valid while *a is used. path: name of the file for
 * messages. */
int aoei_npy_parse(aoei_npy *a, const unsigned char *data, size_t size, const char *path, aoe_error *err);
/* Converts the rows [first, first + n) to float32 and writes them to out[n, columns]. */
void aoei_npy_rows(const aoei_npy *a, size_t first, size_t n, float *out);
void aoei_npy_close(aoei_npy *a); /* accepts a zeroed struct */
