/* SPDX-License-Identifier: MIT
 * Rounds weights to their storage type and writes them to a file. Rows are converted in small blocks;
 * only the scales of the current matrix are kept, because they are written after it.
 * aoei_st_to_float (safetensors.c) reads the values.
 */
#include "modeldir/storage.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/bf16.h"
#include "base/error.h"

#define CHUNK        ((size_t)1 << 16) /* elements converted at once */
#define FLT_MAX_BITS 0x7f7fffffu

struct aoei_storage_writer {
    aoei_st_writer *out; /* owned */
    aoe_storage storage;
    const aoei_st_entry *entries; /* [n], borrowed */
    size_t n, at;                 /* number of entries; index of the current entry */
    size_t left;                  /* elements of the current entry that are not written yet */
    float *scales;                /* [largest number of rows of a matrix], owned; NULL except for int8 */
    void *chunk;                  /* owned; converted elements: CHUNK, or the longest row if larger; NULL for float32 */
};

/* ------------------------------------------------------------------ values */

/* The bits of the largest magnitude. They exceed the bits of FLT_MAX if a value is NaN or infinite. */
static uint32_t most_bits(const float *x, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

float aoei_int8_row(int8_t *q, const float *x, size_t n) {
    const uint32_t bits = most_bits(x, n);
    float most, scale;
    memcpy(&most, &bits, sizeof most);
    if (most <= 0x1p-127f) { /* at most half of the smallest scale, so all values round to 0 */
        memset(q, 0, n);
        return 0;
    }
    scale = most / 127.0f;
    scale = scale < 0x1p-126f ? 0x1p-126f : scale;
    /* The quotient of two floats is exactly a tie, or differs from a tie by much more than the rounding error of a double. */
    for (size_t i = 0; i < n; i++)
        q[i] = (int8_t)lrint((double)x[i] / (double)scale);
    return scale;
}

/* ----------------------------------------------------------------- reading */

static int fail_scale(const aoei_safetensors *s, const aoei_st_tensor *scale, size_t i, float v, aoe_error *err) {
    return aoei_fail(err, isfinite(v) && v < 0 ? AOE_EFORMAT : AOE_ENUMERIC,
                     "%s: tensor '%s' holds %g at element %zu; 127 times a scale is finite and not negative: the model is "
                     "damaged; convert or download it again",
                     aoei_safetensors_path(s, scale), scale->name, (double)v, i);
}

int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err) {
    const char *path = aoei_safetensors_path(s, t);
    const aoei_st_tensor *scale = aoei_safetensors_scale(s, t);
    if (t->n_dims != 2)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: tensor '%s' is of I8 with %zu dimensions; int8 is read for matrices only: convert the model",
                         path, t->name, t->n_dims);
    if (!scale)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s' is of I8 and its scales, '%s" AOEI_SCALE_SUFFIX
                         "', are missing; convert or download the model again",
                         path, t->name, t->name);
    if (scale->dtype != AOEI_ST_F32)
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' is of %s; scales are F32; convert or download the model again",
                         path, scale->name, aoei_st_dtype_name(scale->dtype));
    if (scale->n_dims != 1 || scale->shape[0] != t->shape[0])
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' is not of shape [%zu], a scale for each row of '%s'; convert or download the model again", path,
            scale->name, t->shape[0], t->name);
    for (size_t i = 0; i < t->shape[0]; i++) {
        float v;
        memcpy(&v, scale->data + i * sizeof v, sizeof v);
        if (!(v >= 0) || !isfinite(127.0f * v))
            return fail_scale(s, scale, i, v, err);
    }
    return 0;
}

/* ------------------------------------------------------------------- forms */

static const struct {
    const char *name, *torch;
    aoei_st_dtype dtype; /* stored type of matrices */
} forms[] = {
    [AOE_STORAGE_F32] = {"F32", "float32", AOEI_ST_F32},
    [AOE_STORAGE_BF16] = {"BF16", "bfloat16", AOEI_ST_BF16},
    [AOE_STORAGE_INT8] = {"I8", "float32", AOEI_ST_I8}, /* the values are float32 after reading */
};

