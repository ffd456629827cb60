/* SPDX-License-Identifier: MIT
 * covers: model/first_layers
 * Tests aoe_convert with options.take_layers. The new model must have exactly the selected layers, with their weights,
 * sliding windows and directions of attention, and all other weights of the model. Other selections must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"

static void (*const kinds[])(aoei_encoder_config *c) = {
    NULL,       tiny_roberta, tiny_mpnet, tiny_deberta, tiny_jina_code,  tiny_jina_bert,  tiny_llama,
    tiny_qwen2, tiny_mistral, tiny_qwen3, tiny_gemma3,  tiny_modernbert, tiny_distilbert, tiny_camembert,
    tiny_gte,   tiny_electra, tiny_new,   tiny_nomic,   tiny_nomic_fused};
enum { KINDS = sizeof kinds / sizeof *kinds, LAYERS = 5, VALUES = 1 << 16 };
static const size_t take[] = {0, 2, 3};
enum { TAKEN = sizeof take / sizeof *take };

/* Writes a model with `layers` layers to test_dir/from. Returns the path, which the caller frees. */
static char *write_model(void (*options)(aoei_encoder_config *c), size_t layers) {
    char *from = test_path(test_dir, "from");
    tiny_model o = tiny_defaults();
    o.hidden = 32;
    o.heads = 4;
    o.layers = layers;
    o.options = options;
    (void)aoei_remove_tree(from, NULL);
    tiny_model_write(from, &o);
    return from;
}

static aoe_convert_options selection(const size_t *layers, size_t n) {
    aoe_convert_options o;
    aoe_convert_options_defaults(&o);
    o.force = 1;
    o.take_layers = layers;
    o.n_take_layers = n;
    return o;
}

/* Converts `from` to test_dir/to. Returns the path, which the caller frees. */
static char *convert(const char *from, const aoe_convert_options *o) {
    char *to = test_path(test_dir, "to");
    aoe_error err = {0};
    if (aoe_convert(test_model_context, from, to, o, NULL, &err))
        fail_msg("%s", err.message);
    return to;
}

static aoe_model *open_model(const char *dir) {
    aoe_model *m;
    aoe_error err = {0};
    if (aoei_model_open_trainable(&m, test_model_context, dir, NULL, &err))
        fail_msg("%s", err.message);
    return m;
}

/* Asserts that slot i of a and slot k of b have equal weights, or that both are absent. */
static void expect_equal_slots(const aoe_model *a, size_t i, const aoe_model *b, size_t k) {
    static float x[VALUES], y[VALUES];
    aoei_slot s, t;
    assert_int_equal(aoei_slot_describe(&a->config, i, &s) | aoei_slot_describe(&b->config, k, &t), 0);
    assert_true(s.absent == t.absent && s.rows == t.rows && s.cols == t.cols && s.rows * s.cols <= VALUES);
    if (s.absent || s.adapter)
        return;
    aoei_tensor_read(test_model_context, x, a->weights[i]);
    aoei_tensor_read(test_model_context, y, b->weights[k]);
    assert_memory_equal(x, y, s.rows * s.cols * sizeof *x);
}

/* Asserts that b consists of the n layers `layers` of a and of all other weights of a. */
static void expect_layers(const aoe_model *a, const aoe_model *b, const size_t *layers, size_t n) {
    const size_t per_layer = aoei_slot_of_layer(&a->config, 1, 0) - AOEI_W_LAYERS;
    assert_int_equal(b->config.layers, n);
    for (size_t i = 0; i < AOEI_W_LAYERS; i++)
        expect_equal_slots(a, i, b, i);
    for (size_t l = 0; l < n; l++) {
        for (size_t i = 0; i < per_layer; i++)
            expect_equal_slots(a, aoei_slot_of_layer(&a->config, layers[l], i), b,
                               aoei_slot_of_layer(&b->config, l, i));
        assert_int_equal(aoei_layer_window(&a->config, layers[l]), aoei_layer_window(&b->config, l));
        assert_int_equal(aoei_has_local_rope(&a->config, layers[l]), aoei_has_local_rope(&b->config, l));
        assert_int_equal(layers[l] < a->config.bidirectional_from, l < b->config.bidirectional_from);
    }
    assert_int_equal(aoei_slot_count(&a->config) - aoei_head_slot(&a->config, 0),
                     aoei_slot_count(&b->config) - aoei_head_slot(&b->config, 0));
    for (size_t i = aoei_head_slot(&a->config, 0), k = aoei_head_slot(&b->config, 0); i < aoei_slot_count(&a->config);
         i++, k++)
        expect_equal_slots(a, i, b, k);
}

static void selects_layers_of_every_architecture(void **state) {
    (void)state;
    const aoe_convert_options o = selection(take, TAKEN);
    for (size_t kind = 0; kind < KINDS; kind++) {
        char *from = write_model(kinds[kind], LAYERS), *to = convert(from, &o);
        aoe_model *a = open_model(from), *b = open_model(to);
        expect_layers(a, b, take, TAKEN);
        aoe_model_close(a);
        aoe_model_close(b);
        free(from);
        free(to);
    }
}

