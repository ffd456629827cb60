/* SPDX-License-Identifier: MIT
 * Tests the conversion of model directories. Weights must be rounded correctly to every storage type. Conversions that
 * lose no information must give equal bytes. Other files and settings must be copied. Malformed int8 and int5 files
 * must be rejected.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/bf16.h"
#include "base/dir.h"
#include "base/path.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "modeldir/storage.h"
#include "model/open.h"
#include "model/save.h"
#include "model/weight_view.h"

#define MATRIX "encoder.layer.0.output.dense.weight" /* [8, 12] */
#define TABLE  "embeddings.word_embeddings.weight"   /* [16, 8] */

/* int8 with int5 token embeddings, in addition to the values of aoe_storage */
enum { INT5_EMBEDDINGS = AOE_STORAGE_INT8 + 1 };

/* Returns options that select a storage type: a value of aoe_storage or INT5_EMBEDDINGS. */
static aoe_convert_options options_of(int storage) {
    const int int5 = storage == INT5_EMBEDDINGS;
    return (aoe_convert_options){.struct_size = sizeof(aoe_convert_options),
                                 .table = {.struct_size = sizeof(aoe_table_options)},
                                 .storage = int5 ? AOE_STORAGE_INT8 : (aoe_storage)storage,
                                 .embedding_storage = int5 ? AOE_EMBEDDING_STORAGE_INT5 : AOE_EMBEDDING_STORAGE_AUTO};
}

/* Returns the name of a storage type in the result of a conversion. */
static const char *name_of(int storage) {
    const aoe_convert_options o = options_of(storage);
    return aoei_storage_name(o.storage, o.embedding_storage);
}

/* Creates the model test_dir/in. Each of its settings has a value. Returns the path of the model, which the caller
 * frees. */
static char *make_input(const test_model_spec *spec) {
    char *in = test_path(test_dir, "in");
    assert_int_equal(aoei_make_dir(in, NULL), 0);
    test_model_write(in, spec);
    free(test_write_text(
        in, "aoe.json",
        "{\"format_version\": 1, \"pooling\": \"cls-last-avg\", \"prompts\": {\"default\": \"q: {text}\", "
        "\"other\": \"o: {text}\"}, \"max_length\": 9, \"normalize\": true, \"lowercase\": true, "
        "\"training\": {\"steps\": 7}}"));
    return in;
}

static aoe_convert_result convert(const char *from, const char *to, int storage) {
    char *a = test_path(test_dir, from), *b = test_path(test_dir, to);
    const aoe_convert_options o = options_of(storage);
    aoe_convert_result r = {.struct_size = sizeof r};
    aoe_error err;
    if (aoe_convert(test_model_context, a, b, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_string_equal(r.to, name_of(storage));
    free(a);
    free(b);
    return r;
}

static aoe_model *open_model(const char *name) {
    char *path = test_path(test_dir, name);
    aoe_model *m;
    aoe_error err;
    if (aoei_model_open_trainable(&m, test_model_context, path, NULL, &err))
        fail_msg("%s", err.message);
    free(path);
    return m;
}

/* Asserts that the directories test_dir/a and test_dir/b contain the same files with equal bytes. If `all` is 0,
 * model.safetensors may differ. */
static void expect_equal_files(const char *a, const char *b, int all) {
    char **names, *x = test_path(test_dir, a), *y = test_path(test_dir, b);
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, x, NULL), 0);
    assert_int_equal(test_count_entries(y), n);
    for (size_t i = 0; i < n; i++) {
        char *p = test_path(x, names[i]), *s = NULL, *t = NULL;
        const int weights = !strcmp(names[i], "model.safetensors");
        if (aoei_is_dir(p)) {
            char *in_a = test_path(a, names[i]), *in_b = test_path(b, names[i]);
            expect_equal_files(in_a, in_b, all);
            free(in_a);
            free(in_b);
        } else if (all || !weights) {
            size_t na, nb = 0;
            char *q = test_path(y, names[i]);
            s = test_read(p, &na);
            t = test_read(q, &nb);
            free(q);
            if (!s || !t || na != nb || memcmp(s, t, na) != 0)
                fail_msg("%s/%s differs from the file in %s", b, names[i], a);
        }
        free(s);
        free(t);
        free(p);
    }
    aoei_list_free(names, n);
    free(x);
    free(y);
}

