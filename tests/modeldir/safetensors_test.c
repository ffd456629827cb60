/* SPDX-License-Identifier: MIT
 * covers: base/git_lfs modeldir/safetensors_writer
 * Tests reading and writing safetensors files. The bytes of a written file and the values of read tensors are compared
 * with expected bytes and values. Files with invalid headers, invalid tensors, or an invalid index of shards must be
 * rejected with a message.
 */
#include "../support/model_dir.h"
#include "../support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "modeldir/safetensors.h"
#include "modeldir/safetensors_writer.h"

/* Returns the contents of a safetensors file: the length of the header, the header, and `data` zero bytes. The caller
 * frees the result. */
static char *make_file(const char *header, size_t data, size_t *size) {
    uint64_t n = strlen(header);
    char *file = calloc(1, 8 + n + data);
    assert_non_null(file);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    *size = 8 + n + data;
    return file;
}

/* Asserts that a file with this header and `data` bytes of data is rejected with the error `code` and a message that
 * contains `fragment`. */
static void expect_rejected(const char *header, size_t data, int code, const char *fragment) {
    aoei_safetensors *s;
    aoe_error err;
    size_t size;
    char *file = make_file(header, data, &size);
    assert_int_equal(aoei_safetensors_open_memory(&s, file, size, "x.safetensors", &err), code);
    assert_null(s);
    assert_int_equal(err.code, code);
    FRAGMENT(err, "x.safetensors: ");
    FRAGMENT(err, fragment);
    free(file);
}

static void writes_exact_bytes(void **state) {
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
        "\"a\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[8,14]}}";
    const aoei_st_entry entries[] = {{"b", AOEI_ST_F32, 2, {2, 1}}, {"a", AOEI_ST_BF16, 1, {3}}};
    const float b[] = {1.5f, -2.0f};
    const uint16_t a[] = {0x3f80, 0xbf80, 0};
    char *dir = test_dir_create(), *path = test_path(dir, "x.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, entries, 2, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, b, 5, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, (const char *)b + 5, 3, NULL), 0);
    assert_null(test_read(path, NULL));
    assert_int_equal(aoei_st_writer_write(w, a, sizeof a, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    size_t size;
    char *file = test_read(path, &size);
    uint64_t n;
    memcpy(&n, file, 8);
    assert_int_equal((8 + n) % 64, 0);
    assert_int_equal(size, 8 + n + 14);
    assert_memory_equal(file + 8, header, strlen(header));
    for (size_t i = 8 + strlen(header); i < 8 + n; i++)
        assert_int_equal(file[i], ' ');
    assert_memory_equal(file + 8 + n, b, 8);
    assert_memory_equal(file + 16 + n, a, 6);
    free(file);
    free(path);
    test_dir_remove(dir);
}

static void checks_number_of_bytes(void **state) {
    (void)state;
    const aoei_st_entry entry = {"a", AOEI_ST_F32, 1, {2}};
    const float data[3] = {0};
    char *dir = test_dir_create(), *path = test_path(dir, "x.safetensors");
    aoei_st_writer *w;
    aoe_error err;
    assert_int_equal(aoei_st_writer_open(&w, path, &entry, 1, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, data, 12, &err), AOE_EARG);
    FRAGMENT(err, "4 more bytes were written than the tensors have");
    assert_int_equal(aoei_st_writer_write(w, data, 4, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, &err), AOE_EARG);
    FRAGMENT(err, "4 bytes of the tensors were not written");
    assert_int_equal(test_count_entries(dir), 0);
    assert_int_equal(aoei_st_writer_open(&w, path, &entry, 1, NULL), 0);
    aoei_st_writer_abort(w);
    aoei_st_writer_abort(NULL);
    assert_int_equal(test_count_entries(dir), 0);
    free(path);
    test_dir_remove(dir);
}

static void reads_tensors(void **state) {
    (void)state;
    size_t size;
    char *file =
        make_file("{\"__metadata__\":{\"x\":\"y\"},\"w.b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                  "\"w.a\":{\"dtype\":\"I64\",\"shape\":[2,1],\"data_offsets\":[8,24]},"
                  "\"none\":{\"dtype\":\"F16\",\"shape\":[0,3],\"data_offsets\":[4,4]},"
                  "\"new\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[24,26]}}",
                  32, &size);
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open_memory(&s, file, size, "x", NULL), 0);
    assert_int_equal(aoei_safetensors_count(s), 4);
    assert_string_equal(aoei_safetensors_at(s, 0)->name, "new");
    assert_string_equal(aoei_safetensors_at(s, 3)->name, "w.b");
    assert_null(aoei_safetensors_find(s, "w"));
    assert_null(aoei_safetensors_find(s, "__metadata__"));
    const aoei_st_tensor *t = aoei_safetensors_find(s, "w.a");
    assert_non_null(t);
    assert_int_equal(t->dtype, AOEI_ST_I64);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->shape[0], 2);
    assert_int_equal(t->bytes, 16);
    assert_int_equal(aoei_st_elements(t), 2);
    assert_ptr_equal(t->data, file + size - 32 + 8);
    assert_string_equal(aoei_safetensors_path(s, t), "x");
    assert_int_equal(aoei_st_elements(aoei_safetensors_find(s, "w.b")), 1);
    assert_int_equal(aoei_st_elements(aoei_safetensors_find(s, "none")), 0);
    assert_int_equal(aoei_safetensors_find(s, "new")->dtype, AOEI_ST_OTHER);
    assert_string_equal(aoei_st_dtype_name(AOEI_ST_BF16), "BF16");
    assert_string_equal(aoei_st_dtype_name(AOEI_ST_OTHER), "unsupported");
    aoei_safetensors_close(s);
    aoei_safetensors_close(NULL);
    free(file);
}

static void opens_a_file_without_tensors(void **state) {
    (void)state;
    size_t size;
    char *file = make_file("{}", 0, &size);
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open_memory(&s, file, size, "x", NULL), 0);
    assert_int_equal(aoei_safetensors_count(s), 0);
    assert_null(aoei_safetensors_find(s, "a"));
    aoei_safetensors_close(s);
    free(file);
}

