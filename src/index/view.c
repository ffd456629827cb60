/* SPDX-License-Identifier: MIT
 * Views: the mapped vector files of a commit, and the bitmap of its rows. All sizes in the database are compared with
 * the sizes of the files before anything is mapped.
 */
#include "index/view.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/bf16.h"
#include "base/error.h"
#include "vectors/codes.h"

size_t aoei_view_headers(aoei_vector_header h[3], const aoei_index_settings *settings, uint64_t generation) {
    const aoei_vector_type values = settings->store == AOE_INDEX_BF16 ? AOEI_VECTORS_BF16 : AOEI_VECTORS_F32;
    const aoei_vector_type types[] = {AOEI_VECTORS_CODES, AOEI_VECTORS_SIGNS, values};
    for (size_t i = 0; i < 3; i++)
        h[i] = (aoei_vector_header){.type = types[i],
                                    .dims = settings->dims,
                                    .stride = aoei_vector_stride(types[i], settings->dims),
                                    .generation = generation,
                                    .index_id = settings->id};
    return settings->store == AOE_INDEX_INT8 ? 2 : 3;
}

/* Reads the bitmap of the rows that belong to a document. */
static int read_live(aoei_view *v, const aoei_index_state *state, aoei_db *d, aoe_error *err) {
    const size_t words = (v->rows + 63) / 64;
    if (!(v->live = aoei_calloc(words + 1, sizeof *v->live)))
        return aoei_fail_nomem(err, words * sizeof *v->live);
    const int rc = aoei_dead_read(d, v->live, v->rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < words; i++) {
        v->live[i] = ~v->live[i];
        if (i == words - 1 && v->rows % 64)
            v->live[i] &= ((uint64_t)1 << (v->rows % 64)) - 1;
        for (uint64_t bits = v->live[i]; bits; bits &= bits - 1)
            v->live_rows++;
    }
    return v->live_rows == state->live ? 0 : aoei_db_damaged(d, "the list of removed vectors is wrong", err);
}

/* Maps the rows that a damaged file still has. */
static void map_part(aoei_vectors *v, const char *path, const aoei_vector_header *h, size_t rows) {
    struct stat st;
    if (stat(path, &st) || st.st_size < AOEI_VECTORS_HEADER)
        return;
    const size_t n = ((size_t)st.st_size - AOEI_VECTORS_HEADER) / h->stride;
    (void)aoei_vectors_map(v, path, h, n < rows ? n : rows, NULL);
}

static int map_files(aoei_view *v, const char *dir, const aoei_index_settings *settings, int repair, aoe_error *err) {
    aoei_vector_header h[3];
    aoei_vectors *const files[] = {&v->codes, &v->signs, &v->values};
    const size_t n = aoei_view_headers(h, settings, v->generation);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        char *path = aoei_vector_path(dir, h[i].type, v->generation);
        if (!path)
            return aoei_fail_nomem(err, 0);
        rc = aoei_vectors_map(files[i], path, &h[i], v->rows, err);
        if (repair && (rc == AOE_EFORMAT || rc == AOE_ENOENT)) {
            map_part(files[i], path, &h[i], v->rows);
            v->damaged = 1;
            rc = 0;
        }
        aoei_free(path);
    }
    return rc;
}

int aoei_view_load(aoei_view **out, aoei_view *last, aoei_db *d, const char *dir, const aoei_index_settings *settings,
                   int repair, aoe_error *err) {
    aoei_index_state state;
    *out = NULL;
    int rc = aoei_index_state_read(d, &state, err);
    if (rc)
        return rc;
    if (last && last->commits == state.commits && last->generation == state.generation) {
        *out = aoei_view_keep(last);
        return 0;
    }
    aoei_view *v = aoei_calloc(1, sizeof *v);
    if (!v)
        return aoei_fail_nomem(err, sizeof *v);
    atomic_init(&v->references, 1);
    v->commits = state.commits;
    v->generation = state.generation;
    v->rows = (size_t)state.rows;
    v->dims = settings->dims;
    v->store = settings->store;
    rc = read_live(v, &state, d, err);
    if (!rc)
        rc = map_files(v, dir, settings, repair, err);
    if (rc) {
        aoei_view_release(v);
        return rc;
    }
    *out = v;
    return 0;
}

aoei_view *aoei_view_keep(aoei_view *v) {
    atomic_fetch_add(&v->references, 1);
    return v;
}

void aoei_view_release(aoei_view *v) {
    if (!v || atomic_fetch_sub(&v->references, 1) != 1)
        return;
    aoei_vectors_close(&v->codes);
    aoei_vectors_close(&v->signs);
    aoei_vectors_close(&v->values);
    aoei_lengths_free(atomic_load(&v->lengths));
    aoei_ranges_free(atomic_load(&v->ranges));
    aoei_free(v->live);
    aoei_free(v);
}

int aoei_view_lengths(aoei_view *v, aoei_db *d, const aoei_lengths **lengths, aoe_error *err) {
    aoei_lengths *known = atomic_load(&v->lengths), *mine = NULL;
    const int rc = known ? 0 : aoei_lengths_read(&mine, d, err);
    if (mine && atomic_compare_exchange_strong(&v->lengths, &known, mine))
        known = mine;
    else
        aoei_lengths_free(mine); /* another thread has read them at the same time */
    *lengths = known;
    return rc;
}

int aoei_view_ranges(void *user, aoei_db *d, const aoei_ranges **ranges, aoe_error *err) {
    aoei_view *v = user;
    aoei_ranges *known = atomic_load(&v->ranges), *mine = NULL;
    const int rc = known ? 0 : aoei_ranges_read(&mine, d, err);
    if (mine && atomic_compare_exchange_strong(&v->ranges, &known, mine))
        known = mine;
    else
        aoei_ranges_free(mine);
    *ranges = known;
    return rc;
}

void aoei_view_vector(const aoei_view *v, size_t row, float *vector) {
    if (v->store == AOE_INDEX_F32) {
        memcpy(vector, v->values.rows + row * v->values.stride, v->dims * sizeof *vector);
        return;
    }
    if (v->store == AOE_INDEX_BF16) {
        const unsigned char *values = v->values.rows + row * v->values.stride;
        for (size_t i = 0; i < v->dims; i++) {
            aoei_bf16 x;
            memcpy(&x, values + i * sizeof x, sizeof x);
            vector[i] = aoei_bf16_to_f32(x);
        }
        return;
    }
    const unsigned char *codes = v->codes.rows + row * v->codes.stride;
    const float scale = aoei_codes_scale(codes, aoei_codes_padded(v->dims));
    for (size_t i = 0; i < v->dims; i++)
        vector[i] = scale * (float)(signed char)codes[i];
}
