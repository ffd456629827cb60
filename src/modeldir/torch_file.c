/* SPDX-License-Identifier: MIT
 * Checks that every tensor of a PyTorch file is inside its storage, and finds its data.
 */
#include "modeldir/torch_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "modeldir/torch_legacy.h"
#include "modeldir/torch_zip.h"

/* The data of a tensor. */
typedef struct part {
    const unsigned char *data; /* [bytes] borrowed from the file, or equal to `copy` */
    unsigned char *copy;       /* owned copy; NULL: the data is in the file */
    const char *dtype;         /* data type of `data`, static */
    size_t bytes;
} part;

struct aoei_torch_file {
    aoei_zip zip;
    aoei_torch_program program; /* its views are the tensors */
    part *parts;                /* [program.n_views] owned */
    size_t size;                /* size of the file in bytes */
    size_t copied;              /* total size of the copies in bytes */
};

/* The copies of all tensors together may be this many times as large as the file. Tensors that share one storage are
 * copied separately, so a small file could otherwise need any amount of memory. */
#define MAX_COPIES ((size_t)4)

int aoei_torch_is(const unsigned char *data, size_t size) {
    return aoei_zip_is(data, size) || aoei_torch_legacy_is(data, size);
}

/* Returns an error if the archive is not a dict of tensors in little-endian order. */
static int check_kind(const aoei_zip *z, const char *path, aoe_error *err) {
    const aoei_zip_record *order = aoei_zip_find(z, "byteorder");
    int script = aoei_zip_find(z, "constants.pkl") != NULL;
    for (size_t i = 0; i < z->n; i++)
        script |= !strncmp(z->records[i].name, "code/", 5);
    if (script)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the file contains a TorchScript program; save the weights of the model in safetensors format", path);
    if (order && !(order->size == 6 && !memcmp(order->data, "little", 6)))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the byte order of the file is not little-endian; save the model in safetensors format",
                         path);
    if (!aoei_zip_find(z, "data.pkl"))
        return aoei_fail(err, AOE_EFORMAT, "%s: there is no record data.pkl; this is not a file of torch.save", path);
    return 0;
}

/* Returns an error if an element of the tensor is outside its storage, or if elements of the tensor share memory. Sets
 * *elements to the number of elements. */
static int check_view(const aoei_torch_view *v, size_t *elements, const char *path, aoe_error *err) {
    size_t last = v->offset;
    int outside = 0;
    *elements = 1;
    for (size_t i = 0; i < v->n_dims; i++) {
        size_t span = 0;
        outside |= aoei_mul_size(*elements, v->shape[i], elements);
        if (v->shape[i] > 1)
            outside |= !v->stride[i] || aoei_mul_size(v->shape[i] - 1, v->stride[i], &span) ||
                       aoei_add_size(last, span, &last);
    }
    if (!outside && (*elements == 0 || (last < v->elements && *elements <= v->elements - v->offset)))
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' is not inside its storage; download the file again", path,
                     v->name);
}

/* Returns 1 if the elements of the tensor are adjacent and in row-major order. */
static int is_contiguous(const aoei_torch_view *v) {
    size_t expected = 1;
    for (size_t i = v->n_dims; i-- > 0;) {
        if (v->shape[i] > 1 && v->stride[i] != expected)
            return 0;
        expected *= v->shape[i];
    }
    return 1;
}

static void write_float64(unsigned char *to, const unsigned char *from) {
    uint64_t bits = 0;
    double wide;
    for (size_t i = 0; i < 8; i++)
        bits |= (uint64_t)from[i] << (8 * i);
    memcpy(&wide, &bits, sizeof wide);
    const float narrow = (float)wide;
    memcpy(to, &narrow, sizeof narrow);
}

/* Copies the elements of a tensor in row-major order to `to`. from: first element of the tensor. */
static void copy_elements(unsigned char *to, const aoei_torch_view *v, const unsigned char *from, size_t elements) {
    const int wide = !strcmp(v->dtype, "F64");
    size_t index[AOEI_TORCH_MAX_DIMS] = {0}, at = 0;
    for (size_t n = 0; n < elements; n++) {
        if (wide)
            write_float64(to + n * sizeof(float), from + at * v->width);
        else
            memcpy(to + n * v->width, from + at * v->width, v->width);
        for (size_t i = v->n_dims; i-- > 0;) {
            at += v->stride[i];
            if (++index[i] < v->shape[i])
                break;
            at -= index[i] * v->stride[i];
            index[i] = 0;
        }
    }
}

/* Replaces p->data by a copy of p->bytes bytes in row-major order, in which float64 is converted to float32. */
static int copy_data(aoei_torch_file *f, part *p, const aoei_torch_view *v, size_t elements, const char *path,
                     aoe_error *err) {
    if (aoei_add_size(f->copied, p->bytes, &f->copied) || f->copied / MAX_COPIES > f->size)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the tensors up to '%s' need more than %zu times the memory of the file, because they share their "
            "data; save the model in safetensors format",
            path, v->name, MAX_COPIES);
    p->copy = aoei_malloc(p->bytes);
    if (!p->copy)
        return aoei_fail_nomem(err, p->bytes);
    copy_elements(p->copy, v, p->data, elements);
    p->data = p->copy;
    return 0;
}

