/* SPDX-License-Identifier: MIT
 * covers: modeldir/layout modeldir/model_writer modeldir/sentence_transformers_write
 * Tests the saving of model directories. A saved model must have equal weights and settings when it is opened again.
 * The files that sentence-transformers reads must be equal, byte for byte, to expected files. No file of an older model
 * may remain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"
#include "model/weight_view.h"
#include "modeldir/layout.h"

/* Asserts that the contents of the file dir/name equal `want`. If want is NULL, asserts that the file does not
 * exist. */
static void check_file(const char *dir, const char *name, const char *want) {
    char *path = test_path(dir, name), *text = test_read(path, NULL);
    if (!want)
        assert_null(text);
    else if (!text)
        fail_msg("%s is missing", name);
    else
        assert_string_equal(text, want);
    free(text);
    free(path);
}

static int has(const char *dir, const char *name) {
    return aoei_entry_exists(dir, name);
}

/* Opens the model in dir with options o and saves it to the directory `to`. record: JSON description of the training,
 * which is saved with the model; NULL: none. */
static void resave(const char *dir, const char *to, const aoe_model_options *o, json_t *record) {
    aoe_model *m;
    aoe_error err;
    if (aoei_model_open_trainable(&m, test_model_context, dir, o, &err) || aoei_model_save(m, to, record, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
}

static void expect_equal_weights(const aoe_model *a, const aoe_model *b) {
    for (size_t i = 0; i < aoei_slot_count(&a->config); i++) {
        float x[TEST_VOCAB * TEST_INTERMEDIATE], y[TEST_VOCAB * TEST_INTERMEDIATE];
        aoei_tensor_read(test_model_context, x, a->weights[i]);
        aoei_tensor_read(test_model_context, y, b->weights[i]);
        assert_memory_equal(x, y, a->weights[i].rows * a->weights[i].cols * sizeof *x);
    }
}

/* Saves a model with these settings, opens it without options and asserts that the settings are equal. Then removes
 * aoe.json and repeats the check, because the files for sentence-transformers must also contain the settings. */
static void round_trip(aoe_pooling pooling, int normalize, const char *prompt) {
    char *dir = test_dir_create(), *to = test_path(dir, "new/model"), *own = test_path(to, "aoe.json");
    aoe_model *a, *b;
    aoe_model_options o;
    aoe_error err;
    char limits[512];
    aoe_model_options_defaults(&o);
    o.pooling = pooling;
    o.normalize = normalize;
    o.prompt = prompt;
    o.max_length = 9;
    test_model_write(dir, &(test_model_spec){.dtype = AOEI_ST_BF16, .prefix = "bert.", .older_names = 1});
    assert_int_equal(aoei_model_open_trainable(&a, test_model_context, dir, &o, NULL), 0);
    if (aoei_model_save(a, to, NULL, &err))
        fail_msg("%s", err.message);
    for (int pass = 0; pass < 2; pass++) {
        if (aoe_model_open(&b, test_model_context, to, NULL, &err))
            fail_msg("%s", err.message);
        expect_equal_weights(a, b);
        assert_string_equal(b->files.storage, "F32");
        assert_string_equal(b->files.prefix, "");
        assert_int_equal(b->settings.pooling, pooling);
        assert_string_equal(b->settings.pooling_from, pass ? "1_Pooling/config.json" : "aoe.json");
        assert_int_equal(b->settings.max_length, 9);
        assert_int_equal(b->settings.normalize, normalize);
        assert_string_equal(b->settings.prompt, prompt);
        assert_non_null(aoe_model_tokenizer(b));
        aoe_model_close(b);
        assert_int_equal(unlink(own), pass ? -1 : 0);
        if (aoei_settings_limits(&a->settings, limits, sizeof limits))
            break; /* sentence-transformers cannot represent these settings */
    }
    aoe_model_close(a);
    free(own);
    free(to);
    test_dir_remove(dir);
}

static void reopens_with_equal_settings(void **state) {
    (void)state;
    static const char *const prompts[] = {"", "query: {text}", "Text \"{text}\" means\n"};
    for (int p = test_next_pooling(0); p; p = test_next_pooling(p))
        for (int normalize = 0; normalize < 2; normalize++)
            for (size_t i = 0; i < 3; i++)
                round_trip((aoe_pooling)p, normalize, prompts[i]);
}

#define MODULE_TEXT(idx, path, type)                                                                                   \
    "  {\n    \"idx\": " #idx ",\n    \"name\": \"" #idx "\",\n    \"path\": \"" path                                  \
    "\",\n    \"type\": \"sentence_transformers.models." type "\"\n  }"
#define POOLING_TEXT(cls, mean)                                                                                        \
    "{\n  \"word_embedding_dimension\": 8,\n  \"pooling_mode_cls_token\": " cls                                        \
    ",\n  \"pooling_mode_mean_tokens\": " mean                                                                         \
    ",\n  \"pooling_mode_max_tokens\": false,\n  \"pooling_mode_mean_sqrt_len_tokens\": false,\n"                      \
    "  \"pooling_mode_weightedmean_tokens\": false,\n  \"pooling_mode_lasttoken\": false,\n"                           \
    "  \"include_prompt\": true\n}\n"

static void writes_sentence_transformers_files(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "out");
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_CLS_LAST_AVG;
    o.normalize = 1;
    o.prompt = "query: {text}";
    test_model_write(dir, NULL);
    resave(dir, to, &o, NULL);
    check_file(to, "modules.json",
               "[\n" MODULE_TEXT(0, "", "Transformer") ",\n" MODULE_TEXT(1, "1_Pooling", "Pooling") ",\n" MODULE_TEXT(
                   2, "2_Dense", "Dense") ",\n" MODULE_TEXT(3, "3_Normalize", "Normalize") "\n]\n");
    check_file(to, "1_Pooling/config.json", POOLING_TEXT("true", "true"));
    check_file(to, "2_Dense/config.json",
               "{\n  \"in_features\": 16,\n  \"out_features\": 8,\n  \"bias\": false,\n"
               "  \"activation_function\": \"torch.nn.modules.linear.Identity\"\n}\n");
    check_file(to, "sentence_bert_config.json", "{\n  \"max_seq_length\": 10,\n  \"do_lower_case\": false\n}\n");
    check_file(to, "config_sentence_transformers.json",
               "{\n  \"prompts\": {\n    \"default\": \"query: \"\n  },\n"
               "  \"default_prompt_name\": \"default\",\n  \"similarity_fn_name\": \"cosine\"\n}\n");
    check_file(to, "aoe.json",
               "{\n  \"format_version\": 1,\n  \"pooling\": \"cls-last-avg\",\n  \"prompts\": {\n"
               "    \"default\": \"query: {text}\"\n"
               "  },\n  \"max_length\": 10,\n  \"normalize\": true\n}\n");
    char *folder = test_path(to, "3_Normalize");
    assert_int_equal(test_count_entries(folder), 0);
    free(folder);

    o.pooling = AOE_POOLING_LAST_AVG;
    o.normalize = 0;
    o.prompt = "";
    resave(dir, to, &o, NULL);
    check_file(to, "modules.json",
               "[\n" MODULE_TEXT(0, "", "Transformer") ",\n" MODULE_TEXT(1, "1_Pooling", "Pooling") "\n]\n");
    check_file(to, "1_Pooling/config.json", POOLING_TEXT("false", "true"));
    check_file(to, "config_sentence_transformers.json",
               "{\n  \"prompts\": {},\n  \"default_prompt_name\": null,\n  \"similarity_fn_name\": \"cosine\"\n}\n");
    assert_false(has(to, "2_Dense") || has(to, "3_Normalize"));

    o.normalize = 1;
    resave(dir, to, &o, NULL);
    check_file(to, "modules.json",
               "[\n" MODULE_TEXT(0, "", "Transformer") ",\n" MODULE_TEXT(1, "1_Pooling", "Pooling") ",\n" MODULE_TEXT(
                   2, "2_Normalize", "Normalize") "\n]\n");
    assert_true(has(to, "2_Normalize"));
    free(to);
    test_dir_remove(dir);
}

static void readme_lists_limits(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "out"), *readme = test_path(to, "README.md"), *text;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    test_model_write(dir, NULL);
    resave(dir, to, NULL, NULL);
    text = test_read(readme, NULL);
    assert_non_null(strstr(text, "from sentence_transformers import SentenceTransformer"));
    assert_null(strstr(text, "## Limits"));
    free(text);
    o.pooling = AOE_POOLING_FIRST_LAST_AVG;
    o.prompt = "{text} in\nshort";
    resave(dir, to, &o, NULL);
    check_file(to, "modules.json", "[\n" MODULE_TEXT(0, "", "AoePooling") "\n]\n");
    assert_false(has(to, "1_Pooling") || has(to, "sentence_bert_config.json"));
    assert_false(has(to, "config_sentence_transformers.json"));
    text = test_read(readme, NULL);
    assert_null(strstr(text, "from sentence_transformers"));
    assert_non_null(strstr(text, "## Limits"));
    assert_non_null(strstr(
        text, "they do not support first-last-avg pooling, and they do not support prompts with text after {text}."));
    assert_non_null(strstr(text, "| prompt | `\"{text} in\\nshort\"` |"));
    free(text);
    free(readme);
    free(to);
    test_dir_remove(dir);
}

