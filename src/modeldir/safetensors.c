/* SPDX-License-Identifier: MIT
 * Reads safetensors files and files that torch.save wrote. The tensors are either in one file, or in several files, the
 * shards, which an index lists. The files are mapped into memory, so the data is not copied. Functions in
 * weights_check.h check the data for NaN and infinity. These invariants are true after a file was opened:
 * - The bytes of every tensor are inside the file, or in a copy that torch_file.c owns. In a safetensors file, they do
 * not overlap another tensor.
 * - The number of bytes of a tensor matches its data type and shape.
 * - The names are unique, and the entries are sorted by name.
 */
#include "modeldir/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/git_lfs.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/path.h"
#include "base/sort.h"
#include "modeldir/layout.h"
#include "modeldir/not_model.h"
#include "modeldir/torch_file.h"

#define PREFIX_BYTES     8 /* size of the field with the length of the header, a little-endian uint64 */
#define MAX_HEADER_BYTES ((size_t)100000000) /* maximum length of the header in the safetensors format */
#define MAX_SHARDS       4096

/* One file. */
typedef struct shard {
    aoei_map map;           /* mapped file, owned; zeroed if the caller provides the data in memory */
    char *path;             /* path for messages, owned */
    aoei_torch_file *torch; /* tensors of a file that torch.save wrote, owned; NULL for a safetensors file */
} shard;

typedef struct entry {
    aoei_st_tensor t; /* must be the first field, because aoei_safetensors_path casts its address to entry; t.name is
                         owned */
    size_t shard;     /* index in aoei_safetensors.shards of the file that contains the tensor */
} entry;

struct aoei_safetensors {
    shard *shards; /* [n_shards] files, owned */
    size_t n_shards;
    entry *entries;     /* [n] tensors, sorted by name after opening; owned */
    size_t n, capacity; /* used and allocated elements of `entries` */
};

static const struct {
    const char *name;
    aoei_st_dtype dtype;
    size_t size; /* bytes per element */
} dtypes[] = {{"F32", AOEI_ST_F32, 4},   {"F16", AOEI_ST_F16, 2},   {"BF16", AOEI_ST_BF16, 2},
              {"I8", AOEI_ST_I8, 1},     {"I64", AOEI_ST_I64, 8},   {"F64", AOEI_ST_F64, 8},
              {"I32", AOEI_ST_OTHER, 4}, {"I16", AOEI_ST_OTHER, 2}, {"U64", AOEI_ST_OTHER, 8},
              {"U32", AOEI_ST_OTHER, 4}, {"U16", AOEI_ST_OTHER, 2}, {"U8", AOEI_ST_U8, 1},
              {"BOOL", AOEI_ST_OTHER, 1}};

/* Sets *dtype to the data type with the given name, and *size to its number of bytes per element. If the name is
 * unknown, *dtype is AOEI_ST_OTHER and *size is 0. */
static void read_dtype(aoei_st_dtype *dtype, size_t *size, const char *name) {
    *dtype = AOEI_ST_OTHER;
    *size = 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, name)) {
            *dtype = dtypes[i].dtype;
            *size = dtypes[i].size;
            return;
        }
}

/* Reads a non-negative JSON integer into *out. Returns -1 if v is not such an integer or does not fit in size_t, and 0
 * otherwise. */
static int read_size(size_t *out, const json_t *v) {
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > SIZE_MAX)
        return -1;
    *out = (size_t)json_integer_value(v);
    return 0;
}

/* Reads the shape of the tensor t and sets *elements to its number of elements. */
static int read_shape(aoei_st_tensor *t, size_t *elements, const json_t *shape, const char *path, aoe_error *err) {
    if (!json_is_array(shape))
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' has no shape; save the file again", path, t->name);
    t->n_dims = json_array_size(shape);
    if (t->n_dims > AOEI_ST_MAX_DIMS)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: tensor '%s' has %zu dimensions; at most %d are supported", path,
                         t->name, t->n_dims, AOEI_ST_MAX_DIMS);
    *elements = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        if (read_size(&t->shape[i], json_array_get(shape, i)) || aoei_mul_size(*elements, t->shape[i], elements))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: tensor '%s' has an invalid shape (dimension %zu); save the file again", path, t->name,
                             i);
    return 0;
}

/* Reads v, the JSON object of a tensor in the header, into t. t->name must already be set. base: [data_size] data part
 * of the file. */
