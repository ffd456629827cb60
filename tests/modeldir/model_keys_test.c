/* SPDX-License-Identifier: MIT
 * covers: base/json_keys encoder/arch_keys modeldir/transformer_module tokenizer/tokenizer_keys
 * Tests the lists of keys of JSON files. A key that is on no list causes one warning that names the key and the file,
 * and the model opens. A key that would change the embeddings is rejected by name. Every architecture has a list, which
 * contains all keys that aoe writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "base/json_keys.h"
#include "modeldir/model_keys.h"

static int n_warnings;
static char last[1000]; /* last warning */

static void on_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    n_warnings += level == AOE_LOG_WARNING;
    snprintf(last, sizeof last, "%s", message);
}

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 8, \"num_attention_heads\": 2, \"intermediate_size\": 12, "
    "\"num_hidden_layers\": 2, \"vocab_size\": 16, \"max_position_embeddings\": 10, \"id2label\": {}%s}";

/* Writes a model of sentence-transformers in which each file contains no unknown keys. */
static void write_model(void) {
    char text[600], *folder = test_path(test_dir, "1_Pooling");
    snprintf(text, sizeof text, config, "");
    test_model_write(test_dir, &(test_model_spec){.config = text});
    free(test_write_text(
        test_dir, "modules.json",
        "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
        "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}]"));
    mkdir(folder, 0777);
    free(test_write_text(test_dir, "1_Pooling/config.json",
                         "{\"word_embedding_dimension\": 8, \"pooling_mode\": \"mean\"}"));
    free(test_write_text(test_dir, "sentence_bert_config.json", "{\"max_seq_length\": 10}"));
    free(test_write_text(test_dir, "config_sentence_transformers.json", "{\"prompts\": {}}"));
    free(folder);
}

/* Opens the model and sets n_warnings and `last`. */
static int open_model(aoe_error *err) {
    aoe_context *ctx;
    aoe_model *m = NULL;
    const aoe_context_options o = {.struct_size = sizeof o, .threads = 1, .log = on_log};
    n_warnings = 0;
    assert_int_equal(aoe_context_create(&ctx, &o, NULL), 0);
    const int rc = aoe_model_open(&m, ctx, test_dir, NULL, err);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return rc;
}

/* Opens the model with the file `name` replaced by `text`, and restores the model. */
static int open_with(const char *name, const char *text, aoe_error *err) {
    free(test_write_text(test_dir, name, text));
    const int rc = open_model(err);
    write_model();
    char *path = test_path(test_dir, name);
    if (!strcmp(name, "special_tokens_map.json") || !strcmp(name, "aoe.json") || !strcmp(name, "tokenizer.json"))
        remove(path);
    free(path);
    return rc;
}

static void warns_about_unknown_keys(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
    } cases[] = {{"sentence_bert_config.json", "{\"max_seq_length\": 10, \"new_key\": 1}"},
                 {"config_sentence_transformers.json", "{\"new_key\": null}"},
                 {"1_Pooling/config.json", "{\"word_embedding_dimension\": 8, \"new_key\": false}"},
                 {"tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\", \"new_key\": {}}"},
                 {"aoe.json", "{\"format_version\": 1, \"new_key\": 1}"},
                 {"special_tokens_map.json", "{\"new_key\": \"x\"}"}};
    aoe_error err;
    char text[600];
    write_model();
    assert_int_equal(open_model(&err), 0);
    assert_int_equal(n_warnings, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (open_with(cases[i].file, cases[i].text, &err))
            fail_msg("%s", err.message);
        assert_int_equal(n_warnings, 1);
        test_message(last, cases[i].file);
        test_message(last, "unknown key \"new_key\" is ignored");
    }
    snprintf(text, sizeof text, config, ", \"is_causal\": false");
    assert_int_equal(open_with("config.json", text, &err), 0);
    assert_int_equal(n_warnings, 0);
    snprintf(text, sizeof text, config, ", \"new_key\": 1, \"rope_theta\": 10000");
    assert_int_equal(open_with("config.json", text, &err), 0);
    assert_int_equal(n_warnings, 1);
    test_message(last, "config.json: unknown keys \"new_key\", \"rope_theta\" are ignored");
    snprintf(text, sizeof text, config, ", \"a1\": 1, \"a2\": 1, \"a3\": 1, \"a4\": 1, \"a5\": 1, \"a6\": 1");
    assert_int_equal(open_with("config.json", text, &err), 0);
    test_message(last, "\"a5\" and others are ignored");
    assert_null(strstr(last, "a6"));
}