/* Saves m to test_dir/name as F32 with random weights of all magnitudes, including subnormal numbers, -0 and rows of
 * zeros. */
static void save_extreme_weights(const aoe_model *m, const char *name) {
    const size_t n = aoei_slot_count(&m->config);
    aoei_tensor *weights = calloc(n, sizeof *weights);
    float *values = calloc(n, TEST_VOCAB * TEST_INTERMEDIATE * sizeof *values);
    aoe_model *view;
    aoei_rng rng;
    assert_true(weights && values);
    aoei_rng_init(&rng, 5, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < n; i++) {
        const aoei_tensor t = m->weights[i];
        float *v = values + i * TEST_VOCAB * TEST_INTERMEDIATE;
        for (size_t k = 0; k < t.rows * t.cols; k++) {
            const int exponent = (int)(k / t.cols * 37 % 200) - 126 - (int)aoei_rng_below(&rng, 24);
            v[k] = aoei_rng_below(&rng, 9) ? ldexpf((float)aoei_rng_normal(&rng), exponent) : -0.0f;
        }
        for (size_t k = 0; t.rows > 3 && k < t.cols; k++)
            v[2 * t.cols + k] = k % 2 ? 0 : -0.0f; /* a row of zeros */
        weights[i] = aoei_tensor_wrap(v, t.rows, t.cols);
    }
    assert_int_equal(aoei_model_view(&view, m, weights, NULL), 0);
    char *to = test_path(test_dir, name);
    assert_int_equal(aoei_model_save(view, to, m->files.record, NULL), 0);
    free(to);
    aoe_model_close(view);
    free(weights);
    free(values);
}

/* Rounds the row v [n] of a weight to the storage type, as the conversion must do. */
static void round_row(float *v, size_t n, int storage, const aoei_slot *slot) {
    const int scaled = storage >= AOE_STORAGE_INT8 && !slot->vector;
    int8_t q[TEST_VOCAB * TEST_INTERMEDIATE];
    unsigned char packed[TEST_VOCAB * TEST_INTERMEDIATE / 8 * 5 + 5];
    float scale = 0;
    if (scaled && slot->table && storage == INT5_EMBEDDINGS) {
        scale = aoei_int5_row(packed, v, n);
        aoei_int5_unpack(q, packed, n);
    } else if (scaled) {
        scale = aoei_int8_row(q, v, n);
    }
    for (size_t i = 0; i < n; i++)
        v[i] = storage == AOE_STORAGE_BF16 ? aoei_bf16_to_f32(aoei_bf16_from_f32(v[i]))
               : scaled                    ? (float)q[i] * scale
                                           : v[i];
}

/* Asserts that each weight of the model test_dir/to is the weight of test_dir/from rounded to the storage type. */
static void check_rounded(const char *from, const char *to, int storage) {
    aoe_model *a = open_model(from), *b = open_model(to);
    for (size_t i = 0; i < aoei_slot_count(&a->config); i++) {
        float x[TEST_VOCAB * TEST_INTERMEDIATE], y[TEST_VOCAB * TEST_INTERMEDIATE];
        const aoei_tensor t = a->weights[i];
        aoei_slot slot;
        aoei_slot_describe(&a->config, i, &slot);
        aoei_tensor_read(test_model_context, x, t);
        aoei_tensor_read(test_model_context, y, b->weights[i]);
        for (size_t r = 0; r < t.rows; r++)
            round_row(x + r * t.cols, t.cols, storage, &slot);
        assert_memory_equal(x, y, t.rows * t.cols * sizeof *x);
    }
    assert_string_equal(b->files.storage, name_of(storage));
    aoe_model_close(a);
    aoe_model_close(b);
}