/* Tests that a copy with all layers has equal files, with one of the two options or none. */
static void all_layers_are_a_copy(void **state) {
    (void)state;
    static const size_t all[] = {0, 1, 2, 3, 4};
    static const char *const files[] = {"model.safetensors", "config.json", "aoe.json"};
    for (size_t kind = 0; kind < KINDS; kind++) {
        char *from = write_model(kinds[kind], LAYERS), *contents[3];
        size_t size[3];
        for (int with = 0; with < 3; with++) {
            aoe_convert_options o = selection(with == 1 ? all : NULL, LAYERS);
            o.layers = with == 2 ? LAYERS : 0;
            char *to = convert(from, &o);
            for (size_t i = 0; i < 3; i++) {
                size_t n;
                char *path = test_path(to, files[i]), *text = test_read(path, &n);
                assert_non_null(text);
                if (with) {
                    assert_int_equal(n, size[i]);
                    assert_memory_equal(text, contents[i], n);
                    free(text);
                } else {
                    contents[i] = text;
                    size[i] = n;
                }
                free(path);
            }
            free(to);
        }
        for (size_t i = 0; i < 3; i++)
            free(contents[i]);
        free(from);
    }
}

/* Tests that options.layers selects the same layers as options.take_layers. */
static void first_layers_are_a_selection(void **state) {
    (void)state;
    static const size_t first[] = {0, 1};
    char *from = write_model(NULL, LAYERS);
    aoe_convert_options o = selection(NULL, 0);
    o.layers = 2;
    char *to = convert(from, &o);
    aoe_model *a = open_model(from), *b = open_model(to);
    expect_layers(a, b, first, 2);
    aoe_model_close(a);
    aoe_model_close(b);
    free(from);
    free(to);
}

/* Tests the sliding windows of ModernBERT, whose config.json describes them by global_attn_every_n_layers, and the key
 * sliding_window_pattern of Gemma 3. The key layer_types replaces them only if they do not describe the windows any
 * more. */
