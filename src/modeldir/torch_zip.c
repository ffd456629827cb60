/* SPDX-License-Identifier: MIT
 * Reads the central directory of a ZIP archive. An archive ends with the end record, which contains the position of the
 * central directory. The central directory has one entry per record, with its name, size and the position of its local
 * header. The data follows the local header. Archives of 4 GiB and more use the ZIP64 form of these structures.
 */
#include "modeldir/torch_zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    END_BYTES = 22,      /* size of the end record */
    END64_BYTES = 56,    /* size of the ZIP64 end record */
    LOCATOR_BYTES = 20,  /* size of the ZIP64 locator, which precedes the end record */
    ENTRY_BYTES = 46,    /* size of an entry of the central directory without its name and extra field */
    LOCAL_BYTES = 30,    /* size of a local header without its name and extra field */
    MAX_COMMENT = 65535, /* maximum length of the comment that follows the end record */
    MAX_NAME = 1024      /* maximum length of the name of a record */
};

#define MAX_RECORDS ((size_t)1 << 20)

/* The archive while it is being read. */
typedef struct reader {
    const unsigned char *data; /* [size] the file, borrowed */
    size_t size;
    const char *path; /* name of the file in messages, borrowed */
    aoe_error *err;
} reader;

/* An entry of the central directory. */
typedef struct entry {
    uint64_t size, local;  /* size of the record and position of its local header in bytes */
    const char *name;      /* [name_len] name, without a terminating NUL; borrowed */
    size_t name_len, next; /* next: position of the next entry */
    unsigned flags, method;
} entry;

