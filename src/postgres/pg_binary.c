/* SPDX-License-Identifier: MIT
 * Writes values in the binary format of PostgreSQL, as its functions array_recv and vector_recv read them.
 */
#include "postgres/pg_binary.h"

#include <string.h>

void aoei_pg_put16(aoei_buffer *out, uint32_t value) {
    const unsigned char b[2] = {(unsigned char)(value >> 8), (unsigned char)value};
    aoei_buffer_append(out, b, sizeof b);
}

void aoei_pg_put32(aoei_buffer *out, uint32_t value) {
    aoei_pg_put16(out, value >> 16);
    aoei_pg_put16(out, value & 0xffff);
}

void aoei_pg_put64(aoei_buffer *out, uint64_t value) {
    aoei_pg_put32(out, (uint32_t)(value >> 32));
    aoei_pg_put32(out, (uint32_t)value);
}

void aoei_pg_put_array(aoei_buffer *out, uint32_t type, size_t n) {
    aoei_pg_put32(out, n > 0);
    aoei_pg_put32(out, 0); /* no NULL elements */
    aoei_pg_put32(out, type);
    if (n) {
        aoei_pg_put32(out, (uint32_t)n);
        aoei_pg_put32(out, 1); /* number of the first element */
    }
}

void aoei_pg_put_vector(aoei_buffer *out, const float *x, size_t dims) {
    aoei_pg_put16(out, (uint32_t)dims);
    aoei_pg_put16(out, 0);
    for (size_t i = 0; i < dims; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        aoei_pg_put32(out, bits);
    }
}
