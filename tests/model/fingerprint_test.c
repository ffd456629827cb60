/* SPDX-License-Identifier: MIT
 * Tests the hashes of a model: they do not depend on the directory, and the hash of embeddings changes with everything
 * that changes an embedding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "base/dir.h"
#include "base/file.h"
#include "model/extra_layers.h"
#include "model/fingerprint.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"

static char *dir;
static aoe_context *ctx;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    ctx = tiny_context(2);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    return 0;
}

/* Returns the hash of the embeddings of the model in `model`. weights: NULL, or receives the hash of the weights. */
static uint64_t hash_of(const char *model, const aoe_model_options *o, uint64_t *weights) {
    aoe_model *m;
    aoe_error err = {0};
    uint64_t hash = 0, unused;
    if (aoe_model_open(&m, ctx, model, o, &err) || aoei_model_hash_embedding(m, &hash, &err) ||
        aoei_model_hash_weights(m, weights ? weights : &unused, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
    return hash;
}

/* Writes a model with these random weights to the directory `name`. Returns its path. */
static char *write_model(const char *name, uint32_t seed) {
    tiny_model shape = tiny_defaults();
    shape.seed = seed;
    char *path = test_path(dir, name);
    tiny_model_write(path, &shape);
    return path;
}

/* Asserts that no two of the n hashes are equal. */
static void assert_distinct(const uint64_t *hash, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (hash[i] == hash[k])
                fail_msg("the hashes %zu and %zu are equal", k, i);
}

static void weights_and_directory(void **state) {
    uint64_t hash[3], weights[3];
    (void)state;
    char *one = write_model("one", 1), *other = write_model("other", 2), *moved = test_path(dir, "moved");
    hash[0] = hash_of(one, NULL, &weights[0]);
    hash[1] = hash_of(other, NULL, &weights[1]);
    assert_distinct(hash, 2);
    assert_distinct(weights, 2);
    assert_int_equal(rename(one, moved), 0);
    assert_true(hash_of(moved, NULL, &weights[2]) == hash[0] && weights[2] == weights[0]);
    free(one);
    free(other);
    free(moved);
}

static void settings(void **state) {
    aoe_model_options o;
    uint64_t hash[16], weights[16];
    size_t n = 0;
    (void)state;
    char *model = write_model("settings", 1);
    aoe_model_options_defaults(&o);
    const aoe_model_options defaults = o;
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    o.pooling = AOE_POOLING_CLS;
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    o = defaults;
    o.max_length = 12;
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    o = defaults;
    o.prompt = "the {text}";
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    o = defaults;
    o.normalize = 1;
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    o = defaults;
    o.dims = 6;
    hash[n] = hash_of(model, &o, &weights[n]);
    n++;
    assert_distinct(hash, n);
    for (size_t i = 1; i < n; i++)
        assert_true(weights[i] == weights[0]);
    free(model);
}

/* A changed file of the tokenizer or of the configuration changes the hash. */
static void files(void **state) {
    static const char *const names[] = {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json",
                                        "added_tokens.json", "config.json"};
    static const char *const added[] = {"\nnewword\n", NULL, "{\"unk_token\": \"[UNK]\"}", "{}", NULL};
    enum { N = sizeof names / sizeof *names };
    uint64_t hash[N + 1];
    (void)state;
    char *model = write_model("files", 1);
    hash[0] = hash_of(model, NULL, NULL);
    for (size_t i = 0; i < N; i++) {
        char *path = test_path(model, names[i]), *before = test_read(path, NULL), changed[8192];
        if (added[i]) {
            snprintf(changed, sizeof changed, "%s%s", before ? before : "", added[i]);
        } else { /* a key without effect */
            assert_true(before && before[0] == '{');
            snprintf(changed, sizeof changed, "{\"_name_or_path\": \"x\", %s", before + 1);
        }
        free(test_write_text(model, names[i], changed));
        hash[i + 1] = hash_of(model, NULL, NULL);
        if (before)
            free(test_write_text(model, names[i], before));
        else
            assert_int_equal(remove(path), 0);
        free(before);
        free(path);
        assert_true(hash_of(model, NULL, NULL) == hash[0]);
    }
    assert_distinct(hash, N + 1);
    free(model);
}

/* Dense layers that differ only in their activation function, in a weight or in a bias. */
static void modules(void **state) {
    enum { D = 16, OUT = 3 };
    static float weight[OUT * D], bias[OUT];
    uint64_t hash[5];
    (void)state;
    char *model = write_model("modules", 1);
    hash[0] = hash_of(model, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        aoe_model *m;
        aoe_error err = {0};
        char name[16];
        snprintf(name, sizeof name, "dense%d", i);
        char *out = test_path(dir, name);
        weight[5] = i == 2 ? 2 : 1;
        bias[1] = i == 3 ? 2 : 1;
        if (aoei_model_open_trainable(&m, ctx, model, NULL, &err) ||
            aoei_model_add_dense(m, OUT, i == 1, weight, bias, 1, &err) || aoei_model_save(m, out, NULL, &err))
            fail_msg("%s", err.message);
        aoe_model_close(m);
        hash[i + 1] = hash_of(out, NULL, NULL);
        free(out);
    }
    assert_distinct(hash, 5);
    free(model);
}

/* Replaces a text in a file of the model. */
static void replace(const char *model, const char *name, const char *from, const char *to) {
    char *path = test_path(model, name), *before = test_read(path, NULL), changed[8192];
    assert_non_null(before);
    char *at = strstr(before, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - before), before, to, at + strlen(from));
    free(test_write_text(model, name, changed));
    free(before);
    free(path);
}

/* Adapters are merged into the weights when a model is opened for embedding. The hash changes with the adapters, their
 * scale and the weights of the base model that have adapters. */
static void adapters(void **state) {
    uint64_t hash[6];
    (void)state;
    char *base = write_model("base", 1), *small = test_path(dir, "small"), *large = test_path(dir, "large"),
         *fewer = test_path(dir, "fewer"), *weights = test_path(base, "model.safetensors");
    tiny_adapters_write(ctx, small, base, 2, "query,value,output.dense");
    tiny_adapters_write(ctx, large, base, 4, "query,value,output.dense");
    tiny_adapters_write(ctx, fewer, base, 2, "query,value");
    hash[0] = hash_of(base, NULL, NULL);
    hash[1] = hash_of(small, NULL, NULL);
    hash[2] = hash_of(large, NULL, NULL);
    hash[3] = hash_of(fewer, NULL, NULL);
    replace(small, "adapter_config.json", "\"lora_alpha\": 8", "\"lora_alpha\": 9");
    hash[4] = hash_of(small, NULL, NULL);
    replace(small, "adapter_config.json", "\"lora_alpha\": 9", "\"lora_alpha\": 8");
    assert_true(hash_of(small, NULL, NULL) == hash[1]);
    tiny_model shape = tiny_defaults();
    shape.seed = 1;
    shape.filled = "encoder.layer.0.attention.self.query.weight";
    shape.fill = 0.5F;
    assert_int_equal(remove(weights), 0);
    char *changed = test_path(dir, "changed"), *file = test_path(changed, "model.safetensors");
    tiny_model_write(changed, &shape);
    assert_int_equal(rename(file, weights), 0);
    hash[5] = hash_of(small, NULL, NULL);
    assert_distinct(hash, 6);
    free(base);
    free(small);
    free(large);
    free(fewer);
    free(weights);
    free(changed);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_and_directory), cmocka_unit_test(settings),
                                       cmocka_unit_test(files), cmocka_unit_test(modules), cmocka_unit_test(adapters)};
    return cmocka_run_group_tests_name("fingerprint", tests, set_up, tear_down);
}
