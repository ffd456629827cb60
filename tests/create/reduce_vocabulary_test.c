/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests aoe_convert with options.vocabulary, options.vocab_size and options.count_on. The selected tokens must keep
 * their embeddings and get new ids in the tokenizer and in config.json. Equally frequent tokens are selected in the
 * order of their ids. Invalid options and files must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"

/* The model has the special tokens 0 to 4 and the characters a, b, ##a and ##b (5 to 8), which are always kept, and the
 * other tokens ab, ba, aa, bb, ##ab, ##ba and abba (9 to 15). */
static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\nba\naa\nbb\n##ab\n##ba\nabba\n";
static const char always[] = "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b";
enum { ALWAYS = 9 };

/* Writes the model to test_dir/from, with config.json and aoe.json, unless they are NULL. Returns the path, which the
 * caller frees. */
static char *write_model(const char *config, const char *settings) {
    char *from = test_path(test_dir, "from");
    (void)aoei_remove_tree(from, NULL);
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    test_model_write(from, &(test_model_spec){.config = config});
    free(test_write_text(from, "vocab.txt", vocab));
    if (settings)
        free(test_write_text(from, "aoe.json", settings));
    return from;
}

static aoe_convert_options options(void) {
    aoe_convert_options o;
    aoe_convert_options_defaults(&o);
    o.force = 1;
    return o;
}

/* Options that keep `size` tokens, counted on the file test_dir/texts.txt with the contents `text`. path: path of the
 * file. */
static aoe_convert_options counted(size_t size, const char *text, const char **path) {
    aoe_convert_options o = options();
    *path = test_write_text(test_dir, "texts.txt", text);
    o.vocab_size = size;
    o.count_on = path;
    o.n_count_on = 1;
    return o;
}

/* Converts test_dir/from to test_dir/to, and opens the result. */
static aoe_model *convert(const aoe_convert_options *o, aoe_convert_result *r) {
    char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "to");
    aoe_model *m;
    aoe_error err = {0};
    if (aoe_convert(test_model_context, from, to, o, r, &err) ||
        aoei_model_open_trainable(&m, test_model_context, to, NULL, &err))
        fail_msg("%s", err.message);
    free(from);
    free(to);
    return m;
}

/* Asserts that the tokens of m are those in `always` and `more`, which are separated by spaces, and that each has its
 * embedding. */
static void expect_tokens(const aoe_model *m, const char *more) {
    char got[512] = "", want[512];
    const size_t n = aoe_tokenizer_vocab_size(m->tokenizer);
    char *lines = strdup(vocab), *save = NULL;
    int32_t next = 0;
    snprintf(want, sizeof want, "%s%s%s", always, *more ? " " : "", more);
    for (size_t i = 0, at = 0; i < n; i++) {
        const aoe_text token = aoe_tokenizer_token(m->tokenizer, (int32_t)i);
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%.*s", i ? " " : "", (int)token.len, token.data);
    }
    assert_string_equal(got, want);
    assert_int_equal(m->config.vocab, n);
    assert_int_equal(json_integer_value(json_object_get(m->files.config_json, "vocab_size")), n);
    assert_true(m->weights[AOEI_W_WORD].rows == n && m->weights[AOEI_W_WORD].cols == TEST_HIDDEN);
    size_t old = 0;
    for (char *token = strtok_r(lines, "\n", &save); token; token = strtok_r(NULL, "\n", &save), old++) {
        const aoe_text expected = aoe_tokenizer_token(m->tokenizer, next);
        if (next == (int32_t)n || expected.len != strlen(token) || memcmp(expected.data, token, expected.len) != 0)
            continue;
        for (size_t k = 0; k < TEST_HIDDEN; k++)
            assert_true(((const float *)m->weights[AOEI_W_WORD].data)[(size_t)next * TEST_HIDDEN + k] ==
                        test_model_value(AOEI_W_WORD, old * TEST_HIDDEN + k));
        next++;
    }
    assert_int_equal(next, n);
    free(lines);
}