static int read_tensor(aoei_st_tensor *t, const json_t *v, const unsigned char *base, size_t data_size,
                       const char *path, aoe_error *err) {
    const char *dtype = json_string_value(json_object_get(v, "dtype"));
    const json_t *offsets = json_object_get(v, "data_offsets");
    size_t begin = 0, end = 0, elements = 0, size = 0, expected = 0;
    if (!dtype)
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' has no dtype; save the file again", path, t->name);
    if (json_array_size(offsets) != 2 || read_size(&begin, json_array_get(offsets, 0)) ||
        read_size(&end, json_array_get(offsets, 1)) || end < begin)
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' has no valid data_offsets; save the file again", path,
                         t->name);
    int rc = read_shape(t, &elements, json_object_get(v, "shape"), path, err);
    if (rc)
        return rc;
    read_dtype(&t->dtype, &size, dtype);
    t->bytes = end - begin;
    if (size && (aoei_mul_size(elements, size, &expected) || expected != t->bytes))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s' of type %s has %zu bytes, but its shape requires %zu; save the file again",
                         path, t->name, dtype, t->bytes, expected);
    if (end > data_size)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the file is truncated: tensor '%s' has %zu bytes at offset %zu, but the file contains only %zu of "
            "them; download it again",
            path, t->name, t->bytes, begin, begin < data_size ? data_size - begin : 0);
    t->data = base + begin;
    return 0;
}

/* Comparison functions for qsort. */
static int by_data(const void *a, const void *b) {
    const aoei_st_tensor *x = &((const entry *)a)->t, *y = &((const entry *)b)->t;
    return x->data != y->data ? (x->data < y->data ? -1 : 1) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const entry *)a)->t.name, ((const entry *)b)->t.name);
}

/* Returns an error if two tensors of a file overlap. first: index of the first entry of the file. The function sorts
 * the entries of the file by address. */
static int check_overlaps(aoei_safetensors *s, size_t first, const char *path, aoe_error *err) {
    const entry *last = NULL; /* previous entry that is not empty */
    if (s->n > first)
        qsort(s->entries + first, s->n - first, sizeof *s->entries, by_data);
    for (size_t i = first; i < s->n; i++) {
        const entry *e = &s->entries[i];
        if (!e->t.bytes)
            continue;
        if (last && e->t.data < last->t.data + last->t.bytes)
            return aoei_fail(err, AOE_EFORMAT, "%s: tensors '%s' and '%s' overlap; save the file again", path,
                             last->t.name, e->t.name);
        last = e;
    }
    return 0;
}

/* Reads the length of the header. Returns an error if the file is shorter than its header. */
static int read_header_length(size_t *out, const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    uint64_t n = 0;
    if (size < PREFIX_BYTES)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file is truncated: it has only %zu byte%s; download it again", path,
                         size, size == 1 ? "" : "s");
    for (size_t i = 0; i < PREFIX_BYTES; i++)
        n |= (uint64_t)data[i] << (8 * i);
    if (n > MAX_HEADER_BYTES)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the length of the header is %" PRIu64
                         " bytes, but at most %zu are allowed; this is not a safetensors file, download the file again",
                         path, n, MAX_HEADER_BYTES);
    if (n > size - PREFIX_BYTES)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the file is truncated: the length of the header is %" PRIu64
                         " bytes, but only %zu bytes follow; download it again",
                         path, n, size - PREFIX_BYTES);
    *out = (size_t)n;
    return 0;
}

static int parse_header(json_t **header, const unsigned char *data, size_t n, const char *path, aoe_error *err) {
    json_error_t at;
    int no_memory;
    *header = aoei_json_decode((const char *)data, n, JSON_REJECT_DUPLICATES, &at, &no_memory);
    if (no_memory)
        return aoei_fail_nomem(err, n);
    if (!*header)
        return aoei_fail(err, AOE_EFORMAT, "%s: the header is not valid JSON at byte %d: %s; download the file again",
                         path, at.position + PREFIX_BYTES, at.text);
    if (!json_is_object(*header)) {
        json_decref(*header);
        *header = NULL;
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the header is not a JSON object; this is not a safetensors file, download the file again",
                         path);
    }
    return 0;
}

/* Returns 1 if the tensor `name` of the file `file` must be added. weight_map: JSON object of an index that maps tensor
 * names to file names; only tensors that weight_map maps to `file` are added. If weight_map is NULL, all tensors are
 * added. */