static void keeps_windows(void **state) {
    (void)state;
    static const struct {
        void (*options)(aoei_encoder_config *c);
        const char *key;     /* replaces layer_types in config.json */
        size_t layers[4], n; /* selected layers */
        int keeps_key;       /* 1: config.json still has the key */
    } cases[] = {
        {tiny_modernbert, "\"global_attn_every_n_layers\": 3", {0, 1, 2, 3}, 4, 1},
        {tiny_modernbert, "\"global_attn_every_n_layers\": 3", {0, 1, 3, 4}, 4, 0},
        {tiny_modernbert, "\"global_attn_every_n_layers\": 3", {0, 3, 6}, 3, 0},
        {tiny_modernbert, "\"global_attn_every_n_layers\": 3", {0, 1, 2}, 3, 1},
        {tiny_gemma3, "\"sliding_window_pattern\": 2", {0, 1, 4, 5}, 4, 1},
        {tiny_gemma3, "\"sliding_window_pattern\": 2", {1, 2, 3}, 3, 0},
        {tiny_gemma3, "\"sliding_window_pattern\": 2", {1, 3, 5}, 3, 0},
        {tiny_gemma3, "\"sliding_window_pattern\": 2", {0, 2, 4}, 3, 0},
        {tiny_qwen2, "\"use_sliding_window\": true, \"max_window_layers\": 3", {0, 1, 2, 4}, 4, 1},
        {tiny_qwen2, "\"use_sliding_window\": true, \"max_window_layers\": 3", {1, 4, 5}, 3, 0},
        {tiny_qwen2, "\"use_sliding_window\": true, \"max_window_layers\": 3", {0, 2}, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *from = write_model(cases[i].options, 7), *path = test_path(from, "config.json"),
             *text = test_read(path, NULL);
        json_t *config = json_loads(text, 0, NULL), *keys;
        char json[128];
        snprintf(json, sizeof json, "{%s}", cases[i].key);
        keys = json_loads(json, 0, NULL);
        json_object_del(config, "layer_types");
        assert_true(keys && !json_object_update(config, keys));
        assert_int_equal(json_dump_file(config, path, 0), 0);
        const aoe_convert_options o = selection(cases[i].layers, cases[i].n);
        char *to = convert(from, &o);
        aoe_model *a = open_model(from), *b = open_model(to);
        size_t windows = 0;
        for (size_t l = 0; l < 7; l++)
            windows += aoei_layer_window(&a->config, l) > 0;
        assert_true(windows > 0 && windows < 7);
        expect_layers(a, b, cases[i].layers, cases[i].n);
        assert_int_equal(json_object_get(b->files.config_json, "layer_types") == NULL, cases[i].keeps_key);
        aoe_model_close(a);
        aoe_model_close(b);
        json_decref(config);
        json_decref(keys);
        free(text);
        free(path);
        free(from);
        free(to);
    }
}

/* Tests that the first bidirectional layer of a causal model is the first of the selected layers that was
 * bidirectional. */
static void keeps_the_direction(void **state) {
    (void)state;
    static const struct {
        size_t from, layers[3], expected;
    } cases[] = {{2, {0, 1, 4}, 2}, {1, {0, 2, 3}, 1}, {0, {1, 2, 3}, 0}, {4, {0, 1, 2}, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char settings[64], *from = write_model(tiny_llama, LAYERS);
        snprintf(settings, sizeof settings, "{\"format_version\": 1, \"bidirectional_from\": %zu}", cases[i].from);
        free(test_write_text(from, "aoe.json", settings));
        const aoe_convert_options o = selection(cases[i].layers, 3);
        char *to = convert(from, &o);
        aoe_model *a = open_model(from), *b = open_model(to);
        assert_true(b->settings.bidirectional && b->settings.bidirectional_from == cases[i].expected);
        expect_layers(a, b, cases[i].layers, 3);
        aoe_model_close(a);
        aoe_model_close(b);
        free(from);
        free(to);
    }
}

/* Tests that adapters are merged into the weights of the selected layers. */
static void merges_adapters(void **state) {
    (void)state;
    char *base = write_model(NULL, LAYERS), *adapters = test_path(test_dir, "adapters"),
         *merged = test_path(test_dir, "merged");
    tiny_adapters_write(test_model_context, adapters, base, 3, NULL);
    aoe_convert_options o = selection(NULL, 0);
    assert_int_equal(aoe_convert(test_model_context, adapters, merged, &o, NULL, NULL), 0);
    o = selection(take, TAKEN);
    char *to = convert(adapters, &o);
    aoe_model *a = open_model(merged), *b = open_model(to);
    expect_layers(a, b, take, TAKEN);
    aoe_model_close(a);
    aoe_model_close(b);
    test_dir_remove(adapters);
    test_dir_remove(merged);
    free(base);
    free(to);
}

/* Tests ALBERT, whose layers share their weights. With one group, any selection has the weights of this group. */
static void shares_weights(void **state) {
    (void)state;
    static const size_t last[] = {1};
    char *from = write_model(tiny_albert, 2);
    const aoe_convert_options o = selection(last, 1);
    char *to = convert(from, &o);
    aoe_model *a = open_model(from), *b = open_model(to);
    assert_int_equal(b->config.layers, 1);
    assert_int_equal(aoei_slot_count(&a->config), aoei_slot_count(&b->config));
    for (size_t i = 0; i < aoei_slot_count(&a->config); i++)
        expect_equal_slots(a, i, b, i);
    aoe_model_close(a);
    aoe_model_close(b);
    free(from);
    free(to);
}

static void rejects_selections(void **state) {
    (void)state;
    static const struct {
        void (*options)(aoei_encoder_config *c);
        size_t layers[3], n, first;
        int code;
        const char *message;
    } cases[] = {
        {NULL, {0, 5}, 2, 0, AOE_EARG, "options.take_layers: there is no layer 5; "},
        {NULL, {5}, 1, 0, AOE_EARG, "has 5 layers, with the indices 0 to 4"},
        {NULL, {0, 1, 1}, 3, 0, AOE_EARG, "options.take_layers: layer 1 repeats layer 1; list each layer once"},
        {NULL, {3, 1}, 2, 0, AOE_EARG, "options.take_layers: layer 1 follows layer 3; list each layer once"},
        {NULL, {0}, 0, 0, AOE_EARG, "options.take_layers is empty"},
        {NULL, {0}, 1, 2, AOE_EARG, "options.layers and options.take_layers both select layers"},
        {tiny_modernbert, {1, 2}, 2, 0, AOE_EARG, "options.take_layers: the first layer is 1, but only layer 0"},
        {tiny_albert, {0, 1}, 2, 0, AOE_EUNSUPPORTED, "divided into 2 groups with shared weights (num_hidden_groups)"},
    };
    char *to = test_path(test_dir, "none");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *from = write_model(cases[i].options, LAYERS);
        aoe_convert_options o = selection(cases[i].layers, cases[i].n);
        aoe_error err = {0};
        o.layers = cases[i].first;
        assert_int_equal(aoe_convert(test_model_context, from, to, &o, NULL, &err), cases[i].code);
        FRAGMENT(err, cases[i].message);
        assert_false(aoei_is_dir(to));
        free(from);
    }
    free(to);
}

static int begin(void **state) {
    return test_dir_set_up(state) || test_model_begin(state);
}

static int end(void **state) {
    return test_dir_tear_down(state) | test_model_end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects_layers_of_every_architecture),
        cmocka_unit_test(all_layers_are_a_copy),
        cmocka_unit_test(first_layers_are_a_selection),
        cmocka_unit_test(keeps_windows),
        cmocka_unit_test(keeps_the_direction),
        cmocka_unit_test(merges_adapters),
        cmocka_unit_test(shares_weights),
        cmocka_unit_test(rejects_selections),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, begin, end);
}
