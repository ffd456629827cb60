/* SPDX-License-Identifier: MIT
 * Reads and writes ranges of components.
 */
#include "cli/text/ranges.h"

#include <aoe.h>
#include <stdlib.h>

#include "base/json.h"
#include "vectors/npy.h"
#include "base/path.h"
#include "cli/common/float_text.h"
#include "cli/common/output.h"

enum { BLOCK = 1024 }; /* number of embeddings of a .npy file that are read at a time */

static int is_npy(const char *path) {
    return aoei_name_ends_with(path, ".npy");
}

int cli_ranges_is_file(const char *path) {
    return is_npy(path) || aoei_name_ends_with(path, ".json");
}

/* Reads an array of `dims` numbers. Returns 0, or -1 if the value is another one. */
static int read_numbers(float *out, size_t dims, const json_t *array) {
    if (!json_is_array(array) || json_array_size(array) != dims)
        return -1;
    for (size_t k = 0; k < dims; k++) {
        const json_t *value = json_array_get(array, k);
        if (!json_is_number(value))
            return -1;
        out[k] = (float)json_number_value(value);
    }
    return 0;
}

static int read_json(float *ranges, size_t dims, const char *path) {
    json_t *root;
    aoe_error err;
    if (aoei_json_load(&root, path, &err))
        return cli_fail("%s", err.message);
    const int bad = json_array_size(root) != 2 || read_numbers(ranges, dims, json_array_get(root, 0)) ||
                    read_numbers(ranges + dims, dims, json_array_get(root, 1));
    json_decref(root);
    if (bad)
        return cli_fail(
            "%s: expected two arrays of %zu numbers, the minima and the maxima of the components; write the file with "
            "--save-ranges and the same model and --dims",
            path, dims);
    return 0;
}

/* Opens a .npy file with embeddings or ranges of `dims` components. */
static int open_npy(aoei_npy *a, size_t dims, const char *path) {
    aoe_error err;
    if (aoei_npy_open(a, path, &err))
        return cli_fail("%s", err.message);
    if (a->columns == dims)
        return 0;
    cli_fail("%s: the array has %zu columns, but the embeddings have %zu components; compute it with the same model "
             "and --dims",
             path, a->columns, dims);
    aoei_npy_close(a);
    return 1;
}

static int read_npy(float *ranges, size_t dims, const char *path) {
    aoei_npy a;
    if (open_npy(&a, dims, path))
        return 1;
    const size_t rows = a.rows;
    if (rows == 2)
        aoei_npy_rows(&a, 0, rows, ranges);
    aoei_npy_close(&a);
    return rows == 2
               ? 0
               : cli_fail("%s: the array has %zu rows; the ranges must have 2, the minima and the maxima (--calibrate "
                          "computes them from embeddings)",
                          path, rows);
}

int cli_ranges_read(float *ranges, size_t dims, const char *path) {
    aoe_error err;
    unsigned char nothing;
    if (is_npy(path) ? read_npy(ranges, dims, path) : read_json(ranges, dims, path))
        return 1;
    if (aoe_quantize(AOE_PRECISION_UINT8, ranges, 0, dims, ranges, &nothing, &err)) /* checks the ranges */
        return cli_fail("%s: %s", path, err.message);
    return 0;
}

/* Writes n numbers as a JSON array. Each number is read back as exactly the same float. */
static void write_numbers(FILE *f, const float *v, size_t n) {
    char text[CLI_FLOAT_MAX + 1];
    for (size_t k = 0; k < n; k++) {
        cli_format_float(text, v[k]);
        fprintf(f, "%s%s", k ? "," : "[", text);
    }
    putc(']', f);
}

int cli_ranges_write(cli_file *f, const float *ranges, size_t dims) {
    char header[AOEI_NPY_HEADER];
    if (is_npy(f->path)) {
        aoei_npy_header(header, "<f4", 2, dims);
        fwrite(header, 1, sizeof header, f->file);
        aoei_npy_write(f->file, ranges, 2 * dims);
    } else {
        putc('[', f->file);
        write_numbers(f->file, ranges, dims);
        fputs(",\n ", f->file);
        write_numbers(f->file, ranges + dims, dims);
        fputs("]\n", f->file);
    }
    return cli_file_check(f);
}

int cli_ranges_add_npy(float *ranges, size_t *n, size_t dims, const char *path) {
    aoei_npy a;
    aoe_error err;
    int code = 0;
    if (open_npy(&a, dims, path))
        return 1;
    *n = a.rows;
    float *block = cli_realloc(NULL, BLOCK * dims * sizeof *block);
    for (size_t first = 0; first < a.rows && !code; first += BLOCK) {
        const size_t rows = a.rows - first < BLOCK ? a.rows - first : BLOCK;
        aoei_npy_rows(&a, first, rows, block);
        code = aoe_ranges_add(ranges, block, rows, dims, &err);
    }
    if (code)
        cli_fail("%s: %s", path, err.message);
    free(block);
    aoei_npy_close(&a);
    return code != 0;
}
