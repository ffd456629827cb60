/* SPDX-License-Identifier: MIT
 * Values in the binary format of PostgreSQL, which parameters and COPY use: big-endian numbers, arrays, and the type
 * `vector` of pgvector. The functions append to a buffer, whose member `failed` reports missing memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { AOEI_PG_INT8 = 20, AOEI_PG_TEXT = 25, AOEI_PG_FLOAT8 = 701 }; /* numbers (OID) of types */

void aoei_pg_put16(aoei_buffer *out, uint32_t value); /* the low 16 bits */
void aoei_pg_put32(aoei_buffer *out, uint32_t value);
void aoei_pg_put64(aoei_buffer *out, uint64_t value);
/* Begins an array of n elements of this type. Each element follows as its number of bytes (32 bits) and its bytes. */
void aoei_pg_put_array(aoei_buffer *out, uint32_t type, size_t n);
/* A value of type vector. dims: at most 65535. */
void aoei_pg_put_vector(aoei_buffer *out, const float *x, size_t dims);
