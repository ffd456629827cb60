/* SPDX-License-Identifier: MIT
 * Finds the vectors in an answer by scanning its text for lists of numbers and for texts in base64, without a JSON
 * parser, which would cost more CPU time than the server takes.
 */
#include "expected.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vectors/npy.h"

enum { MAX_DIMS = 16384 };

int expected_read(expected *e, const char *path, size_t n, aoe_error *err) {
    aoei_npy a = {0};
    const int code = aoei_npy_open(&a, path, err);
    if (code)
        return code;
    e->n = a.rows;
    e->dims = a.columns;
    e->row = calloc(e->n * e->dims + 1, sizeof *e->row);
    const int is_right = e->row && e->n == n && e->dims <= MAX_DIMS;
    if (is_right)
        aoei_npy_rows(&a, 0, n, e->row);
    else
        *err = (aoe_error){.code = AOE_EARG, .message = "the file of vectors does not have one row per text"};
    aoei_npy_close(&a);
    return is_right ? AOE_OK : AOE_EARG;
}

void expected_free(expected *e) {
    free(e->row);
    e->row = NULL;
}

/* Decodes base64 text up to a quote to v[MAX_DIMS]. Returns the number of values, or 0. */
static size_t decode_base64(const char **at, float *v) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static unsigned char value[256];
    unsigned char *out = (unsigned char *)v;
    size_t n = 0;
    uint32_t bits = 0;
    unsigned count = 0;
    if (!value['B'])
        for (size_t i = 0; i < 64; i++)
            value[(unsigned char)digits[i]] = (unsigned char)i;
    const char *p = *at;
    for (; *p && *p != '"' && *p != '=' && n < MAX_DIMS * sizeof *v; p++) {
        bits = bits << 6 | value[(unsigned char)*p];
        if ((count += 6) >= 8)
            out[n++] = (unsigned char)(bits >> (count -= 8));
    }
    *at = p;
    return n % sizeof *v ? 0 : n / sizeof *v;
}

/* Reads numbers up to the end of their list to v[MAX_DIMS]. Returns their number. */
static size_t read_numbers(const char **at, float *v) {
    size_t n = 0;
    const char *p = *at;
    while (n < MAX_DIMS) {
        char *end;
        v[n] = strtof(p, &end);
        if (end == p)
            break;
        n++;
        p = end + strspn(end, " ,\n");
    }
    *at = p;
    return n;
}

/* Finds the next vector in the text, which ends with a NUL byte. Returns its number of values; 0: there is none. */
static size_t next_vector(const char **at, float *v) {
    static const char key[] = "\"embedding\"";
    const char *p = *at;
    while (*p) {
        if (*p == '[' && strspn(p + 1, "-0123456789")) {
            p++;
            const size_t n = read_numbers(&p, v);
            *at = p;
            return n;
        }
        if (*p == '"' && !strncmp(p, key, sizeof key - 1)) {
            p += sizeof key - 1;
            p += strspn(p, " :");
            if (*p == '"') {
                p++;
                const size_t n = decode_base64(&p, v);
                *at = p;
                return n;
            }
            continue;
        }
        p++;
    }
    return 0;
}

int expected_store(expected *e, size_t i, const char *body) {
    static float v[MAX_DIMS], next[MAX_DIMS];
    const char *at = body;
    const size_t dims = next_vector(&at, v);
    if (!e->row && dims) {
        e->dims = dims;
        e->row = calloc(e->n * dims, sizeof *e->row);
    }
    if (!e->row || dims != e->dims || i >= e->n || next_vector(&at, next) != 0)
        return 1;
    memcpy(e->row + i * dims, v, dims * sizeof *v);
    return 0;
}

int expected_compare(expected *e, size_t first, size_t n, const char *body) {
    static float v[MAX_DIMS];
    const char *at = body;
    int is_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const float *row = e->row + (first + i) % e->n * e->dims;
        if (next_vector(&at, v) != e->dims)
            return 1;
        for (size_t d = 0; d < e->dims; d++) {
            const double difference = fabs((double)v[d] - (double)row[d]);
            e->largest = difference > e->largest ? difference : e->largest;
            is_wrong |= !(difference <= e->tolerance);
        }
    }
    return is_wrong || next_vector(&at, v) != 0;
}