/* Tests the keys of objects in rope_parameters and rope_scaling. */
static void warns_about_keys_of_rotary_positions(void **state) {
    (void)state;
    static const struct {
        const char *type, *text, *warning;
    } cases[] = {
        {"llama", "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2, \"attention_factor\": 1}}", NULL},
        {"llama", "{\"rope_parameters\": {\"rope_type\": \"default\", \"new_key\": 1}, \"a\": 1}",
         "unknown keys \"rope_parameters.new_key\", \"a\" are ignored"},
        {"gemma3_text",
         "{\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"default\"}, \"sliding_attention\": null}}",
         NULL},
        {"gemma3_text", "{\"rope_parameters\": {\"sliding_attention\": {\"new_key\": 1}}}",
         "unknown key \"rope_parameters.new_key\" is ignored"},
    };
    const aoei_log log = {.fn = on_log};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *root = json_loads(cases[i].text, 0, NULL);
        assert_non_null(root);
        n_warnings = 0;
        assert_int_equal(aoei_json_keys_check(root, AOEI_KEYS_CONFIG, cases[i].type, "x", &log, NULL), 0);
        assert_int_equal(n_warnings, cases[i].warning ? 1 : 0);
        if (cases[i].warning)
            test_message(last, cases[i].warning);
        json_decref(root);
    }
}

/* transformers uses use_bidirectional_attention only in Gemma 3 models, and is_causal in all causal models. */
static void warns_about_bidirectional_attention(void **state) {
    (void)state;
    static const struct {
        const char *type, *keys;
        int warnings;
    } cases[] = {{"llama", "\"use_bidirectional_attention\": true", 1},
                 {"mistral", "\"use_bidirectional_attention\": true", 1},
                 {"ministral", "\"use_bidirectional_attention\": true", 1},
                 {"qwen2", "\"use_bidirectional_attention\": true", 1},
                 {"qwen3", "\"use_bidirectional_attention\": true, \"is_causal\": true", 1},
                 {"qwen3", "\"use_bidirectional_attention\": true, \"is_causal\": false", 0},
                 {"llama", "\"use_bidirectional_attention\": false", 0},
                 {"gemma3_text", "\"use_bidirectional_attention\": true", 0}};
    const aoei_log log = {.fn = on_log};
    write_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", %s}", cases[i].type, cases[i].keys);
        aoei_model_files f = {
            .dir = test_dir, .cache = test_model_dir(test_dir).cache, .config_json = json_loads(text, 0, NULL)};
        const aoei_encoder_config c = {.arch = aoei_arch_find(cases[i].type)};
        n_warnings = 0;
        assert_int_equal(aoei_model_keys_check(&f, &c, &log, NULL), 0);
        assert_int_equal(n_warnings, cases[i].warnings);
        if (cases[i].warnings)
            test_message(last, "config.json: use_bidirectional_attention is true");
        json_decref(f.config_json);
    }
}