static void writes_config_and_record(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "out"), *path = test_path(to, "config.json");
    json_t *record =
        json_pack("{s:[s, s], s:s, s:i}", "data", "train.tsv", "/home/me/sts.tsv", "prompt", "/query", "steps", 7);
    test_model_write(dir, &(test_model_spec){.pooler = 1});
    resave(dir, to, NULL, record);
    char *text = test_read(path, NULL);
    assert_non_null(strstr(text, "\"architectures\": [\n    \"BertModel\"\n  ]"));
    assert_non_null(strstr(text, "\"torch_dtype\": \"float32\""));
    assert_non_null(strstr(text, "\"note\": \"kept\""));
    free(text);
    free(path);
    aoe_model *m;
    assert_int_equal(aoei_model_open_trainable(&m, test_model_context, to, NULL, NULL), 0);
    assert_true(json_equal(m->files.record, record));
    aoe_model_close(m);
    path = test_path(to, "README.md");
    text = test_read(path, NULL);
    assert_non_null(strstr(text, "\"train.tsv\""));
    /* README.md contains only the file name, because a file that may be published must not contain local paths */
    assert_non_null(strstr(text, "\"sts.tsv\""));
    assert_null(strstr(text, "/home"));
    assert_non_null(strstr(text, "\"/query\""));
    free(text);
    free(path);
    json_decref(record);
    free(to);
    test_dir_remove(dir);
}