static int is_listed(const json_t *weight_map, const char *name, const char *file) {
    const char *assigned = weight_map ? json_string_value(json_object_get(weight_map, name)) : file;
    return assigned && (!weight_map || !strcmp(assigned, file));
}

/* Adds an entry with a copy of `name`. Returns NULL if memory allocation fails. */
static entry *add_entry(aoei_safetensors *s, size_t shard_index, const char *name, aoe_error *err) {
    entry e = {.shard = shard_index};
    e.t.name = aoei_strdup(name);
    if (!e.t.name || aoei_grow((void **)&s->entries, &s->capacity, s->n, sizeof e)) {
        aoei_free((void *)(uintptr_t)e.t.name);
        aoei_fail_nomem(err, sizeof e);
        return NULL;
    }
    s->entries[s->n] = e;
    return &s->entries[s->n++];
}

/* Adds the tensors of a safetensors file. data: [size] contents of the file. For weight_map and `file`, see
 * is_listed. */
static int add_safetensors(aoei_safetensors *s, size_t shard_index, const unsigned char *data, size_t size,
                           const json_t *weight_map, const char *file, aoe_error *err) {
    const char *path = s->shards[shard_index].path, *name;
    size_t n = 0, first = s->n;
    json_t *header = NULL, *v;
    int rc = read_header_length(&n, data, size, path, err);
    if (!rc)
        rc = parse_header(&header, data + PREFIX_BYTES, n, path, err);
    if (rc)
        return rc;
    json_object_foreach(header, name, v) {
        if (!strcmp(name, "__metadata__") || !is_listed(weight_map, name, file))
            continue;
        entry *added = add_entry(s, shard_index, name, err);
        rc =
            added ? read_tensor(&added->t, v, data + PREFIX_BYTES + n, size - PREFIX_BYTES - n, path, err) : AOE_ENOMEM;
        if (rc)
            goto done;
    }
    rc = check_overlaps(s, first, path, err);
done:
    json_decref(header);
    return rc;
}

/* Adds the tensors of a file that torch.save wrote. The arguments are the same as in add_safetensors. */
static int add_torch(aoei_safetensors *s, size_t shard_index, const unsigned char *data, size_t size,
                     const json_t *weight_map, const char *file, aoe_error *err) {
    aoei_torch_file **torch = &s->shards[shard_index].torch;
    size_t width;
    const int rc = aoei_torch_file_open(torch, data, size, s->shards[shard_index].path, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < aoei_torch_file_count(*torch); i++) {
        const aoei_torch_tensor t = aoei_torch_file_at(*torch, i);
        if (!is_listed(weight_map, t.name, file))
            continue;
        entry *added = add_entry(s, shard_index, t.name, err);
        if (!added)
            return AOE_ENOMEM;
        read_dtype(&added->t.dtype, &width, t.dtype);
        added->t.n_dims = t.n_dims;
        memcpy(added->t.shape, t.shape, t.n_dims * sizeof *t.shape);
        added->t.data = t.data;
        added->t.bytes = t.bytes;
    }
    return 0;
}

/* Adds the tensors of a file. Its first bytes determine its format. The arguments are the same as in
 * add_safetensors. */
static int add_tensors(aoei_safetensors *s, size_t shard_index, const unsigned char *data, size_t size,
                       const json_t *weight_map, const char *file, aoe_error *err) {
    const int rc = aoei_git_lfs_check(data, size, s->shards[shard_index].path, err);
    return rc ? rc
              : (aoei_torch_is(data, size) ? add_torch : add_safetensors)(s, shard_index, data, size, weight_map, file,
                                                                          err);
}

/* Adds an element to s->shards for the file `path`. The tensors of the file are not added. */
static int add_shard(aoei_safetensors *s, const char *path, aoe_error *err) {
    shard *grown = aoei_realloc_array(s->shards, s->n_shards + 1, sizeof *grown);
    if (!grown)
        return aoei_fail_nomem(err, sizeof *grown);
    s->shards = grown;
    grown[s->n_shards] = (shard){.path = aoei_strdup(path)};
    if (!grown[s->n_shards++].path)
        return aoei_fail_nomem(err, strlen(path));
    return 0;
}

static int create(aoei_safetensors **s, aoe_error *err) {
    *s = aoei_calloc(1, sizeof **s);
    return *s ? 0 : aoei_fail_nomem(err, sizeof **s);
}

/* A name that consists of the first `len` bytes of `head`, followed by `tail`. */
typedef struct joined_name {
    const char *head, *tail;
    size_t len;
} joined_name;