static void converts_half_precision(void **state) {
    (void)state;
    static const uint16_t half[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0400,
                                    0x0001, 0x83ff, 0x7c00, 0xfc00, 0x7e00, 0x3555};
    static const float want[] = {0.0f,     -0.0f,     1.0f, -2.0f,      65504.0f, 0x1p-14f, 0x1p-24f, -1023 * 0x1p-24f,
                                 INFINITY, -INFINITY, NAN,  0x1.554p-2f};
    float out[12];
    aoei_st_tensor t = {
        .dtype = AOEI_ST_F16, .n_dims = 1, .shape = {12}, .data = (const unsigned char *)half, .bytes = 24};
    aoei_st_to_float(out, &t);
    for (size_t i = 0; i < 12; i++)
        if (isnan(want[i]))
            assert_true(isnan(out[i]));
        else
            assert_memory_equal(&out[i], &want[i], 4);
    static const uint16_t brain[] = {0x3f80, 0xc000, 0x7f80, 0x0001};
    static const float brain_want[] = {1.0f, -2.0f, INFINITY, 0x1p-133f};
    t = (aoei_st_tensor){
        .dtype = AOEI_ST_BF16, .n_dims = 1, .shape = {4}, .data = (const unsigned char *)brain, .bytes = 8};
    aoei_st_to_float(out, &t);
    assert_memory_equal(out, brain_want, sizeof brain_want);
    t = (aoei_st_tensor){
        .dtype = AOEI_ST_F32, .n_dims = 1, .shape = {4}, .data = (const unsigned char *)brain_want, .bytes = 16};
    aoei_st_to_float(out, &t);
    assert_memory_equal(out, brain_want, sizeof brain_want);
}

static void rejects_invalid_lengths(void **state) {
    (void)state;
    static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\x7f{}", longer[] = "\x03\0\0\0\0\0\0\0{}",
                      /* the header length is 100,000,001 bytes, which is above the maximum */
        over[] = "\x01\xe1\xf5\x05\0\0\0\0{}";
    aoei_safetensors *s;
    aoe_error err;
    assert_int_equal(aoei_safetensors_open_memory(&s, huge, 0, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: the file is truncated: it has only 0 bytes");
    assert_int_equal(aoei_safetensors_open_memory(&s, huge, 7, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: the file is truncated: it has only 7 bytes");
    assert_int_equal(aoei_safetensors_open_memory(&s, huge, 10, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: the length of the header is 9223372036854775807 bytes, but at most 100000000 are allowed");
    assert_int_equal(aoei_safetensors_open_memory(&s, over, 10, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: the length of the header is 100000001 bytes, but at most 100000000");
    assert_int_equal(aoei_safetensors_open_memory(&s, longer, 10, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: the file is truncated: the length of the header is 3 bytes, but only 2 bytes follow");
    assert_null(s);
}

static void recognizes_a_git_lfs_pointer(void **state) {
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n";
    aoei_safetensors *s;
    aoe_error err;
    assert_int_equal(aoei_safetensors_open_memory(&s, pointer, sizeof pointer - 1, "x", &err), AOE_EFORMAT);
    FRAGMENT(err, "x: this is a Git LFS pointer, not the file itself; run 'git lfs pull'");
    char *dir = test_dir_create(), *path = test_write_text(dir, "tokenizer.json", pointer);
    json_t *root;
    assert_int_equal(aoei_json_load(&root, path, &err), AOE_EFORMAT);
    FRAGMENT(err, "tokenizer.json: this is a Git LFS pointer");
    free(path);
    test_dir_remove(dir);
}

static void rejects_invalid_headers(void **state) {
    (void)state;
    expect_rejected("{\"a\":", 8, AOE_EFORMAT, "the header is not valid JSON at byte 13");
    expect_rejected("[]", 8, AOE_EFORMAT, "the header is not a JSON object");
    expect_rejected(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[4,8]}}",
        8, AOE_EFORMAT, "duplicate");
    expect_rejected(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[4,8]}}",
        8, AOE_EFORMAT, "tensors 'a' and 'b' overlap");
    expect_rejected(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[0,4]}}",
        8, AOE_EFORMAT, "overlap");
}

static void rejects_invalid_tensors(void **state) {
    (void)state;
    expect_rejected("{\"a\":7}", 8, AOE_EFORMAT, "tensor 'a' has no dtype");
    expect_rejected("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 8, AOE_EFORMAT, "tensor 'a' has no dtype");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 8, AOE_EFORMAT, "tensor 'a' has no shape");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 8, AOE_EFORMAT,
                    "tensor 'a' has no valid data_offsets");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 8, AOE_EFORMAT,
                    "no valid data_offsets");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, AOE_EFORMAT,
                    "no valid data_offsets");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}}", 8, AOE_EFORMAT,
                    "no valid data_offsets");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 8, AOE_EFORMAT,
                    "invalid shape (dimension 0)");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 8,
                    AOE_EFORMAT, "invalid shape (dimension 1)");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,4]}}", 8,
                    AOE_EFORMAT, "has 4 bytes");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 8, AOE_EFORMAT,
                    "tensor 'a' of type F32 has 4 bytes, but its shape requires 8");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 8,
                    AOE_EUNSUPPORTED, "9 dimensions");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[4,20]}}", 10, AOE_EFORMAT,
                    "the file is truncated: tensor 'a' has 16 bytes at offset 4, but the file contains only 6 of them");
    expect_rejected(
        "{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[9223372036854775806,9223372036854775807]}}", 10,
        AOE_EFORMAT,
        "the file is truncated: tensor 'a' has 1 bytes at offset 9223372036854775806, but the file contains only "
        "0 of them");
    expect_rejected("{\"evil\\nname\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 8, AOE_EFORMAT,
                    "tensor 'evil?name'");
}