static void copies_the_pooler(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "out");
    aoe_model *m, *view;
    test_model_write(dir, &(test_model_spec){.pooler = 1, .prefix = "bert.", .dtype = AOEI_ST_F16});
    assert_int_equal(aoei_model_open_trainable(&m, test_model_context, dir, NULL, NULL), 0);
    assert_int_equal(aoei_model_view(&view, m, m->weights, NULL), 0);
    assert_int_equal(aoei_model_save(view, to, NULL, NULL), 0);
    aoe_model_close(view);
    aoe_model_close(m);
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open_dir(&s, to, NULL), 0);
    const aoei_st_tensor *t = aoei_safetensors_find(s, "pooler.dense.weight");
    float v[TEST_HIDDEN * TEST_HIDDEN];
    assert_non_null(t);
    assert_int_equal(t->dtype, AOEI_ST_F32);
    assert_int_equal(t->n_dims, 2);
    aoei_st_to_float(v, t);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        assert_true(v[i] == test_model_value(1000, i));
    assert_non_null(aoei_safetensors_find(s, "pooler.dense.bias"));
    aoei_safetensors_close(s);
    free(to);
    test_dir_remove(dir);
}

static void keeps_the_named_prompts(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "out");
    test_model_write(dir, NULL);
    free(test_write_text(dir, "config_sentence_transformers.json",
                         "{\"prompts\":{\"query\":\"q: \",\"document\":\"d: \"}}"));
    resave(dir, to, NULL, NULL);
    check_file(to, "config_sentence_transformers.json",
               "{\n  \"prompts\": {\n    \"query\": \"q: \",\n    \"document\": \"d: \"\n  },\n"
               "  \"default_prompt_name\": null,\n  \"similarity_fn_name\": \"cosine\"\n}\n");
    resave(to, to, NULL, NULL);
    check_file(to, "config_sentence_transformers.json",
               "{\n  \"prompts\": {\n    \"query\": \"q: \",\n    \"document\": \"d: \"\n  },\n"
               "  \"default_prompt_name\": null,\n  \"similarity_fn_name\": \"cosine\"\n}\n");
    free(to);
    test_dir_remove(dir);
}