/* A comparison function for bsearch. The key is a joined_name, and the element is an entry. */
static int by_joined_name(const void *key, const void *e) {
    const joined_name *k = key;
    const char *name = ((const entry *)e)->t.name;
    int order = strncmp(k->head, name, k->len);
    return order ? order : strcmp(k->tail, name + k->len);
}

static const aoei_st_tensor *find_joined(const aoei_safetensors *s, const char *head, size_t len, const char *tail) {
    const joined_name key = {head, tail, len};
    return s->n ? bsearch(&key, s->entries, s->n, sizeof *s->entries, by_joined_name) : NULL;
}

/* Returns 1 if the type of the tensor is one in which matrices with scales are stored. */
static int has_scaled_type(const aoei_st_tensor *t) {
    return t->dtype == AOEI_ST_I8 || t->dtype == AOEI_ST_U8;
}

/* Completes opening. rc: result of the previous steps. If rc is 0, sorts the entries by name and sets the field `scale`
 * of each tensor. Otherwise, closes *s and sets *s to NULL. Returns rc. */
static int finish(aoei_safetensors **s, int rc) {
    if (rc) {
        aoei_safetensors_close(*s);
        *s = NULL;
    } else if ((*s)->n) {
        qsort((*s)->entries, (*s)->n, sizeof *(*s)->entries, by_name);
        for (size_t i = 0; i < (*s)->n; i++) {
            aoei_st_tensor *t = &(*s)->entries[i].t;
            t->scale = has_scaled_type(t) ? aoei_safetensors_scale(*s, t) : NULL;
        }
    }
    return rc;
}

/* Maps the file `path` and adds its tensors. For weight_map and `file`, see add_tensors. */
static int add_file(aoei_safetensors *s, const char *path, const json_t *weight_map, const char *file, aoe_error *err) {
    int rc = add_shard(s, path, err);
    if (rc)
        return rc;
    shard *last = &s->shards[s->n_shards - 1];
    rc = aoei_map_regular(&last->map, path, err);
    return rc ? rc : add_tensors(s, s->n_shards - 1, last->map.data, last->map.size, weight_map, file, err);
}

/* Returns 1 if `name` is a plain file name, which cannot refer to a file outside the model directory. */
static int is_plain_name(const char *name) {
    return name && *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Sets *names to an array of the distinct file names in weight_map, in ascending order, and *n to their number. The
 * caller frees the array; the strings are borrowed from weight_map. */
static int shard_names(const char ***names, size_t *n, json_t *weight_map, const char *path, aoe_error *err) {
    const char *key;
    json_t *v;
    size_t count = 0, kept = 0;
    *n = 0;
    *names = aoei_malloc_array(json_object_size(weight_map) + 1, sizeof **names);
    if (!*names)
        return aoei_fail_nomem(err, json_object_size(weight_map) * sizeof **names);
    json_object_foreach(weight_map, key, v) {
        if (!is_plain_name(json_string_value(v)))
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: the weight_map entry of '%s' is not a plain file name; move the shards to the directory of "
                "the index",
                path, key);
        (*names)[count++] = json_string_value(v);
    }
    qsort(*names, count, sizeof **names, aoei_compare_strings);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp((*names)[kept - 1], (*names)[i]) != 0)
            (*names)[kept++] = (*names)[i];
    *n = kept;
    if (kept > MAX_SHARDS)
        return aoei_fail(err, AOE_EFORMAT, "%s: the index lists %zu shards; at most %d are supported", path, kept,
                         MAX_SHARDS);
    return 0;
}

/* Returns an error if a tensor in weight_map was not found in the files. */
static int check_complete(const aoei_safetensors *s, json_t *weight_map, const char *path, aoe_error *err) {
    const char *key;
    json_t *v;
    json_object_foreach(weight_map, key, v) {
        if (!aoei_safetensors_find(s, key))
            return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' is not in %s; download the shard again", path, key,
                             json_string_value(v));
    }
    return 0;
}