/* Tests the keys of tokenizer.json and of its components. */
static void warns_about_keys_of_tokenizers(void **state) {
    (void)state;
    static const char model[] =
        "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0}%s}";
    static const struct {
        const char *before, *in_model, *warning;
    } cases[] = {
        {"\"version\": \"1.0\", \"decoder\": {\"type\": \"x\", \"new\": 1}, \"normalizer\": {\"type\": "
         "\"Lowercase\"}, ",
         "", NULL},
        {"\"new_key\": 1, ", "", "tokenizer.json: unknown key \"new_key\" is ignored"},
        {"", ", \"new_key\": 1", "unknown key \"model.new_key\" is ignored"},
        {"\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Lowercase\", \"new_key\": 1}]}, ", "",
         "unknown key \"normalizer.new_key\" is ignored"},
        {"\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"use_regex\": true, \"new_key\": 1}, ", "",
         "unknown key \"pre_tokenizer.new_key\" is ignored"},
        {"\"added_tokens\": [{\"id\": 0, \"content\": \"[UNK]\", \"special\": true, \"new_key\": 1}], ", "",
         "unknown key \"added_tokens.new_key\" is ignored"},
    };
    aoe_error err;
    char part[300], text[600];
    write_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(part, sizeof part, model, cases[i].in_model);
        snprintf(text, sizeof text, "{%s%s}", cases[i].before, part);
        if (open_with("tokenizer.json", text, &err))
            fail_msg("%s", err.message);
        assert_int_equal(n_warnings, cases[i].warning ? 1 : 0);
        if (cases[i].warning)
            test_message(last, cases[i].warning);
    }
}

static void rejects_keys_that_change_embeddings(void **state) {
    (void)state;
    static const struct {
        const char *file, *text, *message;
    } cases[] = {
        {"sentence_bert_config.json", "{\"tokenizer_name_or_path\": \"other\"}", "tokenizer_name_or_path has a value"},
        {"config_sentence_transformers.json", "{\"model_type\": \"SparseEncoder\"}", "model_type has a value"},
        {"config_sentence_transformers.json", "{\"model_type\": null}", "model_type has a value"},
        {"config_sentence_transformers.json", "{\"model_type\": \"CrossEncoder\"}", "model_type is CrossEncoder"},
        {"tokenizer_config.json", "{\"split_special_tokens\": true}", "split_special_tokens has a value"},
        {"tokenizer_config.json", "{\"fast_tokenizer_files\": [\"tokenizer.json\", \"tokenizer.4.0.0.json\"]}",
         "fast_tokenizer_files has a value"},
        {"tokenizer_config.json", "{\"fast_tokenizer_files\": [[\"tokenizer.json\"]]}",
         "fast_tokenizer_files has a value"},
        {"sentence_bert_config.json", "{\"transformer_task\": \"text-generation\"}",
         "transformer_task 'text-generation' gives no token embeddings"},
        {"sentence_bert_config.json", "{\"transformer_task\": \"sequence-classification\"}",
         "transformer_task 'sequence-classification' gives no token embeddings"}};
    static const char *const accepted[] = {
        "{\"tokenizer_args\": {\"model_max_length\": 5}, \"config_args\": {}, \"model_args\": null}",
        "{\"transformer_task\": \"feature-extraction\", \"module_output_name\": \"token_embeddings\", "
        "\"modality_config\": "
        "{\"text\": {\"method\": \"forward\", \"method_output_name\": \"last_hidden_state\"}}, "
        "\"unpad_inputs\": false}"};
    aoe_error err;
    char text[600];
    write_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_with(cases[i].file, cases[i].text, &err), AOE_EUNSUPPORTED);
        FRAGMENT(err, cases[i].file);
        FRAGMENT(err, cases[i].message);
    }
    snprintf(text, sizeof text, config, ", \"quantization_config\": {\"bits\": 4}");
    assert_int_equal(open_with("config.json", text, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "config.json: quantization_config");
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        if (open_with("sentence_bert_config.json", accepted[i], &err))
            fail_msg("%s", err.message);
        assert_int_equal(n_warnings, 0);
    }
}

/* A list that names only tokenizer.json selects the file that is read anyway. */
static void accepts_the_list_of_one_tokenizer_file(void **state) {
    (void)state;
    aoe_error err;
    write_model();
    if (open_with("tokenizer_config.json", "{\"fast_tokenizer_files\": [\"tokenizer.json\"]}", &err))
        fail_msg("%s", err.message);
    assert_int_equal(n_warnings, 0);
}

/* The warning about a directory without modules.json names every file that sentence-transformers ignores there. */
static void names_the_files_that_need_modules_json(void **state) {
    (void)state;
    aoe_error err;
    write_model();
    char *path = test_path(test_dir, "modules.json");
    assert_int_equal(remove(path), 0);
    free(path);
    assert_int_equal(open_model(&err), 0);
    assert_int_equal(n_warnings, 1);
    test_message(
        last, ": the directory contains 1_Pooling/config.json, sentence_bert_config.json, "
              "config_sentence_transformers.json but no modules.json; aoe uses these files, and sentence-transformers "
              "ignores them");
}

