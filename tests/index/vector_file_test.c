/* SPDX-License-Identifier: MIT
 * Tests files of vectors: rows can be appended, read, mapped and removed, and every damage of the header is found.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "index/vector_file.h"

static aoei_vector_header header_of(void) {
    return (aoei_vector_header){.type = AOEI_VECTORS_F32, .dims = 4, .stride = 16, .generation = 3, .index_id = 77};
}

/* Creates a file with n rows; row i has the values i, i, i, i. */
static char *create(size_t n) {
    const aoei_vector_header h = header_of();
    char *path = test_path(test_dir, "vectors");
    aoei_vector_file f;
    assert_int_equal(aoei_vector_file_create(&f, path, &h, &err), 0);
    for (size_t i = 0; i < n; i++) {
        const float row[4] = {(float)i, (float)i, (float)i, (float)i};
        assert_int_equal(aoei_vector_file_write(&f, i, row, 1, &err), 0);
    }
    assert_int_equal(aoei_vector_file_sync(&f, &err), 0);
    aoei_vector_file_close(&f);
    return path;
}

static void flip(const char *path, off_t at) {
    const int fd = open(path, O_RDWR);
    unsigned char c;
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= 0x10;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static void test_rows(void **state) {
    (void)state;
    const aoei_vector_header h = header_of();
    char *path = create(10);
    aoei_vectors v;
    assert_int_equal(aoei_vectors_map(&v, path, &h, 7, &err), 0);
    assert_int_equal(v.n, 7);
    float row[4];
    memcpy(row, v.rows + 6 * v.stride, sizeof row);
    assert_true(row[0] == 6 && row[3] == 6);
    aoei_vectors_close(&v);
    assert_int_equal(aoei_vectors_map(&v, path, &h, 0, &err), 0);
    assert_null(v.rows);
    aoei_vectors_close(&v);
    aoei_vector_file f;
    assert_int_equal(aoei_vector_file_open(&f, path, &h, 5, &err), 0); /* removes rows 5 to 9 */
    float rows[8];
    assert_int_equal(aoei_vector_file_read(&f, 3, rows, 2, &err), 0);
    assert_true(rows[0] == 3 && rows[4] == 4);
    assert_int_equal(aoei_vector_file_read(&f, 4, rows, 2, &err), AOE_EFORMAT);
    assert_message("the file is truncated");
    aoei_vector_file_close(&f);
    assert_int_equal(aoei_vectors_map(&v, path, &h, 6, &err), AOE_EFORMAT);
    assert_message("has 144 bytes, but the 6 vectors of the index need 160");
    assert_int_equal(aoei_vectors_map(&v, path, &h, SIZE_MAX / 16, &err), AOE_EFORMAT);
    assert_int_equal(aoei_vectors_map(&v, path, &h, SIZE_MAX / 2, &err), AOE_EFORMAT);
    free(path);
}

static void test_damage(void **state) {
    (void)state;
    const aoei_vector_header h = header_of();
    aoei_vectors v;
    for (off_t at = 0; at < AOEI_VECTORS_HEADER; at++) {
        char *path = create(2);
        flip(path, at);
        assert_int_equal(aoei_vectors_map(&v, path, &h, 2, &err), AOE_EFORMAT);
        assert_message("the index is damaged");
        free(path);
    }
    char *path = create(2);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(aoei_vectors_map(&v, path, &h, 0, &err), AOE_EFORMAT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(aoei_vectors_map(&v, path, &h, 0, &err), AOE_ENOENT);
    free(path);
    assert_int_equal(aoei_vectors_map(&v, test_dir, &h, 0, &err), AOE_EFORMAT);
}

static void test_other_files(void **state) {
    (void)state;
    char *path = create(2);
    aoei_vectors v;
    aoei_vector_header h = header_of();
    h.index_id++;
    assert_int_equal(aoei_vectors_map(&v, path, &h, 2, &err), AOE_EFORMAT);
    assert_message("belongs to another index");
    h = header_of();
    h.dims = 5;
    assert_int_equal(aoei_vectors_map(&v, path, &h, 2, &err), AOE_EFORMAT);
    assert_message("does not match the database");
    /* a file of a machine with another byte order, and one of a later version */
    const int fd = open(path, O_RDWR);
    unsigned char bytes[AOEI_VECTORS_HEADER];
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), (int)sizeof bytes);
    const unsigned char mark[4] = {bytes[15], bytes[14], bytes[13], bytes[12]};
    assert_int_equal(pwrite(fd, mark, 4, 12), 4);
    h = header_of();
    assert_int_equal(aoei_vectors_map(&v, path, &h, 2, &err), AOE_EUNSUPPORTED);
    assert_message("another byte order");
    close(fd);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_other_files)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