/* Opens the shards in dir that the index file index_path lists. */
static int open_index(aoei_safetensors **s, const char *dir, const char *index_path, aoe_error *err) {
    json_t *root = NULL, *weight_map;
    const char **names = NULL;
    char *path = NULL;
    size_t n = 0;
    int rc = aoei_json_load(&root, index_path, err);
    if (rc)
        return rc;
    weight_map = json_object_get(root, "weight_map");
    if (!json_object_size(weight_map)) {
        rc = aoei_fail(err, AOE_EFORMAT, "%s: weight_map is missing or empty; download the file again", index_path);
        goto done;
    }
    rc = create(s, err);
    if (!rc)
        rc = shard_names(&names, &n, weight_map, index_path, err);
    for (size_t i = 0; i < n && !rc; i++) {
        aoei_free(path);
        path = aoei_path_join(dir, names[i]);
        rc = !path ? aoei_fail_nomem(err, strlen(dir))
             : aoei_exists(path)
                 ? add_file(*s, path, weight_map, names[i], err)
                 : aoei_fail(err, AOE_ENOENT, "%s: the file %s, which the index names, is missing; download it",
                             index_path, names[i]);
    }
    if (*s)
        rc = finish(s, rc);
    if (!rc && (rc = check_complete(*s, weight_map, index_path, err)))
        finish(s, rc);
done:
    aoei_free(path);
    aoei_free(names);
    json_decref(root);
    return rc;
}

int aoei_safetensors_open(aoei_safetensors **s, const char *path, aoe_error *err) {
    int rc = create(s, err);
    return rc ? rc : finish(s, add_file(*s, path, NULL, "", err));
}

int aoei_safetensors_open_memory(aoei_safetensors **s, const void *data, size_t size, const char *name,
                                 aoe_error *err) {
    int rc = create(s, err);
    if (rc)
        return rc;
    rc = add_shard(*s, name, err);
    return finish(s, rc ? rc : add_tensors(*s, 0, data, size, NULL, "", err));
}

/* The files in which a directory may contain its weights, in the order in which they are preferred. This is the order
 * of the library transformers. */
static const struct {
    const char *name;
    int is_index;
} weight_files[] = {{AOEI_WEIGHTS_FILE, 0}, {AOEI_INDEX_FILE, 1}, {AOEI_TORCH_FILE, 0}, {AOEI_TORCH_INDEX, 1}};

int aoei_safetensors_open_dir(aoei_safetensors **s, const char *dir, aoe_error *err) {
    *s = NULL;
    for (size_t i = 0; i < sizeof weight_files / sizeof *weight_files; i++) {
        char *path = aoei_path_join(dir, weight_files[i].name);
        if (!path)
            return aoei_fail_nomem(err, strlen(dir));
        const int exists = aoei_exists(path);
        int rc = aoei_check_optional_file(path, err);
        if (!rc && exists)
            rc = weight_files[i].is_index ? open_index(s, dir, path, err) : aoei_safetensors_open(s, path, err);
        aoei_free(path);
        if (exists || rc)
            return rc;
    }
    return aoei_fail_no_weights(dir, err);
}

void aoei_safetensors_close(aoei_safetensors *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        aoei_free((void *)(uintptr_t)s->entries[i].t.name);
    for (size_t i = 0; i < s->n_shards; i++) {
        aoei_torch_file_close(s->shards[i].torch);
        aoei_map_close(&s->shards[i].map);
        aoei_free(s->shards[i].path);
    }
    aoei_free(s->entries);
    aoei_free(s->shards);
    aoei_free(s);
}

size_t aoei_safetensors_count(const aoei_safetensors *s) {
    return s->n;
}

const aoei_st_tensor *aoei_safetensors_at(const aoei_safetensors *s, size_t i) {
    return &s->entries[i].t;
}

const aoei_st_tensor *aoei_safetensors_find(const aoei_safetensors *s, const char *name) {
    const entry key = {.t = {.name = name}};
    return s->n ? bsearch(&key, s->entries, s->n, sizeof *s->entries, by_name) : NULL;
}

const aoei_st_tensor *aoei_safetensors_scale(const aoei_safetensors *s, const aoei_st_tensor *t) {
    return find_joined(s, t->name, strlen(t->name), AOEI_SCALE_SUFFIX);
}

const aoei_st_tensor *aoei_safetensors_scaled(const aoei_safetensors *s, const aoei_st_tensor *t) {
    const size_t len = strlen(t->name), tail = sizeof AOEI_SCALE_SUFFIX - 1;
    const aoei_st_tensor *base = NULL;
    if (len >= tail && !strcmp(t->name + len - tail, AOEI_SCALE_SUFFIX))
        base = find_joined(s, t->name, len - tail, "");
    return base && has_scaled_type(base) ? base : NULL;
}

const char *aoei_safetensors_path(const aoei_safetensors *s, const aoei_st_tensor *t) {
    return s->shards[((const entry *)(const void *)t)->shard].path;
}

