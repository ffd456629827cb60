/* SPDX-License-Identifier: MIT
 * covers: modeldir/torch_legacy modeldir/torch_pickle modeldir/torch_zip
 * Tests reading files that torch.save wrote. Tensors are compared with the expected values: views, tied and transposed
 * tensors and all data types. Hostile and damaged files must be rejected with a message that names the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/torch_writer.h"
#include "modeldir/safetensors.h"

#define FRAGMENT(err, text) assert_non_null(strstr((err).message, text))

static const float values[6] = {1, 2, 3, 4, 5, 6};

/* Opens the file and frees its bytes after the call that uses them. */
static int open_file(aoei_safetensors **s, const test_bytes *file, aoe_error *err) {
    return aoei_safetensors_open_memory(s, file->data, file->size, "x.bin", err);
}

/* Asserts that the file is rejected with the error `code` and a message that contains `fragment`. Frees the file. */
static void expect_rejected(test_bytes file, int code, const char *fragment) {
    aoei_safetensors *s;
    aoe_error err;
    const int rc = open_file(&s, &file, &err);
    if (rc != code || !strstr(err.message, fragment))
        fail_msg("%d: %s", rc, rc ? err.message : "no error");
    assert_null(s);
    test_bytes_free(&file);
}

/* Returns a file with one tensor `w` over a storage of six float32 values. */
static test_bytes one_tensor(size_t offset, size_t n_dims, const size_t *shape, const size_t *stride) {
    test_bytes program = {0};
    test_pickle_begin(&program);
    test_pickle_tensor(&program, "w", "FloatStorage", "0", 6, offset, n_dims, shape, stride);
    test_pickle_end(&program);
    const test_bytes file = test_torch_file(&program, values, sizeof values);
    test_bytes_free(&program);
    return file;
}

/* Returns a file whose program is `text`. */
static test_bytes program_file(const char *text, size_t size) {
    const test_bytes program = {(unsigned char *)(uintptr_t)text, size};
    return test_torch_file(&program, values, sizeof values);
}

static void reads_tensors(void **state) {
    (void)state;
    static const size_t shape[] = {2, 3}, stride[] = {3, 1}, transposed_shape[] = {3, 2}, transposed[] = {1, 3},
                        two[] = {2}, one[] = {1};
    test_bytes program = {0};
    test_pickle_begin(&program);
    test_pickle_tensor(&program, "module.w", "FloatStorage", "0", 6, 0, 2, shape, stride);
    test_pickle_tensor(&program, "module.tied", "FloatStorage", "0", 6, 0, 2, shape, stride);
    test_pickle_tensor(&program, "module.transposed", "FloatStorage", "0", 6, 0, 2, transposed_shape, transposed);
    test_pickle_tensor(&program, "module.view", "FloatStorage", "0", 6, 4, 1, two, one);
    test_pickle_tensor(&program, "module.scalar", "FloatStorage", "0", 6, 5, 0, NULL, NULL);
    test_pickle_end(&program);
    test_bytes file = test_torch_file(&program, values, sizeof values);
    aoei_safetensors *s;
    aoe_error err;
    float v[6];
    assert_int_equal(open_file(&s, &file, &err), 0);
    assert_int_equal(aoei_safetensors_count(s), 5);
    aoei_st_to_float(v, aoei_safetensors_find(s, "tied"));
    assert_memory_equal(v, values, sizeof v);
    assert_ptr_equal(aoei_safetensors_find(s, "tied")->data, aoei_safetensors_find(s, "w")->data);
    aoei_st_to_float(v, aoei_safetensors_find(s, "transposed"));
    assert_memory_equal(v, ((float[]){1, 4, 2, 5, 3, 6}), sizeof v);
    aoei_st_to_float(v, aoei_safetensors_find(s, "view"));
    assert_memory_equal(v, ((float[]){5, 6}), 2 * sizeof *v);
    aoei_st_to_float(v, aoei_safetensors_find(s, "scalar"));
    assert_true(v[0] == 6);
    aoei_safetensors_close(s);
    test_bytes_free(&file);
    test_bytes_free(&program);
}