static void keeps_frequent_tokens(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *more;
        size_t tokens, kept, after; /* numbers of tokens of the texts */
        size_t found;               /* number of kept tokens that occur in the texts */
    } cases[] = {
        {"bb bb ab\nba bb\n", 10, "bb", 5, 3, 7, 1},          /* bb 3, ab 1, ba 1 */
        {"bb bb ab\nba bb\n", 11, "ab bb", 5, 4, 6, 2},       /* ab has a lower id than ba */
        {"bb bb ab\nba bb\n", 12, "ab ba bb", 5, 5, 5, 3},    /* all tokens of the texts */
        {"bb bb ab\nba bb\n", 13, "ab ba aa bb", 5, 5, 5, 3}, /* aa has the lowest id of the tokens that do not occur */
        {"abba\naaab\nabba\n", 10, "abba", 4, 2, 6, 1},       /* aa ##ab becomes a ##a ##a ##b */
        {"abba\naaab\nabba\n", 12, "aa ##ab abba", 4, 4, 4, 3}, /* aa and ##ab are equally frequent */
        {"a b c\n", 9, "", 3, 3, 3, 3},                         /* c is unknown before and after */
        {"", 9, "", 0, 0, 0, 0},
        {"", 16, "ab ba aa bb ##ab ##ba abba", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *from = write_model(NULL, NULL);
        const char *path;
        aoe_convert_result r = {.struct_size = sizeof r};
        const aoe_convert_options o = counted(cases[i].size, cases[i].text, &path);
        aoe_model *m = convert(&o, &r);
        expect_tokens(m, cases[i].more);
        assert_true(r.vocab_from == TEST_VOCAB && r.vocab == cases[i].size);
        assert_int_equal(r.tokens, cases[i].tokens);
        assert_int_equal(r.tokens_kept, cases[i].kept);
        assert_int_equal(r.tokens_after, cases[i].after);
        assert_int_equal(r.vocab_found, cases[i].found);
        assert_int_equal(r.parameters, aoei_parameter_count(&m->config));
        aoe_model_close(m);
        free((void *)(uintptr_t)path);
        free(from);
    }
}

