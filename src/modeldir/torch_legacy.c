/* SPDX-License-Identifier: MIT
 * Reads files of PyTorch before version 1.6. All sizes are checked against the size of the file.
 */
#include "modeldir/torch_legacy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* The pickle programs of the magic number 0x1950a86a20f9469cfc6c and of version 1001 of the format. */
static const unsigned char magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                      0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
static const unsigned char version[] = {0x80, 0x02, 'M', 0xe9, 0x03, '.'};

enum { COUNT_BYTES = 8 }; /* size of the number of elements before the data of a storage */

int aoei_torch_legacy_is(const unsigned char *data, size_t size) {
    return size >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

static int damaged(const char *path, const char *what, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT, "%s: the PyTorch file is damaged: %s; download it again", path, what);
}

/* Comparison functions for qsort and bsearch. */
static int by_key(const void *a, const void *b) {
    return strcmp(((const aoei_torch_storage *)a)->key, ((const aoei_torch_storage *)b)->key);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const aoei_zip_record *)a)->name, ((const aoei_zip_record *)b)->name);
}

/* Adds the record of the storage `key` to z. *at is the position of its number of elements, and becomes the position
 * after its data. storages: the storages of the tensors, sorted by key. */
static int add_record(aoei_zip *z, const aoei_torch_storage *key, const aoei_torch_program *storages, size_t *at,
                      const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    const aoei_torch_storage *s =
        storages->n_storages ? bsearch(key, storages->storages, storages->n_storages, sizeof *s, by_key) : NULL;
    uint64_t elements = 0;
    size_t bytes;
    if (!s)
        return damaged(path, "it contains a storage that no tensor uses", err);
    if (size - *at < COUNT_BYTES)
        return damaged(path, "it ends before the data of its storages", err);
    for (size_t i = 0; i < COUNT_BYTES; i++)
        elements |= (uint64_t)data[*at + i] << (8 * i);
    *at += COUNT_BYTES;
    if (elements > SIZE_MAX || aoei_mul_size((size_t)elements, s->width, &bytes) || bytes > size - *at)
        return damaged(path, "it ends before the data of its storages", err);
    aoei_zip_record *record = &z->records[z->n];
    char name[sizeof "data/" + AOEI_TORCH_MAX_KEY];
    snprintf(name, sizeof name, "data/%s", key->key);
    if (!(record->name = aoei_strdup(name)))
        return aoei_fail_nomem(err, sizeof name);
    record->data = data + *at;
    record->size = bytes;
    z->n++;
    *at += bytes;
    return 0;
}

/* Fills z with the records of the storages `keys`, whose data begins at position `at`. */
static int add_records(aoei_zip *z, const aoei_torch_program *keys, aoei_torch_program *p, size_t at,
                       const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    int rc = 0;
    z->records = aoei_calloc(keys->n_storages + 1, sizeof *z->records);
    if (!z->records)
        return aoei_fail_nomem(err, keys->n_storages * sizeof *z->records);
    if (p->n_storages)
        qsort(p->storages, p->n_storages, sizeof *p->storages, by_key);
    for (size_t i = 0; i < keys->n_storages && !rc; i++)
        rc = add_record(z, &keys->storages[i], p, &at, data, size, path, err);
    if (!rc && at != size)
        rc = damaged(path, "data follows its last storage", err);
    if (z->n)
        qsort(z->records, z->n, sizeof *z->records, by_name);
    for (size_t i = 1; i < z->n && !rc; i++)
        if (!strcmp(z->records[i - 1].name, z->records[i].name))
            rc = damaged(path, "two storages have one key", err);
    return rc;
}

int aoei_torch_legacy_open(aoei_torch_program *p, aoei_zip *z, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err) {
    aoei_torch_program keys = {0};
    size_t at = sizeof magic + sizeof version, used = 0;
    int little = 0, rc;
    *p = (aoei_torch_program){0};
    *z = (aoei_zip){0};
    if (size < at || memcmp(data + sizeof magic, version, sizeof version) != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the version of the file format is not 1001; save the model in safetensors format", path);
    if ((rc = aoei_torch_pickle_flag(&little, &used, "little_endian", data + at, size - at, path, err)))
        return rc;
    at += used;
    if (!little)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the byte order of the file is not little-endian; save the model in safetensors format",
                         path);
    rc = aoei_torch_pickle_read(p, data + at, size - at, path, err);
    at += p->size;
    if (!rc && !(rc = aoei_torch_pickle_keys(&keys, data + at, size - at, path, err)))
        rc = add_records(z, &keys, p, at + keys.size, data, size, path, err);
    aoei_torch_program_free(&keys);
    if (rc) {
        aoei_torch_program_free(p);
        aoei_zip_close(z);
        *z = (aoei_zip){0};
    }
    return rc;
}