/* Tests conversions that must not change any byte: from each storage type to itself, and to float32 and back. */
static void round_trips_are_exact(void **state) {
    (void)state;
    free(make_input(&(test_model_spec){.pooler = 1, .prefix = "bert."}));
    aoe_model *m = open_model("in");
    save_extreme_weights(m, "extreme");
    aoe_model_close(m);
    for (int s = AOE_STORAGE_F32; s <= INT5_EMBEDDINGS; s++) {
        char first[8], again[8], as_f32[8], back[8];
        snprintf(first, sizeof first, "a%d", s);
        snprintf(again, sizeof again, "b%d", s);
        snprintf(as_f32, sizeof as_f32, "c%d", s);
        snprintf(back, sizeof back, "d%d", s);
        const aoe_convert_result stored = convert("extreme", first, s);
        assert_string_equal(stored.from, "F32");
        check_rounded("extreme", first, s);
        const aoe_convert_result copied = convert(first, again, s);
        assert_int_equal(copied.bytes_from, copied.bytes_stored);
        assert_int_equal(copied.bytes_from, stored.bytes_stored);
        assert_string_equal(copied.from, copied.to);
        expect_equal_files(first, again, 1);
        const aoe_convert_result widened = convert(first, as_f32, AOE_STORAGE_F32);
        assert_int_equal(widened.bytes_stored, 4 * widened.parameters);
        check_rounded(first, as_f32, AOE_STORAGE_F32);
        convert(as_f32, back, s);
        expect_equal_files(first, back, 1);
        expect_equal_files("extreme", as_f32, s == AOE_STORAGE_F32);
    }
    expect_equal_files("extreme", "a0", 1);
}

/* Returns the contents of the file test_dir/name/file, which the caller frees. */
static char *text_of(const char *name, const char *file) {
    char *folder = test_path(test_dir, name), *path = test_path(folder, file), *text = test_read(path, NULL);
    free(folder);
    free(path);
    if (!text)
        fail_msg("%s/%s is missing", name, file);
    return text;
}

/* Asserts that the file test_dir/name/file contains `fragment` if yes is 1, and does not contain it if yes is 0. */
static void expect_text(const char *name, const char *file, const char *fragment, int yes) {
    char *text = text_of(name, file);
    if (!strstr(text, fragment) != !yes)
        fail_msg("%s/%s %s \"%s\"", name, file, yes ? "does not contain" : "contains", fragment);
    free(text);
}

