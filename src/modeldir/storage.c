/* SPDX-License-Identifier: MIT
 * Converts weights to their storage type and writes them to a file. Rows are converted in small blocks. The scales of
 * an int8 or int5 matrix are written after the matrix, so only the scales of the current matrix are kept in memory.
 * aoei_st_to_float (safetensors.c) converts stored values back to float.
 */
#include "modeldir/storage.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/bf16.h"
#include "base/error.h"
#include "base/path.h"

#define CHUNK        ((size_t)1 << 16) /* number of elements that are converted at a time */
#define FLT_MAX_BITS 0x7f7fffffu
#define MIN_SCALE    0x1p-126f /* smallest scale of a row whose elements do not all round to 0 */
#define MAX_ZERO     0x1p-127f /* largest magnitude that rounds to 0 with this scale */

enum { INT5_CANDIDATES = 21 }; /* number of scales of which the best is selected for a row of int5 values */

struct aoei_storage_writer {
    aoei_st_writer *out; /* owned */
    aoe_storage storage;
    const aoei_st_entry *entries; /* [n] descriptions of the tensors, borrowed */
    size_t n, at;                 /* number of tensors, and index of the current tensor */
    size_t left;                  /* number of elements in the current tensor that have not been written yet */
    float *scales; /* [largest number of rows in a matrix] scales of the current matrix, owned; used only for int8 and
                      int5 */
    void *chunk;   /* [at least CHUNK and at least one row] converted elements, owned; NULL for float32 */
};

/* ------------------------------------------------------------------ values */

/* Returns the bits of max|x[i]|, as an integer. This integer is larger than the bits of FLT_MAX if a value is NaN or
 * infinite. */
static uint32_t max_magnitude_bits(const float *x, size_t n) {
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        max = bits > max ? bits : max;
    }
    return max;
}

float aoei_int8_row(int8_t *q, const float *x, size_t n) {
    const uint32_t bits = max_magnitude_bits(x, n);
    float max, scale;
    memcpy(&max, &bits, sizeof max);
    if (max <= MAX_ZERO) {
        memset(q, 0, n);
        return 0;
    }
    scale = max / 127.0f;
    scale = scale < MIN_SCALE ? MIN_SCALE : scale;
    /* The exact quotient of two floats either is a tie (k + 1/2), or differs from every tie by much more than the
     * rounding error of a double. Rounding the quotient in double precision to an integer therefore gives the same
     * integer as rounding the exact quotient. */
    for (size_t i = 0; i < n; i++)
        q[i] = (int8_t)lrint((double)x[i] / (double)scale);
    return scale;
}

/* Returns the int5 value of x: the quotient x / scale, limited to [-15, 15] and rounded as in aoei_int8_row. */
static inline int int5_value(float x, float scale) {
    const double q = (double)x / (double)scale;
    return (int)lrint(q < -15 ? -15 : q > 15 ? 15 : q);
}

/* Returns the sum of the squared differences between x[n] and the values that are read if x is stored with the given
 * scale. */
static double int5_error(const float *x, size_t n, float scale) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)((float)int5_value(x[i], scale) * scale);
        sum += d * d;
    }
    return sum;
}

/* Returns the candidate with the smallest error for the row x[n], whose largest magnitude is max. */
static float int5_scale(const float *x, size_t n, float max) {
    float scale = 0;
    double least = INFINITY;
    for (int k = 0; k < INT5_CANDIDATES; k++) {
        const float limit = (float)((double)max * (50 - k) / 50), candidate = fmaxf(limit / 15.0f, MIN_SCALE);
        const double error = int5_error(x, n, candidate);
        if (error < least) {
            least = error;
            scale = candidate;
        }
    }
    return scale;
}

float aoei_int5_row(unsigned char *packed, const float *x, size_t n) {
    const uint32_t bits = max_magnitude_bits(x, n);
    float max;
    memcpy(&max, &bits, sizeof max);
    const float scale = max <= MAX_ZERO ? 0 : int5_scale(x, n, max);
    for (size_t first = 0; first < n; first += 8, packed += AOEI_INT5_GROUP_BYTES) {
        uint64_t group = AOEI_INT5_ZEROS;
        for (size_t i = 0; i < 8 && first + i < n && scale > 0; i++)
            group += (uint64_t)int5_value(x[first + i], scale) << 5 * i; /* a negative value is subtracted */
        memcpy(packed, &group, AOEI_INT5_GROUP_BYTES);
    }
    return scale;
}