/* Tests a file of tokens, also together with counted texts, layers, components and a storage type. */
/* Placeholders such as [unused1] are selected last among equally frequent tokens. */
static void keeps_placeholders_last(void **state) {
    (void)state;
    static const char with_unused[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\n[unused1]\n[unused22]\naa\nbb\n##ab\n##ba\nabba\n";
    for (size_t size = ALWAYS + 1; size <= TEST_VOCAB; size++) {
        char *from = write_model(NULL, NULL);
        const char *path;
        aoe_convert_result r = {.struct_size = sizeof r};
        const aoe_convert_options o = counted(size, "bb\n", &path);
        free(test_write_text(from, "vocab.txt", with_unused));
        aoe_model *m = convert(&o, &r);
        size_t unused = 0;
        for (size_t i = 0; i < size; i++)
            unused += aoe_tokenizer_token(m->tokenizer, (int32_t)i).len > 7;
        assert_int_equal(unused, size > TEST_VOCAB - 2 ? size - (TEST_VOCAB - 2) : 0);
        assert_int_equal(r.vocab_found, 1);
        aoe_model_close(m);
        free((void *)(uintptr_t)path);
        free(from);
    }
}

static void keeps_listed_tokens(void **state) {
    (void)state;
    static const size_t layer = 1;
    char *from = write_model(NULL, NULL), *list = test_write_text(test_dir, "list.txt", "##ba\r\nab\r\na");
    const char *path;
    aoe_convert_result r = {.struct_size = sizeof r};
    aoe_convert_options o = options();
    o.vocabulary = list;
    aoe_model *m = convert(&o, &r);
    expect_tokens(m, "ab ##ba");
    assert_true(r.vocab_from == TEST_VOCAB && r.vocab == ALWAYS + 2 && !r.texts && !r.tokens && !r.tokens_after);
    aoe_model_close(m);
    o = counted(0, "ab aba bb\n", &path);
    o.vocabulary = list;
    o.take_layers = &layer;
    o.n_take_layers = 1;
    o.dims = 4;
    o.storage = AOE_STORAGE_BF16;
    m = convert(&o, &r);
    assert_true(r.texts == 1 && r.tokens == 4 && r.tokens_kept == 3 && r.tokens_after == 5);
    assert_true(m->config.layers == 1 && m->config.vocab == ALWAYS + 2 && m->settings.truncate_dim == 4);
    float row[TEST_HIDDEN];
    aoei_tensor_read(test_model_context, row, aoei_tensor_rows(m->weights[AOEI_W_WORD], ALWAYS + 1, 1));
    for (size_t k = 0; k < TEST_HIDDEN; k++) /* ##ba */
        assert_true(row[k] == test_model_value(AOEI_W_WORD, 14 * TEST_HIDDEN + k));
    aoe_model_close(m);
    free((void *)(uintptr_t)path);
    free(list);
    free(from);
}

/* Tests that the ids in config.json are replaced, and that their tokens and those of prompts are kept. */
static void keeps_referenced_tokens(void **state) {
    (void)state;
    char config[1024];
    snprintf(config, sizeof config,
             "%.*s, \"pad_token_id\": 0, \"bos_token_id\": 12, \"eos_token_id\": [3, 14], \"x_token_id\": "
             "-1, \"y_token_id\": 99, \"z_token_id\": null, \"token_id\": 7}",
             (int)strlen(test_config_json) - 1, test_config_json);
    char *from = write_model(
        config, "{\"format_version\": 1, \"prompts\": {\"default\": \"aa {text}\", \"other\": \"{text} ba\"}}");
    const char *path;
    const aoe_convert_options o = counted(ALWAYS + 4, "abba\n", &path);
    aoe_model *m = convert(&o, NULL);
    expect_tokens(m, "ba aa bb ##ba");
    const json_t *c = m->files.config_json, *eos = json_object_get(c, "eos_token_id");
    assert_int_equal(json_integer_value(json_object_get(c, "pad_token_id")), 0);
    assert_int_equal(json_integer_value(json_object_get(c, "bos_token_id")), ALWAYS + 2);
    assert_int_equal(json_array_size(eos), 2);
    assert_int_equal(json_integer_value(json_array_get(eos, 0)), 3);
    assert_int_equal(json_integer_value(json_array_get(eos, 1)), ALWAYS + 3);
    assert_int_equal(json_integer_value(json_object_get(c, "x_token_id")), -1);
    assert_int_equal(json_integer_value(json_object_get(c, "y_token_id")), 99);
    assert_true(json_is_null(json_object_get(c, "z_token_id")));
    assert_int_equal(json_integer_value(json_object_get(c, "token_id")), 7);
    assert_string_equal(json_string_value(json_object_get(c, "note")), "kept");
    aoe_model_close(m);
    free((void *)(uintptr_t)path);
    free(from);
}

/* Tests added tokens without an embedding, which a tokenizer may have after the tokens of the model. */
static void keeps_tokens_without_embeddings(void **state) {
    (void)state;
    char *from = write_model(NULL, NULL);
    const char *path;
    aoe_convert_result r = {.struct_size = sizeof r};
    free(test_write_text(from, "added_tokens.json", "{\"<new>\": 16}"));
    const aoe_convert_options o = counted(ALWAYS + 2, "bb <new>\n", &path);
    aoe_model *m = convert(&o, &r);
    assert_true(r.vocab_from == 17 && r.vocab == ALWAYS + 2 && r.tokens == 2 && r.tokens_kept == 2);
    assert_true(m->config.vocab == ALWAYS + 1 && aoe_tokenizer_vocab_size(m->tokenizer) == ALWAYS + 2);
    assert_int_equal(aoe_tokenizer_token(m->tokenizer, ALWAYS + 1).len, strlen("<new>"));
    aoe_model_close(m);
    free((void *)(uintptr_t)path);
    free(from);
}

/* Tests texts that fill several batches, and a table whose columns are selected. */
static void counts_all_texts(void **state) {
    (void)state;
    enum { LINES = 3000 };
    char *from = write_model(NULL, NULL), *text = malloc(LINES * 16), *table;
    const char *path, *paths[2];
    size_t at = 0;
    aoe_convert_result r = {.struct_size = sizeof r};
    for (size_t i = 0; i < LINES; i++)
        at += (size_t)snprintf(text + at, 16, "%s\n", i % 3 ? "bb ab" : "abba");
    aoe_convert_options o = counted(ALWAYS + 2, text, &path);
    table = test_write_text(test_dir, "texts.csv", "text;other\nba;ba ba\nba;aa\n");
    paths[0] = path;
    paths[1] = table;
    aoe_model *m = convert(&o, &r);
    expect_tokens(m, "ab bb");
    assert_true(r.texts == LINES && r.tokens == 5 * LINES / 3 && r.tokens_kept == 4 * LINES / 3);
    assert_int_equal(r.tokens_after, 4 * LINES / 3 + 3 * LINES / 3);
    aoe_model_close(m);
    o.count_on = paths + 1;
    m = convert(&o, &r);
    expect_tokens(m, "ab ba");
    assert_true(r.texts == 2 && r.tokens == 2);
    aoe_model_close(m);
    o.table.columns = "other";
    m = convert(&o, &r);
    expect_tokens(m, "ba aa");
    assert_true(r.texts == 2 && r.tokens == 3);
    aoe_model_close(m);
    free(table);
    free(text);
    free((void *)(uintptr_t)path);
    free(from);
}

static void expect_rejected(const aoe_convert_options *o, int code, const char *message) {
    char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "none");
    aoe_error err = {0};
    assert_int_equal(aoe_convert(test_model_context, from, to, o, NULL, &err), code);
    FRAGMENT(err, message);
    assert_false(aoei_is_dir(to));
    free(from);
    free(to);
}