const char *aoei_storage_name(aoe_storage s) {
    return forms[s].name;
}

const char *aoei_storage_torch(aoe_storage s) {
    return forms[s].torch;
}

size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector) {
    if (s == AOE_STORAGE_INT8)
        return vector ? rows * cols * sizeof(float) : rows * (cols + sizeof(float));
    return rows * cols * aoei_st_dtype_size(forms[s].dtype);
}

/* ----------------------------------------------------------------- writing */

/* 1: stored as int8 rows. */
static int is_rows(aoe_storage storage, const aoei_st_entry *e) {
    return storage == AOE_STORAGE_INT8 && e->n_dims == 2 && e->shape[1];
}

static size_t elements(const aoei_st_entry *e) {
    size_t n = 1;
    for (size_t i = 0; i < e->n_dims; i++)
        n *= e->shape[i];
    return n;
}

static int ends_with(const char *text, const char *tail) {
    size_t a = strlen(text), b = strlen(tail);
    return a >= b && !strcmp(text + a - b, tail);
}

/* Allocates the buffers of the conversion. */
static int take_memory(aoei_storage_writer *w, aoe_error *err) {
    size_t rows = 0, cols = CHUNK;
    for (size_t i = 0; i < w->n; i++)
        if (is_rows(w->storage, &w->entries[i])) {
            const size_t *shape = w->entries[i].shape;
            rows = shape[0] > rows ? shape[0] : rows;
            cols = shape[1] > cols ? shape[1] : cols;
        }
    if (w->storage != AOE_STORAGE_F32 && !(w->chunk = aoei_malloc_array(cols, aoei_st_dtype_size(forms[w->storage].dtype))))
        return aoei_fail_nomem(err, cols);
    if (rows && !(w->scales = aoei_malloc_array(rows, sizeof *w->scales)))
        return aoei_fail_nomem(err, rows * sizeof *w->scales);
    return 0;
}

/* Writes the stored entries, including those of scales, to to[2 n] and adds their number to *n_to. names: [n], names of scales,
 * which the caller frees. */
static int expand(aoei_st_entry *to, size_t *n_to, char **names, const aoei_storage_writer *w, aoe_error *err) {
    for (size_t i = 0; i < w->n; i++) {
        const aoei_st_entry *e = &w->entries[i];
        aoei_st_entry *stored = &to[(*n_to)++];
        *stored = *e;
        stored->dtype = forms[w->storage].dtype;
        if (w->storage != AOE_STORAGE_INT8)
            continue;
        if (ends_with(e->name, AOEI_SCALE_SUFFIX))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "tensor '%s' would be taken for scales of int8 rows: use f32 or bf16 for this model", e->name);
        if (!is_rows(w->storage, e)) {
            stored->dtype = AOEI_ST_F32;
            continue;
        }
        const size_t len = strlen(e->name);
        if (!(names[i] = aoei_malloc(len + sizeof AOEI_SCALE_SUFFIX)))
            return aoei_fail_nomem(err, len);
        memcpy(names[i], e->name, len);
        memcpy(names[i] + len, AOEI_SCALE_SUFFIX, sizeof AOEI_SCALE_SUFFIX);
        to[(*n_to)++] = (aoei_st_entry){names[i], AOEI_ST_F32, 1, {e->shape[0]}};
    }
    return 0;
}

int aoei_storage_open(aoei_storage_writer **out, const char *path, const aoei_st_entry *entries, size_t n, aoe_storage storage,
                      aoe_error *err) {
    aoei_storage_writer *w = *out = aoei_calloc(1, sizeof *w);
    aoei_st_entry *stored = aoei_calloc(2 * n, sizeof *stored);
    char **names = aoei_calloc(n, sizeof *names);
    size_t n_stored = 0;
    int rc = w && stored && names ? 0 : aoei_fail_nomem(err, n * sizeof *stored);
    if (!rc) {
        *w = (aoei_storage_writer){.storage = storage, .entries = entries, .n = n, .left = n ? elements(entries) : 0};
        rc = take_memory(w, err);
    }
    if (!rc && !(rc = expand(stored, &n_stored, names, w, err)))
        rc = aoei_st_writer_open(&w->out, path, stored, n_stored, err);
    for (size_t i = 0; names && i < n; i++)
        aoei_free(names[i]);
    aoei_free(names);
    aoei_free(stored);
    if (rc) {
        aoei_storage_abort(w);
        *out = NULL;
    }
    return rc;
}