static uint64_t little(const unsigned char *p, size_t bytes) {
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static int damaged(const reader *r, const char *what) {
    return aoei_fail(r->err, AOE_EFORMAT, "%s: the PyTorch file is damaged: %s; download it again", r->path, what);
}

int aoei_zip_is(const unsigned char *data, size_t size) {
    return size >= 4 && !memcmp(data, "PK\3\4", 4);
}

/* Sets *directory to the position of the central directory, *end to the position where it ends, and *n to the number of
 * its entries. */
static int find_directory(const reader *r, size_t *directory, size_t *end, size_t *n) {
    if (r->size < END_BYTES)
        return damaged(r, "the file is truncated");
    const size_t lowest = r->size - END_BYTES > MAX_COMMENT ? r->size - END_BYTES - MAX_COMMENT : 0;
    size_t at = r->size - END_BYTES;
    while (memcmp(r->data + at, "PK\5\6", 4) != 0)
        if (at-- == lowest)
            return damaged(r, "the list of records at the end of the file is missing");
    uint64_t count = little(r->data + at + 10, 2), bytes = little(r->data + at + 12, 4),
             from = little(r->data + at + 16, 4);
    *end = at;
    if (at >= LOCATOR_BYTES && !memcmp(r->data + at - LOCATOR_BYTES, "PK\6\7", 4)) {
        const uint64_t end64 = little(r->data + at - LOCATOR_BYTES + 8, 8);
        if (at < LOCATOR_BYTES + END64_BYTES || end64 > at - LOCATOR_BYTES - END64_BYTES ||
            memcmp(r->data + end64, "PK\6\6", 4) != 0)
            return damaged(r, "the ZIP64 end record is not at its position");
        count = little(r->data + end64 + 32, 8);
        bytes = little(r->data + end64 + 40, 8);
        from = little(r->data + end64 + 48, 8);
        *end = (size_t)end64;
    }
    if (from > *end || bytes > *end - from || count > bytes / ENTRY_BYTES || count > MAX_RECORDS)
        return damaged(r, "the list of records is not inside the file");
    *directory = (size_t)from;
    *end = (size_t)(from + bytes);
    *n = (size_t)count;
    return 0;
}

/* Reads the 64-bit values of e->size and e->local that do not fit in 32 bits from the ZIP64 part of the extra field
 * extra[len]. *compressed is the size of the compressed record. */
static int read_zip64(const reader *r, entry *e, uint64_t *compressed, const unsigned char *extra, size_t len) {
    uint64_t *const fields[] = {&e->size, compressed, &e->local};
    size_t at = 0;
    while (at + 4 <= len) {
        const size_t id = (size_t)little(extra + at, 2), bytes = (size_t)little(extra + at + 2, 2);
        if (bytes > len - at - 4)
            return damaged(r, "an extra field of a record is too short");
        for (size_t i = 0, used = 0; i < 3 && id == 1; i++)
            if (*fields[i] == 0xffffffffu && used + 8 <= bytes) {
                *fields[i] = little(extra + at + 4 + used, 8);
                used += 8;
            }
        at += 4 + bytes;
    }
    return 0;
}

/* Reads the entry of the central directory at position `at`. */
static int read_entry(const reader *r, entry *e, size_t at, size_t end) {
    if (end - at < ENTRY_BYTES || memcmp(r->data + at, "PK\1\2", 4) != 0)
        return damaged(r, "the list of records ends early");
    const unsigned char *p = r->data + at;
    const size_t name = (size_t)little(p + 28, 2), extra = (size_t)little(p + 30, 2),
                 comment = (size_t)little(p + 32, 2);
    if (name + extra + comment > end - at - ENTRY_BYTES)
        return damaged(r, "the list of records ends early");
    uint64_t compressed = little(p + 20, 4);
    *e = (entry){.size = little(p + 24, 4),
                 .local = little(p + 42, 4),
                 .name = (const char *)p + ENTRY_BYTES,
                 .name_len = name,
                 .next = at + ENTRY_BYTES + name + extra + comment,
                 .flags = (unsigned)little(p + 8, 2),
                 .method = (unsigned)little(p + 10, 2)};
    int rc = read_zip64(r, e, &compressed, p + ENTRY_BYTES + name, extra);
    if (rc)
        return rc;
    if (e->method != 0 || e->flags & 1)
        return aoei_fail(r->err, AOE_EUNSUPPORTED,
                         "%s: record '%.*s' is %s, which torch.save never writes; save the model in safetensors format",
                         r->path, (int)(name < 80 ? name : 80), e->name, e->flags & 1 ? "encrypted" : "compressed");
    return compressed == e->size ? 0 : damaged(r, "the two sizes of a record differ");
}

/* Returns an error unless the name consists of non-empty components, none of which is ".." or ".". */
static int check_name(const reader *r, const entry *e) {
    size_t first = 0;
    int valid = e->name_len > 0 && e->name_len <= MAX_NAME && !memchr(e->name, 0, e->name_len) &&
                !memchr(e->name, '\\', e->name_len);
    for (size_t i = 0; i <= e->name_len && valid; i++)
        if (i == e->name_len || e->name[i] == '/') {
            const size_t n = i - first;
            valid = n && !(n == 1 && e->name[first] == '.') && !(n == 2 && !memcmp(e->name + first, "..", 2));
            first = i + 1;
        }
    return valid ? 0
                 : aoei_fail(r->err, AOE_EFORMAT,
                             "%s: record name '%.*s' is not a relative path inside the archive; this is not a file of "
                             "torch.save",
                             r->path, (int)(e->name_len < 80 ? e->name_len : 80), e->name);
}

/* Sets record->data to the data of the entry, which follows its local header. limit: position where the central
 * directory begins. */
static int locate(const reader *r, aoei_zip_record *record, const entry *e, size_t limit) {
    if (e->local > limit || limit - e->local < LOCAL_BYTES || memcmp(r->data + e->local, "PK\3\4", 4) != 0)
        return damaged(r, "a record has no local header");
    const unsigned char *p = r->data + e->local;
    const size_t name = (size_t)little(p + 26, 2), extra = (size_t)little(p + 28, 2);
    const size_t header = LOCAL_BYTES + name + extra, space = limit - (size_t)e->local;
    if (header > space || name != e->name_len || memcmp(p + LOCAL_BYTES, e->name, name) != 0)
        return damaged(r, "the name in the local header of a record differs");
    if (e->size > space - header)
        return aoei_fail(r->err, AOE_EFORMAT,
                         "%s: record '%.*s' ends beyond its place in the file; download the file again", r->path,
                         (int)(name < 80 ? name : 80), e->name);
    record->data = p + header;
    record->size = (size_t)e->size;
    return 0;
}

/* Comparison functions for qsort and bsearch. */
static int by_name(const void *a, const void *b) {
    return strcmp(((const aoei_zip_record *)a)->name, ((const aoei_zip_record *)b)->name);
}

static int by_position(const void *a, const void *b) {
    const aoei_zip_record *x = a, *y = b;
    return x->data != y->data ? (x->data < y->data ? -1 : 1) : (x->size > y->size) - (x->size < y->size);
}

/* Returns an error if two records overlap or have one name. Sorts the records by name. */
static int check_records(const reader *r, aoei_zip *z) {
    const aoei_zip_record *last = NULL; /* previous record that is not empty */
    if (!z->n)
        return damaged(r, "it has no records");
    qsort(z->records, z->n, sizeof *z->records, by_position);
    for (size_t i = 0; i < z->n; i++) {
        if (last && z->records[i].data < last->data + last->size)
            return aoei_fail(r->err, AOE_EFORMAT, "%s: records '%s' and '%s' overlap; download the file again", r->path,
                             last->name, z->records[i].name);
        last = z->records[i].size ? &z->records[i] : last;
    }
    qsort(z->records, z->n, sizeof *z->records, by_name);
    for (size_t i = 1; i < z->n; i++)
        if (!by_name(&z->records[i - 1], &z->records[i]))
            return aoei_fail(r->err, AOE_EFORMAT, "%s: two records have the name '%s'; download the file again",
                             r->path, z->records[i].name);
    return 0;
}

/* Returns the length of the top folder of a name, including the slash, or 0 if the name has no folder. */
static size_t top_folder(const entry *e) {
    const char *slash = memchr(e->name, '/', e->name_len);
    return slash ? (size_t)(slash - e->name) + 1 : 0;
}

int aoei_zip_open(aoei_zip *z, const unsigned char *data, size_t size, const char *path, aoe_error *err) {
    const reader r = {data, size, path, err};
    size_t directory = 0, end = 0, n = 0, at;
    entry e, first = {0};
    *z = (aoei_zip){0};
    int rc = find_directory(&r, &directory, &end, &n);
    if (!rc && !(z->records = aoei_calloc(n + 1, sizeof *z->records)))
        rc = aoei_fail_nomem(err, n * sizeof *z->records);
    at = directory;
    for (size_t i = 0; i < n && !rc; i++, at = e.next) {
        aoei_zip_record *record = &z->records[i];
        if ((rc = read_entry(&r, &e, at, end)) || (rc = check_name(&r, &e)) || (rc = locate(&r, record, &e, directory)))
            break;
        first = i ? first : e;
        const size_t top = top_folder(&e);
        if (!top || top != top_folder(&first) || memcmp(e.name, first.name, top) != 0) {
            rc = damaged(&r, "its records are not in one folder");
            break;
        }
        record->name = aoei_strndup(e.name + top, e.name_len - top);
        rc = record->name ? 0 : aoei_fail_nomem(err, e.name_len);
        z->n += !rc;
    }
    if (!rc)
        rc = check_records(&r, z);
    if (rc)
        aoei_zip_close(z);
    return rc;
}

void aoei_zip_close(aoei_zip *z) {
    for (size_t i = 0; i < z->n; i++)
        aoei_free(z->records[i].name);
    aoei_free(z->records);
    *z = (aoei_zip){0};
}

const aoei_zip_record *aoei_zip_find(const aoei_zip *z, const char *name) {
    const aoei_zip_record key = {.name = (char *)(uintptr_t)name};
    return z->n ? bsearch(&key, z->records, z->n, sizeof *z->records, by_name) : NULL;
}