static void copies_files_and_settings(void **state) {
    (void)state;
    static const char *const torch[] = {"\"torch_dtype\": \"float32\"", "\"torch_dtype\": \"bfloat16\"",
                                        "\"torch_dtype\": \"float32\"", "\"torch_dtype\": \"float32\""};
    free(make_input(&(test_model_spec){.pooler = 1, .shards = 2, .dtype = AOEI_ST_F16}));
    for (int s = AOE_STORAGE_F32; s <= INT5_EMBEDDINGS; s++) {
        const int int8 = s >= AOE_STORAGE_INT8;
        char to[8];
        snprintf(to, sizeof to, "%d", s);
        assert_string_equal(convert("in", to, s).from, "F16");
        aoe_model *m = open_model(to);
        assert_int_equal(m->settings.pooling, AOE_POOLING_CLS_LAST_AVG);
        assert_string_equal(m->settings.prompt, "q: {text}");
        assert_string_equal(json_string_value(json_object_get(m->settings.prompts, "other")), "o: {text}");
        assert_int_equal(m->settings.max_length, 9);
        assert_true(m->settings.normalize && m->settings.lowercase);
        assert_int_equal(json_integer_value(json_object_get(m->files.record, "steps")), 7);
        const aoei_st_tensor *t = aoei_safetensors_find(m->files.weights, "pooler.dense.weight");
        const aoei_st_tensor *bias = aoei_safetensors_find(m->files.weights, "pooler.dense.bias");
        assert_true(t && bias);
        assert_int_equal(t->dtype, s == AOE_STORAGE_F32    ? AOEI_ST_F32
                                   : s == AOE_STORAGE_BF16 ? AOEI_ST_BF16
                                                           : AOEI_ST_I8);
        assert_int_equal(bias->dtype, s == AOE_STORAGE_BF16 ? AOEI_ST_BF16 : AOEI_ST_F32);
        float v[TEST_HIDDEN * TEST_HIDDEN];
        aoei_st_to_float(v, t);
        /* the magnitudes are at most 1/2, so a quantization step of int8 is at most 0.5 / 127, and rounding changes a
         * value by half a step */
        for (size_t i = 0; i < sizeof v / sizeof *v; i++)
            assert_true(fabsf(v[i] - test_model_value(1000, i)) <= (t->scale ? 0.5f / 127 / 2 : 0));
        aoe_model_close(m);
        expect_text(to, "config.json", torch[s], 1);
        expect_text(to, "config.json", "\"note\": \"kept\"", 1);
        /* sentence-transformers must reject int8 weights, because it does not apply their scales */
        expect_text(to, "modules.json", "sentence_transformers.models.Pooling", !int8);
        expect_text(to, "modules.json", "sentence_transformers.models.AoeInt8", int8);
        expect_text(to, "vocab.txt", "[CLS]", 1);
        expect_text(to, "README.md", "with float32 weights (`aoe convert`)", int8);
        expect_text(to, "README.md", "from sentence_transformers import", !int8);
        expect_text(to, "README.md", "the token embeddings as int5", s == INT5_EMBEDDINGS);
    }
}

/* Tests that a model with the storage type and its conversion to float32 give equal embeddings. */
static void expect_equal_embeddings(int storage) {
    static const char *const names[] = {"small", "f32"};
    free(make_input(NULL));
    convert("in", "small", storage);
    convert("small", "f32", AOE_STORAGE_F32);
    float v[2][TEST_HIDDEN];
    for (int i = 0; i < 2; i++) {
        char *path = test_path(test_dir, names[i]);
        const aoe_text text = aoe_text_of("a b c");
        aoe_model *m;
        aoe_embedder *e;
        aoe_memory_plan plan = {.struct_size = sizeof plan};
        assert_int_equal(aoe_model_open(&m, test_model_context, path, NULL, NULL), 0);
        assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
        assert_int_equal(aoe_embed(e, &text, 1, v[i], NULL, NULL), 0);
        assert_int_equal(
            aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 2, .length = 4},
                           &plan, NULL),
            0);
        assert_int_equal(plan.weights, m->files.stored_bytes);
        assert_int_equal(m->weights[AOEI_W_WORD].type, i == 0 ? AOEI_I8 : AOEI_F32);
        aoe_embedder_destroy(e);
        aoe_model_close(m);
        free(path);
    }
    assert_memory_equal(v[0], v[1], sizeof v[0]);
}

static void int8_embeds_like_its_float32_conversion(void **state) {
    (void)state;
    expect_equal_embeddings(AOE_STORAGE_INT8);
}

static void int5_embeds_like_its_float32_conversion(void **state) {
    (void)state;
    expect_equal_embeddings(INT5_EMBEDDINGS);
}

static void count_warning(void *user, aoe_log_level level, const char *message) {
    if (strstr(message, "unknown key \"note\"")) /* a key of the model's config.json */
        return;
    assert_int_equal(level, AOE_LOG_WARNING);
    test_message(message, "/out: only aoe reads int8 weights");
    ++*(int *)user;
}

