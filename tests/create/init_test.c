/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: create/init_texts encoder/initial_weights
 * Tests the creation of models. The vocabulary is trained from files or copied from another model. Other tests cover
 * the initial weights, and invalid input, which must be rejected before a file is written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "encoder/slot_layout.h"
#include "model/model.h"
#include "model/open.h"
#include "modeldir/layout.h"

static const aoe_shape small = {
    .struct_size = sizeof(aoe_shape), .hidden = 16, .layers = 2, .heads = 2, .intermediate = 32, .positions = 24};

/* Owned paths of files in dir: a text file, a table of pairs and a table of texts. */
typedef struct corpus {
    char *dir, *path[3];
} corpus;

static void make_corpus(corpus *c) {
    c->dir = test_dir_create();
    c->path[0] = test_write_text(c->dir, "a.txt", "the plane is taking off\nthe plane lands\n");
    c->path[1] = test_write_text(
        c->dir, "b.tsv", "sentence1\tsentence2\tscore\nzebra zebra\tzebra xylophone\t4.5\nquick zebra\txylophone\t0\n");
    c->path[2] = test_write_text(c->dir, "c.jsonl",
                                 "{\"text\": \"wombat wombat\", \"id\": 7}\n{\"text\": \"wombat\", \"id\": 8}\n");
}

static void free_corpus(corpus *c) {
    for (size_t i = 0; i < 3; i++)
        free(c->path[i]);
    test_dir_remove(c->dir);
}

static aoe_init_options options(const corpus *c) {
    aoe_init_options o;
    aoe_init_options_defaults(&o);
    o.shape = small;
    o.texts = (const char *const *)c->path;
    o.n_texts = 3;
    o.vocab_size = 80;
    return o;
}

static int has_token(const aoe_tokenizer *t, const char *word) {
    for (size_t i = 0; i < aoe_tokenizer_vocab_size(t); i++) {
        aoe_text token = aoe_tokenizer_token(t, (int32_t)i);
        if (token.len == strlen(word) && !memcmp(token.data, word, token.len))
            return 1;
    }
    return 0;
}