static void rejects_options(void **state) {
    (void)state;
    char *from = write_model(NULL, NULL);
    const char *path, *missing = "missing.txt", *standard_input = "-";
    aoe_convert_options o = counted(ALWAYS - 1, "a\n", &path);
    expect_rejected(&o, AOE_EARG, "options.vocab_size is 8, but must be at least 9: the special and added tokens");
    o.vocab_size = TEST_VOCAB + 1;
    expect_rejected(&o, AOE_EARG, "options.vocab_size is 17, but the vocabulary of ");
    o.vocabulary = path;
    expect_rejected(&o, AOE_EARG, "options.vocabulary and options.vocab_size both select tokens");
    o.vocab_size = 0;
    o.vocabulary = NULL;
    expect_rejected(&o, AOE_EARG, "options.count_on requires options.vocab_size or options.vocabulary");
    o.vocab_size = 10;
    o.count_on = &standard_input;
    expect_rejected(&o, AOE_EARG, "options.count_on: the texts are read twice");
    o.count_on = &missing;
    expect_rejected(&o, AOE_ENOENT, "missing.txt: ");
    o.n_count_on = 0;
    expect_rejected(&o, AOE_EARG, "options.vocab_size requires texts");
    free((void *)(uintptr_t)path);
    free(from);
}

static void rejects_lists(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"ab\nxyz\n", "list.txt:2: 'xyz' is not a token of the model; correct or remove the line"},
        {"ab\nAB\n", "list.txt:2: 'AB' is not a token of the model"},
        {"ab\nba\nab\n", "list.txt:3: 'ab' occurs twice; remove one of the lines"},
        {"ab\n\nba\n", "list.txt:2: the line is empty; remove the line"},
        {"\n", "list.txt:1: the line is empty"},
        {" ab\n", "list.txt:1: ' ab' is not a token"},
        {"ab\nb\xff\n", "list.txt: invalid UTF-8 at byte 4, in line 2"},
        {"", "list.txt: the file contains no tokens; write one token per line"},
    };
    char *from = write_model(NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_convert_options o = options();
        o.vocabulary = test_write_text(test_dir, "list.txt", cases[i].text);
        expect_rejected(&o, AOE_EFORMAT, cases[i].message);
        free((void *)(uintptr_t)o.vocabulary);
    }
    free(from);
}

static void rejects_models(void **state) {
    (void)state;
    char *from = test_path(test_dir, "from");
    const char *path;
    aoe_convert_options o = counted(10, "a\n", &path);
    (void)aoei_remove_tree(from, NULL);
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    test_model_write(from, &(test_model_spec){.no_tokenizer = 1});
    expect_rejected(&o, AOE_EUNSUPPORTED, "the model has no tokenizer, so its vocabulary cannot be reduced");
    (void)aoei_remove_tree(from, NULL);
    tiny_model model = tiny_defaults();
    model.options = tiny_roberta;
    tiny_model_write(from, &model);
    char *config = test_path(from, "config.json");
    json_t *root = json_load_file(config, 0, NULL);
    /* the first positions depend on this id, which would change */
    assert_int_equal(json_object_set_new(root, "pad_token_id", json_integer(20)), 0);
    assert_int_equal(json_dump_file(root, config, 0), 0);
    o.vocab_size = tiny_vocab() - 8;
    expect_rejected(&o, AOE_EUNSUPPORTED, "config.json of a roberta model with ");
    json_decref(root);
    free(config);
    free((void *)(uintptr_t)path);
    free(from);
}

static int begin(void **state) {
    return test_dir_set_up(state) || test_model_begin(state);
}

static int end(void **state) {
    return test_dir_tear_down(state) | test_model_end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_frequent_tokens),   cmocka_unit_test(keeps_listed_tokens),
        cmocka_unit_test(keeps_placeholders_last), cmocka_unit_test(keeps_listed_tokens),
        cmocka_unit_test(keeps_referenced_tokens), cmocka_unit_test(keeps_tokens_without_embeddings),
        cmocka_unit_test(counts_all_texts),        cmocka_unit_test(rejects_options),
        cmocka_unit_test(rejects_lists),           cmocka_unit_test(rejects_models),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, begin, end);
}