static void removes_all_files_of_an_older_model(void **state) {
    (void)state;
    static const char *const gone[] = {"model.safetensors.index.json",
                                       "model-00001-of-00002.safetensors",
                                       "model-00002-of-00002.safetensors",
                                       "special_tokens_map.json",
                                       "3_Normalize",
                                       "sentence_roberta_config.json",
                                       "tokenizer.json",
                                       ".staging-99999999"};
    char *dir = test_dir_create(), *old = test_path(dir, "old"), *path;
    mkdir(old, 0777);
    test_model_write(dir, NULL);
    test_model_write(old, &(test_model_spec){.shards = 2});
    free(test_write_text(old, "special_tokens_map.json", "{}"));
    free(test_write_text(old, "sentence_roberta_config.json", "{\"max_seq_length\":3}"));
    free(test_write_text(old, "tokenizer.json", "{}"));
    free(test_write_text(old, "notes.txt", "mine"));
    path = test_path(old, "3_Normalize");
    mkdir(path, 0777);
    free(path);
    path = test_path(old, "checkpoints");
    mkdir(path, 0777);
    free(path);
    path = test_path(old, ".staging-99999999"); /* no process has this id */
    mkdir(path, 0777);
    free(path);
    resave(dir, old, NULL, NULL);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (has(old, gone[i]))
            fail_msg("%s was not removed", gone[i]);
    check_file(old, "notes.txt", "mine");
    assert_true(has(old, "checkpoints"));
    assert_true(aoei_is_model_dir(old));
    resave(old, old, NULL, NULL); /* the output replaces the input file, which is mapped into memory */
    aoe_model *a, *b;
    assert_int_equal(aoei_model_open_trainable(&a, test_model_context, dir, NULL, NULL), 0);
    assert_int_equal(aoei_model_open_trainable(&b, test_model_context, old, NULL, NULL), 0);
    expect_equal_weights(a, b);
    aoe_model_close(a);
    aoe_model_close(b);
    free(old);
    test_dir_remove(dir);
}

static void writes_nothing_after_an_error(void **state) {
    (void)state;
    char *dir = test_dir_create(), *file = test_write_text(dir, "file", "x"), *to = test_path(dir, "file/out");
    aoe_model *m;
    aoe_error err;
    test_model_write(dir, NULL);
    size_t before = test_count_entries(dir);
    assert_int_equal(aoei_model_open_trainable(&m, test_model_context, dir, NULL, NULL), 0);
    assert_int_equal(aoei_model_save(m, to, NULL, &err), AOE_EEXIST);
    FRAGMENT(err, "a file has this name");
    assert_int_equal(test_count_entries(dir), before);
    aoe_model_close(m);
    free(file);
    free(to);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reopens_with_equal_settings),
        cmocka_unit_test(writes_sentence_transformers_files),
        cmocka_unit_test(readme_lists_limits),
        cmocka_unit_test(writes_config_and_record),
        cmocka_unit_test(copies_the_pooler),
        cmocka_unit_test(keeps_the_named_prompts),
        cmocka_unit_test(removes_all_files_of_an_older_model),
        cmocka_unit_test(writes_nothing_after_an_error),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
