/* SPDX-License-Identifier: MIT
 * Tests static models that are created from text files of word vectors. The tests cover the file formats, the splitting
 * of texts into words, the mean of the vectors of known words, every storage type, malformed int5 models, rejected
 * files, and failed allocations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "aoe_tokenizer.h"
#include "base/dir.h"
#include "base/path.h"
#include "modeldir/safetensors.h"

static char *dir, *out;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    out = test_path(dir, "out");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    free(out);
    return 0;
}

/* Converts the file dir/name to the model `out`. If text is not NULL, first writes text to the file. If o is NULL, uses
 * default options, except that an existing model is replaced. Returns 0 or an error code. */
static int convert(const char *name, const char *text, const aoe_word_vectors_options *o, aoe_word_vectors_result *r,
                   aoe_error *err) {
    aoe_word_vectors_options options = {.struct_size = sizeof(aoe_word_vectors_options), .force = 1};
    aoe_context *ctx = tiny_context(1);
    char *path = text ? test_write_text(dir, name, text) : test_path(dir, name);
    const int rc = aoe_word_vectors(ctx, path, out, o ? o : &options, r, err);
    aoe_context_destroy(ctx);
    free(path);
    return rc;
}

static void convert_ok(const char *name, const char *text, const aoe_word_vectors_options *o,
                       aoe_word_vectors_result *r) {
    aoe_error err = {0};
    if (convert(name, text, o, r, &err))
        fail_msg("%s", err.message);
}

