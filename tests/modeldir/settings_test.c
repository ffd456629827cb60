/* SPDX-License-Identifier: MIT
 * covers: modeldir/settings_read
 * Tests how the settings of a model are determined. The sources, in order of priority, are options, aoe.json, the files
 * of sentence-transformers in their old and new layout, and defaults. Other tests cover files that must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "modeldir/settings.h"
#include "modeldir/settings_read.h"
#include "modeldir/safetensors_writer.h"

#define OLD_TYPE(name)          "sentence_transformers.models." name
#define MODULE(idx, path, type) "{\"idx\":" #idx ",\"name\":\"" #idx "\",\"path\":\"" path "\",\"type\":\"" type "\"}"
#define TRANSFORMER             MODULE(0, "", OLD_TYPE("Transformer"))
#define POOLING                 MODULE(1, "1_Pooling", OLD_TYPE("Pooling"))
#define DENSE                   MODULE(2, "2_Dense", OLD_TYPE("Dense"))
#define NORMALIZE               MODULE(2, "2_Normalize", OLD_TYPE("Normalize"))
#define DENSE_CONFIG                                                                                                   \
    "{\"in_features\":16,\"out_features\":8,\"bias\":false,"                                                           \
    "\"activation_function\":\"torch.nn.modules.linear.Identity\"}"

#define NEW_TYPE(path)     "sentence_transformers." path
#define NEW_POOLING_TYPE   NEW_TYPE("sentence_transformer.modules.pooling.Pooling")
#define NEW_NORMALIZE_TYPE NEW_TYPE("base.modules.normalize.Normalize")
#define NEW_TRANSFORMER    MODULE(0, "", NEW_TYPE("base.modules.transformer.Transformer"))
#define NEW_POOLING        MODULE(1, "1_Pooling", NEW_POOLING_TYPE)
#define NEW_DENSE          MODULE(2, "2_Dense", NEW_TYPE("base.modules.dense.Dense"))
#define NEW_NORMALIZE      MODULE(2, "2_Normalize", NEW_NORMALIZE_TYPE)

/* Writes text to the file dir/name. If name has the form FOLDER/FILE, creates the folder first. */
static void put(const char *dir, const char *name, const char *text) {
    char folder[64] = "";
    const char *slash = strchr(name, '/');
    if (slash) {
        memcpy(folder, name, (size_t)(slash - name));
        char *path = test_path(dir, folder);
        mkdir(path, 0777);
        free(path);
    }
    free(test_write_text(dir, name, text));
}

/* Reads the settings of dir with the options o. If o is NULL, the default options are used. Returns the error code. */
static int read_dir(aoei_settings *s, const char *dir, const aoe_model_options *o, aoe_error *err) {
    aoe_model_options defaults;
    aoei_encoder_config c;
    json_t *record;
    aoe_model_options_defaults(&defaults);
    test_model_config(&c);
    int rc = aoei_settings_read(s, &record, test_model_dir(dir), &c, o ? o : &defaults, err);
    json_decref(record);
    return rc;
}

static void check(const aoei_settings *s, aoe_pooling pooling, const char *pooling_from, size_t max_length,
                  const char *length_from, const char *prompt, int normalize) {
    assert_int_equal(s->pooling, pooling);
    assert_string_equal(s->pooling_from, pooling_from);
    assert_int_equal(s->max_length, max_length);
    assert_string_equal(s->max_length_from, length_from);
    assert_string_equal(s->prompt, prompt);
    assert_int_equal(s->normalize, normalize);
}

static void names_the_poolings(void **state) {
    (void)state;
    aoe_pooling p;
    aoe_error err;
    for (int i = 1; i < AOE_POOLING_COUNT; i++) {
        assert_int_equal(aoe_pooling_parse(&p, aoe_pooling_name((aoe_pooling)i), NULL), 0);
        assert_int_equal(p, i);
    }
    assert_null(aoe_pooling_name(AOE_POOLING_COUNT));
    assert_null(aoe_pooling_name((aoe_pooling)-1));
    assert_int_equal(aoe_pooling_parse(&p, "mean", NULL), 0);
    assert_int_equal(p, AOE_POOLING_LAST_AVG);
    assert_int_equal(aoe_pooling_parse(&p, "max", NULL), 0);
    assert_int_equal(p, AOE_POOLING_LAST_MAX);
    assert_int_equal(aoe_pooling_parse(&p, "auto", &err), AOE_EARG);
    assert_int_equal(aoe_pooling_parse(&p, "average", &err), AOE_EARG);
    FRAGMENT(err, "unknown pooling 'average'; use cls, mean, max");
}