static void warns_about_adapters_without_weights(void **state) {
    (void)state;
    aoe_error err;
    write_model();
    char *path = test_write_text(test_dir, "adapter_config.json", "{\"peft_type\": \"LORA\"}");
    assert_int_equal(open_model(&err), 0);
    assert_int_equal(n_warnings, 1);
    test_message(last,
                 ": the directory contains adapter_config.json but no weights of adapters; the model is used without");
    assert_int_equal(remove(path), 0);
    free(path);
}

/* Every architecture has a list, and the keys of a config.json that aoe writes are on it. */
static void rejects_files_without_an_object(void **state) {
    (void)state;
    static const char *const files[] = {
        "config.json",           "sentence_bert_config.json", "config_sentence_transformers.json",
        "1_Pooling/config.json", "tokenizer_config.json",     "special_tokens_map.json",
        "tokenizer.json"};
    static const char *const values[] = {"[]", "[3]", "3", "\"x\"", "null", "true"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            aoe_error err = {0};
            write_model();
            if (open_with(files[i], values[k], &err) != AOE_EFORMAT || !strstr(err.message, files[i]))
                fail_msg("%s with %s: %s", files[i], values[k], err.message);
        }
}

static int has_list(const char *model_type) {
    aoei_key_list list;
    for (size_t i = 0; aoei_json_keys_list(&list, i); i++)
        if (list.kind == AOEI_KEYS_CONFIG && list.subject && !strcmp(list.subject, model_type))
            return 1;
    return 0;
}

static void knows_the_keys_of_architectures(void **state) {
    (void)state;
    char names[1000], *at = names;
    snprintf(names, sizeof names, "%s", aoei_arch_names());
    for (const char *name = strtok_r(names, ", ", &at); name; name = strtok_r(NULL, ", ", &at)) {
        const aoei_arch *arch = aoei_arch_find(name);
        assert_non_null(arch);
        if (!has_list(arch->model_type))
            fail_msg("json_keys.c contains no list for the architecture '%s'", name);
        if (!arch->defaults)
            continue;
        aoei_encoder_config c = {0};
        json_t *written = json_object();
        arch->defaults(&c);
        arch->set_shape(&c, &(aoe_shape){.struct_size = sizeof(aoe_shape),
                                         .hidden = 8,
                                         .layers = 2,
                                         .heads = 2,
                                         .kv_heads = 2,
                                         .intermediate = 16,
                                         .vocab = 10,
                                         .positions = 16});
        c.arch = arch;
        assert_int_equal(arch->write(&c, written), 0);
        n_warnings = 0;
        *last = 0;
        const aoei_log log = {.fn = on_log};
        assert_int_equal(aoei_json_keys_check(written, AOEI_KEYS_CONFIG, arch->model_type, name, &log, NULL), 0);
        if (n_warnings)
            fail_msg("%s", last);
        json_decref(written);
    }
}

static void reports_failed_allocations(void **state) {
    (void)state;
    write_model();
    test_alloc_failures(test_model_open_once, test_dir, 100);
}

static int begin(void **state) {
    return test_dir_set_up(state) || test_model_begin(state);
}

static int end(void **state) {
    return test_dir_tear_down(state) || test_model_end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warns_about_unknown_keys),
        cmocka_unit_test(warns_about_keys_of_rotary_positions),
        cmocka_unit_test(warns_about_bidirectional_attention),
        cmocka_unit_test(warns_about_keys_of_tokenizers),
        cmocka_unit_test(rejects_keys_that_change_embeddings),
        cmocka_unit_test(accepts_the_list_of_one_tokenizer_file),
        cmocka_unit_test(names_the_files_that_need_modules_json),
        cmocka_unit_test(warns_about_adapters_without_weights),
        cmocka_unit_test(rejects_files_without_an_object),
        cmocka_unit_test(knows_the_keys_of_architectures),
        cmocka_unit_test(reports_failed_allocations),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
