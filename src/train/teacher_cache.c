/* SPDX-License-Identifier: MIT
 * Reads and writes the files of the cache of teacher vectors.
 */
#include "train/teacher_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "modeldir/safetensors_writer.h"

#define VECTORS "vectors" /* name of the matrix in a file */
#define HASH    "hash"    /* name of the tensor with the hash of the matrix, [1] */

/* Returns the path of the file of a block, which the caller frees, or NULL if out of memory. */
static char *block_path(const char *dir, uint64_t key, aoe_error *err) {
    char name[40];
    snprintf(name, sizeof name, "%016" PRIx64 ".safetensors", key);
    char *path = aoei_path_join(dir, name);
    if (!path)
        aoei_fail_nomem(err, sizeof name);
    return path;
}

/* Returns the vectors in an open file, or NULL if the file does not contain a matrix of this size and its hash. */
static const aoei_bf16 *find_vectors(const aoei_safetensors *file, size_t rows, size_t dims) {
    const aoei_st_tensor *t = aoei_safetensors_find(file, VECTORS), *h = aoei_safetensors_find(file, HASH);
    uint64_t hash;
    if (!t || t->dtype != AOEI_ST_BF16 || t->n_dims != 2 || t->shape[0] != rows || t->shape[1] != dims || !h ||
        h->dtype != AOEI_ST_I64 || h->bytes != sizeof hash || (uintptr_t)t->data % sizeof(aoei_bf16))
        return NULL;
    memcpy(&hash, h->data, sizeof hash);
    return aoei_hash(AOEI_HASH_START, t->data, t->bytes) == hash ? (const aoei_bf16 *)(const void *)t->data : NULL;
}

int aoei_cached_block_exists(const char *dir, uint64_t key) {
    char *path = block_path(dir, key, NULL);
    const int found = path && aoei_exists(path);
    aoei_free(path);
    return found;
}

int aoei_cached_block_open(aoei_cached_block *b, const char *dir, uint64_t key, size_t rows, size_t dims,
                           aoe_error *err) {
    char *path = block_path(dir, key, err);
    aoe_error damage = {0};
    *b = (aoei_cached_block){0};
    if (!path)
        return AOE_ENOMEM;
    int code = aoei_exists(path) ? aoei_safetensors_open(&b->file, path, &damage) : AOE_OK;
    if (!code && b->file && !(b->vector = find_vectors(b->file, rows, dims)))
        code = AOE_EFORMAT;
    if (code == AOE_EFORMAT || code == AOE_EUNSUPPORTED)
        code = aoei_fail(
            err, AOE_EFORMAT,
            "%s: the file is damaged, or does not contain teacher embeddings (bf16 [%zu, %zu]); delete it, and they "
            "are computed again",
            path, rows, dims);
    else if (code)
        aoei_fail(err, code, "%s", damage.message);
    aoei_free(path);
    if (code)
        aoei_cached_block_close(b);
    return code;
}

void aoei_cached_block_close(aoei_cached_block *b) {
    aoei_safetensors_close(b->file);
    *b = (aoei_cached_block){0};
}

int aoei_cached_block_write(const char *dir, uint64_t key, const float *vectors, size_t rows, size_t dims,
                            aoe_error *err) {
    const aoei_st_entry entries[] = {{.name = VECTORS, .dtype = AOEI_ST_BF16, .n_dims = 2, .shape = {rows, dims}},
                                     {.name = HASH, .dtype = AOEI_ST_I64, .n_dims = 1, .shape = {1}}};
    uint64_t hash = AOEI_HASH_START;
    char *path = block_path(dir, key, err);
    aoei_bf16 *row = aoei_malloc_array(dims, sizeof *row);
    aoei_st_writer *w = NULL;
    int code = path && row ? AOE_OK : path ? aoei_fail_nomem(err, dims * sizeof *row) : AOE_ENOMEM;
    if (!code)
        code = aoei_st_writer_open(&w, path, entries, 2, err);
    for (size_t i = 0; i < rows && !code; i++) {
        for (size_t k = 0; k < dims; k++)
            row[k] = aoei_bf16_from_f32(vectors[i * dims + k]);
        hash = aoei_hash(hash, row, dims * sizeof *row);
        code = aoei_st_writer_write(w, row, dims * sizeof *row, err);
    }
    if (!code)
        code = aoei_st_writer_write(w, &hash, sizeof hash, err);
    if (code)
        aoei_st_writer_abort(w);
    else
        code = aoei_st_writer_commit(w, err);
    aoei_free(row);
    aoei_free(path);
    return code;
}
