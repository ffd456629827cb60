/* SPDX-License-Identifier: MIT
 * Tests the list of settings: each file contains the key with the value in use, every key that an architecture reads is
 * listed, keys that it does not read are not listed, and allocation failures are reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "base/json.h"

/* The settings of a model by name. */
static json_t *settings;

static void add(void *user, const aoe_model_setting *s) {
    (void)user;
    assert_true(!s->file != !s->reason);
    assert_null(json_object_get(settings, s->name));
    json_t *value = json_loads(s->value, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    json_object_set_new(
        settings, s->name,
        json_pack("{s:o, s:s?, s:s?, s:s?}", "value", value, "file", s->file, "key", s->key, "reason", s->reason));
}

static void explain(const char *dir, const aoe_model_options *o) {
    aoe_model *m = test_model_open(test_model_context, dir, o);
    json_decref(settings);
    settings = json_object();
    assert_int_equal(aoe_model_explain(m, add, NULL, NULL), 0);
    aoe_model_close(m);
}

/* Asserts that a setting has this value (JSON), file name and key; reason: expected instead of a file. */
static void expect(const char *name, const char *value, const char *file, const char *key) {
    const json_t *s = json_object_get(settings, name);
    json_t *expected = json_loads(value, JSON_DECODE_ANY, NULL);
    if (!s)
        fail_msg("%s is not listed", name);
    assert_true(json_equal(json_object_get(s, "value"), expected));
    if (file) {
        const char *path = json_string_value(json_object_get(s, "file"));
        assert_non_null(path);
        assert_string_equal(path + strlen(path) - strlen(file), file);
        assert_string_equal(json_string_value(json_object_get(s, "key")), key);
    } else {
        assert_string_equal(json_string_value(json_object_get(s, "reason")), key);
    }
    json_decref(expected);
}

static void lists_the_sources(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    test_model_write(dir, NULL);
    free(test_write_text(dir, "config_sentence_transformers.json",
                         "{\"prompts\": {\"query\": \"q: \"}, \"truncate_dim\": 4}"));
    explain(dir, NULL);
    expect("encoder.hidden_size", "8", "config.json", "hidden_size");
    expect("encoder.hidden_act", "\"gelu\"", "config.json", "hidden_act");
    assert_null(json_object_get(settings, "encoder.note")); /* the architecture does not read these keys */
    assert_null(json_object_get(settings, "encoder.torch_dtype"));
    assert_null(json_object_get(settings, "encoder.initializer_range"));
    expect("max_length", "10", NULL, "default");
    expect("pooling", "\"mean\"", NULL, "default");
    expect("truncate_dim", "4", "config_sentence_transformers.json", "truncate_dim");
    expect("dims", "4", NULL, "size of the vectors after the last module and truncate_dim");
    expect("tokenizer.do_lower_case", "true", "tokenizer_config.json", "do_lower_case");
    free(test_write_text(dir, "aoe.json",
                         "{\"format_version\": 4, \"pooling\": \"max\", \"max_length\": 9, \"truncate_dim\": 2}"));
    o.max_length = 5;
    o.dims = 1;
    explain(dir, &o);
    expect("pooling", "\"max\"", "aoe.json", "pooling");
    expect("truncate_dim", "2", "aoe.json", "truncate_dim");
    expect("max_length", "5", NULL, "option");
    expect("dims", "1", NULL, "option");
    json_decref(settings);
    settings = NULL;
    test_dir_remove(dir);
}

/* Keys of aoe.json that aoe does not read are not sources, and do not prevent that the model is opened. */
static void ignores_unknown_keys(void **state) {
    (void)state;
    char *dir = test_dir_create(), key[600], text[800];
    aoe_model_options o;
    test_model_write(dir, NULL);
    memset(key, 'x', 510);
    strcpy(key + 510, "\xc3\xa9");
    snprintf(text, sizeof text, "{\"format_version\": 3, \"pooling\": \"max\", \"%s\": 1, \"encoder.hidden_size\": 2}",
             key);
    free(test_write_text(dir, "aoe.json", text));
    aoe_model_options_defaults(&o);
    o.prompt_name = "other"; /* there is no such prompt, so it is not the source of the prompt */
    o.prompt_optional = 1;
    explain(dir, &o);
    expect("pooling", "\"max\"", "aoe.json", "pooling");
    expect("encoder.hidden_size", "8", "config.json", "hidden_size");
    assert_null(json_object_get(settings, key));
    expect("prompt", "\"\"", NULL, "default");
    json_decref(settings);
    settings = NULL;
    test_dir_remove(dir);
}

/* A value that is in an object under another key. */
static void finds_other_keys(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    char *dir = test_dir_create(), *path = test_path(dir, "config.json");
    json_t *config;
    shape.options = tiny_nomic;
    tiny_model_write(dir, &shape);
    assert_int_equal(aoei_json_load(&config, path, NULL), 0);
    json_object_del(config, "rope_theta");
    json_object_set_new(config, "rope_parameters", json_pack("{s:s, s:i}", "rope_type", "default", "rope_theta", 5000));
    assert_int_equal(aoei_json_save(config, path, NULL), 0);
    explain(dir, NULL);
    assert_non_null(json_object_get(settings, "encoder.rope_parameters"));
    expect("encoder.rope_theta", "5000.0", "config.json", "rope_parameters");
    json_decref(config);
    json_decref(settings);
    settings = NULL;
    free(path);
    test_dir_remove(dir);
}

/* Every setting of an encoder that has a file is a key of config.json with the same value, whatever the architecture. A
 * value that is not in the file is the default. */
static void knows_every_architecture(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config *) = {
        NULL,         tiny_roberta, tiny_mpnet, tiny_deberta, tiny_jina_code,  tiny_jina_bert, tiny_llama,
        tiny_mistral, tiny_qwen2,   tiny_qwen3, tiny_gemma3,  tiny_modernbert, tiny_billm,     tiny_nomic};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        tiny_model shape = tiny_defaults();
        char *dir = test_dir_create(), *path = test_path(dir, "config.json");
        const char *name;
        json_t *config, *s;
        size_t n = 0;
        shape.options = options[i];
        tiny_model_write(dir, &shape);
        assert_int_equal(aoei_json_load(&config, path, NULL), 0);
        explain(dir, NULL);
        json_object_foreach(settings, name, s) {
            const char *key = json_string_value(json_object_get(s, "key"));
            if (strncmp(name, "encoder.", 8) != 0)
                continue;
            n++;
            if (key && !json_equal(json_object_get(config, key), json_object_get(s, "value")) &&
                strcmp(key, "rope_parameters") != 0)
                fail_msg("architecture %zu: %s is not the value of %s", i, name, key);
            if (!key)
                assert_true(!json_object_get(config, name + 8) || json_is_null(json_object_get(config, name + 8)));
        }
        assert_true(n > 10);
        json_decref(config);
        free(path);
        test_dir_remove(dir);
    }
    json_decref(settings);
    settings = NULL;
}

static void ignore(void *user, const aoe_model_setting *s) {
    (void)user;
    (void)s;
}

static int explain_once(void *model) {
    return aoe_model_explain(model, ignore, NULL, NULL);
}

static void reports_allocation_failures(void **state) {
    (void)state;
    char *dir = test_dir_create();
    test_model_write(dir, NULL);
    aoe_model *m = test_model_open(test_model_context, dir, NULL);
    assert_true(test_alloc_failures(explain_once, m, 0) > 50);
    aoe_model_close(m);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_the_sources),
        cmocka_unit_test(ignores_unknown_keys),
        cmocka_unit_test(finds_other_keys),
        cmocka_unit_test(knows_every_architecture),
        cmocka_unit_test(reports_allocation_failures),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
