/* SPDX-License-Identifier: MIT
 * Tests reading and writing .npy files: versions of the format, headers as Python programs write them, both data types,
 * and malformed files. Headers that numpy writes are stored as text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "vectors/npy.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Writes a file with the given version and dictionary, followed by data[bytes]. Returns its length. */
static size_t make(unsigned char *file, int version, const char *dictionary, const void *data, size_t bytes) {
    const size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
    memset(file, 0, 12);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)(length & 0xFF);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + start, dictionary, length);
    if (bytes)
        memcpy(file + start + length, data, bytes);
    return start + length + bytes;
}

/* Expects an array [2, 3] with the values 0.5, 1.5 ... 5.5. */
static void expect_values(const unsigned char *file, size_t size) {
    aoei_npy a;
    aoe_error err;
    float rows[6];
    if (aoei_npy_parse(&a, file, size, "a.npy", &err))
        fail_msg("%s", err.message);
    assert_int_equal(a.rows, 2);
    assert_int_equal(a.columns, 3);
    aoei_npy_rows(&a, 1, 1, rows + 3);
    aoei_npy_rows(&a, 0, 1, rows);
    for (int i = 0; i < 6; i++)
        assert_int_equal((int)(2 * rows[i]), 2 * i + 1);
}

static void test_reading(void **state) {
    (void)state;
    static const float floats[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
    static const double doubles[] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
    static const char *const dictionaries[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                  \n", /* numpy.save */
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , 'fortran_order' : False } ",
    };
    unsigned char file[512];
    for (size_t i = 0; i < COUNT(dictionaries); i++)
        for (int version = 1; version <= 3; version++)
            expect_values(file, make(file, version, dictionaries[i], floats, sizeof floats));
    const size_t size =
        make(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", doubles, sizeof doubles);
    expect_values(file, size);
}

/* Arrays with one row or one column have both orders. */
static void test_read_vectors(void **state) {
    (void)state;
    static const float floats[] = {1, 2};
    static const char *const shapes[] = {"(1, 2)", "(2, 1)"};
    for (size_t i = 0; i < 2; i++) {
        aoei_npy a;
        float values[2];
        char dictionary[100];
        unsigned char file[200];
        snprintf(dictionary, sizeof dictionary, "{'descr': '<f4', 'fortran_order': True, 'shape': %s, }", shapes[i]);
        assert_int_equal(aoei_npy_parse(&a, file, make(file, 1, dictionary, floats, sizeof floats), "a.npy", NULL), 0);
        assert_int_equal(a.rows, 1 + i);
        aoei_npy_rows(&a, 0, a.rows, values);
        assert_int_equal((int)values[0], 1);
        assert_int_equal((int)values[1], 2);
    }
}

static void test_writing(void **state) {
    (void)state;
    static const float floats[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
    aoei_npy a;
    aoe_error err;
    size_t size;
    char header[AOEI_NPY_HEADER], *path = test_path(test_dir, "written.npy");
    FILE *f = fopen(path, "wb");
    aoei_npy_header(header, "<f4", 2, 3);
    assert_int_equal(fwrite(header, 1, sizeof header, f), sizeof header);
    aoei_npy_write(f, floats, 6);
    assert_int_equal(fclose(f), 0);
    char *text = test_read(path, &size);
    expect_values((const unsigned char *)text, size);
    assert_int_equal(size, 128 + sizeof floats);
    assert_memory_equal(text, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ",
                        70);
    if (aoei_npy_open(&a, path, &err))
        fail_msg("%s", err.message);
    assert_int_equal(a.rows, 2);
    aoei_npy_close(&a);
    aoei_npy_close(&a);
    aoei_npy_header(header, "<f4", SIZE_MAX, SIZE_MAX); /* the largest shape fits into the header */
    assert_int_equal(header[AOEI_NPY_HEADER - 1], '\n');
    free(text);
    free(path);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *dictionary;
        int version, want;
        const char *text;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 1, AOE_EFORMAT,
         "does not match its shape (2, 2)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", 1, AOE_EFORMAT, "does not match its shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 1, AOE_EFORMAT,
         "does not match"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 1, AOE_EUNSUPPORTED, "ascontiguousarray"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 1, AOE_EUNSUPPORTED, "1 dimension;"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 1, AOE_EUNSUPPORTED, "0 dimensions;"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", 1, AOE_EUNSUPPORTED, "3 dimensions;"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 1, AOE_EUNSUPPORTED, "'<i4'"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 1, AOE_EUNSUPPORTED, "'>f4'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'shape': (2, 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, }", 1, AOE_EFORMAT, "malformed"},
        {"{'fortran_order': False, 'shape': (2, 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'other': 1}", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 1, AOE_EFORMAT, "malformed"},
        {"{'descr': '<f4", 1, AOE_EFORMAT, "malformed"},
        {"", 1, AOE_EFORMAT, "malformed"},
        {"{}", 4, AOE_EUNSUPPORTED, "version 4.0"},
        {"{}", 0, AOE_EUNSUPPORTED, "version 0.0"},
    };
    static const float floats[6];
    aoei_npy a;
    aoe_error err;
    unsigned char file[512];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t size = make(file, cases[i].version, cases[i].dictionary, floats, sizeof floats);
        const int code = aoei_npy_parse(&a, file, size, "a.npy", &err);
        if (code != cases[i].want || err.code != code || strncmp(err.message, "a.npy: ", 7) != 0 ||
            !strstr(err.message, cases[i].text))
            fail_msg("case %zu: code %d: %s", i, code, code ? err.message : "");
    }
    /* Files that end in the magic bytes or in the header */
    const size_t size =
        make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", floats, sizeof floats);
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *part = malloc(cut ? cut : 1);
        memcpy(part, file, cut);
        assert_int_equal(aoei_npy_parse(&a, part, cut, "a.npy", &err), AOE_EFORMAT);
        free(part);
    }
    char *text = test_write_text(test_dir, "text.npy", "a text file"),
         *empty = test_write_text(test_dir, "empty.npy", "");
    assert_int_equal(aoei_npy_open(&a, text, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "not a .npy file"));
    assert_int_equal(aoei_npy_open(&a, empty, &err), AOE_EFORMAT);
    assert_int_equal(aoei_npy_open(&a, "/no/such/file.npy", &err), AOE_ENOENT);
    aoei_npy_close(&a);
    free(text);
    free(empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading), cmocka_unit_test(test_read_vectors),
                                       cmocka_unit_test(test_writing), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