static void checks_the_request(void **state) {
    (void)state;
    char *in = make_input(NULL), *out = test_path(test_dir, "out"), *none = test_path(test_dir, "none");
    int warnings = 0;
    aoe_context *ctx;
    aoe_convert_options o;
    aoe_error err;
    assert_int_equal(aoe_context_create(&ctx,
                                        &(aoe_context_options){.struct_size = sizeof(aoe_context_options),
                                                               .threads = 1,
                                                               .log = count_warning,
                                                               .log_user = &warnings},
                                        NULL),
                     0);
    aoe_convert_options_defaults(&o);
    assert_true(o.storage == AOE_STORAGE_F32 && !o.force);
    o.storage = (aoe_storage)3;
    assert_int_equal(aoe_convert(ctx, in, out, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err, "options.storage is 3; use AOE_STORAGE_F32");
    o.storage = AOE_STORAGE_BF16;
    o.embedding_storage = AOE_EMBEDDING_STORAGE_INT5;
    assert_int_equal(aoe_convert(ctx, in, out, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err,
             "AOE_EMBEDDING_STORAGE_INT5 in options.embedding_storage requires AOE_STORAGE_INT8 in options.storage");
    o.embedding_storage = (aoe_embedding_storage)2;
    o.storage = AOE_STORAGE_INT8;
    assert_int_equal(aoe_convert(ctx, in, out, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err, "options.embedding_storage is 2; use AOE_EMBEDDING_STORAGE_AUTO");
    o.embedding_storage = AOE_EMBEDDING_STORAGE_AUTO;
    assert_int_equal(aoe_convert(ctx, in, in, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err, "the same directory; choose another output, or use options.force");
    assert_int_equal(aoe_convert(ctx, none, out, &o, NULL, &err), AOE_ENOENT);
    FRAGMENT(err, "/none: no such directory");
    assert_false(aoei_exists(out));
    assert_int_equal(aoe_convert(ctx, in, out, NULL, NULL, &err), 0);
    assert_int_equal(warnings, 0);
    assert_int_equal(aoe_convert(ctx, in, out, &o, NULL, &err), AOE_EEXIST);
    FRAGMENT(err, "/out: the directory already contains a model");
    o.force = 1;
    assert_int_equal(aoe_convert(ctx, in, out, &o, NULL, &err), 0);
    assert_int_equal(warnings, 1);
    convert("out", "copy", AOE_STORAGE_INT8);
    /* the output replaces the input file, which is mapped into memory */
    assert_int_equal(aoe_convert(ctx, out, out, &o, NULL, &err), 0);
    assert_int_equal(warnings, 2);
    expect_equal_files("copy", "out", 1);
    assert_int_equal(aoei_remove_tree(none, NULL), 0);
    assert_int_equal(aoei_make_dir(none, NULL), 0);
    free(test_write_text(none, "README.md", "mine"));
    assert_int_equal(aoe_convert(ctx, in, none, NULL, NULL, &err), AOE_EEXIST);
    FRAGMENT(err, "/none: the directory already contains README.md");
    aoe_context_destroy(ctx);
    free(in);
    free(out);
    free(none);
}

/* A change of one tensor in a safetensors file. */
typedef struct damage {
    const char *tensor;      /* name of the tensor */
    const char *name;        /* new name; NULL: unchanged */
    int drop;                /* 1: the tensor is removed */
    aoei_st_dtype dtype;     /* new data type; used only if n_dims is not 0 */
    size_t n_dims, shape[2]; /* new shape; if n_dims is 0, the data type and the shape are unchanged */
    const float *value;      /* new value of element 3 of an F32 tensor; NULL: unchanged */
    int byte;                /* new value of byte 5; 0: unchanged */
} damage;

/* Rewrites test_dir/from/model.safetensors with the change d. */
static void rewrite(const char *from, const damage *d) {
    char *path = test_path(test_dir, from), *file = test_path(path, "model.safetensors");
    aoei_st_entry entries[128];
    const unsigned char *data[128];
    size_t bytes[128], n = 0;
    aoei_safetensors *s;
    aoei_st_writer *w;
    unsigned char changed[1024] = {0};
    assert_int_equal(aoei_safetensors_open(&s, file, NULL), 0);
    for (size_t i = 0; i < aoei_safetensors_count(s); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(s, i);
        const int hit = !strcmp(t->name, d->tensor);
        if (hit && d->drop)
            continue;
        entries[n] = (aoei_st_entry){t->name, t->dtype, t->n_dims, {t->shape[0], t->shape[1]}};
        data[n] = t->data;
        bytes[n] = t->bytes;
        if (hit) {
            assert_true(t->bytes <= sizeof changed);
            memcpy(changed, t->data, t->bytes);
            if (d->value)
                memcpy(changed + 3 * sizeof(float), d->value, sizeof(float));
            if (d->byte)
                changed[5] = (unsigned char)d->byte;
            if (d->name)
                entries[n].name = d->name;
            if (d->n_dims) {
                entries[n] = (aoei_st_entry){t->name, d->dtype, d->n_dims, {d->shape[0], d->shape[1]}};
                bytes[n] = aoei_st_dtype_size(d->dtype) * d->shape[0] * (d->n_dims > 1 ? d->shape[1] : 1);
            }
            data[n] = changed;
        }
        n++;
    }
    assert_int_equal(aoei_st_writer_open(&w, file, entries, n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(aoei_st_writer_write(w, data[i], bytes[i], NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoei_safetensors_close(s);
    free(file);
    free(path);
}

typedef struct malformed {
    damage d;
    int code;             /* expected code of the error */
    const char *fragment; /* expected part of its message */
} malformed;

/* Asserts that a model with the storage type is rejected after the change c. index: number of the case. */
static void expect_malformed(int storage, const malformed *c, size_t index) {
    char *small = test_path(test_dir, "small"), *out = test_path(test_dir, "out");
    aoe_model *m;
    aoe_error err;
    convert("in", "small", storage);
    rewrite("small", &c->d);
    const int code = aoe_model_open(&m, test_model_context, small, NULL, &err);
    if (code != c->code)
        fail_msg("case %zu: found code %d (%s), expected code %d", index, code, code ? err.message : "no error",
                 c->code);
    assert_null(m);
    FRAGMENT(err, "/small/model.safetensors: ");
    FRAGMENT(err, c->fragment);
    assert_int_equal(aoe_convert(test_model_context, small, out, NULL, NULL, &err), c->code);
    assert_false(aoei_exists(out));
    assert_int_equal(aoei_remove_tree(small, NULL), 0);
    free(small);
    free(out);
}

static void rejects_malformed_int8(void **state) {
    (void)state;
    static const float bad[] = {-0x1p-20f, NAN, INFINITY, 0x1p122f};
    static const malformed cases[] = {
        {{MATRIX "_scale", .drop = 1},
         AOE_EFORMAT,
         "the scales '" MATRIX "_scale' of the I8 tensor '" MATRIX "' are missing"},
        {{MATRIX "_scale", .name = "other"}, AOE_EFORMAT, "are missing"},
        {{MATRIX "_scale", .dtype = AOEI_ST_F16, .n_dims = 1, .shape = {8}},
         AOE_EFORMAT,
         "the data type of tensor '" MATRIX "_scale' is F16, but scales must be F32"},
        {{MATRIX "_scale", .dtype = AOEI_ST_F32, .n_dims = 1, .shape = {7}},
         AOE_EFORMAT,
         "tensor '" MATRIX "_scale' does not have the shape [8], one scale for each row of '" MATRIX "'"},
        {{MATRIX "_scale", .dtype = AOEI_ST_F32, .n_dims = 2, .shape = {8, 1}},
         AOE_EFORMAT,
         "does not have the shape [8]"},
        {{MATRIX "_scale", .value = &bad[0]}, AOE_EFORMAT, "_scale' contains -9.53674e-07 at element 3"},
        {{MATRIX "_scale", .value = &bad[1]}, AOE_ENUMERIC, "_scale' contains nan at element 3"},
        {{MATRIX "_scale", .value = &bad[2]}, AOE_ENUMERIC, "_scale' contains inf at element 3"},
        {{MATRIX "_scale", .value = &bad[3]}, AOE_ENUMERIC, "_scale' contains 5.31691e+36 at element 3"},
        {{MATRIX, .dtype = AOEI_ST_I8, .n_dims = 2, .shape = {8, 11}},
         AOE_EFORMAT,
         "tensor '" MATRIX "' has shape [8, 11], but config.json requires [8, 12]"},
        {{MATRIX, .dtype = AOEI_ST_F32, .n_dims = 2, .shape = {8, 12}},
         AOE_EFORMAT,
         "the data type of tensor '" MATRIX "' is F32, but it has scales ('" MATRIX "_scale')"},
        {{MATRIX, .byte = 0x80},
         AOE_EFORMAT,
         "tensor '" MATRIX "' contains -128 at element 5, but I8 values must be from -127 to 127"},
        {{MATRIX, .drop = 1}, AOE_EFORMAT, "is missing; the checkpoint is incomplete"},
        {{"pooler.dense.weight", .drop = 1},
         AOE_EFORMAT,
         "tensor 'pooler.dense.weight_scale' contains scales, but there is no I8 matrix 'pooler.dense.weight'"},
        {{"pooler.dense.weight_scale", .drop = 1},
         AOE_EFORMAT,
         "the scales 'pooler.dense.weight_scale' of the I8 tensor 'pooler.dense.weight' are missing"},
        {{"encoder.layer.0.output.dense.bias", .dtype = AOEI_ST_I8, .n_dims = 1, .shape = {8}},
         AOE_EUNSUPPORTED,
         "is an I8 tensor of 1 dimensions; I8 is supported only for matrices"},
    };
    free(make_input(&(test_model_spec){.pooler = 1}));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_malformed(AOE_STORAGE_INT8, &cases[i], i);
    /* In a file without int8 weights, the name of a tensor may end in _scale. The storage type of a file with F16 and
     * int8 weights is reported as "mixed". */
    rewrite("in", &(damage){"pooler.dense.bias", .name = "head.logit_scale"});
    aoe_model_close(open_model("in"));
    convert("in", "small", AOE_STORAGE_INT8);
    rewrite("small", &(damage){"encoder.layer.0.output.dense.bias", .dtype = AOEI_ST_F16, .n_dims = 1, .shape = {8}});
    aoe_model *m = open_model("small");
    assert_string_equal(m->files.storage, "mixed");
    aoe_model_close(m);
}

static void rejects_malformed_int5(void **state) {
    (void)state;
    static const float bad[] = {-0x1p-20f, NAN, INFINITY, 0x1p126f};
    static const malformed cases[] = {
        {{TABLE "_scale", .drop = 1},
         AOE_EFORMAT,
         "the scales '" TABLE "_scale' of the U8 tensor '" TABLE "' are missing"},
        {{TABLE "_scale", .dtype = AOEI_ST_F16, .n_dims = 1, .shape = {16}},
         AOE_EFORMAT,
         "the data type of tensor '" TABLE "_scale' is F16, but scales must be F32"},
        {{TABLE "_scale", .dtype = AOEI_ST_F32, .n_dims = 1, .shape = {15}},
         AOE_EFORMAT,
         "tensor '" TABLE "_scale' does not have the shape [16], one scale for each row of '" TABLE "'"},
        {{TABLE "_scale", .value = &bad[0]}, AOE_EFORMAT, "_scale' contains -9.53674e-07 at element 3"},
        {{TABLE "_scale", .value = &bad[1]}, AOE_ENUMERIC, "_scale' contains nan at element 3"},
        {{TABLE "_scale", .value = &bad[2]}, AOE_ENUMERIC, "_scale' contains inf at element 3"},
        {{TABLE "_scale", .value = &bad[3]},
         AOE_ENUMERIC,
         "_scale' contains 8.50706e+37 at element 3; a scale must not be negative, and 15 times the scale must "
         "be finite"},
        {{TABLE, .dtype = AOEI_ST_U8, .n_dims = 2, .shape = {16, 8}},
         AOE_EFORMAT,
         "the U8 tensor '" TABLE "' does not have rows of 5 bytes, which contain 8 int5 values"},
        {{TABLE, .dtype = AOEI_ST_U8, .n_dims = 1, .shape = {16}}, AOE_EFORMAT, "does not have rows of 5 bytes"},
        {{TABLE, .dtype = AOEI_ST_U8, .n_dims = 2, .shape = {15, 5}},
         AOE_EFORMAT,
         "tensor '" TABLE "_scale' does not have the shape [15]"},
        {{TABLE, .dtype = AOEI_ST_I8, .n_dims = 2, .shape = {16, 5}},
         AOE_EFORMAT,
         "tensor '" TABLE "' has shape [16, 5], but config.json requires [16, 8]"},
        {{TABLE, .dtype = AOEI_ST_F32, .n_dims = 2, .shape = {16, 8}},
         AOE_EFORMAT,
         "the data type of tensor '" TABLE "' is F32, but it has scales ('" TABLE
         "_scale'), which only I8 and U8 matrices have"},
        {{TABLE, .byte = 0xe0},
         AOE_EFORMAT,
         "tensor '" TABLE "' contains -16 at row 1, column 0, but int5 values must be from -15 to 15"},
        /* only token embeddings may be int5 */
        {{MATRIX, .dtype = AOEI_ST_U8, .n_dims = 2, .shape = {8, 6}},
         AOE_EFORMAT,
         "tensor '" MATRIX "' has shape [8, 6], but config.json requires [8, 12]"},
        {{MATRIX, .dtype = AOEI_ST_U8, .n_dims = 2, .shape = {8, 12}},
         AOE_EUNSUPPORTED,
         "the data type of tensor '" MATRIX
         "' is U8; weights must be F32, F16, BF16, I8 matrices with scales, or U8 token "
         "embeddings with scales"},
    };
    free(make_input(&(test_model_spec){.pooler = 1}));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_malformed(INT5_EMBEDDINGS, &cases[i], i);
    convert("in", "small", INT5_EMBEDDINGS);
    char *small = test_path(test_dir, "small"), *file = test_path(small, "model.safetensors");
    size_t size;
    char *data = test_read(file, &size);
    free(test_write(small, "model.safetensors", data, size - 1));
    aoe_model *m;
    aoe_error err;
    assert_int_equal(aoe_model_open(&m, test_model_context, small, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "the file is truncated");
    free(data);
    free(file);
    free(small);
}

/* Tests weights with values that bf16 or int8 cannot represent. The conversion to bf16 or int8 must be rejected before
 * a directory is created. The conversion to float32 must succeed. */
static void rejects_values_out_of_range(void **state) {
    (void)state;
    static const float most = FLT_MAX, nan = NAN;
    char *in = make_input(&(test_model_spec){.pooler = 1}), *out = test_path(test_dir, "out");
    for (int pooler = 0; pooler < 2; pooler++) {
        rewrite("in", &(damage){pooler ? "pooler.dense.weight" : MATRIX, .value = pooler ? &nan : &most});
        for (int s = AOE_STORAGE_BF16; s <= AOE_STORAGE_INT8; s++) {
            aoe_error err;
            const aoe_convert_options o = options_of(s);
            assert_int_equal(aoe_convert(test_model_context, in, out, &o, NULL, &err), AOE_ENUMERIC);
            FRAGMENT(err,
                     pooler ? "tensor 'pooler.dense.weight' contains nan" : "tensor '" MATRIX "' contains 3.40282e+38");
            FRAGMENT(err, "store this model as f32");
            assert_false(aoei_exists(out));
        }
        convert("in", "out", AOE_STORAGE_F32);
        assert_int_equal(aoei_remove_tree(out, NULL), 0);
        const float one = 1;
        rewrite("in", &(damage){MATRIX, .value = &one});
    }
    free(in);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trips_are_exact, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(copies_files_and_settings, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(int8_embeds_like_its_float32_conversion, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(int5_embeds_like_its_float32_conversion, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(checks_the_request, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_malformed_int8, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_malformed_int5, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_values_out_of_range, test_dir_set_up, test_dir_tear_down),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
