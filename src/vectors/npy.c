/* SPDX-License-Identifier: MIT
 * Reads and writes .npy files. A file begins with "\x93NUMPY", two bytes of version, and the length of the header in 2
 * bytes (version 1.0) or 4 bytes. The header is a Python dictionary with the keys descr (data type), fortran_order and
 * shape. The values of the array follow.
 */
#include "vectors/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static const char magic[] = "\x93NUMPY";

enum {
    MAGIC = 6,            /* length of `magic` */
    MAX_HEADER = 1 << 20, /* maximum length of a header in bytes */
    DICT = 10,
    DICT_2 = 12 /* offset of the dictionary in version 1.0, and in later versions */
};

/* A header that is being parsed, and the values of its dictionary. */
typedef struct parser {
    const char *at, *end; /* next character of the dictionary, and its end */
    char type[16];        /* descr, truncated; "": missing */
    int fortran;          /* fortran_order; -1: missing */
    size_t shape[2];      /* the first two elements of shape */
    size_t n;             /* number of elements of shape; SIZE_MAX: missing */
} parser;

void aoei_npy_header(char *header, const char *type, size_t rows, size_t columns) {
    char text[AOEI_NPY_HEADER];
    const int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }", type,
                           rows, columns);
    memset(header, ' ', AOEI_NPY_HEADER);
    memcpy(header, magic, MAGIC);
    memcpy(header + MAGIC, "\1\0", 2); /* version 1.0 */
    header[8] = (char)(AOEI_NPY_HEADER - DICT);
    header[9] = 0;
    memcpy(header + DICT, text, (size_t)n);
    header[AOEI_NPY_HEADER - 1] = '\n';
}

void aoei_npy_write(FILE *f, const float *v, size_t n) {
    const uint32_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (first) {
        fwrite(v, sizeof *v, n, f);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        for (int shift = 0; shift < 32; shift += 8)
            putc((int)(bits >> shift & 0xFF), f);
    }
}

/* Skips white space. */
static void skip_space(parser *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r'))
        h->at++;
}

/* Skips white space, and the word if it follows. Returns 1 if it follows. */
static int accept(parser *h, const char *word) {
    const size_t len = strlen(word);
    skip_space(h);
    if ((size_t)(h->end - h->at) < len || memcmp(h->at, word, len) != 0)
        return 0;
    h->at += len;
    return 1;
}

/* Reads a string in quotation marks to text[size], and truncates it. Returns 0, or -1 if there is no string. */
static int read_string(parser *h, char *text, size_t size) {
    const char quote = accept(h, "'") ? '\'' : '"';
    if (quote == '"' && !accept(h, "\""))
        return -1;
    const char *end = memchr(h->at, quote, (size_t)(h->end - h->at));
    if (!end)
        return -1;
    const size_t len = (size_t)(end - h->at), kept = len < size ? len : size - 1;
    memcpy(text, h->at, kept);
    text[kept] = 0;
    h->at = end + 1;
    return 0;
}

/* Reads a non-negative integer. Returns 0, or -1 if there is none or if it is too large. */
static int read_size(parser *h, size_t *out) {
    skip_space(h);
    const char *start = h->at;
    for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
        if (aoei_mul_size(*out, 10, out) || aoei_add_size(*out, (size_t)(*h->at - '0'), out))
            return -1;
    return h->at > start ? 0 : -1;
}

/* Reads a tuple of sizes, such as "(2, 384)", "(2,)" or "()". Returns 0, or -1 if it is malformed. */
static int read_shape(parser *h) {
    size_t size;
    int more = accept(h, "(");
    if (!more)
        return -1;
    for (h->n = 0; !accept(h, ")"); h->n++) {
        if (!more || read_size(h, &size))
            return -1;
        if (h->n < 2)
            h->shape[h->n] = size;
        more = accept(h, ",");
    }
    return 0;
}

/* Reads the value of a key. Returns 0, or -1 if the key is unknown or the value is malformed. */
static int read_value(parser *h, const char *key) {
    if (strcmp(key, "descr") == 0)
        return read_string(h, h->type, sizeof h->type);
    if (strcmp(key, "shape") == 0)
        return read_shape(h);
    if (strcmp(key, "fortran_order") != 0)
        return -1;
    h->fortran = accept(h, "True");
    return h->fortran || accept(h, "False") ? 0 : -1;
}