/* Writes a file with two tensors that have one element each. Their names are `tensor` and "both", and both elements are
 * `value`. */
static void write_shard(const char *dir, const char *name, const char *tensor, float value) {
    const aoei_st_entry entries[] = {{tensor, AOEI_ST_F32, 1, {1}}, {"both", AOEI_ST_F32, 1, {1}}};
    char *path = test_path(dir, name);
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, entries, 2, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, &value, 4, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, &value, 4, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
}

static int open_index(const char *dir, const char *index, aoei_safetensors **s, aoe_error *err) {
    free(test_write_text(dir, "model.safetensors.index.json", index));
    return aoei_safetensors_open_dir(s, dir, err);
}

static void reads_shards(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_safetensors *s;
    aoe_error err;
    float v;
    assert_int_equal(aoei_safetensors_open_dir(&s, dir, &err), AOE_ENOENT);
    FRAGMENT(err, "neither model.safetensors nor pytorch_model.bin");
    write_shard(dir, "one.safetensors", "a", 1);
    write_shard(dir, "two.safetensors", "b", 2);
    assert_int_equal(
        open_index(
            dir, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\",\"both\":\"two.safetensors\"}}",
            &s, &err),
        0);
    assert_int_equal(aoei_safetensors_count(s), 3);
    aoei_st_to_float(&v, aoei_safetensors_find(s, "both"));
    assert_true(v == 2);
    assert_non_null(strstr(aoei_safetensors_path(s, aoei_safetensors_find(s, "a")), "/one.safetensors"));
    aoei_safetensors_close(s);
    test_dir_remove(dir);
}

static void rejects_invalid_indexes(void **state) {
    (void)state;
    static const struct {
        const char *index, *fragment;
        int code;
    } cases[] = {
        {"{", "index.json:1: ", AOE_EFORMAT},
        {"{}", "weight_map is missing or empty", AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":\"../one.safetensors\"}}", "the weight_map entry of 'a' is not a plain file name",
         AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":\"/one.safetensors\"}}", "not a plain file name", AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":\"..\"}}", "not a plain file name", AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":\"\"}}", "not a plain file name", AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":7}}", "not a plain file name", AOE_EFORMAT},
        {"{\"weight_map\":{\"a\":\"three.safetensors\"}}", "three.safetensors", AOE_ENOENT},
        {"{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"one.safetensors\"}}",
         "tensor 'b' is not in one.safetensors", AOE_EFORMAT},
    };
    char *dir = test_dir_create();
    write_shard(dir, "one.safetensors", "a", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_safetensors *s;
        aoe_error err;
        assert_int_equal(open_index(dir, cases[i].index, &s, &err), cases[i].code);
        assert_null(s);
        FRAGMENT(err, cases[i].fragment);
    }
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_exact_bytes),
        cmocka_unit_test(checks_number_of_bytes),
        cmocka_unit_test(reads_tensors),
        cmocka_unit_test(opens_a_file_without_tensors),
        cmocka_unit_test(converts_half_precision),
        cmocka_unit_test(rejects_invalid_lengths),
        cmocka_unit_test(recognizes_a_git_lfs_pointer),
        cmocka_unit_test(rejects_invalid_headers),
        cmocka_unit_test(rejects_invalid_tensors),
        cmocka_unit_test(reads_shards),
        cmocka_unit_test(rejects_invalid_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