/* Finds the data of tensor i, and copies it if the file does not contain it as it is needed. */
static int find_data(aoei_torch_file *f, size_t i, const char *path, aoe_error *err) {
    const aoei_torch_view *v = &f->program.views[i];
    part *p = &f->parts[i];
    char name[sizeof "data/" + AOEI_TORCH_MAX_KEY];
    size_t elements = 0, bytes;
    const int rc = check_view(v, &elements, path, err);
    if (rc)
        return rc;
    snprintf(name, sizeof name, "data/%s", v->key);
    const aoei_zip_record *record = aoei_zip_find(&f->zip, name);
    if (!record)
        return aoei_fail(err, AOE_EFORMAT, "%s: record '%s' of tensor '%s' is missing; download the file again", path,
                         name, v->name);
    if (aoei_mul_size(v->elements, v->width, &bytes) || bytes != record->size)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: record '%s' of tensor '%s' has %zu bytes, which is not the size of its storage; download the "
            "file again",
            path, name, v->name, record->size);
    const int wide = !strcmp(v->dtype, "F64");
    *p = (part){.dtype = wide ? "F32" : v->dtype, .bytes = elements * (wide ? sizeof(float) : v->width)};
    p->data = elements ? record->data + v->offset * v->width : record->data;
    return !elements || (is_contiguous(v) && !wide) ? 0 : copy_data(f, p, v, elements, path, err);
}

/* Removes the prefix "module." if all names have it. */
static void remove_prefix(aoei_torch_file *f) {
    static const char prefix[] = "module.";
    const size_t n = sizeof prefix - 1;
    for (size_t i = 0; i < f->program.n_views; i++)
        if (strncmp(f->program.views[i].name, prefix, n) != 0)
            return;
    for (size_t i = 0; i < f->program.n_views; i++)
        memmove(f->program.views[i].name, f->program.views[i].name + n, strlen(f->program.views[i].name + n) + 1);
}

/* Returns an error if two tensors have one name. */
static int check_names(const aoei_torch_file *f, const char *path, aoe_error *err) {
    const char **names = aoei_malloc_array(f->program.n_views + 1, sizeof *names);
    int rc = names ? 0 : aoei_fail_nomem(err, f->program.n_views * sizeof *names);
    for (size_t i = 0; i < f->program.n_views && !rc; i++)
        names[i] = f->program.views[i].name;
    if (!rc && f->program.n_views)
        qsort(names, f->program.n_views, sizeof *names, aoei_compare_strings);
    for (size_t i = 1; i < f->program.n_views && !rc; i++)
        if (!strcmp(names[i - 1], names[i]))
            rc = aoei_fail(err, AOE_EFORMAT, "%s: two tensors have the name '%s'; download the file again", path,
                           names[i]);
    aoei_free(names);
    return rc;
}

/* Reads the archive data[size], and executes its record data.pkl. */
static int open_archive(aoei_torch_file *f, const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    int rc = aoei_zip_open(&f->zip, data, size, path, err);
    if (!rc)
        rc = check_kind(&f->zip, path, err);
    if (rc)
        return rc;
    const aoei_zip_record *program = aoei_zip_find(&f->zip, "data.pkl");
    rc = aoei_torch_pickle_read(&f->program, program->data, program->size, path, err);
    if (!rc && f->program.size != program->size)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: the PyTorch file is damaged: data follows the end of data.pkl; download it again", path);
    return rc;
}

int aoei_torch_file_open(aoei_torch_file **f, const unsigned char *data, size_t size, const char *path,
                         aoe_error *err) {
    *f = NULL;
    aoei_torch_file *file = aoei_calloc(1, sizeof *file);
    if (!file)
        return aoei_fail_nomem(err, sizeof *file);
    file->size = size;
    int rc = aoei_torch_legacy_is(data, size)
                 ? aoei_torch_legacy_open(&file->program, &file->zip, data, size, path, err)
                 : open_archive(file, data, size, path, err);
    if (!rc && !(file->parts = aoei_calloc(file->program.n_views + 1, sizeof *file->parts)))
        rc = aoei_fail_nomem(err, file->program.n_views * sizeof *file->parts);
    for (size_t i = 0; i < file->program.n_views && !rc; i++)
        rc = find_data(file, i, path, err);
    if (!rc)
        rc = check_names(file, path, err);
    if (rc) {
        aoei_torch_file_close(file);
        return rc;
    }
    remove_prefix(file);
    *f = file;
    return 0;
}

void aoei_torch_file_close(aoei_torch_file *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->program.n_views && f->parts; i++)
        aoei_free(f->parts[i].copy);
    aoei_free(f->parts);
    aoei_torch_program_free(&f->program);
    aoei_zip_close(&f->zip);
    aoei_free(f);
}

size_t aoei_torch_file_count(const aoei_torch_file *f) {
    return f->program.n_views;
}

aoei_torch_tensor aoei_torch_file_at(const aoei_torch_file *f, size_t i) {
    const aoei_torch_view *v = &f->program.views[i];
    const part *p = &f->parts[i];
    return (aoei_torch_tensor){v->name, p->dtype, v->shape, v->n_dims, p->data, p->bytes};
}
