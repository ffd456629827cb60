/* SPDX-License-Identifier: MIT
 * Repeats the comparison of the keys of JSON files with the reference libraries. The files tests/golden/keys/NAME.json
 * describe a model, changes of its keys, and the results of the reference libraries (tests/peers/key_tables.py
 * documents and writes them). Each change must give these results, or a rejection whose message names the key.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_tokenizer.h"
#include "base/dir.h"
#include "base/json.h"

#define TABLES    "tests/golden/keys"
#define TOLERANCE 2e-5 /* for numbers below 1; relative for greater numbers */

enum { MAX_TEXTS = 16, MAX_TOKENS = 40, REJECTED = -1 };

/* A table, and the model that it describes */
typedef struct fixture {
    json_t *table;
    aoe_context *ctx;
    char *root, *model;           /* temporary directory; directory of the model */
    aoe_text texts[MAX_TEXTS];    /* borrowed from the table */
    size_t n;                     /* number of texts */
    int tokens;                   /* 1: the result is about tokens, because the model has no weights */
    double result[4 * MAX_TEXTS]; /* numbers of the last result */
    size_t n_result;
    size_t changes; /* number of changes that were made */
    size_t faults;
} fixture;

/* ---------------------------------------------------------------- writing a model */

/* Returns the 64-bit random number i of splitmix64. */
static uint64_t splitmix(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Returns 1 if the name contains "norm", in any case of letters. */
static int is_norm(const char *name) {
    for (; *name; name++)
        if (!strncasecmp(name, "norm", 4))
            return 1;
    return 0;
}

/* Writes n values of a tensor, which depend on its name and its shape only (`values` in key_tables.py). columns: 0 if
 * the tensor has one dimension. */
static void fill(float *to, size_t n, const char *name, size_t columns) {
    uint64_t seed = 0xcbf29ce484222325;
    const size_t len = strlen(name);
    const int factor = !columns && is_norm(name) && len >= 6 && !strcmp(name + len - 6, "weight");
    const double scale = !columns ? 0.25
                         : strstr(name, "embed") || strstr(name, "relative_attention_bias") != 0
                             ? 0.75
                             : 2 / sqrt((double)columns);
    for (size_t i = 0; i < len; i++)
        seed = (seed ^ (unsigned char)name[i]) * 0x100000001b3;
    for (size_t i = 0; i < n; i++) {
        const double uniform = (double)(splitmix(seed, i) >> 40) / (1 << 23) - 1;
        to[i] = (float)(factor ? 1 + scale * uniform : scale * uniform);
    }
}

static void write_tensors(const fixture *f, const char *name, const json_t *tensors) {
    json_t *header = json_object(), *shape;
    const char *tensor;
    size_t size = 0, i;
    json_object_foreach((json_t *)(uintptr_t)tensors, tensor, shape) {
        size_t n = 4;
        const json_t *dim;
        json_array_foreach(shape, i, dim) n *= (size_t)json_integer_value(dim);
        json_object_set_new(header, tensor,
                            json_pack("{s:s,s:O,s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
                                      (json_int_t)size, (json_int_t)(size + n)));
        size += n;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    assert_non_null(text);
    const size_t head = (strlen(text) + 7) / 8 * 8;
    char *file = calloc(8 + head + size, 1);
    assert_non_null(file);
    const uint64_t stored = head; /* little-endian, like the numbers */
    memcpy(file, &stored, 8);
    memset(file + 8, ' ', head);
    memcpy(file + 8, text, strlen(text));
    json_object_foreach((json_t *)(uintptr_t)tensors, tensor, shape) {
        const json_t *offsets = json_object_get(json_object_get(header, tensor), "data_offsets");
        const size_t from = (size_t)json_integer_value(json_array_get(offsets, 0));
        const size_t to = (size_t)json_integer_value(json_array_get(offsets, 1)), dims = json_array_size(shape);
        fill((float *)(void *)(file + 8 + head + from), (to - from) / 4, tensor,
             dims > 1 ? (size_t)json_integer_value(json_array_get(shape, dims - 1)) : 0);
    }
    free(test_write(f->root, name, file, 8 + head + size));
    free(file);
    free(text);
    json_decref(header);
}

/* Writes a JSON file. The text FOLDER becomes the path of the temporary directory. */
static void write_json(const fixture *f, const char *name, const json_t *value) {
    static const char mark[] = "FOLDER";
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY), *found = text ? strstr(text, mark) : NULL,
         *out = text;
    assert_non_null(text);
    if (found) {
        out = malloc(strlen(text) + strlen(f->root) + 1);
        assert_non_null(out);
        sprintf(out, "%.*s%s%s", (int)(found - text), text, f->root, found + strlen(mark));
        assert_null(strstr(found + 1, mark));
        free(text);
    }
    free(test_write_text(f->root, name, out));
    free(out);
}

/* Creates the directories that contain the file `name`. */
static void make_folders(const fixture *f, const char *name) {
    char *path = test_path(f->root, name);
    *strrchr(path, '/') = 0;
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(path);
}

static void open_fixture(fixture *f, const char *path) {
    aoe_error err = {0};
    json_t *value;
    const char *name;
    size_t i;
    *f = (fixture){.ctx = tiny_context(1), .root = tiny_dir_create()};
    if (aoei_json_load(&f->table, path, &err))
        fail_msg("%s", err.message);
    f->model = test_path(f->root, json_string_value(json_object_get(f->table, "model")));
    json_object_foreach(json_object_get(f->table, "files"), name, value) {
        make_folders(f, name);
        write_json(f, name, value);
    }
    json_object_foreach(json_object_get(f->table, "tensors"), name, value) write_tensors(f, name, value);
    f->tokens = !json_object_size(json_object_get(f->table, "tensors"));
    json_array_foreach(json_object_get(f->table, "texts"), i, value) {
        assert_true(f->n < MAX_TEXTS);
        f->texts[f->n++] = (aoe_text){json_string_value(value), json_string_length(value)};
    }
    assert_true(f->n > 0);
}

static void close_fixture(fixture *f) {
    json_decref(f->table);
    aoe_context_destroy(f->ctx);
    free(f->model);
    test_dir_remove(f->root);
}

/* ---------------------------------------------------------------- computing a result */

/* Stores the first two components of the embedding of each text. */
static int embed(fixture *f, aoe_error *err) {
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    int rc = aoe_model_open(&m, f->ctx, f->model, &o, err);
    if (!rc)
        rc = aoe_embedder_create(&e, m, NULL, err);
    const size_t dims = aoe_embedder_dims(e);
    float *vectors = calloc(f->n * (dims + 1), sizeof *vectors);
    assert_non_null(vectors);
    if (!rc)
        rc = aoe_embed(e, f->texts, f->n, vectors, NULL, err);
    for (size_t i = 0; i < f->n && !rc; i++)
        for (size_t d = 0; d < dims && d < 2; d++)
            f->result[f->n_result++] = vectors[i * dims + d];
    free(vectors);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return rc;
}

/* Stores the number of tokens and a checksum of the first ids of each text, complete and truncated to 6 tokens. */
static int tokenize(fixture *f, aoe_error *err) {
    aoe_tokenizer *t = NULL;
    aoe_encode_options o = {.struct_size = sizeof o};
    aoe_ids ids = {0};
    int rc = aoe_encode_options_of(&o, f->model, err);
    if (!rc)
        rc = aoe_tokenizer_open(&t, f->model, err);
    for (size_t i = 0; i < 2 * f->n && !rc; i++) {
        o.max_length = i < f->n ? 0 : 6;
        rc = aoe_tokenizer_encode(t, f->texts[i < f->n ? i : i - f->n], &o, &ids, err);
        double sum = 0;
        for (size_t k = 0; k < ids.n && k < MAX_TOKENS; k++)
            sum += (double)(k + 1) * ids.id[k];
        f->result[f->n_result++] = (double)ids.n;
        f->result[f->n_result++] = sum;
    }
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    return rc;
}

static int compute(fixture *f, aoe_error *err) {
    f->n_result = 0;
    f->changes++;
    return f->tokens ? tokenize(f, err) : embed(f, err);
}

/* Returns 1 if the last result has the numbers in `want`. */
static int has_result(const fixture *f, const json_t *want) {
    if (json_array_size(want) != f->n_result)
        return 0;
    for (size_t i = 0; i < f->n_result; i++) {
        const double number = json_number_value(json_array_get(want, i));
        if (!(fabs(f->result[i] - number) <= TOLERANCE * fmax(1, fabs(number))))
            return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- changing keys */

/* Sets the keys `keys` of the object at `where` of the file `name` to `value`, or removes them if it is NULL. Computes
 * the result, and restores the file. */
static int compute_changed(fixture *f, const char *name, const json_t *where, const json_t *keys, json_t *value,
                           aoe_error *err) {
    const json_t *stored = json_object_get(json_object_get(f->table, "files"), name), *step;
    json_t *root = stored ? json_deep_copy(stored) : json_object(), *object = root;
    size_t i;
    json_array_foreach(where, i, step) object = json_is_string(step)
                                                    ? json_object_get(object, json_string_value(step))
                                                    : json_array_get(object, (size_t)json_integer_value(step));
    assert_true(json_is_object(object));
    json_array_foreach(keys, i, step) {
        if (value)
            json_object_set(object, json_string_value(step), value);
        else
            json_object_del(object, json_string_value(step));
    }
    write_json(f, name, root);
    const int rc = compute(f, err);
    if (stored) {
        write_json(f, name, stored);
    } else {
        char *path = test_path(f->root, name);
        assert_int_equal(remove(path), 0);
        free(path);
    }
    json_decref(root);
    return rc;
}

static void report(fixture *f, const char *name, const json_t *keys, const json_t *value, const char *found) {
    char *key = json_dumps(keys, JSON_COMPACT),
         *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    f->faults++;
    print_error("%s: %s = %s: %s\n", name, key, text ? text : "missing", found);
    free(key);
    free(text);
}

/* Makes one change, and requires its outcome, which key_tables.py documents. */
static void expect(fixture *f, const char *name, const json_t *where, const json_t *keys, json_t *value,
                   const json_t *outcome) {
    aoe_error err = {0};
    if (json_is_null(outcome))
        return;
    const int rc = compute_changed(f, name, where, keys, value, &err);
    const json_int_t code = json_integer_value(outcome);
    const char *const cause = json_is_string(outcome) ? json_string_value(outcome)
                              : code == REJECTED      ? json_string_value(json_array_get(keys, 0))
                                                      : NULL;
    if (cause && (!rc || !strstr(err.message, cause)))
        report(f, name, keys, value, rc ? err.message : "expected a rejection that names the key");
    if (!cause && rc)
        report(f, name, keys, value, err.message);
    else if (!cause && !has_result(f, code ? json_array_get(json_object_get(f->table, "results"), (size_t)code - 1)
                                           : json_object_get(f->table, "plain")))
        report(f, name, keys, value,
               code ? "expected the result of the reference" : "expected the result without the change");
}

/* Sets keys for which no value has an effect, all of them to one value at a time. If the outcome is wrong, sets single
 * keys, so that the message names the key. */
static void expect_same(fixture *f, const json_t *row) {
    const char *name = json_string_value(json_array_get(row, 0));
    const json_t *where = json_array_get(row, 1),
                 *keys = json_array_get(row, 2), *const plain = json_object_get(f->table, "plain");
    json_t *value, *key, *zero = json_integer(0);
    size_t i, k;
    json_array_foreach(json_object_get(f->table, "values"), i, value) {
        if (!compute_changed(f, name, where, keys, value, NULL) && has_result(f, plain))
            continue;
        json_array_foreach(keys, k, key) {
            json_t *single = json_pack("[O]", key);
            expect(f, name, where, single, value, zero);
            json_decref(single);
        }
    }
    json_decref(zero);
}

static void expect_changes(fixture *f, const json_t *row) {
    const char *name = json_string_value(json_array_get(row, 0));
    const json_t *where = json_array_get(row, 1), *codes = json_array_get(row, 3);
    json_t *keys = json_pack("[O]", json_array_get(row, 2)), *value;
    size_t i;
    json_array_foreach(json_object_get(f->table, "values"), i, value)
        expect(f, name, where, keys, value, json_array_get(codes, i));
    json_array_foreach(json_array_get(row, 4), i, value)
        expect(f, name, where, keys, json_array_get(value, 0), json_array_get(value, 1));
    expect(f, name, where, keys, NULL, json_array_get(row, 5));
    json_decref(keys);
}

/* Makes all changes of a table. Returns the number of faults. */
static size_t expect_table(const char *path) {
    fixture f;
    aoe_error err = {0};
    json_t *row;
    size_t i;
    open_fixture(&f, path);
    if (compute(&f, &err))
        fail_msg("%s: %s", path, err.message);
    if (!has_result(&f, json_object_get(f.table, "plain")))
        fail_msg("%s: the unchanged model has another result", path);
    json_array_foreach(json_object_get(f.table, "same"), i, row) expect_same(&f, row);
    json_array_foreach(json_object_get(f.table, "changes"), i, row) expect_changes(&f, row);
    print_message("%s: %zu changes, %zu faults\n", path, f.changes, f.faults);
    close_fixture(&f);
    return f.faults;
}

static void test_keys(void **state) {
    (void)state;
    char **names;
    size_t n, faults = 0;
    assert_int_equal(aoei_list_dir(&names, &n, TABLES, NULL), 0);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char *path = test_path(TABLES, names[i]);
        faults += expect_table(path);
        free(path);
    }
    aoei_list_free(names, n);
    assert_int_equal(faults, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