static void reads_data_types(void **state) {
    (void)state;
    static const struct {
        const char *storage;
        aoei_st_dtype dtype;
        unsigned char bytes[16];
        size_t width;
    } types[] = {{"HalfStorage", AOEI_ST_F16, {0x00, 0x3e, 0x00, 0xc0}, 2},
                 {"BFloat16Storage", AOEI_ST_BF16, {0xc0, 0x3f, 0x00, 0xc0}, 2},
                 {"DoubleStorage", AOEI_ST_F32, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        test_bytes program = {0};
        test_pickle_begin(&program);
        test_pickle_tensor(&program, "w", types[i].storage, "0", 2, 0, 1, (size_t[]){2}, (size_t[]){1});
        test_pickle_end(&program);
        test_bytes file = test_torch_file(&program, types[i].bytes, 2 * types[i].width);
        aoei_safetensors *s;
        aoe_error err;
        float v[2];
        assert_int_equal(open_file(&s, &file, &err), 0);
        assert_int_equal(aoei_safetensors_find(s, "w")->dtype, types[i].dtype);
        aoei_st_to_float(v, aoei_safetensors_find(s, "w"));
        assert_true(v[0] == 1.5f && v[1] == -2.0f);
        aoei_safetensors_close(s);
        test_bytes_free(&file);
        test_bytes_free(&program);
    }
}

static void rejects_tensors_outside_their_storage(void **state) {
    (void)state;
    static const char outside[] = "tensor 'w' is not inside its storage";
    expect_rejected(one_tensor(0, 2, (size_t[]){3, 3}, (size_t[]){3, 1}), AOE_EFORMAT, outside);
    expect_rejected(one_tensor(1, 2, (size_t[]){2, 3}, (size_t[]){3, 1}), AOE_EFORMAT, outside);
    expect_rejected(one_tensor(0, 2, (size_t[]){2, 3}, (size_t[]){SIZE_MAX / 4, 1}), AOE_EFORMAT, outside);
    expect_rejected(one_tensor(0, 1, (size_t[]){6}, (size_t[]){0}), AOE_EFORMAT, outside);
    expect_rejected(one_tensor(0, 2, (size_t[]){4, 3}, (size_t[]){1, 1}), AOE_EFORMAT, outside);
    expect_rejected(one_tensor(0, 9, (size_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, (size_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}),
                    AOE_EUNSUPPORTED, "more than 8 dimensions");
    expect_rejected(one_tensor(0, 1, (size_t[]){SIZE_MAX}, (size_t[]){1}), AOE_EFORMAT, "invalid size or stride");
}

static void rejects_storages(void **state) {
    (void)state;
    static const size_t shape[] = {6}, stride[] = {1};
    static const struct {
        const char *storage, *key;
        size_t elements;
        int code;
        const char *message;
    } cases[] = {{"FloatStorage", "1", 6, AOE_EFORMAT, "record 'data/1' of tensor 'w' is missing"},
                 {"FloatStorage", "0", 7, AOE_EFORMAT, "has 24 bytes, which is not the size of its storage"},
                 {"DoubleStorage", "0", 6, AOE_EFORMAT, "not the size of its storage"},
                 {"FloatStorage", "../0", 6, AOE_EFORMAT, "no valid key"},
                 {"ComplexFloatStorage", "0", 6, AOE_EUNSUPPORTED, "'torch.ComplexFloatStorage'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_bytes program = {0};
        test_pickle_begin(&program);
        test_pickle_tensor(&program, "w", cases[i].storage, cases[i].key, cases[i].elements, 0, 1, shape, stride);
        test_pickle_end(&program);
        expect_rejected(test_torch_file(&program, values, sizeof values), cases[i].code, cases[i].message);
        test_bytes_free(&program);
    }
}

static void rejects_programs(void **state) {
    (void)state;
    static const struct {
        const char *program;
        size_t size;
        int code;
        const char *message;
    } cases[] = {
#define PROGRAM(text) text, sizeof(text) - 1
        {PROGRAM("\x80\x02"
                 "cos\nsystem\n(X\x02\0\0\0lstR."),
         AOE_EUNSUPPORTED, "the function or class 'os.system'"},
        {PROGRAM("\x80\x02"
                 "cbuiltins\neval\n."),
         AOE_EUNSUPPORTED, "'builtins.eval'"},
        {PROGRAM("\x80\x04}."), AOE_EUNSUPPORTED, "a pickle protocol other than 2"},
        {PROGRAM("\x80\x02\x93."), AOE_EUNSUPPORTED, "the pickle instruction 0x93 at byte 2"},
        {PROGRAM("\x80\x02"
                 "i"),
         AOE_EUNSUPPORTED, "the pickle instruction 0x69"},
        {PROGRAM("\x80\x02]."), AOE_EUNSUPPORTED, "no dict as its result"},
        {PROGRAM("\x80\x02."), AOE_EFORMAT, "a value is missing"},
        {PROGRAM("\x80\x02}"), AOE_EFORMAT, "the program ends early"},
        {PROGRAM("\x80\x02}.x"), AOE_EFORMAT, "data follows the end of data.pkl"},
        {PROGRAM("\x80\x02}X\xff\xff\xff\xff."), AOE_EFORMAT, "the program ends early"},
        {PROGRAM("\x80\x02}h\x05."), AOE_EFORMAT, "an index of the memo has no value"},
        {PROGRAM("\x80\x02}r\xff\xff\xff\x7f."), AOE_EFORMAT, "an index of the memo is too large"},
        {PROGRAM("\x80\x02}(K\1u."), AOE_EFORMAT, "a dict has a key without a value"},
        {PROGRAM("\x80\x02}u."), AOE_EFORMAT, "a mark is missing"},
        {PROGRAM("\x80\x02}\x8a\x09\1\1\1\1\1\1\1\1\1."), AOE_EUNSUPPORTED, "an integer of more than 64 bits"},
        {PROGRAM("\x80\x02)b."), AOE_EUNSUPPORTED, "an object with attributes"},
        {PROGRAM("\x80\x02]}b."), AOE_EUNSUPPORTED, "an object with attributes"},
        {PROGRAM("\x80\x02)Q."), AOE_EUNSUPPORTED, "a persistent id that is not a storage"},
        {PROGRAM("\x80\x02}X\5\0\0\0model}s."), AOE_EUNSUPPORTED,
         "is a training checkpoint, whose weights are the value 'model'"},
        {PROGRAM("}."), AOE_EFORMAT, "the program does not begin with its protocol"},
#undef PROGRAM
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_rejected(program_file(cases[i].program, cases[i].size), cases[i].code, cases[i].message);
}

/* Attributes of a dict (_metadata) and values that are not tensors are ignored. */
static void ignores_other_values(void **state) {
    (void)state;
    static const char program[] = "\x80\x02"
                                  "ccollections\nOrderedDict\n)Rq\0X\1\0\0\0nK\5s}X\x09\0\0\0_metadatah\0sb.";
    test_bytes file = program_file(program, sizeof program - 1);
    aoei_safetensors *s;
    aoe_error err;
    if (open_file(&s, &file, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoei_safetensors_count(s), 0);
    aoei_safetensors_close(s);
    test_bytes_free(&file);
}

static void rejects_archives(void **state) {
    (void)state;
    static const char program[] = "\x80\x02}.";
    static const struct {
        test_record records[2];
        int code;
        const char *message;
    } cases[] = {
#define RECORD(n) .name = n, .data = program, .size = sizeof program - 1
        {{{RECORD("a/data.pkl"), .method = 8}}, AOE_EUNSUPPORTED, "record 'a/data.pkl' is compressed"},
        {{{RECORD("a/data.pkl"), .flags = 1}}, AOE_EUNSUPPORTED, "record 'a/data.pkl' is encrypted"},
        {{{RECORD("a/data.pkl")}, {RECORD("a/../x")}}, AOE_EFORMAT, "'a/../x' is not a relative path"},
        {{{RECORD("/data.pkl")}}, AOE_EFORMAT, "is not a relative path"},
        {{{RECORD("a\\data.pkl")}}, AOE_EFORMAT, "is not a relative path"},
        {{{RECORD("a/data.pkl")}, {RECORD("b/version")}}, AOE_EFORMAT, "its records are not in one folder"},
        {{{RECORD("a/data.pkl")}, {RECORD("a/data.pkl")}}, AOE_EFORMAT, "two records have the name 'data.pkl'"},
        {{{RECORD("a/data.pkl"), .local = "a/data.pkx"}},
         AOE_EFORMAT,
         "the name in the local header of a record differs"},
        {{{RECORD("a/data.pkl"), .claimed_size = 1000}}, AOE_EFORMAT, "ends beyond its place in the file"},
        {{{RECORD("a/data.pkl"), .claimed_size = 45}, {RECORD("a/version")}}, AOE_EFORMAT, "overlap"},
        {{{RECORD("a/version")}}, AOE_EFORMAT, "there is no record data.pkl"},
        {{{RECORD("a/data.pkl")}, {RECORD("a/constants.pkl")}}, AOE_EUNSUPPORTED, "TorchScript"},
        {{{RECORD("a/data.pkl")}, {RECORD("a/code/x.py")}}, AOE_EUNSUPPORTED, "TorchScript"},
        {{{RECORD("a/data.pkl")}, {.name = "a/byteorder", .data = "big", .size = 3}},
         AOE_EUNSUPPORTED,
         "not little-endian"},
#undef RECORD
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_rejected(test_zip(cases[i].records, cases[i].records[1].name ? 2 : 1), cases[i].code, cases[i].message);
}

/* Returns a file in the format of PyTorch before version 1.6 with one tensor `w` [2, 3] over a storage that the program
 * says to have 6 elements, and the file says to have `elements` elements. */
static test_bytes legacy_file(size_t elements, size_t size) {
    test_bytes program = {0};
    test_pickle_begin(&program);
    test_pickle_tensor(&program, "w", "FloatStorage", "0", 6, 0, 2, (size_t[]){2, 3}, (size_t[]){3, 1});
    test_pickle_end(&program);
    const test_bytes file = test_torch_legacy(&program, elements, values, size);
    test_bytes_free(&program);
    return file;
}

static void reads_legacy_files(void **state) {
    (void)state;
    test_bytes file = legacy_file(6, sizeof values);
    aoei_safetensors *s;
    aoe_error err;
    float v[6];
    assert_int_equal(open_file(&s, &file, &err), 0);
    assert_int_equal(aoei_safetensors_count(s), 1);
    aoei_st_to_float(v, aoei_safetensors_find(s, "w"));
    assert_memory_equal(v, values, sizeof v);
    aoei_safetensors_close(s);
    test_bytes_free(&file);
}

/* Returns legacy_file(6, sizeof values) with the bytes `from`, which it contains once, replaced by `to` of equal
 * length. */
static test_bytes changed(const char *from, const char *to, size_t n) {
    test_bytes file = legacy_file(6, sizeof values);
    for (size_t i = 0; i + n <= file.size; i++)
        if (!memcmp(file.data + i, from, n)) {
            memcpy(file.data + i, to, n);
            return file;
        }
    fail_msg("the file does not contain the bytes");
    return file;
}

static void rejects_legacy_files(void **state) {
    (void)state;
    static const char ends[] = "it ends before the data of its storages";
    expect_rejected(legacy_file(7, sizeof values), AOE_EFORMAT, ends);
    expect_rejected(legacy_file(SIZE_MAX / 2, sizeof values), AOE_EFORMAT, ends);
    expect_rejected(legacy_file(5, sizeof values - 4), AOE_EFORMAT, "not the size of its storage");
    expect_rejected(legacy_file(5, sizeof values), AOE_EFORMAT, "data follows its last storage");
    expect_rejected(changed("M\xe9\x03", "M\xea\x03", 3), AOE_EUNSUPPORTED,
                    "the version of the file format is not 1001");
    expect_rejected(changed("\x88s.", "\x89s.", 3), AOE_EUNSUPPORTED, "is not little-endian");
    expect_rejected(changed("]X\1\0\0\0000", "]X\1\0\0\0001", 7), AOE_EFORMAT,
                    "it contains a storage that no tensor uses");
    expect_rejected(changed("]X\1\0\0\0000", "]X\1\0\0\000/", 7), AOE_EFORMAT, "the key of a storage is not valid");
    expect_rejected(changed("a.", "0.", 2), AOE_EUNSUPPORTED, "the pickle instruction 0x30");
}

/* Every truncation of a file is an error, and never a crash. */
static void rejects_truncated_files(void **state) {
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        test_bytes file = legacy ? legacy_file(6, sizeof values) : one_tensor(0, 2, (size_t[]){2, 3}, (size_t[]){3, 1});
        for (size_t n = 4; n < file.size; n++) {
            unsigned char *part = malloc(n);
            assert_non_null(part);
            memcpy(part, file.data, n);
            aoei_safetensors *s;
            aoe_error err;
            assert_int_not_equal(aoei_safetensors_open_memory(&s, part, n, "x.bin", &err), 0);
            assert_null(s);
            free(part);
        }
        test_bytes_free(&file);
    }
}

/* Tensors that must be copied, but share one storage, must not need much more memory than the file. */
static void limits_copies(void **state) {
    (void)state;
    enum { ROWS = 300, TENSORS = 200 };
    static float storage[ROWS * 2];
    for (size_t n = 2; n <= TENSORS; n += TENSORS - 2) {
        test_bytes program = {0};
        test_pickle_begin(&program);
        for (size_t i = 0; i < n; i++) {
            char name[8];
            snprintf(name, sizeof name, "w%zu", i);
            test_pickle_tensor(&program, name, "FloatStorage", "0", ROWS * 2, 0, 2, (size_t[]){ROWS, 2},
                               (size_t[]){1, ROWS});
        }
        test_pickle_end(&program);
        test_bytes file = test_torch_file(&program, storage, sizeof storage);
        if (n == TENSORS) {
            expect_rejected(file, AOE_EUNSUPPORTED, "more than 4 times the memory of the file");
        } else {
            aoei_safetensors *s;
            assert_int_equal(open_file(&s, &file, NULL), 0);
            aoei_safetensors_close(s);
            test_bytes_free(&file);
        }
        test_bytes_free(&program);
    }
}

static int open_and_close(void *arg) {
    const test_bytes *file = arg;
    aoei_safetensors *s;
    aoe_error err;
    const int rc = open_file(&s, file, &err);
    aoei_safetensors_close(s);
    return rc;
}

static void reports_failed_allocations(void **state) {
    (void)state;
    test_bytes file = one_tensor(0, 2, (size_t[]){3, 2}, (size_t[]){1, 3});
    test_alloc_failures(open_and_close, &file, 0);
    test_bytes_free(&file);
    file = legacy_file(6, sizeof values);
    test_alloc_failures(open_and_close, &file, 0);
    test_bytes_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors),
        cmocka_unit_test(reads_data_types),
        cmocka_unit_test(rejects_tensors_outside_their_storage),
        cmocka_unit_test(rejects_storages),
        cmocka_unit_test(rejects_programs),
        cmocka_unit_test(ignores_other_values),
        cmocka_unit_test(rejects_archives),
        cmocka_unit_test(reads_legacy_files),
        cmocka_unit_test(rejects_legacy_files),
        cmocka_unit_test(rejects_truncated_files),
        cmocka_unit_test(limits_copies),
        cmocka_unit_test(reports_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