static int fail_value(const aoei_storage_writer *w, float v, const char *type, aoe_error *err) {
    return aoei_fail(err, AOE_ENUMERIC, "tensor '%s' holds %g, which %s cannot: use f32 for this model", w->entries[w->at].name,
                     (double)v, type);
}

/* Reports the first value of row x that is not finite, or would not be finite after reading. */
static int fail_row(const aoei_storage_writer *w, const float *x, aoe_error *err) {
    while (fabsf(*x) < FLT_MAX)
        x++;
    return fail_value(w, *x, "int8", err);
}

static int put_bf16(aoei_storage_writer *w, const float *x, size_t n, aoe_error *err) {
    aoei_bf16 *chunk = w->chunk;
    int rc = 0;
    for (size_t first = 0; first < n && !rc; first += CHUNK) {
        const size_t part = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < part; i++) {
            chunk[i] = aoei_bf16_from_f32(x[first + i]);
            if ((chunk[i] & 0x7f80u) == 0x7f80u) /* infinite after rounding, or never finite */
                return fail_value(w, x[first + i], "bf16", err);
        }
        rc = aoei_st_writer_write(w->out, chunk, part * sizeof *chunk, err);
    }
    return rc;
}

/* Writes x [n / cols, cols] as int8. row: index of its first row in the matrix. */
static int put_rows(aoei_storage_writer *w, const float *x, size_t n, size_t row, size_t cols, aoe_error *err) {
    const size_t step = cols < CHUNK ? CHUNK / cols : 1, rows = n / cols;
    int8_t *chunk = w->chunk;
    int rc = 0;
    for (size_t first = 0; first < rows && !rc; first += step) {
        const size_t part = rows - first < step ? rows - first : step;
        for (size_t r = 0; r < part; r++) {
            const float *from = x + (first + r) * cols;
            if (most_bits(from, cols) >= FLT_MAX_BITS)
                return fail_row(w, from, err);
            w->scales[row + first + r] = aoei_int8_row(chunk + r * cols, from, cols);
        }
        rc = aoei_st_writer_write(w->out, chunk, part * cols, err);
    }
    return rc;
}

int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err) {
    int rc = 0;
    if (w->at == w->n || n > w->left)
        return aoei_fail(err, AOE_EARG, "%zu values more than the tensors described", w->at == w->n ? n : n - w->left);
    const aoei_st_entry *e = &w->entries[w->at];
    const size_t cols = e->n_dims ? e->shape[e->n_dims - 1] : 1;
    if (is_rows(w->storage, e)) {
        if (n) {
            if (n % cols)
                return aoei_fail(err, AOE_EARG, "tensor '%s' is written in pieces that are not whole rows", e->name);
            rc = put_rows(w, values, n, e->shape[0] - w->left / cols, cols, err);
        }
    } else if (w->storage == AOE_STORAGE_BF16) {
        rc = put_bf16(w, values, n, err);
    } else {
        rc = aoei_st_writer_write(w->out, values, n * sizeof *values, err);
    }
    if (rc || (w->left -= n))
        return rc;
    if (is_rows(w->storage, e))
        rc = aoei_st_writer_write(w->out, w->scales, e->shape[0] * sizeof *w->scales, err);
    w->at++;
    w->left = w->at < w->n ? elements(&w->entries[w->at]) : 0;
    return rc;
}

int aoei_storage_commit(aoei_storage_writer *w, aoe_error *err) {
    int rc = aoei_st_writer_commit(w->out, err);
    w->out = NULL;
    aoei_storage_abort(w);
    return rc;
}

void aoei_storage_abort(aoei_storage_writer *w) {
    if (!w)
        return;
    aoei_st_writer_abort(w->out);
    aoei_free(w->scales);
    aoei_free(w->chunk);
    aoei_free(w);
}