static void settings_follow_their_precedence(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_settings s;
    aoe_model_options o;
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_AVG, "default", 10, "default", "", 0);
    aoei_settings_free(&s);

    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "," NORMALIZE "]");
    put(dir, "1_Pooling/config.json", "{\"pooling_mode_mean_tokens\":true}");
    put(dir, "sentence_bert_config.json", "{\"max_seq_length\":7,\"do_lower_case\":true}");
    put(dir, "config_sentence_transformers.json",
        "{\"prompts\":{\"q\":\"query: \",\"d\":\"\"},\"default_prompt_name\":\"q\"}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_AVG, "1_Pooling/config.json", 7, "sentence_bert_config.json", "query: {text}", 1);
    assert_true(s.lowercase);
    assert_int_equal(json_object_size(s.prompts), 2);
    assert_string_equal(json_string_value(json_object_get(s.prompts, "d")), "{text}");
    aoei_settings_free(&s);

    put(dir, "aoe.json",
        "{\"format_version\":1,\"pooling\":\"last-max\",\"max_length\":6,\"normalize\":false,"
        "\"prompts\":{\"default\":\"a {text} b\"}}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_MAX, "aoe.json", 6, "aoe.json", "a {text} b", 0);
    assert_true(s.lowercase);
    aoei_settings_free(&s);

    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_LAST_TOKEN;
    o.max_length = 10;
    o.prompt = "";
    o.normalize = 1;
    assert_int_equal(read_dir(&s, dir, &o, NULL), 0);
    check(&s, AOE_POOLING_LAST_TOKEN, "option", 10, "option", "", 1);
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

static void aoe_json_may_omit_settings(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "aoe.json", "{\"format_version\":1,\"max_length\":null}");
    put(dir, "1_Pooling/config.json", "{\"pooling_mode_lasttoken\":true}");
    put(dir, "sentence_bert_config.json", "{\"max_seq_length\":5}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_TOKEN, "1_Pooling/config.json", 5, "sentence_bert_config.json", "", 0);
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

static void rejects_an_invalid_aoe_json(void **state) {
    (void)state;
    static const struct {
        const char *text, *fragment;
        int code;
    } cases[] = {
        {"{\"format_version\":11}",
         "aoe.json: format_version is 11, but this version of aoe supports at most 10; update aoe", AOE_EUNSUPPORTED},
        {"{}", "aoe.json: \"format_version\" is missing", AOE_EFORMAT},
        {"[]", "aoe.json: not a JSON object", AOE_EFORMAT},
        {"{", "aoe.json:1: ", AOE_EFORMAT},
        {"{\"format_version\":1,\"pooling\":\"average\"}", "aoe.json: unknown pooling 'average'; use cls", AOE_EFORMAT},
        {"{\"format_version\":1,\"max_length\":11}",
         "aoe.json: \"max_length\" is 11, but must be from 1 to 10, the number of positions of the model", AOE_EFORMAT},
        {"{\"format_version\":1,\"max_length\":0}", "aoe.json: \"max_length\" is 0", AOE_EFORMAT},
        {"{\"format_version\":1,\"prompts\":[]}", "aoe.json: \"prompts\" is not an object", AOE_EFORMAT},
        {"{\"format_version\":1,\"prompts\":{\"x\":\"no place\"}}",
         "aoe.json: the prompt 'x' \"no place\" does not contain {text}", AOE_EFORMAT},
        {"{\"format_version\":1,\"prompts\":{\"x\":7}}", "aoe.json: prompt \"x\" is not a template", AOE_EFORMAT},
        {"{\"format_version\":1,\"normalize\":1}", "aoe.json: \"normalize\" is not true or false", AOE_EFORMAT},
        {"{\"format_version\":1,\"training\":1}", "aoe.json: \"training\" is not an object", AOE_EFORMAT},
        {"{\"format_version\":2,\"dense\":\"../2_Dense\"}",
         "aoe.json: \"dense\" is '../2_Dense', which is not the name of a folder", AOE_EFORMAT},
        {"{\"format_version\":2,\"dense\":2}", "aoe.json: \"dense\" is not a string", AOE_EFORMAT},
        {"{\"format_version\":10,\"chat_template\":{\"options\":{\"tools\":[]}}}", "aoe.json: this value of \"tools\"",
         AOE_EUNSUPPORTED},
        {"{\"format_version\":10,\"chat_template\":\"x\"}", "aoe.json: \"chat_template\" is not an object with",
         AOE_EFORMAT},
    };
    char *dir = test_dir_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_settings s;
        aoe_error err;
        put(dir, "aoe.json", cases[i].text);
        assert_int_equal(read_dir(&s, dir, NULL, &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        FRAGMENT(err, cases[i].fragment);
        FRAGMENT(err, dir);
    }
    test_dir_remove(dir);
}

/* Writes the weights [8, 16] of the module 2_Dense. The elements [r, r] and [r, r + 8] are `diagonal`, and all other
 * elements are `other`. */
static void write_dense(const char *dir, float diagonal, float other) {
    const aoei_st_entry e = {"linear.weight", AOEI_ST_F32, 2, {8, 16}};
    char *path = test_path(dir, "2_Dense/model.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, &e, 1, NULL), 0);
    for (size_t r = 0; r < 8; r++)
        for (size_t c = 0; c < 16; c++)
            assert_int_equal(aoei_st_writer_write(w, c % 8 == r ? &diagonal : &other, 4, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
}

static void reads_the_old_layout(void **state) {
    (void)state;
    static const struct {
        const char *config;
        aoe_pooling pooling;
    } cases[] = {
        {"{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}", AOE_POOLING_CLS},
        {"{\"word_embedding_dimension\":8,\"pooling_mode_cls_token\":false,\"pooling_mode_mean_tokens\":true,"
         "\"pooling_mode_max_tokens\":false,"
         "\"pooling_mode_mean_sqrt_len_tokens\":false,\"pooling_mode_weightedmean_tokens\":false,"
         "\"pooling_mode_lasttoken\":false,"
         "\"include_prompt\":true}",
         AOE_POOLING_LAST_AVG},
        {"{\"pooling_mode_max_tokens\":true}", AOE_POOLING_LAST_MAX},
        {"{\"pooling_mode_lasttoken\":true}", AOE_POOLING_LAST_TOKEN},
        {"{\"pooling_mode_mean_tokens\":false}", AOE_POOLING_LAST_AVG},
        {"{\"pooling_mode\":\"cls\",\"pooling_mode_mean_tokens\":true}", AOE_POOLING_CLS},
    };
    char *dir = test_dir_create();
    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "]");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_settings s;
        put(dir, "1_Pooling/config.json", cases[i].config);
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        check(&s, cases[i].pooling, "1_Pooling/config.json", 10, "default", "", 0);
        aoei_settings_free(&s);
    }
    test_dir_remove(dir);
}

static void reads_the_new_layout(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "modules.json",
        "[" NEW_TRANSFORMER ",{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"" NEW_POOLING_TYPE
        "\",\"kwargs\":[\"task\"]}," NEW_DENSE "," MODULE(3, "3_Normalize", NEW_NORMALIZE_TYPE) "]");
    put(dir, "1_Pooling/config.json",
        "{\"embedding_dimension\":8,\"pooling_mode\":[\"cls\",\"mean\"],\"include_prompt\":true}");
    put(dir, "2_Dense/config.json",
        "{\"in_features\":16,\"out_features\":8,\"bias\":false,\"activation_function\":"
        "\"torch.nn.modules.linear.Identity\",\"module_input_name\":\"sentence_embedding\","
        "\"module_output_name\":\"sentence_embedding\"}");
    put(dir, "3_Normalize/config.json",
        "{\"module_input_name\":\"sentence_embedding\",\"module_output_name\":\"sentence_embedding\"}");
    put(dir, "sentence_bert_config.json",
        "{\"transformer_task\":\"feature-extraction\",\"module_output_name\":\"token_embeddings\"}");
    put(dir, "tokenizer_config.json", "{\"model_max_length\":9,\"do_lower_case\":true}");
    write_dense(dir, 0.5f, 0);
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_CLS_LAST_AVG, "1_Pooling/config.json", 9, "tokenizer_config.json", "", 1);
    assert_int_equal(s.lowercase, 0);
    aoei_settings_free(&s);
    put(dir, "tokenizer_config.json", "{\"model_max_length\":1000000000000000019884624838656}");
    put(dir, "1_Pooling/config.json", "{\"embedding_dimension\":8,\"pooling_mode\":[\"mean\",\"cls\"]}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_CLS_LAST_AVG, "1_Pooling/config.json", 10, "tokenizer_config.json", "", 1);
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

/* Asserts that reading the settings of dir fails with the error `code` and a message that contains `fragment` and the
 * path `dir`. */
static void expect_rejected(const char *dir, int code, const char *fragment) {
    aoei_settings s;
    aoe_error err;
    int rc = read_dir(&s, dir, NULL, &err);
    if (!rc)
        fail_msg("no error, expected: %s", fragment);
    FRAGMENT(err, fragment);
    FRAGMENT(err, dir);
    assert_int_equal(rc, code);
}

static void rejects_unsupported_poolings(void **state) {
    (void)state;
    static const struct {
        const char *config, *fragment;
        int code;
    } cases[] = {
        {"{\"pooling_mode\":\"attention\"}",
         "1_Pooling/config.json: pooling 'attention' in pooling_mode is not supported", AOE_EUNSUPPORTED},
        {"{\"pooling_mode\":[\"cls\",\"cls\"]}", "pooling 'cls' in pooling_mode is not supported, or is given twice",
         AOE_EUNSUPPORTED},
        {"{\"pooling_mode\":[\"mean\",\"cls\"]}", "the order of the modes in pooling_mode is not supported",
         AOE_EUNSUPPORTED},
        {"{\"pooling_mode\":[]}", "pooling_mode contains 0 modes", AOE_EUNSUPPORTED},
        {"{\"pooling_mode\":[1]}", "\"pooling_mode\" is neither a string nor a list of strings", AOE_EFORMAT},
        {"{\"pooling_mode\":\"mean\",\"include_prompt\":1}", "\"include_prompt\" is not true or false", AOE_EFORMAT},
        {"{\"pooling_mode_cls_token\":1}", "\"pooling_mode_cls_token\" is not true or false", AOE_EFORMAT},
        {"{\"word_embedding_dimension\":9}", "word_embedding_dimension is 9, but the model's hidden size is 8",
         AOE_EFORMAT},
        {"{\"embedding_dimension\":9}", "embedding_dimension is 9", AOE_EFORMAT},
        {"7", "1_Pooling/config.json: neither a JSON object nor an array", AOE_EFORMAT},
        {"{", "1_Pooling/config.json:1: ", AOE_EFORMAT},
    };
    char *dir = test_dir_create();
    aoei_settings s;
    aoe_model_options o;
    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "]");
    expect_rejected(dir, AOE_EFORMAT, "1_Pooling/config.json: the file is missing, but modules.json requires it");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(dir, "1_Pooling/config.json", cases[i].config);
        expect_rejected(dir, cases[i].code, cases[i].fragment);
    }
    /* this value is ignored if options.pooling is set */
    put(dir, "1_Pooling/config.json", "{\"pooling_mode\":\"attention\"}");
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_CLS;
    assert_int_equal(read_dir(&s, dir, &o, NULL), 0);
    check(&s, AOE_POOLING_CLS, "option", 10, "default", "", 0);
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

static void rejects_unsupported_modules(void **state) {
    (void)state;
    static const struct {
        const char *modules, *fragment;
        int code;
    } cases[] = {
        {"{}", "modules.json: not a list of modules", AOE_EFORMAT},
        {"[7]", "modules.json: module 0 has no type or no path", AOE_EFORMAT},
        {"[]", "modules.json: there is no Transformer module", AOE_EUNSUPPORTED},
        {"[" TRANSFORMER "]", "modules.json: there is no Pooling module", AOE_EUNSUPPORTED},
        {"[" POOLING "]", "module 0 of type 'sentence_transformers.models.Pooling' is not supported", AOE_EUNSUPPORTED},
        {"[" MODULE(0, "", "custom_st.Transformer") "," POOLING "]",
         "module 0 of type 'custom_st.Transformer' is not supported", AOE_EUNSUPPORTED},
        {"[" TRANSFORMER "," POOLING "," MODULE(2, "2_Normalize", OLD_TYPE("WordWeights")) "]",
         "module 2 of type 'sentence_transformers.models.WordWeights'", AOE_EUNSUPPORTED},
        {"[" MODULE(0, "", OLD_TYPE("WordEmbeddings")) "]",
         "module 0 of type 'sentence_transformers.models.WordEmbeddings' is not supported", AOE_EUNSUPPORTED},
        {"[" TRANSFORMER "," POOLING "," MODULE(2, "2_LSTM", OLD_TYPE("LSTM")) "]",
         "module 2 of type 'sentence_transformers.models.LSTM'", AOE_EUNSUPPORTED},
        {"[" TRANSFORMER "," POOLING "," MODULE(1, "2_Normalize", OLD_TYPE("Normalize")) "]",
         "modules 1 and 2 have the same name; correct \"name\"", AOE_EUNSUPPORTED},
        {"[" MODULE(0, "a/b", OLD_TYPE("Transformer")) "," POOLING "]", "path 'a/b' of module 0", AOE_EUNSUPPORTED},
        {"[" TRANSFORMER "," MODULE(1, "../1_Pooling", OLD_TYPE("Pooling")) "]", "path '../1_Pooling' of module 1",
         AOE_EUNSUPPORTED},
    };
    char *dir = test_dir_create();
    put(dir, "1_Pooling/config.json", "{}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(dir, "modules.json", cases[i].modules);
        expect_rejected(dir, cases[i].code, cases[i].fragment);
    }
    test_dir_remove(dir);
}

/* Tests which Dense modules are a part of cls-last-avg pooling. */
static void recognizes_averaging_dense_modules(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "," DENSE "]");
    put(dir, "1_Pooling/config.json", "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}");
    put(dir, "2_Dense/config.json", DENSE_CONFIG);
    expect_rejected(dir, AOE_ENOENT, "2_Dense: the directory contains no weights: neither model.safetensors");
    const struct {
        float value, other;
        const char *modes;
        aoe_pooling pooling;
    } cases[] = {{0.5f, 0, "[\"cls\",\"mean\"]", AOE_POOLING_CLS_LAST_AVG},
                 {0.5f, 1e-7f, "[\"cls\",\"mean\"]", (aoe_pooling)(AOE_POOLING_CONCAT + 5)},
                 {0.25f, 0, "[\"cls\",\"mean\"]", (aoe_pooling)(AOE_POOLING_CONCAT + 5)},
                 {0.5f, 0, "[\"max\",\"weightedmean\"]", (aoe_pooling)(AOE_POOLING_CONCAT + 18)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        write_dense(dir, cases[i].value, cases[i].other);
        snprintf(text, sizeof text, "{\"pooling_mode\":%s}", cases[i].modes);
        put(dir, "1_Pooling/config.json", text);
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        check(&s, cases[i].pooling, "1_Pooling/config.json", 10, "default", "", 0);
        assert_int_equal(aoei_settings_module_count(&s), i > 0);
        aoei_settings_free(&s);
    }
    test_dir_remove(dir);
}

/* Tests every combination of options.pooling and options.normalize, with module files in the old and in the new layout.
 * An option replaces only its own value. All other modules must still be checked, and the maximum length must still be
 * read from the files. */
static void options_do_not_replace_module_checks(void **state) {
    (void)state;
    static const char *const plain[] = {"[" TRANSFORMER "," POOLING "," NORMALIZE "]",
                                        "[" NEW_TRANSFORMER "," NEW_POOLING "," NEW_NORMALIZE "]"};
    static const char *const dense[] = {"[" TRANSFORMER "," POOLING "," DENSE "]",
                                        "[" NEW_TRANSFORMER "," NEW_POOLING "," NEW_DENSE "]"};
    static const char *const unknown[] = {"[" TRANSFORMER "," POOLING "," MODULE(2, "2_CNN", OLD_TYPE("CNN")) "]",
                                          "[" NEW_TRANSFORMER "," NEW_POOLING
                                          "," MODULE(2, "2_CNN", OLD_TYPE("CNN")) "]"};
    char *dir = test_dir_create();
    aoei_settings s;
    aoe_error err;
    put(dir, "1_Pooling/config.json", "{\"pooling_mode\":\"max\"}");
    put(dir, "2_Dense/config.json",
        "{\"in_features\":16,\"out_features\":8,\"bias\":false,"
        "\"activation_function\":\"torch.nn.modules.activation.Tanh\"}");
    put(dir, "tokenizer_config.json", "{\"model_max_length\":9}");
    for (int layout = 0; layout < 2; layout++)
        for (int pooling = 0; pooling < AOE_POOLING_CELL_LAST; pooling++)
            for (int normalize = -1; normalize < 2; normalize++) {
                aoe_model_options o;
                aoe_model_options_defaults(&o);
                o.pooling = (aoe_pooling)pooling;
                o.normalize = normalize < 0 ? AOE_AUTO : normalize;
                put(dir, "modules.json", dense[layout]);
                assert_int_equal(read_dir(&s, dir, &o, &err), 0);
                assert_int_equal(aoei_settings_module_count(&s), 1);
                aoei_settings_free(&s);
                put(dir, "modules.json", unknown[layout]);
                assert_int_equal(read_dir(&s, dir, &o, &err), AOE_EUNSUPPORTED);
                FRAGMENT(err, "module 2 of type 'sentence_transformers");
                put(dir, "modules.json", plain[layout]);
                assert_int_equal(read_dir(&s, dir, &o, NULL), 0);
                check(&s, pooling ? (aoe_pooling)pooling : AOE_POOLING_LAST_MAX,
                      pooling ? "option" : "1_Pooling/config.json", 9, "tokenizer_config.json", "", normalize != 0);
                aoei_settings_free(&s);
            }
    test_dir_remove(dir);
}

/* Tests that the module files of sentence-transformers are not checked if aoe.json has both "pooling" and "normalize".
 * If aoe.json has only one of these keys, the module files must be checked. In both cases, the maximum length must be
 * read from the files. */
static void aoe_json_replaces_module_checks(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "," MODULE(2, "2_CNN", OLD_TYPE("CNN")) "]");
    put(dir, "1_Pooling/config.json", "{}");
    put(dir, "tokenizer_config.json", "{\"model_max_length\":9}");
    put(dir, "aoe.json", "{\"format_version\":1,\"pooling\":\"last-max\",\"normalize\":true}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_MAX, "aoe.json", 9, "tokenizer_config.json", "", 1);
    aoei_settings_free(&s);
    put(dir, "aoe.json", "{\"format_version\":1,\"pooling\":\"last-max\"}");
    expect_rejected(dir, AOE_EUNSUPPORTED, "module 2 of type 'sentence_transformers.models.CNN'");
    put(dir, "aoe.json", "{\"format_version\":1,\"pooling\":null,\"normalize\":true}");
    expect_rejected(dir, AOE_EUNSUPPORTED, "module 2 of type 'sentence_transformers.models.CNN'");
    test_dir_remove(dir);
}

/* Returns the folder of module i after the pooling. */
static const char *module_path(const aoei_settings *s, size_t i) {
    return json_string_value(json_object_get(json_array_get(s->modules, i), "path"));
}

/* Tests which Dense module is used as the dense layer of the model. It is the Dense module whose input size is the
 * hidden size. If the model concatenates two pooled vectors, the first Dense module averages them, and the second Dense
 * module is the dense layer. */
static void finds_a_dense_layer(void **state) {
    (void)state;
    static const char layer[] = "{\"in_features\":8,\"out_features\":3,\"bias\":true,\"activation_function\":"
                                "\"torch.nn.modules.activation.Tanh\"}";
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "modules.json", "[" TRANSFORMER "," POOLING "," DENSE "]");
    put(dir, "1_Pooling/config.json", "{\"pooling_mode\":\"cls\"}");
    expect_rejected(dir, AOE_EFORMAT, "2_Dense/config.json: the file is missing, but modules.json requires it");
    put(dir, "2_Dense/config.json", "{\"out_features\":8}");
    expect_rejected(dir, AOE_EFORMAT, "\"in_features\" is missing");
    put(dir, "2_Dense/config.json", layer);
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_CLS, "1_Pooling/config.json", 10, "default", "", 0);
    assert_string_equal(module_path(&s, 0), "2_Dense");
    aoei_settings_free(&s);
    put(dir, "modules.json",
        "[" TRANSFORMER "," POOLING "," DENSE
        "," MODULE(3, "3_Dense", OLD_TYPE("Dense")) "," MODULE(4, "4_Normalize", OLD_TYPE("Normalize")) "]");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    assert_string_equal(module_path(&s, 0), "2_Dense");
    assert_string_equal(module_path(&s, 1), "3_Dense");
    aoei_settings_free(&s);
    put(dir, "1_Pooling/config.json", "{\"pooling_mode\":[\"cls\",\"mean\"]}");
    put(dir, "2_Dense/config.json", DENSE_CONFIG);
    put(dir, "3_Dense/config.json", layer);
    write_dense(dir, 0.5f, 0);
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_CLS_LAST_AVG, "1_Pooling/config.json", 10, "default", "", 1);
    assert_string_equal(module_path(&s, 0), "3_Dense");
    aoei_settings_free(&s);
    put(dir, "aoe.json", "{\"format_version\":1,\"pooling\":\"cls\",\"normalize\":false}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    assert_null(s.modules);
    aoei_settings_free(&s);
    put(dir, "aoe.json",
        "{\"format_version\":2,\"pooling\":\"first-last-avg\",\"normalize\":false,\"dense\":\"3_Dense\"}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    assert_string_equal(module_path(&s, 0), "3_Dense");
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

/* Tests that arguments in sentence_bert_config.json are applied, rejected by name, or known to have no effect. */
static void checks_the_transformer_module(void **state) {
    (void)state;
    static const struct {
        const char *config, *fragment;
    } rejected[] = {
        {"{\"config_args\":{\"hidden_act\":\"relu\"}}", "\"hidden_act\" in \"config_args\" is not supported"},
        {"{\"config_kwargs\":{\"layer_norm_eps\":1}}", "\"layer_norm_eps\" in \"config_kwargs\" is not supported"},
        {"{\"model_kwargs\":{\"gguf_file\":\"x\"}}", "\"gguf_file\" in \"model_kwargs\" is not supported"},
        {"{\"tokenizer_args\":{\"do_lower_case\":true}}", "\"do_lower_case\" in \"tokenizer_args\" is not supported"},
        {"{\"processing_kwargs\":{\"text\":{\"add_special_tokens\":false}}}",
         "\"add_special_tokens\" in \"processing_kwargs.text\""},
        {"{\"transformer_task\":\"any-to-any\"}", "transformer_task 'any-to-any' is not supported"},
        {"{\"module_output_name\":\"x\"}", "module_output_name 'x' is not supported"},
        {"{\"query_length\":8}", "\"query_length\" is not supported"},
        {"{\"modality_config\":{\"image\":{}}}", "modality_config has no modality 'text'"},
        {"{\"modality_config\":{\"text\":{\"method\":\"get_text_features\"}}}",
         "method 'get_text_features' is not supported"},
        {"{\"modality_config\":{\"text\":{\"method_output_name\":\"pooler_output\"}}}",
         "method_output_name 'pooler_output' is not supported"},
    };
    static const struct {
        const char *config;
        size_t length;
        const char *from;
    } accepted[] = {
        {"{\"model_args\":{\"torch_dtype\":\"float16\"},\"config_args\":{},"
         "\"tokenizer_args\":{\"model_max_length\":7}}",
         7, "sentence_bert_config.json"},
        {"{\"processor_kwargs\":{\"model_max_length\":6},\"max_seq_length\":null,\"query_length\":null}", 6,
         "sentence_bert_config.json"},
        {"{\"max_seq_length\":12,\"processor_kwargs\":{\"model_max_length\":5}}", 5, "sentence_bert_config.json"},
        {"{\"max_seq_length\":12,\"tokenizer_args\":{\"model_max_length\":8}}", 8, "sentence_bert_config.json"},
        /* null means that only the positions of the model limit the length */
        {"{\"max_seq_length\":6,\"tokenizer_args\":{\"model_max_length\":null}}", 10, "sentence_bert_config.json"},
        {"{\"modality_config\":{\"text\":{\"method\":\"forward\",\"method_output_name\":\"last_hidden_state\"}}}", 9,
         "tokenizer_config.json"},
        {"{\"modality_config\":{\"text\":{}},\"config_kwargs\":{\"trust_remote_code\":true}}", 9,
         "tokenizer_config.json"},
    };
    char *dir = test_dir_create();
    aoei_settings s;
    put(dir, "tokenizer_config.json", "{\"model_max_length\":9}"); /* it is also read without modules.json */
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        put(dir, "sentence_bert_config.json", rejected[i].config);
        expect_rejected(dir, AOE_EUNSUPPORTED, rejected[i].fragment);
    }
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        put(dir, "sentence_bert_config.json", accepted[i].config);
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        assert_int_equal(s.max_length, accepted[i].length);
        assert_string_equal(s.max_length_from, accepted[i].from);
        aoei_settings_free(&s);
    }
    test_dir_remove(dir);
}

static void reads_max_length_from_every_file_name(void **state) {
    (void)state;
    static const char *const names[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                        "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                        "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                        "sentence_xlnet_config.json"};
    aoei_settings s;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *dir = test_dir_create();
        put(dir, names[i], "{\"max_seq_length\":4}");
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        check(&s, AOE_POOLING_LAST_AVG, "default", 4, names[i], "", 0);
        aoei_settings_free(&s);
        put(dir, names[i], "{\"max_seq_length\":512}");
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        check(&s, AOE_POOLING_LAST_AVG, "default", 10, names[i], "", 0);
        aoei_settings_free(&s);
        put(dir, names[i], "{\"max_seq_length\":-1}");
        expect_rejected(dir, AOE_EFORMAT, "\"max_seq_length\" is -1");
        put(dir, names[i], "{\"max_seq_length\":null}");
        assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
        check(&s, AOE_POOLING_LAST_AVG, "default", 10, "default", "", 0);
        aoei_settings_free(&s);
        test_dir_remove(dir);
    }
}

/* Linear RoPE scaling increases the number of positions. sentence-transformers uses the additional positions only if
 * max_seq_length is set. */
static void positions_of_rope_scaling_need_max_seq_length(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model_options o;
    aoei_encoder_config c = {.arch = aoei_arch_find("llama"), .hidden = 8, .layers = 1, .heads = 2, .positions = 10};
    aoei_settings s;
    json_t *record;
    static const struct {
        const char *name, *text;
        size_t max_length;
    } cases[] = {{"special_tokens_map.json", "{}", 10},
                 {"tokenizer_config.json", "{\"model_max_length\": 500}", 10},
                 {"tokenizer_config.json", "{\"model_max_length\": 7}", 7},
                 {"sentence_bert_config.json", "{\"max_seq_length\": 15}", 15},
                 {"sentence_bert_config.json", "{\"max_seq_length\": 500}", 20}};
    c.rope = (aoei_rope){.theta = 10000, .scaling = AOEI_ROPE_LINEAR, .factor = 2, .positions = 10};
    aoe_model_options_defaults(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(dir, cases[i].name, cases[i].text);
        assert_int_equal(aoei_settings_read(&s, &record, test_model_dir(dir), &c, &o, NULL), 0);
        assert_int_equal(s.max_length, cases[i].max_length);
        aoei_settings_free(&s);
        json_decref(record);
    }
    test_dir_remove(dir);
}

static void reads_prompts(void **state) {
    (void)state;
    static const struct {
        const char *config, *fragment;
        int code;
    } cases[] = {
        {"{\"prompts\":{\"a\":\"x {text}\"}}", "prompt \"a\" contains {text}", AOE_EUNSUPPORTED},
        {"{\"prompts\":{\"a\":7}}", "prompt \"a\" is not a string", AOE_EFORMAT},
        {"{\"prompts\":{\"a\":\"x\"},\"default_prompt_name\":\"b\"}",
         "default_prompt_name \"b\" is not among the prompts", AOE_EFORMAT},
        {"{\"truncate_dim\":0}", "truncate_dim is 0, but must be at least 1", AOE_EFORMAT},
        {"{\"similarity_fn_name\":\"maxsim\"}", "similarity_fn_name 'maxsim' is not supported", AOE_EUNSUPPORTED},
    };
    char *dir = test_dir_create();
    aoei_settings s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(dir, "config_sentence_transformers.json", cases[i].config);
        expect_rejected(dir, cases[i].code, cases[i].fragment);
    }
    put(dir, "config_sentence_transformers.json",
        "{\"__version__\":{\"sentence_transformers\":\"9.0\"},\"prompts\":{\"query\":\"\",\"document\":\"\"},"
        "\"default_prompt_name\":\"query\","
        "\"similarity_fn_name\":\"cosine\",\"truncate_dim\":null}");
    assert_int_equal(read_dir(&s, dir, NULL, NULL), 0);
    check(&s, AOE_POOLING_LAST_AVG, "default", 10, "default", "", 0);
    aoei_settings_free(&s);
    test_dir_remove(dir);
}

