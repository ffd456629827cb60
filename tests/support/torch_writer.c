/* SPDX-License-Identifier: MIT
 * Writes small files in the format of torch.save. The checksums of the records are 0, because the reader does not use
 * them.
 */
#include "torch_writer.h"

#include <stdlib.h>
#include <string.h>

void test_bytes_add(test_bytes *b, const void *data, size_t size) {
    unsigned char *grown = realloc(b->data, b->size + size + 1);
    if (!grown)
        abort();
    b->data = grown;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

void test_bytes_text(test_bytes *b, const char *text) {
    test_bytes_add(b, text, strlen(text));
}

void test_bytes_free(test_bytes *b) {
    free(b->data);
    *b = (test_bytes){0};
}

/* Adds an integer in little-endian order. */
static void integer(test_bytes *b, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        test_bytes_add(b, &(unsigned char){(unsigned char)(i < sizeof v ? v >> (8 * i) : 0)}, 1);
}

static void pickle_integer(test_bytes *b, size_t v) {
    test_bytes_add(b, "\x8a\x08", 2); /* LONG1 with 8 bytes */
    integer(b, v, 8);
}

static void pickle_string(test_bytes *b, const char *text) {
    test_bytes_text(b, "X");
    integer(b, strlen(text), 4);
    test_bytes_text(b, text);
}

void test_pickle_begin(test_bytes *b) {
    test_bytes_text(b, "\x80\x02"
                       "ccollections\nOrderedDict\n)R(");
}

void test_pickle_end(test_bytes *b) {
    test_bytes_text(b, "u.");
}

void test_pickle_tensor(test_bytes *b, const char *name, const char *storage, const char *key, size_t elements,
                        size_t offset, size_t n_dims, const size_t *shape, const size_t *stride) {
    pickle_string(b, name);
    test_bytes_text(b, "ctorch._utils\n_rebuild_tensor_v2\n((");
    pickle_string(b, "storage");
    test_bytes_text(b, "ctorch\n");
    test_bytes_text(b, storage);
    test_bytes_text(b, "\n");
    pickle_string(b, key);
    pickle_string(b, "cpu");
    pickle_integer(b, elements);
    test_bytes_text(b, "tQ");
    pickle_integer(b, offset);
    for (int pass = 0; pass < 2; pass++) {
        test_bytes_text(b, "(");
        for (size_t i = 0; i < n_dims; i++)
            pickle_integer(b, (pass ? stride : shape)[i]);
        test_bytes_text(b, "t");
    }
    test_bytes_text(b, "\x89"
                       "ccollections\nOrderedDict\n)RtR");
}

test_bytes test_zip(const test_record *records, size_t n) {
    test_bytes file = {0}, directory = {0};
    for (size_t i = 0; i < n; i++) {
        const test_record *r = &records[i];
        const char *local = r->local ? r->local : r->name;
        const size_t size = r->claimed_size ? r->claimed_size : r->size, at = file.size;
        test_bytes_text(&file, "PK\3\4");
        integer(&file, 20, 2);
        integer(&file, r->flags, 2);
        integer(&file, r->method, 2);
        integer(&file, 0, 8); /* time, date and checksum */
        integer(&file, size, 4);
        integer(&file, size, 4);
        integer(&file, strlen(local), 2);
        integer(&file, 0, 2);
        test_bytes_text(&file, local);
        test_bytes_add(&file, r->data, r->size);
        test_bytes_text(&directory, "PK\1\2");
        integer(&directory, 20, 2);
        integer(&directory, 20, 2);
        integer(&directory, r->flags, 2);
        integer(&directory, r->method, 2);
        integer(&directory, 0, 8);
        integer(&directory, size, 4);
        integer(&directory, size, 4);
        integer(&directory, strlen(r->name), 2);
        integer(&directory, 0, 12); /* lengths of extra field and comment, disk, attributes */
        integer(&directory, at, 4);
        test_bytes_text(&directory, r->name);
    }
    const size_t from = file.size;
    test_bytes_add(&file, directory.data, directory.size);
    test_bytes_text(&file, "PK\5\6");
    integer(&file, 0, 4);
    integer(&file, n, 2);
    integer(&file, n, 2);
    integer(&file, directory.size, 4);
    integer(&file, from, 4);
    integer(&file, 0, 2);
    test_bytes_free(&directory);
    return file;
}

test_bytes test_torch_file(const test_bytes *program, const void *values, size_t size) {
    const test_record records[] = {{.name = "archive/data.pkl", .data = program->data, .size = program->size},
                                   {.name = "archive/data/0", .data = values, .size = size}};
    return test_zip(records, 2);
}

test_bytes test_torch_legacy(const test_bytes *program, size_t elements, const void *values, size_t size) {
    test_bytes file = {0};
    test_bytes_add(&file, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.", 21);
    test_bytes_text(&file, "\x80\x02}");
    pickle_string(&file, "little_endian");
    test_bytes_text(&file, "\x88s.");
    test_bytes_add(&file, program->data, program->size);
    test_bytes_text(&file, "\x80\x02]");
    pickle_string(&file, "0");
    test_bytes_text(&file, "a.");
    integer(&file, elements, 8);
    test_bytes_add(&file, values, size);
    return file;
}