/* ----------------------------------------------------------------- reading */

/* Checks the scales of t, an I8 matrix or a U8 matrix of int5 values. highest: largest int8 or int5 value. */
static int check_scales(const aoei_safetensors *s, const aoei_st_tensor *t, int highest, aoe_error *err) {
    const char *path = aoei_safetensors_path(s, t);
    const aoei_st_tensor *scale = aoei_safetensors_scale(s, t);
    if (!scale)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the scales '%s" AOEI_SCALE_SUFFIX
                         "' of the %s tensor '%s' are missing; convert or download the model again",
                         path, t->name, aoei_st_dtype_name(t->dtype), t->name);
    if (scale->dtype != AOEI_ST_F32)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the data type of tensor '%s' is %s, but scales must be F32; convert or download the model again", path,
            scale->name, aoei_st_dtype_name(scale->dtype));
    if (scale->n_dims != 1 || scale->shape[0] != t->shape[0])
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' does not have the shape [%zu], one scale for each row of '%s'; convert or download the "
            "model again",
            path, scale->name, t->shape[0], t->name);
    for (size_t i = 0; i < t->shape[0]; i++) {
        float v;
        memcpy(&v, scale->data + i * sizeof v, sizeof v);
        if (!(v >= 0) || !isfinite((float)highest * v))
            return aoei_fail(
                err, isfinite(v) && v < 0 ? AOE_EFORMAT : AOE_ENUMERIC,
                "%s: tensor '%s' contains %g at element %zu; a scale must not be negative, and %d times the scale must "
                "be finite; convert or download the model again",
                path, scale->name, (double)v, i, highest);
    }
    return 0;
}

int aoei_int8_check(const aoei_safetensors *s, const aoei_st_tensor *t, aoe_error *err) {
    if (t->n_dims != 2)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tensor '%s' is an I8 tensor of %zu dimensions; I8 is supported only for matrices; convert the model",
            aoei_safetensors_path(s, t), t->name, t->n_dims);
    return check_scales(s, t, 127, err);
}

int aoei_int5_check(const aoei_safetensors *s, const aoei_st_tensor *t, size_t cols, aoe_error *err) {
    const char *path = aoei_safetensors_path(s, t);
    const size_t bytes = aoei_int5_bytes(cols);
    const int rc = check_scales(s, t, 15, err);
    if (rc)
        return rc;
    if (t->n_dims != 2 || t->shape[1] != bytes)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the U8 tensor '%s' does not have rows of %zu bytes, which contain %zu int5 values; config.json "
            "belongs to another model, or convert or download the model again",
            path, t->name, bytes, cols);
    for (size_t r = 0; r < t->shape[0] && cols % 8; r++) {
        const uint64_t group = aoei_int5_group(t->data + (r + 1) * bytes - AOEI_INT5_GROUP_BYTES);
        for (size_t i = cols % 8; i < 8; i++)
            if ((group >> 5 * i & 31) != 16)
                return aoei_fail(
                    err, AOE_EFORMAT,
                    "%s: the padding of tensor '%s' contains %d at row %zu, column %zu, but it must be 0; convert "
                    "or download the model again",
                    path, t->name, (int)(group >> 5 * i & 31) - 16, r, cols / 8 * 8 + i);
    }
    return 0;
}

/* ------------------------------------------------------------------- storage types */

static const struct {
    const char *name, *torch; /* name: used in messages and aoe_model_info; torch: torch_dtype in config.json */
    aoei_st_dtype dtype;      /* data type of stored matrices */
} types[] = {
    [AOE_STORAGE_F32] = {"F32", "float32", AOEI_ST_F32},
    [AOE_STORAGE_BF16] = {"BF16", "bfloat16", AOEI_ST_BF16},
    [AOE_STORAGE_INT8] = {"I8", "float32", AOEI_ST_I8}, /* the values are converted to float32 when they are read */
};

const char *aoei_storage_name(aoe_storage s, aoe_embedding_storage embeddings) {
    return embeddings == AOE_EMBEDDING_STORAGE_INT5 ? "I8, token embeddings I5" : types[s].name;
}