/* Sets v to the embedding of the text, computed with the model in `out`. */
static void embed(const char *text, float v[3]) {
    const aoe_text t = aoe_text_of(text);
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, out, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_model_dims(m), 3);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    if (aoe_embed(e, &t, 1, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Asserts that the embedding of the text is (x, y, z) / n. */
static void check(const char *text, double x, double y, double z, double n) {
    float v[3];
    embed(text, v);
    const double want[] = {x / n, y / n, z / n};
    for (size_t k = 0; k < 3; k++)
        if (!(fabs((double)v[k] - want[k]) <= 1e-6))
            fail_msg("\"%s\": component %zu is %g, expected %g", text, k, (double)v[k], want[k]);
}

static const char vectors[] =
    "the 1 2 3\ncat 10 0 0\nCat 0 10 0\n. 0 0 1\n, 0 0 2\nn't 0.5 .25 -1e-1\ndo 4 0 0\n's 0 4 0\n... 7 7 7\n"
    "e-mail 0 0 8\n\"q\\ 3 3 3\n3.5 1 1 1\n\xc3\xa9t\xc3\xa9 0 0 9\n";

static void means(void **state) {
    (void)state;
    aoe_word_vectors_result r = {.struct_size = sizeof r};
    convert_ok("v.txt", vectors, NULL, &r);
    assert_int_equal(r.words, 13); /* the token for unknown words is not counted */
    assert_int_equal(r.dims, 3);
    assert_int_equal(r.skipped, 0);
    check("the cat", 11, 2, 3, 2);
    check("the Cat", 1, 12, 3, 2);
    check("cat CAT unknown", 10, 0, 0, 1); /* case is significant, and unknown words are skipped */
    check("the cat.", 11, 2, 4, 3);
    check("(the cat), the.", 12, 4, 9, 5);
    check("do n't", 4.5, 0.25, -0.1, 2);
    check("don't.", 4.5, 0.25, 0.9, 3);
    check("the cat's", 11, 6, 3, 3);
    check("the... cat", 18, 9, 10, 3);
    check("e-mail, 3.5", 1, 1, 11, 3);
    check("\xc3\xa9t\xc3\xa9!", 0, 0, 9, 1);
    check("[UNK] nothing", 0, 0, 0, 1);
    check("", 0, 0, 0, 1);
    aoe_tokenizer *t;
    aoe_ids ids = {0};
    const aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .drop_unknown = 1, .no_special_tokens = 1};
    assert_int_equal(aoe_tokenizer_open(&t, out, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("cats catcat the"), &o, &ids, NULL), 0);
    assert_true(ids.n == 1 && ids.id[0] == 0); /* "cats" and "catcat" are unknown, because words are not split into
                                                  pieces */
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

/* Tests words that contain punctuation. Such a word is matched as a whole, unless a letter is adjacent to it in the
 * text. */
static void words_with_punctuation(void **state) {
    (void)state;
    static const char text[] =
        "u.s. 1 0 0\nu.s 0 1 0\n. 0 0 1\nmr. 2 0 0\nmr 0 2 0\ndon't 4 0 0\ndo 0 4 0\nn't 0 0 4\n"
        "he 8 8 8\n( 0 0 16\n) 0 16 0\n.com 0 0 32\ncom 0 32 0\nsite 32 0 0\nAbc. 64 0 0\nabc 0 64 0\n";
    convert_ok("p.txt", text, NULL, NULL);
    check("u.s.", 1, 0, 0, 1);
    check("u.s", 0, 1, 0, 1);
    check("(u.s.)", 1, 16, 16, 3);
    check("mr. he", 10, 8, 8, 2);
    check("don't", 4, 0, 0, 1);
    check("do n't", 0, 4, 4, 2);
    check(".com", 0, 0, 32, 1);
    check("site .com", 32, 0, 32, 2);
    check("Abc.", 64, 0, 0, 1);
    const aoe_word_vectors_options lower = {
        .struct_size = sizeof(aoe_word_vectors_options), .lowercase = 1, .force = 1};
    convert_ok("p.txt", text, &lower, NULL);
    check("U.S. He", 9, 8, 8, 2);
    check("Don't Mr.", 6, 0, 0, 2);
    check("Abc.", 0, 64, 1, 2); /* the text is lowercased, so it does not match the word "Abc." with a capital letter */
}

/* Tests a file with a header line of two counts, CRLF line ends, an empty line, and gzip compression. Words that
 * contain spaces and repeated words must be skipped. The model is stored with every storage type. */
static void file_formats(void **state) {
    (void)state;
    static const char text[] =
        "5 3\r\nthe 1 2 3\r\n. . 9 9 9\r\nname@domain com 9 9 9\r\nthe 8 8 8\r\n\r\ncat 4 5 6\r\n";
    aoe_word_vectors_result r = {.struct_size = sizeof r};
    size_t packed_size;
    char *packed = test_gzip(text, strlen(text), &packed_size);
    for (int storage = AOE_STORAGE_F32; storage <= AOE_STORAGE_INT8 + 1; storage++) { /* the last one: int5
                                                                                         embeddings */
        const int int5 = storage > AOE_STORAGE_INT8;
        const aoe_word_vectors_options o = {.struct_size = sizeof(aoe_word_vectors_options),
                                            .storage = int5 ? AOE_STORAGE_INT8 : (aoe_storage)storage,
                                            .embedding_storage = (aoe_embedding_storage)int5,
                                            .force = 1};
        free(test_write(dir, "v.txt.gz", packed, packed_size));
        convert_ok("v.txt.gz", NULL, &o, &r);
        assert_int_equal(r.words, 2);
        assert_int_equal(r.skipped, 3);
        float v[3];
        embed("the cat the", v);
        const double most = int5 ? 0.1 : 0.02;
        assert_true(fabs((double)v[0] - 2) < most && fabs((double)v[1] - 3) < most && fabs((double)v[2] - 4) < most);
    }
    free(packed);
    const aoe_word_vectors_options lower = {
        .struct_size = sizeof(aoe_word_vectors_options), .lowercase = 1, .force = 1};
    convert_ok("v.txt", vectors, &lower, NULL);
    check("The CAT", 11, 2, 3, 2);
    convert_ok("two.txt", "1 1\n13 8\n", NULL, &r); /* a header line, then the word "13" with one component */
    assert_true(r.words == 1 && r.dims == 1);
}

/* Asserts that the model in `out` cannot be opened, and that the message contains `fragment`. */
static void expect_closed(const char *fragment) {
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_error err = {0};
    assert_int_equal(aoe_model_open(&m, ctx, out, NULL, &err), AOE_EFORMAT);
    if (!strstr(err.message, fragment))
        fail_msg("\"%s\" does not contain \"%s\"", err.message, fragment);
    aoe_context_destroy(ctx);
}

/* Tests int5 models whose rows have 11 values, which are stored in two groups of 8 values. Each value of a row must be
 * at least -15, and each padding value must be 0. The number of values is in config.json, without which a static model
 * of another type can be opened. */
static void malformed_int5_models(void **state) {
    (void)state;
    const aoe_word_vectors_options o = {.struct_size = sizeof(aoe_word_vectors_options),
                                        .storage = AOE_STORAGE_INT8,
                                        .embedding_storage = AOE_EMBEDDING_STORAGE_INT5,
                                        .force = 1};
    aoe_error err;
    aoe_word_vectors_options f32 = o;
    f32.storage = AOE_STORAGE_F32;
    assert_int_equal(convert("v.txt", vectors, &f32, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "requires AOE_STORAGE_INT8 in options.storage"));
    convert_ok("v.txt", "the 1 2 3 4 5 6 7 8 9 10 11\ncat 11 10 9 8 7 6 5 4 3 2 1\n", &o, NULL);
    char *path = test_path(out, "model.safetensors");
    size_t size;
    char *data = test_read(path, &size);
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open_memory(&s, data, size, "m", NULL), 0);
    const aoei_st_tensor *t = aoei_safetensors_find(s, "embeddings");
    const size_t at = (size_t)((const char *)t->data - data);
    assert_int_equal(t->dtype, AOEI_ST_U8);
    assert_int_equal(t->shape[1], 10);
    aoei_safetensors_close(s);
    for (size_t c = 0; c < 16; c++) { /* stores -16 in column c of row 1 */
        char before[5], message[128], *group = data + at + 10 + c / 8 * 5;
        uint64_t bits = 0;
        memcpy(before, group, 5);
        memcpy(&bits, group, 5);
        bits &= ~((uint64_t)31 << c % 8 * 5);
        memcpy(group, &bits, 5);
        free(test_write(out, "model.safetensors", data, size));
        snprintf(message, sizeof message,
                 c < 11
                     ? "tensor 'embeddings' contains -16 at row 1, column %zu, but int5 values must be from -15 to 15"
                     : "the padding of tensor 'embeddings' contains -16 at row 1, column %zu, but it must be 0",
                 c);
        expect_closed(message);
        memcpy(group, before, 5);
    }
    free(test_write(out, "model.safetensors", data, size));
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    assert_int_equal(aoe_model_open(&m, ctx, out, NULL, NULL), 0);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(data);
    free(path);
    convert_ok("v.txt", vectors, &o, NULL);
    free(test_write_text(out, "config.json", "{\"model_type\": \"model2vec\", \"hidden_size\": 9}"));
    expect_closed("the U8 tensor 'embeddings' does not have rows of 10 bytes, which contain 9 int5 values");
    free(test_write_text(out, "config.json", "{}"));
    expect_closed("tensor 'embeddings' is U8, but hidden_size is missing in config.json");
    free(test_write_text(out, "config.json", "{\"hidden_size\": 3}"));
    float v[3];
    embed("the", v);
}

static void expect_file_rejected(const char *name, const char *text, int code, const char *fragment) {
    aoe_error err = {0};
    const int got = convert(name, text, NULL, NULL, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("got code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
}

static void expect_rejected(const char *text, int code, const char *fragment) {
    expect_file_rejected("bad.txt", text, code, fragment);
}

static void rejected_files(void **state) {
    (void)state;
    assert_int_equal(aoei_remove_tree(out, NULL), 0);
    expect_rejected("", AOE_EFORMAT, "bad.txt: the file contains no word vectors");
    expect_rejected("word\n", AOE_EFORMAT, "bad.txt:1: expected a word and its vector, found 1 fields");
    expect_rejected("the 1 2 3\ncat 1 2\n", AOE_EFORMAT, "bad.txt:2: expected a word and 3 numbers");
    expect_rejected("the 1 2 3\ncat 1 x 2\n", AOE_EFORMAT,
                    "bad.txt:2: component 2 is not a finite number; download the file again");
    expect_rejected(
        "text1 text2 label\nthe cat 1\n", AOE_EFORMAT,
        "bad.txt:1: component 1 is not a finite number; the file does not contain word vectors in GloVe format");
    expect_rejected("the 1 2 3\ncat 1 inf 2\n", AOE_EFORMAT, "bad.txt:2: component 2 is not a finite number");
    expect_rejected("the 1 2 3\ncat 1 1e99 2\n", AOE_EFORMAT, "bad.txt:2: component 2 is not a finite number");
    expect_rejected("the 1 2 3\n\xff 1 1 2\n", AOE_EFORMAT, "bad.txt");
    expect_rejected(
        "1000 3\nthe 1 2 3\ncat 4 5 6\n", AOE_EFORMAT,
        "bad.txt: line 1 announces 1000 words, but 2 follow (the file is truncated); download the file again");
    expect_rejected("1 3\nthe 1 2 3\ncat 4 5 6\n", AOE_EFORMAT, "line 1 announces 1 words, but 2 follow; download");
    expect_rejected("2 4\nthe 1 2 3\ncat 4 5 6\n", AOE_EFORMAT,
                    "bad.txt:2: line 1 announces vectors with 4 components");
    expect_rejected("2 3\nthe \x01\x02\x3f\n", AOE_EUNSUPPORTED, "bad.txt: binary word2vec vectors are not supported");
    expect_rejected("2 3\nthe \xcd\xcc\x8c\x3f\xcd\xcc\n", AOE_EUNSUPPORTED,
                    "binary word2vec vectors are not supported");
    expect_rejected("\xba\x16\x4f\x2f", AOE_EUNSUPPORTED, "bad.txt: a binary model of fastText is not supported");
    expect_file_rejected("v.npz", "PK\x03\x04...", AOE_EUNSUPPORTED,
                         "v.npz: a NumPy archive is not supported; write its words");
    expect_file_rejected("v.kv", "\x80\x04\x95.", AOE_EUNSUPPORTED,
                         "v.kv: vectors of gensim (a Python pickle) are not supported");
    expect_file_rejected("v.kv", "\x80\x04\x95.", AOE_EUNSUPPORTED, "v.kv').save_word2vec_format('vectors.txt')");
    expect_file_rejected("v.MODEL", "\x80\x02.", AOE_EUNSUPPORTED, "v.MODEL').wv.save_word2vec_format('vectors.txt')");
    expect_file_rejected("v.kv.vectors.npy", "\x93NUMPY\x01", AOE_EUNSUPPORTED,
                         "a NumPy array without words is not supported");
    expect_file_rejected("v.zip", "PK\x03\x04...", AOE_EFORMAT, "v.zip: the file is a ZIP archive");
    assert_false(aoei_exists(out)); /* a rejected file leaves no output */
    convert_ok("v.txt", vectors, NULL, NULL);
    const aoe_word_vectors_options keep = {.struct_size = sizeof(aoe_word_vectors_options), .force = 0};
    aoe_error err = {0};
    assert_int_equal(convert("v.txt", vectors, &keep, NULL, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "already contains a model"));
}

static int has_config(const char *model) {
    char *path = test_path(model, "config.json");
    const int there = aoei_exists(path);
    free(path);
    return there;
}

static int run_failing(void *arg) {
    const aoe_word_vectors_options o = {.struct_size = sizeof(aoe_word_vectors_options), .force = 1};
    aoe_context *ctx;
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = 1;
    int code = aoe_context_create(&ctx, &c, NULL);
    if (code)
        return code;
    code = aoe_word_vectors(ctx, arg, out, &o, NULL, NULL);
    aoe_context_destroy(ctx);
    if (!code)
        assert_true(has_config(out));
    return code;
}

static void out_of_memory(void **state) {
    (void)state;
    char *path = test_write_text(dir, "v.txt", vectors);
    assert_true(test_alloc_failures_published(run_failing, path, 0) > 50);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means),          cmocka_unit_test(words_with_punctuation),
        cmocka_unit_test(file_formats),   cmocka_unit_test(malformed_int5_models),
        cmocka_unit_test(rejected_files), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("word_vectors", tests, set_up, tear_down);
}