/* Reads the dictionary. Returns 0, or -1 if it is malformed or a key is missing. */
static int read_dictionary(parser *h) {
    char key[16];
    int more = accept(h, "{");
    while (!accept(h, "}")) {
        if (!more || read_string(h, key, sizeof key) || !accept(h, ":") || read_value(h, key))
            return -1;
        more = accept(h, ",");
    }
    return *h->type && h->fortran >= 0 && h->n != SIZE_MAX ? 0 : -1;
}

/* Finds the dictionary in a file, and the data that follow. */
static int find_dictionary(parser *h, const unsigned char *bytes, size_t size, const char *path, aoe_error *err) {
    if (size < DICT_2 || memcmp(bytes, magic, MAGIC) != 0)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: not a .npy file: it does not begin with the bytes of this format; save it with numpy.save", path);
    const size_t start = bytes[6] == 1 ? DICT : DICT_2;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (start == DICT_2)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (bytes[6] < 1 || bytes[6] > 3)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: version %d.%d of the .npy format is not supported; save it with numpy.save", path,
                         bytes[6], bytes[7]);
    if (length > size - start)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the .npy header has %zu bytes, but the file has only %zu bytes; the file is truncated or damaged",
            path, length, size);
    *h = (parser){
        .at = (const char *)bytes + start, .end = (const char *)bytes + start + length, .fortran = -1, .n = SIZE_MAX};
    return 0;
}

int aoei_npy_parse(aoei_npy *a, const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    parser h;
    size_t bytes;
    *a = (aoei_npy){0};
    const int code = find_dictionary(&h, data, size, path, err);
    if (code)
        return code;
    a->data = (const unsigned char *)h.end;
    if (read_dictionary(&h))
        return aoei_fail(err, AOE_EFORMAT, "%s: the .npy header is malformed; save the array with numpy.save", path);
    a->item = strcmp(h.type, "<f4") == 0 ? 4 : strcmp(h.type, "<f8") == 0 ? 8 : 0;
    if (!a->item)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the data type '%s' is not supported; save the array as float32 or float64", path, h.type);
    if (h.n != 2)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the array has %zu dimension%s; it must have 2: rows and columns",
                         path, h.n, h.n == 1 ? "" : "s");
    a->rows = h.shape[0];
    a->columns = h.shape[1];
    if (h.fortran && a->rows > 1 && a->columns > 1)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the array is stored in column-major order; convert it with numpy.ascontiguousarray",
                         path);
    if (aoei_mul_size(a->rows, a->columns, &bytes) || aoei_mul_size(bytes, a->item, &bytes) ||
        bytes != size - (size_t)(a->data - data))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the size of the file does not match its shape (%zu, %zu); the file is truncated or damaged", path,
            a->rows, a->columns);
    return 0;
}

int aoei_npy_open(aoei_npy *a, const char *path, aoe_error *err) {
    aoei_map map;
    int code = aoei_map_open(&map, path, err);
    if (code) {
        *a = (aoei_npy){0};
        return code;
    }
    code = aoei_npy_parse(a, map.data, map.size, path, err);
    a->map = map;
    if (code)
        aoei_npy_close(a);
    return code;
}

/* Returns the `bytes` bytes at p, which are in little-endian order, as an integer. */
static uint64_t little_endian(const unsigned char *p, size_t bytes) {
    uint64_t x = 0;
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

void aoei_npy_rows(const aoei_npy *a, size_t first, size_t n, float *out) {
    const unsigned char *p = a->data + first * a->columns * a->item;
    for (size_t i = 0; i < n * a->columns; i++, p += a->item) {
        const uint64_t wide = little_endian(p, a->item);
        const uint32_t bits = (uint32_t)wide;
        double x;
        memcpy(&x, &wide, sizeof x);
        out[i] = (float)x;
        if (a->item == sizeof bits)
            memcpy(&out[i], &bits, sizeof bits);
    }
}

void aoei_npy_close(aoei_npy *a) {
    aoei_map_close(&a->map);
    *a = (aoei_npy){0};
}