const char *aoei_storage_torch_dtype(aoe_storage s) {
    return types[s].torch;
}

size_t aoei_storage_bytes(aoe_storage s, size_t rows, size_t cols, int vector) {
    if (s == AOE_STORAGE_INT8)
        return vector ? rows * cols * sizeof(float) : rows * (cols + sizeof(float));
    return rows * cols * aoei_st_dtype_size(types[s].dtype);
}

size_t aoei_int5_storage_bytes(size_t rows, size_t cols) {
    return rows * (aoei_int5_bytes(cols) + sizeof(float));
}

/* ----------------------------------------------------------------- writing */

/* Returns 1 if the tensor e is stored as int8 or int5 with one scale per row. */
static int has_scales(aoe_storage storage, const aoei_st_entry *e) {
    return storage == AOE_STORAGE_INT8 && e->n_dims == 2 && e->shape[1];
}

/* Returns the number of elements in the tensor e. */
static size_t elements(const aoei_st_entry *e) {
    size_t n = 1;
    for (size_t i = 0; i < e->n_dims; i++)
        n *= e->shape[i];
    return n;
}

/* Allocates the buffers w->chunk and w->scales, if the storage type needs them. */
static int allocate_buffers(aoei_storage_writer *w, aoe_error *err) {
    size_t rows = 0, cols = CHUNK;
    for (size_t i = 0; i < w->n; i++)
        if (has_scales(w->storage, &w->entries[i])) {
            const size_t *shape = w->entries[i].shape;
            rows = shape[0] > rows ? shape[0] : rows;
            cols = shape[1] > cols ? shape[1] : cols;
        }
    if (w->storage != AOE_STORAGE_F32 &&
        !(w->chunk = aoei_malloc_array(cols, aoei_st_dtype_size(types[w->storage].dtype))))
        return aoei_fail_nomem(err, cols);
    if (rows && !(w->scales = aoei_malloc_array(rows, sizeof *w->scales)))
        return aoei_fail_nomem(err, rows * sizeof *w->scales);
    return 0;
}

/* Writes to `stored` the descriptions of the tensors of the file, and adds their number to *n_stored. The tensors are
 * w->entries and, with int8, the scales of each matrix. Sets the data types of the tensors, and packs the rows of int5
 * matrices. stored: [2 * w->n]. names: [w->n] set to the names of the scales. The caller zeroes `names` before the call
 * and frees the names after it. */
static int list_stored(aoei_st_entry *stored, size_t *n_stored, char **names, const aoei_storage_writer *w,
                       aoe_error *err) {
    for (size_t i = 0; i < w->n; i++) {
        const aoei_st_entry *e = &w->entries[i];
        aoei_st_entry *entry = &stored[(*n_stored)++];
        *entry = *e;
        entry->dtype = types[w->storage].dtype;
        if (w->storage != AOE_STORAGE_INT8)
            continue;
        if (aoei_name_ends_with(e->name, AOEI_SCALE_SUFFIX))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "tensor '%s' has the name of the scales of an int8 matrix; store this model as f32 or bf16", e->name);
        if (!has_scales(w->storage, e)) {
            entry->dtype = AOEI_ST_F32;
            continue;
        }
        if (e->dtype == AOEI_ST_I5) {
            entry->dtype = AOEI_ST_U8;
            entry->shape[1] = aoei_int5_bytes(e->shape[1]);
        }
        const size_t len = strlen(e->name);
        if (!(names[i] = aoei_malloc(len + sizeof AOEI_SCALE_SUFFIX)))
            return aoei_fail_nomem(err, len);
        memcpy(names[i], e->name, len);
        memcpy(names[i] + len, AOEI_SCALE_SUFFIX, sizeof AOEI_SCALE_SUFFIX);
        stored[(*n_stored)++] = (aoei_st_entry){names[i], AOEI_ST_F32, 1, {e->shape[0]}};
    }
    return 0;
}