static void names_limits_of_sentence_transformers(void **state) {
    (void)state;
    char buf[256];
    aoei_settings s = {.pooling = AOE_POOLING_CLS, .prompt = (char *)"query: {text}"};
    assert_null(aoei_settings_limits(&s, buf, sizeof buf));
    s.prompt = (char *)"{text} ?";
    assert_non_null(
        strstr(aoei_settings_limits(&s, buf, sizeof buf), "they do not support prompts with text after {text}"));
    s.pooling = AOE_POOLING_FIRST_LAST_AVG;
    assert_non_null(strstr(aoei_settings_limits(&s, buf, sizeof buf),
                           "they do not support first-last-avg pooling, and they do not support prompts"));
    s.prompt = (char *)"";
    assert_non_null(strstr(aoei_settings_limits(&s, buf, sizeof buf), "they do not support first-last-avg pooling"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_poolings),
        cmocka_unit_test(settings_follow_their_precedence),
        cmocka_unit_test(aoe_json_may_omit_settings),
        cmocka_unit_test(rejects_an_invalid_aoe_json),
        cmocka_unit_test(reads_the_old_layout),
        cmocka_unit_test(reads_the_new_layout),
        cmocka_unit_test(rejects_unsupported_poolings),
        cmocka_unit_test(rejects_unsupported_modules),
        cmocka_unit_test(recognizes_averaging_dense_modules),
        cmocka_unit_test(options_do_not_replace_module_checks),
        cmocka_unit_test(aoe_json_replaces_module_checks),
        cmocka_unit_test(finds_a_dense_layer),
        cmocka_unit_test(checks_the_transformer_module),
        cmocka_unit_test(reads_max_length_from_every_file_name),
        cmocka_unit_test(positions_of_rope_scaling_need_max_seq_length),
        cmocka_unit_test(reads_prompts),
        cmocka_unit_test(names_limits_of_sentence_transformers),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