void aoei_safetensors_drop(const aoei_safetensors *s) {
    for (size_t i = 0; i < s->n_shards; i++)
        aoei_map_drop(&s->shards[i].map);
}

const char *aoei_st_dtype_name(aoei_st_dtype d) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == d && d != AOEI_ST_OTHER)
            return dtypes[i].name;
    return d == AOEI_ST_I5 ? "I5" : "unsupported";
}

size_t aoei_st_dtype_size(aoei_st_dtype d) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == d && d != AOEI_ST_OTHER)
            return dtypes[i].size;
    return 0;
}

size_t aoei_st_elements(const aoei_st_tensor *t) {
    size_t n = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        n *= t->shape[i];
    return n;
}

static float bits_to_float(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Converts the float16 value with the bits h to float. */
static float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 1023u;
    if (exponent == 31)
        return bits_to_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent)
        return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
    return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f; /* subnormal */
}

/* Returns the 8 values of a group of int5 values as the 8 bytes of a little-endian number. */
static inline uint64_t unpack_group(const unsigned char *packed) {
    uint64_t x = aoei_int5_group(packed);
    x = (x & 0xfffff) | (x & 0xfffff00000) << 12;                 /* two numbers of 32 bits, with 4 values each */
    x = (x & 0x000003ff000003ff) | (x & 0x000ffc00000ffc00) << 6; /* four numbers of 16 bits, with 2 values each */
    x = (x & 0x001f001f001f001f) | (x & 0x03e003e003e003e0) << 3; /* eight bytes, with 1 value each */
    return ((x | 0x8080808080808080) - 0x1010101010101010) ^ 0x8080808080808080; /* subtracts 16 from each byte */
}

void aoei_int5_unpack(int8_t *q, const unsigned char *packed, size_t n) {
    for (; n >= 8; n -= 8, q += 8, packed += AOEI_INT5_GROUP_BYTES) {
        const uint64_t values = unpack_group(packed);
        memcpy(q, &values, sizeof values);
    }
    if (n) {
        const uint64_t values = unpack_group(packed);
        memcpy(q, &values, n);
    }
}

/* Converts a row of int5 values to float. */
static void int5_to_float(float *row, const unsigned char *packed, size_t cols, float scale) {
    int8_t q[8];
    for (size_t first = 0; first < cols; first += 8, packed += AOEI_INT5_GROUP_BYTES) {
        const size_t n = cols - first < 8 ? cols - first : 8;
        aoei_int5_unpack(q, packed, n);
        for (size_t i = 0; i < n; i++)
            row[first + i] = (float)q[i] * scale;
    }
}

/* Converts an int8 or int5 matrix to float. Each value is multiplied by the scale of its row. */
static void scaled_to_float(float *out, const aoei_st_tensor *t) {
    const size_t cols = t->shape[1];
    for (size_t r = 0; r < t->shape[0]; r++) {
        float scale, *row = out + r * cols;
        memcpy(&scale, t->scale->data + r * sizeof scale, sizeof scale);
        if (t->dtype == AOEI_ST_I8)
            for (size_t i = 0; i < cols; i++)
                row[i] = (float)(int8_t)t->data[r * cols + i] * scale;
        else
            int5_to_float(row, t->data + r * aoei_int5_bytes(cols), cols, scale);
    }
}

void aoei_st_to_float(float *out, const aoei_st_tensor *t) {
    size_t n = aoei_st_elements(t);
    if (t->dtype == AOEI_ST_I8 || t->dtype == AOEI_ST_I5) {
        scaled_to_float(out, t);
        return;
    }
    if (t->dtype == AOEI_ST_F32) {
        if (n)
            memcpy(out, t->data, n * sizeof *out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t h = (uint16_t)(t->data[2 * i] | t->data[2 * i + 1] << 8);
        out[i] = t->dtype == AOEI_ST_F16 ? half_to_float(h) : bits_to_float((uint32_t)h << 16);
    }
}

void aoei_st_rows_to_float(float *out, const aoei_st_tensor *t, size_t first, size_t n) {
    aoei_st_tensor part = *t, scale;
    if (t->n_dims >= 2) {
        part.shape[0] = n;
        part.data += first * (t->bytes / t->shape[0]);
    }
    if (t->scale) {
        scale = *t->scale;
        scale.data += first * sizeof(float);
        part.scale = &scale;
    }
    aoei_st_to_float(out, &part);
}