int aoei_storage_open(aoei_storage_writer **out, const char *path, const aoei_st_entry *entries, size_t n,
                      aoe_storage storage, aoe_error *err) {
    aoei_storage_writer *w = *out = aoei_calloc(1, sizeof *w);
    aoei_st_entry *stored = aoei_calloc(2 * n, sizeof *stored);
    char **names = aoei_calloc(n, sizeof *names);
    size_t n_stored = 0;
    int rc = w && stored && names ? 0 : aoei_fail_nomem(err, n * sizeof *stored);
    if (!rc) {
        *w = (aoei_storage_writer){.storage = storage, .entries = entries, .n = n, .left = n ? elements(entries) : 0};
        rc = allocate_buffers(w, err);
    }
    if (!rc && !(rc = list_stored(stored, &n_stored, names, w, err)))
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
    return aoei_fail(err, AOE_ENUMERIC, "tensor '%s' contains %g, which %s cannot represent; store this model as f32",
                     w->entries[w->at].name, (double)v, type);
}

/* Returns an error that names the first value in row x that is NaN or whose magnitude is at least FLT_MAX. */
static int fail_row(const aoei_storage_writer *w, const float *x, aoe_error *err) {
    while (fabsf(*x) < FLT_MAX)
        x++;
    return fail_value(w, *x, w->entries[w->at].dtype == AOEI_ST_I5 ? "int5" : "int8", err);
}

/* Writes x[n] as bfloat16. */
static int put_bf16(aoei_storage_writer *w, const float *x, size_t n, aoe_error *err) {
    aoei_bf16 *chunk = w->chunk;
    int rc = 0;
    for (size_t first = 0; first < n && !rc; first += CHUNK) {
        const size_t part = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < part; i++) {
            chunk[i] = aoei_bf16_from_f32(x[first + i]);
            if ((chunk[i] & 0x7f80u) == 0x7f80u) /* the value is NaN or infinite, possibly because it was rounded */
                return fail_value(w, x[first + i], "bf16", err);
        }
        rc = aoei_st_writer_write(w->out, chunk, part * sizeof *chunk, err);
    }
    return rc;
}

/* Writes x[n / cols, cols], which contains rows of a matrix, as int8 or int5, and stores their scales in w->scales.
 * row: index in the matrix of the first row of x. */
static int put_scaled(aoei_storage_writer *w, const float *x, size_t n, size_t row, size_t cols, aoe_error *err) {
    const int int5 = w->entries[w->at].dtype == AOEI_ST_I5;
    const size_t rows = n / cols, row_bytes = int5 ? aoei_int5_bytes(cols) : cols;
    const size_t step = row_bytes < CHUNK ? CHUNK / row_bytes : 1;
    unsigned char *chunk = w->chunk;
    int rc = 0;
    for (size_t first = 0; first < rows && !rc; first += step) {
        const size_t part = rows - first < step ? rows - first : step;
        for (size_t r = 0; r < part; r++) {
            const float *from = x + (first + r) * cols;
            if (max_magnitude_bits(from, cols) >= FLT_MAX_BITS)
                return fail_row(w, from, err);
            unsigned char *to = chunk + r * row_bytes;
            w->scales[row + first + r] = int5 ? aoei_int5_row(to, from, cols) : aoei_int8_row((int8_t *)to, from, cols);
        }
        rc = aoei_st_writer_write(w->out, chunk, part * row_bytes, err);
    }
    return rc;
}

int aoei_storage_write(aoei_storage_writer *w, const float *values, size_t n, aoe_error *err) {
    int rc = 0;
    if (w->at == w->n || n > w->left)
        return aoei_fail(err, AOE_EARG, "%zu more values were written than the tensors have",
                         w->at == w->n ? n : n - w->left);
    const aoei_st_entry *e = &w->entries[w->at];
    const size_t cols = e->n_dims ? e->shape[e->n_dims - 1] : 1;
    if (has_scales(w->storage, e)) {
        if (n) {
            if (n % cols)
                return aoei_fail(err, AOE_EARG, "tensor '%s' is written in pieces that are not complete rows", e->name);
            rc = put_scaled(w, values, n, e->shape[0] - w->left / cols, cols, err);
        }
    } else if (w->storage == AOE_STORAGE_BF16) {
        rc = put_bf16(w, values, n, err);
    } else {
        rc = aoei_st_writer_write(w->out, values, n * sizeof *values, err);
    }
    if (rc || (w->left -= n))
        return rc;
    if (has_scales(w->storage, e))
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