static void makes_a_model(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    char *to = test_path(c.dir, "made/new");
    aoe_init_options o = options(&c);
    aoe_model *m = NULL;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_error err;
    if (aoe_init(test_model_context, to, &o, NULL, &err) || aoe_model_open(&m, test_model_context, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_get_info(m, &info);
    assert_int_equal(info.hidden, 16);
    assert_int_equal(info.layers, 2);
    assert_int_equal(info.vocab, aoe_tokenizer_vocab_size(aoe_model_tokenizer(m)));
    assert_int_equal(info.positions, 24);
    assert_int_equal(info.max_length, 24);
    assert_true(info.dropout == 0.1);
    assert_int_equal(info.pooling, AOE_POOLING_LAST_AVG); /* the default pooling */
    assert_true(has_token(aoe_model_tokenizer(m), "plane"));
    assert_true(has_token(aoe_model_tokenizer(m), "zebra"));
    assert_true(has_token(aoe_model_tokenizer(m), "xylophone"));
    assert_true(has_token(aoe_model_tokenizer(m), "wombat"));
    assert_true(aoei_is_model_dir(to));
    aoe_model_close(m);
    o.pooling = AOE_POOLING_CLS;
    o.force = 1;
    if (aoe_init(test_model_context, to, &o, NULL, &err) || aoe_model_open(&m, test_model_context, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_get_info(m, &info);
    assert_int_equal(info.pooling, AOE_POOLING_CLS);
    aoe_model_close(m);
    free(to);
    free_corpus(&c);
}

/* Tests the ids of [PAD] and [UNK]. In RoBERTa and MPNet, the token with id 1 is the padding token, which has no
 * position of its own in other programs. If this id belonged to [UNK], they would compute other embeddings for texts
 * with unknown words. */
static void places_the_padding_token(void **state) {
    (void)state;
    static const char *const architectures[] = {NULL, "roberta", "mpnet"};
    for (size_t i = 0; i < 3; i++) {
        corpus c;
        make_corpus(&c);
        char *to = test_path(c.dir, "made");
        aoe_init_options o = options(&c);
        aoe_tokenizer *t;
        aoe_ids ids = {0};
        aoe_error err;
        o.shape.architecture = architectures[i];
        if (aoe_init(test_model_context, to, &o, NULL, &err) || aoe_tokenizer_open(&t, to, &err))
            fail_msg("%s", err.message);
        const aoe_text pad = aoe_tokenizer_token(t, i > 0);
        assert_memory_equal(pad.data, "[PAD]", pad.len);
        assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("\xe2\x98\x83"), NULL, &ids, NULL), 0);
        assert_true(ids.n == 3 && ids.id[1] == !i);
        aoe_ids_free(&ids);
        aoe_tokenizer_close(t);
        free(to);
        free_corpus(&c);
    }
}

/* Tests that README.md says that transformers reads another tokenizer, and has no example for sentence-transformers. */
static void explains_the_tokenizer_of_qwen2(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    char *to = test_path(c.dir, "made"), *readme = test_path(to, "README.md");
    aoe_init_options o = options(&c);
    aoe_error err;
    size_t size;
    o.shape.architecture = "qwen2";
    if (aoe_init(test_model_context, to, &o, NULL, &err))
        fail_msg("%s", err.message);
    char *text = test_read(readme, &size);
    assert_non_null(text);
    assert_non_null(strstr(text, "byte-level BPE"));
    assert_null(strstr(text, "SentenceTransformer(\"DIR\")"));
    free(text);
    free(readme);
    free(to);
    free_corpus(&c);
}

/* Asserts that the values of t are consistent with a normal distribution with mean 0 and standard deviation 0.02. */
static void check_normal(aoei_tensor t) {
    size_t n = t.rows * t.cols;
    float *v = malloc(n * sizeof *v);
    double sum = 0, squares = 0;
    aoei_tensor_read(test_model_context, v, t);
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        squares += (double)v[i] * v[i];
        assert_true(fabs(v[i]) < 0.02 * 6);
    }
    /* the mean and the standard deviation must be within five standard errors of their expected values */
    assert_true(fabs(sum / (double)n) < 5 * 0.02 / sqrt((double)n));
    assert_true(fabs(sqrt(squares / (double)n) - 0.02) < 5 * 0.02 / sqrt(2.0 * (double)n));
    free(v);
}

static void initializes_weights_like_bert(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    char *to = test_path(c.dir, "new");
    aoe_init_options o = options(&c);
    aoe_model *m = NULL;
    float v[64];
    assert_int_equal(aoe_init(test_model_context, to, &o, NULL, NULL), 0);
    assert_int_equal(aoei_model_open_trainable(&m, test_model_context, to, NULL, NULL), 0);
    check_normal(m->weights[AOEI_W_WORD]);
    check_normal(m->weights[AOEI_W_TOKEN_TYPE]);
    check_normal(m->weights[aoei_layer_slot(1, AOEI_LW_DOWN)]);
    for (size_t layer = 0; layer < 2; layer++) {
        aoei_tensor_read(test_model_context, v, m->weights[aoei_layer_slot(layer, AOEI_LW_NORM2)]);
        for (size_t i = 0; i < 16; i++)
            assert_true(v[i] == 1);
        aoei_tensor_read(test_model_context, v, m->weights[aoei_layer_slot(layer, AOEI_LW_UP_BIAS)]);
        for (size_t i = 0; i < 32; i++)
            assert_true(v[i] == 0);
    }
    aoei_tensor_read(test_model_context, v, m->weights[AOEI_W_EMBED_NORM_BIAS]);
    assert_true(v[3] == 0);
    aoe_model_close(m);
    free(to);
    free_corpus(&c);
}

static char *weights_of(const char *dir, size_t *size) {
    char *path = test_path(dir, "model.safetensors"), *data = test_read(path, size);
    assert_non_null(data);
    free(path);
    return data;
}

static void weights_depend_on_the_seed_only(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    char *a = test_path(c.dir, "a"), *b = test_path(c.dir, "b"), *other = test_path(c.dir, "c");
    aoe_context *one;
    aoe_init_options o = options(&c);
    size_t na, nb, nc;
    assert_int_equal(aoe_context_create(
                         &one, &(aoe_context_options){.struct_size = sizeof(aoe_context_options), .threads = 1}, NULL),
                     0);
    assert_int_equal(aoe_init(test_model_context, a, &o, NULL, NULL), 0);
    assert_int_equal(aoe_init(one, b, &o, NULL, NULL), 0);
    o.seed = 43;
    assert_int_equal(aoe_init(one, other, &o, NULL, NULL), 0);
    char *x = weights_of(a, &na), *y = weights_of(b, &nb), *z = weights_of(other, &nc);
    assert_int_equal(na, nb);
    assert_memory_equal(x, y, na);
    assert_int_equal(na, nc);
    assert_int_not_equal(memcmp(x, z, na), 0);
    aoe_context_destroy(one);
    free(x);
    free(y);
    free(z);
    free(a);
    free(b);
    free(other);
    free_corpus(&c);
}

static void copies_a_tokenizer(void **state) {
    (void)state;
    char *dir = test_dir_create(), *to = test_path(dir, "new");
    aoe_init_options o;
    aoe_model *m = NULL;
    aoe_error err;
    test_model_write(dir, NULL);
    aoe_init_options_defaults(&o);
    o.shape = small;
    o.shape.vocab = 40;
    o.tokenizer_from = dir;
    o.dropout = 0;
    if (aoe_init(test_model_context, to, &o, NULL, &err) || aoe_model_open(&m, test_model_context, to, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m->config.vocab, 40);
    assert_true(m->config.hidden_dropout == 0 && m->config.attention_dropout == 0);
    assert_int_equal(aoe_tokenizer_vocab_size(aoe_model_tokenizer(m)), TEST_VOCAB);
    aoe_model_close(m);
    o.shape.vocab = 15;
    o.force = 1;
    assert_int_equal(aoe_init(test_model_context, to, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err, "options.shape.vocab is 15, but the tokenizer has 16 tokens");
    assert_true(aoei_is_model_dir(to));
    free(to);
    test_dir_remove(dir);
}

static void needs_force_to_replace(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    char *to = test_path(c.dir, "new");
    aoe_init_options o = options(&c);
    aoe_error err;
    assert_int_equal(aoe_init(test_model_context, to, &o, NULL, NULL), 0);
    assert_int_equal(aoe_init(test_model_context, to, &o, NULL, &err), AOE_EEXIST);
    FRAGMENT(err, "new: the directory already contains a model; choose another directory, or use options.force");
    o.force = 1;
    assert_int_equal(aoe_init(test_model_context, to, &o, NULL, NULL), 0);
    free(to);
    free_corpus(&c);
}

/* Tests that aoe_init fails and names the file if it would overwrite a file in the output directory. With
 * options.force, it must succeed. */
static void needs_force_to_overwrite_files(void **state) {
    (void)state;
    static const char *const names[] = {"README.md",
                                        "config.json",
                                        "vocab.txt",
                                        "tokenizer.json",
                                        "special_tokens_map.json",
                                        "aoe.json",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "model-00001-of-00002.safetensors",
                                        "1_Pooling"};
    corpus c;
    make_corpus(&c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *to = test_dir_create(), fragment[128];
        aoe_init_options o = options(&c);
        aoe_error err;
        free(test_write_text(to, "notes.txt", "mine too"));
        char *path = test_write_text(to, names[i], "mine");
        assert_int_equal(aoe_init(test_model_context, to, &o, NULL, &err), AOE_EEXIST);
        snprintf(fragment, sizeof fragment, ": the directory already contains %s, which the new model would replace",
                 names[i]);
        FRAGMENT(err, fragment);
        FRAGMENT(err, to);
        const int is_model = !strcmp(names[i], "aoe.json") || !strcmp(names[i], "modules.json");
        FRAGMENT(err, is_model ? "or use options.force" : "or move the file (options.force replaces only models)");
        if (!is_model) {
            o.force = 1;
            assert_int_equal(aoe_init(test_model_context, to, &o, NULL, &err), AOE_EEXIST);
            o.force = 0;
        }
        assert_int_equal(test_count_entries(to), 2);
        char *text = test_read(path, NULL);
        assert_string_equal(text, "mine");
        free(text);
        if (is_model) {
            o.force = 1;
            assert_int_equal(aoe_init(test_model_context, to, &o, NULL, NULL), 0);
            assert_true(aoei_is_model_dir(to) && aoei_entry_exists(to, "notes.txt"));
        }
        free(path);
        test_dir_remove(to);
    }
    free_corpus(&c);
}

/* Tests that aoe_init keeps other files in the output directory. */
static void keeps_other_files(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    aoe_init_options o = options(&c);
    assert_int_equal(aoe_init(test_model_context, c.dir, &o, NULL, NULL), 0);
    assert_true(aoei_is_model_dir(c.dir) && aoei_entry_exists(c.dir, "a.txt"));
    free_corpus(&c);
}

/* Asserts that creating the model fails with `code` and a message that contains `fragment`, and that nothing is
 * written. */
static void expect_rejected(const corpus *c, const aoe_init_options *o, int code, const char *fragment) {
    char *to = test_path(c->dir, "new");
    aoe_error err;
    assert_int_equal(aoe_init(test_model_context, to, o, NULL, &err), code);
    assert_int_equal(err.code, code);
    FRAGMENT(err, fragment);
    assert_false(aoei_entry_exists(c->dir, "new"));
    free(to);
}

static void rejects_invalid_input(void **state) {
    (void)state;
    corpus c;
    make_corpus(&c);
    aoe_init_options o = options(&c);
    o.n_texts = 0;
    expect_rejected(&c, &o, AOE_EARG, "the model needs a tokenizer; set options.texts");
    o = options(&c);
    o.tokenizer_from = c.dir;
    expect_rejected(&c, &o, AOE_EARG, "there are two sources of the tokenizer");
    o = options(&c);
    o.shape.heads = 3;
    expect_rejected(&c, &o, AOE_EARG, "shape: hidden_size 16 is not a multiple of num_attention_heads 3");
    o = options(&c);
    o.shape.layers = 0;
    expect_rejected(&c, &o, AOE_EARG, "shape: \"num_hidden_layers\" is 0");
    o = options(&c);
    o.dropout = 1;
    expect_rejected(&c, &o, AOE_EARG, "options.dropout is 1; give a number of at least 0 and below 1");
    o = options(&c);
    o.vocab_size = 2;
    expect_rejected(&c, &o, AOE_EARG, "2");

    char *bad = test_write_text(c.dir, "bad.tsv", "alpha\tbeta\n1\t2\n");
    free(c.path[1]);
    c.path[1] = bad;
    o = options(&c);
    expect_rejected(&c, &o, AOE_EFORMAT, "bad.tsv: no column has a recognized name for texts (text, text1");
    free(test_write_text(c.dir, "bad.tsv", "text\nfine\nnot \xff fine\n"));
    expect_rejected(&c, &o, AOE_EFORMAT, "bad.tsv:");
    free(test_write_text(c.dir, "bad.tsv", "text\tlabel\nfine\t1\nshort\n"));
    expect_rejected(&c, &o, AOE_EFORMAT, "bad.tsv:3");
    o.texts = (const char *const[]){"/nonexistent.txt"};
    o.n_texts = 1;
    expect_rejected(&c, &o, AOE_ENOENT, "/nonexistent.txt");
    free_corpus(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_a_model),
        cmocka_unit_test(places_the_padding_token),
        cmocka_unit_test(explains_the_tokenizer_of_qwen2),
        cmocka_unit_test(initializes_weights_like_bert),
        cmocka_unit_test(weights_depend_on_the_seed_only),
        cmocka_unit_test(copies_a_tokenizer),
        cmocka_unit_test(needs_force_to_replace),
        cmocka_unit_test(needs_force_to_overwrite_files),
        cmocka_unit_test(keeps_other_files),
        cmocka_unit_test(rejects_invalid_input),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
