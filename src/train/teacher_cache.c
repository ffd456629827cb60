/* SPDX-License-Identifier: MIT
 * Reads and writes the files of the cache of teacher vectors.
 */
#include "train/teacher_cache.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "modeldir/safetensors_writer.h"

#define TENSOR "vectors" /* name of the matrix in a file */

/* Returns the path of the file of a block, which the caller frees, or NULL if out of memory. */
static char *block_path(const char *dir, uint64_t key, aoe_error *err) {
    char name[40];
    snprintf(name, sizeof name, "%016" PRIx64 ".safetensors", key);
    char *path = aoei_path_join(dir, name);
    if (!path)
        aoei_fail_nomem(err, sizeof name);
    return path;
}

int aoei_cached_block_open(aoei_cached_block *b, const char *dir, uint64_t key, size_t rows, size_t dims, aoe_error *err) {
    char *path = block_path(dir, key, err);
    *b = (aoei_cached_block){0};
    if (!path)
        return AOE_ENOMEM;
    int code = aoei_exists(path) ? aoei_safetensors_open(&b->file, path, err) : AOE_OK;
    if (!code && b->file) {
        const aoei_st_tensor *t = aoei_safetensors_find(b->file, TENSOR);
        if (t && t->dtype == AOEI_ST_BF16 && t->n_dims == 2 && t->shape[0] == rows && t->shape[1] == dims &&
            (uintptr_t)t->data % sizeof *b->vector == 0)
            b->vector = (const aoei_bf16 *)(const void *)t->data;
        else
            code =
                aoei_fail(err, AOE_EFORMAT,
                          "%s: the file does not contain the vectors of a teacher (%s: BF16 [%zu, %zu]); delete it, and they "
                          "are computed again",
                          path, TENSOR, rows, dims);
    }
    aoei_free(path);
    if (code)
        aoei_cached_block_close(b);
    return code;
}

void aoei_cached_block_close(aoei_cached_block *b) {
    aoei_safetensors_close(b->file);
    *b = (aoei_cached_block){0};
}

int aoei_cached_block_write(const char *dir, uint64_t key, const float *vectors, size_t rows, size_t dims, aoe_error *err) {
    const aoei_st_entry entry = {.name = TENSOR, .dtype = AOEI_ST_BF16, .n_dims = 2, .shape = {rows, dims}};
    char *path = block_path(dir, key, err);
    aoei_bf16 *row = aoei_malloc_array(dims, sizeof *row);
    aoei_st_writer *w = NULL;
    int code = path && row ? AOE_OK : path ? aoei_fail_nomem(err, dims * sizeof *row) : AOE_ENOMEM;
    if (!code)
        code = aoei_st_writer_open(&w, path, &entry, 1, err);
    for (size_t i = 0; i < rows && !code; i++) {
        for (size_t k = 0; k < dims; k++)
            row[k] = aoei_bf16_from_f32(vectors[i * dims + k]);
        code = aoei_st_writer_write(w, row, dims * sizeof *row, err);
    }
    if (code)
        aoei_st_writer_abort(w);
    else
        code = aoei_st_writer_commit(w, err);
    aoei_free(row);
    aoei_free(path);
    return code;
}
