/* SPDX-License-Identifier: MIT
 * Tests the records of sources and files, and that the documents of a file are removed with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "index/records.h"

static int add_path(void *user, const aoei_file_record *f, aoe_error *e) {
    (void)e;
    strcat(strcat(user, f->path), f->state == AOEI_FILE_BINARY ? "! " : " ");
    return 0;
}

static const char *files_of(aoe_index *index, int64_t source) {
    static char text[256];
    text[0] = 0;
    check(aoei_files_read(index, source, add_path, text, &err));
    return text;
}

static int64_t add_file(aoe_index *index, int64_t source, const char *path, aoei_file_state state) {
    aoei_file_record f = {.source = source, .path = path, .size = 5, .mtime_ns = 7, .hash = UINT64_MAX, .state = state};
    check(aoei_file_write(index, &f, &err));
    assert_true(f.id > 0);
    return f.id;
}

static void add_document(aoe_index *index, const char *name, const char *text, int64_t file) {
    const aoe_index_document d = {.struct_size = sizeof d, .name = name, .text = aoe_text_of(text)};
    check(aoei_write_document(index, &d, file, &err));
}

static int has(aoe_index *index, const char *part) {
    char *dump = tiny_index_dump(index);
    const int found = strstr(dump, part) != NULL;
    free(dump);
    return found;
}

static void test_sources(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoei_source_record s = {.path = (char *)(size_t) "/a", .kind = 2, .text_column = (char *)(size_t) "body"};
    check(aoei_source_write(index, &s, &err));
    aoei_source_record t = {.path = (char *)(size_t) "/b", .excludes = (char *)(size_t) "[\"x\"]"};
    check(aoei_source_write(index, &t, &err));
    const int64_t id = s.id;
    s.kind = 3;
    s.text_column = NULL;
    check(aoei_source_write(index, &s, &err)); /* replaces the record of the same path */
    assert_int_equal(s.id, id);
    check(aoei_write_commit(index, &err));
    aoe_index_close(index);
    index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    aoei_source_record *all;
    size_t n;
    check(aoei_sources_read(index, &all, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(all[0].path, "/a");
    assert_int_equal(all[0].kind, 3);
    assert_null(all[0].text_column);
    assert_string_equal(all[1].excludes, "[\"x\"]");
    aoei_sources_free(all, n);
    assert_int_equal(aoei_source_write(index, &s, &err), AOE_EARG);
    aoe_index_close(index);
    free(path);
}

static void test_files(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoei_source_record s = {.path = (char *)(size_t) "/a"};
    check(aoei_source_write(index, &s, &err));
    const int64_t b = add_file(index, s.id, "b.md", AOEI_FILE_INDEXED),
                  a = add_file(index, s.id, "a.md", AOEI_FILE_INDEXED);
    assert_int_equal(add_file(index, s.id, "b.md", AOEI_FILE_BINARY), b);
    assert_string_equal(files_of(index, s.id), "a.md b.md! ");
    check(aoei_write_file_begin(index, a, &err));
    add_document(index, "a.md:1", "a b", a);
    add_document(index, "a.md:2", "b c", a);
    check(aoei_write_file_end(index, &err));
    add_document(index, "b.md", "d e", b);
    check(aoei_write_commit(index, &err));
    assert_true(has(index, "a.md:1|") && has(index, "a.md:2|") && has(index, "b.md|"));
    /* the file now has other documents: one is equal, one is new, one is missing */
    check(aoei_write_file_begin(index, a, &err));
    add_document(index, "a.md:2", "b c", a);
    add_document(index, "a.md:3", "c d", a);
    check(aoei_write_file_end(index, &err));
    check(aoei_write_commit(index, &err));
    assert_false(has(index, "a.md:1|"));
    assert_true(has(index, "a.md:2|") && has(index, "a.md:3|"));
    const aoei_write_counts counts = aoei_write_counted(index);
    assert_int_equal(counts.unchanged, 1);
    assert_int_equal(counts.removed, 1);
    assert_int_equal(counts.added, 4);
    check(aoei_file_remove(index, a, &err));
    check(aoei_write_commit(index, &err));
    assert_false(has(index, "a.md"));
    assert_true(has(index, "b.md|"));
    check(aoei_source_remove(index, s.id, &err));
    aoei_write_rollback(index);
    assert_true(has(index, "b.md|"));
    check(aoei_source_remove(index, s.id, &err));
    check(aoei_write_commit(index, &err));
    assert_false(has(index, "b.md|"));
    assert_string_equal(files_of(index, s.id), "");
    aoe_index_close(index);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sources), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
