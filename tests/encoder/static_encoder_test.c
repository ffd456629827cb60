/* SPDX-License-Identifier: MIT
 * covers: encoder/arch_static modeldir/static_config
 * Tests static models. Directories with every layout and every storage type can be opened. The embedding of a text must
 * be exactly the mean of the embeddings of its tokens. Unknown and special tokens are not included. If no token
 * remains, the embedding is the zero vector. The embedding must not depend on the batch or on the number of threads.
 * Other tests cover saving, the gradient, and rejected directories.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/grad_check.h"
#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "encoder/arch_static.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/save.h"
#include "model/text_batch.h"
#include "modeldir/layout.h"
#include "modeldir/safetensors_writer.h"
#include "nn/pooling.h"

enum { V = 12, D = 70 }; /* D is larger than the number of columns that are summed at a time */
static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ncafe\nrun\n##s\n,\ndog\n";
enum { CLS = 2, THE = 5, CAT, CAFE, RUN, S, COMMA, DOG };

static const char tokenizer_json[] =
    "{\"version\": \"1.0\", \"truncation\": {\"max_length\": 2, \"strategy\": \"LongestFirst\", \"stride\": 0}, "
    "\"added_tokens\": [{\"id\": 1, \"content\": \"[UNK]\", \"special\": true}], "
    "\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, "
    "\"strip_accents\": null, \"lowercase\": true}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
    "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}, "
    "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, "
    "\"[CLS]\": 2, "
    "\"[SEP]\": 3, \"[MASK]\": 4, \"the\": 5, \"cat\": 6, \"cafe\": 7, \"run\": 8, \"##s\": 9, \",\": 10, "
    "\"dog\": 11}}}";

/* A config.json in the format of Model2Vec. */
static const char model2vec_json[] =
    "{\"model_type\": \"model2vec\", \"architectures\": [\"StaticModel\"], \"tokenizer_name\": "
    "\"somebody/some-encoder\", \"apply_pca\": 64, \"hidden_dim\": 256, \"seq_length\": "
    "1000000, \"embedding_dtype\": \"float16\", \"normalize\": true}";

static float row(int32_t id, size_t k) {
    return test_model_value((size_t)id, k);
}

/* Describes the contents of a model directory. If all fields are zero, the directory contains vocab.txt and a float32
 * tensor "embeddings". */
typedef struct spec {
    const char *config;  /* contents of config.json; NULL: there is no config.json */
    aoei_st_dtype dtype; /* type of the tensor */
    const char *name;    /* name of the tensor; NULL: "embeddings" */
    const char *other;   /* name of a second tensor; NULL: there is no second tensor */
    int vector;          /* 1: the tensor has one dimension */
    int damaged;         /* 1: element 5 is NaN */
    int json;            /* 1: the directory contains tokenizer.json instead of vocab.txt */
} spec;

static void write_value(aoei_st_writer *w, aoei_st_dtype dtype, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    /* b is v in bf16, and h is v in float16; test_model_value returns values that both types represent exactly */
    const uint16_t b = (uint16_t)(bits >> 16);
    const uint16_t h =
        v == 0 ? 0 : (uint16_t)((bits >> 16 & 0x8000u) | (((bits >> 23 & 255u) - 112) << 10) | (bits >> 13 & 1023u));
    const int is_f32 = dtype == AOEI_ST_F32;
    assert_int_equal(aoei_st_writer_write(w,
                                          is_f32                 ? (const void *)&v
                                          : dtype == AOEI_ST_F16 ? (const void *)&h
                                                                 : &b,
                                          is_f32 ? 4 : 2, NULL),
                     0);
}

static void write_model(const char *dir, const spec *s) {
    aoei_st_entry e[2] = {{s->name ? s->name : "embeddings", s->dtype, 2, {V, D}}, {s->other, AOEI_ST_F32, 1, {V}}};
    aoei_st_writer *w;
    char *path = test_path(dir, "model.safetensors");
    if (s->vector)
        e[0] = (aoei_st_entry){e[0].name, s->dtype, 1, {V * D}};
    assert_int_equal(aoei_st_writer_open(&w, path, e, s->other ? 2 : 1, NULL), 0);
    for (size_t i = 0; i < V * D; i++)
        write_value(w, s->dtype, s->damaged && i == 5 ? NAN : row((int32_t)(i / D), i % D));
    for (size_t i = 0; i < V && s->other; i++)
        write_value(w, AOEI_ST_F32, 1);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
    if (s->config)
        free(test_write_text(dir, "config.json", s->config));
    free(s->json ? test_write_text(dir, "tokenizer.json", tokenizer_json) : test_write_text(dir, "vocab.txt", vocab));
}

/* Texts, and the ids of their tokens that are neither unknown nor special. */
static const struct {
    const char *text;
    size_t n;      /* number of tokens */
    int32_t id[8]; /* [n] token ids */
} cases[] = {
    {"the cat", 2, {THE, CAT}},
    {"The Caf\xc3\xa9, RUNS", 5, {THE, CAFE, COMMA, RUN, S}},
    {"the bird the", 2, {THE, THE}},
    {"cat", 1, {CAT}},
    {"", 0, {0}},
    {"bird \xe4\xb8\xad", 0, {0}},
    {"runsx dog", 1, {DOG}},
    {"cat dog cat the , the dog dog", 8, {CAT, DOG, CAT, THE, COMMA, THE, DOG, DOG}},
    {" \t", 0, {0}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Writes the expected embedding of text i to out[D]: the mean of the token embeddings in double, rounded once to float.
 * If normalize is 1, the mean is divided by its norm. */
static void reference(size_t i, int normalize, float *out) {
    float mean[D];
    double squares = 0;
    for (size_t k = 0; k < D; k++) {
        double sum = 0;
        for (size_t t = 0; t < cases[i].n; t++)
            sum += (double)row(cases[i].id[t], k);
        mean[k] = cases[i].n ? (float)(sum / (double)cases[i].n) : 0;
        squares += (double)mean[k] * (double)mean[k];
    }
    for (size_t k = 0; k < D; k++)
        out[k] = normalize && cases[i].n ? (float)((double)mean[k] / sqrt(squares)) : mean[k];
}

static void embed(aoe_model *m, size_t batch_tokens, const aoe_text *texts, size_t n, float *v, aoe_text_info *info) {
    aoe_embedder *e;
    aoe_error err;
    for (size_t i = 0; i < n * D; i++)
        v[i] = NAN;
    if (aoe_embedder_create(&e, m,
                            &(aoe_embedder_options){.struct_size = sizeof(aoe_embedder_options),
                                                    .batch_tokens = batch_tokens,
                                                    .threads = AOE_AUTO},
                            &err) ||
        aoe_embed(e, texts, n, v, info, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
}

static void check_vectors(aoe_model *m, size_t batch_tokens, int normalize) {
    aoe_text texts[CASES];
    aoe_text_info info[CASES];
    float got[CASES * D], want[D];
    for (size_t i = 0; i < CASES; i++)
        texts[i] = aoe_text_of(cases[i].text);
    embed(m, batch_tokens, texts, CASES, got, info);
    for (size_t i = 0; i < CASES; i++) {
        reference(i, normalize, want);
        assert_memory_equal(got + i * D, want, sizeof want);
        assert_int_equal(info[i].tokens, cases[i].n);
        assert_int_equal(info[i].truncated, 0);
        embed(m, batch_tokens, &texts[i], 1, got, NULL);
        assert_memory_equal(got, want, sizeof want);
    }
}

static void opens_every_layout(void **state) {
    (void)state;
    static const struct {
        spec s;
        const char *storage;
        int normalize;
    } layouts[] = {
        {{0}, "F32", 0},
        {{.dtype = AOEI_ST_F16}, "F16", 0},
        {{.dtype = AOEI_ST_BF16, .json = 1}, "BF16", 0},
        {{.config = "{}"}, "F32", 0},
        {{.config = "{\"model_type\": null, \"normalize\": false}"}, "F32", 0},
        {{.config = model2vec_json, .json = 1}, "F32", 1},
        {{.config = "{\"model_type\": \"model2vec\", \"hidden_size\": 70, \"vocab_size\": 12}"}, "F32", 0},
        {{.config = "{\"model_type\": \"static\"}"}, "F32", 0},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char *dir = test_dir_create();
        write_model(dir, &layouts[i].s);
        aoe_model *m = test_model_open(test_model_context, dir, NULL);
        aoe_model_info info = {.struct_size = sizeof info};
        aoe_encode_options o = {.struct_size = sizeof o};
        aoe_memory_plan plan = {.struct_size = sizeof plan};
        aoe_model_get_info(m, &info);
        assert_string_equal(info.architecture, "static");
        assert_string_equal(info.storage, layouts[i].storage);
        assert_true(!info.layers && !info.heads && !info.intermediate && !info.positions && !info.token_types);
        assert_true(info.hidden == D && info.dims == D && info.vocab == V && info.parameters == V * D &&
                    info.dropout == 0);
        assert_int_equal(info.pooling, AOE_POOLING_LAST_AVG);
        assert_int_equal(info.max_length, 512);
        assert_int_equal(info.normalize, layouts[i].normalize);
        assert_int_equal(info.dtype, AOE_DTYPE_F32);
        assert_int_equal(aoe_encode_options_of(&o, dir, NULL), 0);
        assert_true(o.no_special_tokens && o.drop_unknown && !o.max_length && !o.prompt);
        check_vectors(m, 4096, layouts[i].normalize);
        assert_int_equal(
            aoe_model_plan(m,
                           &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 4, .length = 5000},
                           &plan, NULL),
            0); /* static models have no maximum length */
        assert_true(plan.packed == m->memory.converted_bytes && plan.training_packed == 0 &&
                    plan.kept == 4 * 5000 * D * sizeof(float));
        aoe_model_close(m);
        test_dir_remove(dir);
    }
}

static void bits_do_not_depend_on_batch_or_threads(void **state) {
    (void)state;
    static const size_t batch_tokens[] = {1, 2, 5, 8, 100};
    char *dir = test_dir_create();
    write_model(dir, &(spec){0});
    for (int tier = 0; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            aoe_model *m = test_model_open(ctx, dir, NULL);
            for (size_t k = 0; k < sizeof batch_tokens / sizeof *batch_tokens; k++)
                check_vectors(m, batch_tokens[k], 0);
            aoe_model_close(m);
            aoe_context_destroy(ctx);
        }
    test_dir_remove(dir);
}

/* Tests AOE_DTYPE_BF16: the token embeddings are rounded to bf16, but their mean is not. */
static void computes_in_bf16(void **state) {
    (void)state;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_BF16;
    char *dir = test_dir_create();
    write_model(dir, &(spec){0});
    aoe_model *m = test_model_open(test_model_context, dir, &o);
    assert_int_equal(m->type, AOEI_BF16);
    check_vectors(m, 4096, 0); /* the token embeddings are exact in bf16 */
    aoe_model_close(m);
    test_dir_remove(dir);
}

/* Tests truncation to max_length. Unknown tokens are dropped before the truncation, so they are not counted. The tokens
 * of a prompt are counted. As in Model2Vec, the text is first truncated to 3 max_length characters, because the median
 * length of the tokens is 3. */
static void truncates_after_dropping(void **state) {
    (void)state;
    static const struct {
        const char *text, *prompt;
        size_t max_length, n;
        int32_t id[3];
        int truncated;
    } truncations[] = {
        {"x,x,x,", NULL, 2, 2, {COMMA, COMMA}, 1},
        {"x,x,xx", NULL, 2, 2, {COMMA, COMMA}, 0},
        {"[UNK],cat", NULL, 3, 2, {COMMA, CAT}, 0},
        {"xx,cat", NULL, 2, 2, {COMMA, CAT}, 0},
        {"xxx,cat", NULL, 2, 1, {COMMA}, 1},                      /* the first 6 characters are "xxx,ca" */
        {"\xc3\xa9\xc3\xa9\xc3\xa9,cat", NULL, 2, 1, {COMMA}, 1}, /* characters of two bytes */
        {",,", "the {text} bird", 2, 2, {THE, COMMA}, 1},
        {"cat dog", "the {text} bird", 3, 3, {THE, CAT, DOG}, 0},
        {"[CLS] the", NULL, 3, 2, {CLS, THE}, 0}, /* a special token that is part of the text is kept */
        {"", "the {text}", 3, 1, {THE}, 0},
    };
    char *dir = test_dir_create();
    write_model(dir, &(spec){0});
    for (size_t i = 0; i < sizeof truncations / sizeof *truncations; i++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.max_length = truncations[i].max_length;
        o.prompt = truncations[i].prompt;
        aoe_model *m = test_model_open(test_model_context, dir, &o);
        const aoe_text text = aoe_text_of(truncations[i].text);
        aoei_token_lists l;
        assert_int_equal(aoei_encode_for_inference(m->ctx, m, &text, 1, NULL, 0, &l, NULL, NULL), 0);
        assert_int_equal(aoei_token_count(&l, 0), truncations[i].n);
        assert_memory_equal(l.ids, truncations[i].id, truncations[i].n * sizeof *l.ids);
        assert_int_equal(l.truncated[0], truncations[i].truncated);
        aoei_token_lists_free(&l);
        aoe_model_close(m);
    }
    test_dir_remove(dir);
}

/* Tests a vocabulary without special tokens. Words that are not in the vocabulary must be dropped. */
static void needs_no_special_tokens(void **state) {
    (void)state;
    char *dir = test_dir_create();
    write_model(dir, &(spec){0});
    free(test_write_text(dir, "vocab.txt", "a\nb\nc\nd\ne\nthe\ncat\n"));
    aoe_model *m = test_model_open(test_model_context, dir, NULL);
    const aoe_text texts[] = {aoe_text_of("bird the [UNK] cat"), aoe_text_of("bird")};
    float v[2 * D];
    embed(m, 4096, texts, 2, v, NULL);
    for (size_t k = 0; k < D; k++) {
        assert_true(v[k] == (float)(((double)row(THE, k) + (double)row(CAT, k)) / 2));
        assert_true(v[D + k] == 0);
    }
    aoe_model_close(m);
    test_dir_remove(dir);
}

/* Tests which setting selects normalization of the embeddings. modules.json or config.json can specify it. The setting
 * in aoe.json overrides both files, and options.normalize overrides aoe.json. */
static void normalizes_as_specified(void **state) {
    (void)state;
    static const char plain[] = "[{\"path\": \".\", \"type\": \"sentence_transformers.models.StaticEmbedding\"}]";
    static const char unit[] = "[{\"path\": \"\", \"type\": \"sentence_transformers.models.StaticEmbedding\"}, "
                               "{\"path\": \"1_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]";
    static const struct {
        const char *config, *modules, *own;
        int option, want;
    } sources[] = {
        {NULL, plain, NULL, AOE_AUTO, 0},
        {NULL, unit, NULL, AOE_AUTO, 1},
        {NULL, unit, NULL, 0, 0},
        {model2vec_json, plain, NULL, AOE_AUTO, 1},
        {model2vec_json, NULL, "{\"format_version\": 1, \"normalize\": false}", AOE_AUTO, 0},
        {model2vec_json, NULL, "{\"format_version\": 1, \"normalize\": false}", 1, 1},
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char *dir = test_dir_create();
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.normalize = sources[i].option;
        write_model(dir, &(spec){.config = sources[i].config});
        if (sources[i].modules)
            free(test_write_text(dir, "modules.json", sources[i].modules));
        if (sources[i].own)
            free(test_write_text(dir, "aoe.json", sources[i].own));
        aoe_model *m = test_model_open(test_model_context, dir, &o);
        assert_int_equal(m->settings.normalize, sources[i].want);
        check_vectors(m, 4096, sources[i].want);
        aoe_model_close(m);
        test_dir_remove(dir);
    }
}

/* Directories of the module StaticEmbedding of sentence-transformers. Unknown tokens are not dropped, texts are
 * truncated only if tokenizer.json requires it, and a text without tokens is the zero vector before the other modules.
 * The models can be saved and opened again, as float32 and as int8. */
static void opens_sentence_transformers_models(void **state) {
    (void)state;
    const char *end = strstr(tokenizer_json, "\"truncation\"");
    static const char *const long_text = "the bird cat dog";
    const aoe_text texts[] = {aoe_text_of("the bird"), aoe_text_of(""), aoe_text_of(long_text)};
    for (int k = 0; k < 4; k++) {
        const int subfolder = k % 2, truncated = k / 2;
        char *dir = test_dir_create(), *folder = test_path(dir, "0_StaticEmbedding"),
             *dense = test_path(dir, "1_Dense"), modules[600], *to = test_path(dir, "to"),
             *tokenizer = strdup(tokenizer_json);
        mkdir(folder, 0777);
        mkdir(dense, 0777);
        write_model(subfolder ? folder : dir, &(spec){.name = "embedding.weight", .json = 1});
        if (!truncated) /* rename the key, so that there is no truncation */
            memcpy(tokenizer + (end - tokenizer_json), "\"truncatioN\"", 12);
        free(test_write_text(subfolder ? folder : dir, "tokenizer.json", tokenizer));
        snprintf(modules, sizeof modules,
                 "[{\"path\": \"%s\", \"type\": \"sentence_transformers.models.StaticEmbedding\"}, "
                 "{\"path\": \"1_Dense\", \"type\": \"sentence_transformers.models.Dense\"}]",
                 subfolder ? "0_StaticEmbedding" : "");
        free(test_write_text(dir, "modules.json", modules));
        free(test_write_text(dense, "config.json",
                             "{\"in_features\": 70, \"out_features\": 1, \"activation_function\": "
                             "\"torch.nn.modules.linear.Identity\"}"));
        const aoei_st_entry entries[] = {{"linear.weight", AOEI_ST_F32, 2, {1, D}},
                                         {"linear.bias", AOEI_ST_F32, 1, {1}}};
        char *path = test_path(dense, "model.safetensors");
        aoei_st_writer *w;
        assert_int_equal(aoei_st_writer_open(&w, path, entries, 2, NULL), 0);
        for (size_t i = 0; i <= D; i++)
            write_value(w, AOEI_ST_F32, i == 3 ? 1 : i == D ? 0.5f : 0); /* the output is component 3 plus 0.5 */
        assert_int_equal(aoei_st_writer_commit(w, NULL), 0);

        aoe_model *m = test_model_open(test_model_context, dir, NULL);
        aoe_encode_options o = {.struct_size = sizeof o};
        aoe_embedder *e;
        aoe_error err;
        float v[3];
        assert_int_equal(m->settings.max_length, truncated ? 2 : 1 << 20);
        assert_int_equal(aoe_encode_options_of(&o, dir, NULL), 0);
        assert_true(o.no_special_tokens && !o.drop_unknown);
        for (int pass = 0; pass < 2; pass++) {
            assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
            if (aoe_embed(e, texts, 3, v, NULL, &err))
                fail_msg("%s", err.message);
            const double the = row(THE, 3), unknown = row(1, 3), rest = row(CAT, 3) + row(DOG, 3);
            assert_true(v[0] == (float)((the + unknown) / 2) + 0.5f);
            assert_true(v[1] == 0.5f);
            assert_true(v[2] == (truncated ? v[0] : (float)((the + unknown + rest) / 4) + 0.5f));
            aoe_embedder_destroy(e);
            if (pass == 0 && aoei_model_save(m, to, NULL, &err))
                fail_msg("%s", err.message);
            aoe_model_close(m);
            m = test_model_open(test_model_context, to, NULL);
            assert_non_null(aoei_safetensors_find(m->files.weights, "embedding.weight"));
        }
        char *small = test_path(dir, "small");
        if (aoei_model_save_as(m, small, NULL, AOE_STORAGE_INT8, &err))
            fail_msg("%s", err.message);
        aoe_model_close(m);
        m = test_model_open(test_model_context, small, NULL);
        assert_string_equal(m->files.storage, "I8");
        aoe_model_close(m);
        free(small);
        free(path);
        free(tokenizer);
        free(to);
        free(folder);
        free(dense);
        test_dir_remove(dir);
    }
}

/* A text for a static model may be longer than the memory that the embedder allocates first. */
static void embeds_long_texts(void **state) {
    (void)state;
    enum { N = 20000 };
    char *dir = test_dir_create(), *text = calloc(4 * N + 1, 1);
    aoe_embedder *e;
    aoe_model_options o;
    aoe_error err;
    aoe_text_info info[2];
    float v[2 * D];
    aoe_model_options_defaults(&o);
    o.max_length = 1 << 20;
    for (size_t i = 0; i < N; i++)
        memcpy(text + 4 * i, i % 2 ? "cat " : "dog ", 4);
    write_model(dir, &(spec){0});
    aoe_model *m = test_model_open(test_model_context, dir, &o);
    const aoe_text texts[] = {aoe_text_of(text), aoe_text_of("the")};
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    if (aoe_embed(e, texts, 2, v, info, &err))
        fail_msg("%s", err.message);
    assert_int_equal(info[0].tokens, N);
    for (size_t k = 0; k < D; k++)
        assert_true(v[k] == (float)(((double)row(CAT, k) + (double)row(DOG, k)) / 2) && v[D + k] == row(THE, k));
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    free(text);
    test_dir_remove(dir);
}

/* Writes the model directory that s describes. Unless name is NULL, also writes text to the file `name` in the
 * directory. Asserts that opening the directory fails with the error `code` and a message that contains `fragment`. */
static void expect_rejected(const spec *s, const char *name, const char *text, const aoe_model_options *o, int code,
                            const char *fragment) {
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_error err;
    write_model(dir, s);
    if (name)
        free(test_write_text(dir, name, text));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, o, &err), code);
    assert_null(m);
    FRAGMENT(err, fragment);
    test_dir_remove(dir);
}

static void rejects_invalid_directories(void **state) {
    (void)state;
    aoe_model_options cls;
    aoe_model_options_defaults(&cls);
    cls.pooling = AOE_POOLING_CLS;
    expect_rejected(&(spec){0}, NULL, NULL, &cls, AOE_EARG,
                    "pooling 'cls' (option) is not supported by architecture 'static' (supported: mean)");
    expect_rejected(&(spec){0}, "aoe.json", "{\"format_version\": 1, \"pooling\": \"last-max\"}", NULL, AOE_EFORMAT,
                    "pooling 'max' (aoe.json) is not supported by architecture 'static' (supported: mean)");
    expect_rejected(&(spec){.config = model2vec_json, .name = "words"}, NULL, NULL, NULL, AOE_EFORMAT,
                    "tensor 'embeddings' is missing or does not have the shape");
    expect_rejected(&(spec){.config = model2vec_json, .vector = 1}, NULL, NULL, NULL, AOE_EFORMAT,
                    "tensor 'embeddings' is missing or does not have the shape [tokens, dimensions]");
    expect_rejected(&(spec){.config = model2vec_json, .other = "mapping"}, NULL, NULL, NULL, AOE_EUNSUPPORTED,
                    "/model.safetensors: tensor 'mapping' in addition to 'embeddings' is not supported");
    expect_rejected(&(spec){.name = "words"}, NULL, NULL, NULL, AOE_ENOENT, "no config.json");
    expect_rejected(&(spec){.vector = 1}, NULL, NULL, NULL, AOE_ENOENT, "no config.json");
    expect_rejected(&(spec){.other = "weights"}, NULL, NULL, NULL, AOE_EUNSUPPORTED,
                    "tensor 'weights' in addition to 'embeddings'");
    expect_rejected(&(spec){.config = "{\"normalize\": true}", .other = "mapping"}, NULL, NULL, NULL, AOE_EUNSUPPORTED,
                    "model.safetensors: tensor 'mapping' in addition to 'embeddings'");
    expect_rejected(&(spec){.config = "{}", .name = "words"}, NULL, NULL, NULL, AOE_EFORMAT, "no \"model_type\"");
    expect_rejected(&(spec){.config = "[]"}, NULL, NULL, NULL, AOE_EFORMAT, "not a JSON object");
    expect_rejected(&(spec){.config = "{\"model_type\": \"model2vec\", \"hidden_size\": 64}"}, NULL, NULL, NULL,
                    AOE_EFORMAT, "tensor 'embeddings' has shape [12, 70], but config.json requires [12, 64]");
    expect_rejected(&(spec){.config = "{\"normalize\": \"yes\"}"}, NULL, NULL, NULL, AOE_EFORMAT, "\"normalize\"");
    expect_rejected(&(spec){.config = "{\"max_length\": 0}"}, NULL, NULL, NULL, AOE_EFORMAT, "\"max_length\" is 0");
    expect_rejected(&(spec){.damaged = 1}, NULL, NULL, NULL, AOE_ENUMERIC,
                    "tensor 'embeddings' contains NaN at element 5");
    expect_rejected(&(spec){0}, "modules.json",
                    "[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}]", NULL,
                    AOE_EUNSUPPORTED, "modules.json: module 0 of type 'Transformer' is not supported at this position");
    expect_rejected(&(spec){0}, "modules.json",
                    "[{\"path\": \"0_Static\", \"type\": \"sentence_transformers.models.StaticEmbedding\"}]", NULL,
                    AOE_ENOENT, "/0_Static: no such directory");
    expect_rejected(&(spec){0}, "modules.json",
                    "[{\"path\": \"0_CNN\", \"type\": \"sentence_transformers.models.CNN\"}]", NULL, AOE_EUNSUPPORTED,
                    "modules.json: the first module, 'CNN', is not supported");
    expect_rejected(&(spec){0}, "modules.json", "{}", NULL, AOE_EFORMAT, "modules.json: not a list of modules");
}

static char *read_file(const char *dir, const char *name) {
    char *path = test_path(dir, name), *text = test_read(path, NULL);
    free(path);
    return text;
}

/* Tests that a saved model gives equal embeddings, and that saving it again writes identical files. Its config.json
 * must have the keys that Model2Vec reads. */
static void saves_and_opens_again(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        char *dir = test_dir_create(), *to = test_path(dir, "to"), *again = test_path(dir, "again");
        write_model(dir, &(spec){.config = k ? model2vec_json : NULL, .json = k, .dtype = AOEI_ST_F16});
        aoe_model *m = test_model_open(test_model_context, dir, NULL);
        aoe_error err;
        if (aoei_model_save(m, to, NULL, &err))
            fail_msg("%s", err.message);
        aoe_model_close(m);
        m = test_model_open(test_model_context, to, NULL);
        check_vectors(m, 4096, k);
        assert_string_equal(m->files.storage, "F32");
        assert_string_equal(m->settings.pooling_from, "aoe.json");
        assert_int_equal(aoei_safetensors_count(m->files.weights), 1);
        assert_int_equal(aoei_model_save(m, again, NULL, NULL), 0);
        aoe_model_close(m);
        static const char *const names[] = {"config.json", "aoe.json", "model.safetensors", "README.md"};
        for (size_t i = 0; i < 4; i++) {
            char *a = read_file(to, names[i]), *b = read_file(again, names[i]);
            assert_non_null(a);
            assert_string_equal(a, b);
            free(a);
            free(b);
        }
        char *config = read_file(to, "config.json"), *tokens = read_file(to, k ? "tokenizer.json" : "vocab.txt");
        assert_string_equal(tokens, k ? tokenizer_json : vocab);
        assert_non_null(strstr(config, "\"model_type\": \"model2vec\""));
        assert_non_null(strstr(config, k ? "\"normalize\": true" : "\"normalize\": false"));
        assert_true((strstr(config, "\"embedding_dtype\": \"float32\"") != NULL) == k);
        assert_true((strstr(config, "some-encoder") != NULL) == k);
        assert_true(aoei_entry_exists(to, "modules.json") == k && !aoei_entry_exists(to, "1_Pooling"));
        free(config);
        free(tokens);
        free(to);
        free(again);
        test_dir_remove(dir);
    }
}

/* Tests that training rejects texts without tokens. */
static void rejects_training_texts_without_tokens(void **state) {
    (void)state;
    char *dir = test_dir_create();
    write_model(dir, &(spec){0});
    aoe_model *m = test_model_open(test_model_context, dir, NULL);
    const aoe_text texts[] = {aoe_text_of("the cat"), aoe_text_of("bird")};
    aoei_token_lists l;
    aoe_error err;
    size_t failed;
    assert_int_equal(aoei_encode_texts(m, texts, 2, &l, &failed, &err), AOE_EFORMAT);
    assert_int_equal(failed, 1);
    FRAGMENT(err, "the text has no tokens");
    aoe_model_close(m);
    test_dir_remove(dir);
}

/* Tests the gradient of the token embeddings. The gradient of a token's embedding is a sum over all occurrences of the
 * token. Each occurrence adds the gradient of the embedding of its text, divided by the number of tokens of the
 * text. */
static void adds_gradients_to_rows(void **state) {
    (void)state;
    const aoei_encoder_config c = {.arch = &aoei_arch_static, .hidden = D, .vocab = V, .no_embed_norm = 1};
    const aoei_encoder_mode mode = {.training = 1};
    aoe_context *ctx = test_model_context;
    aoei_arena plan, arena;
    aoei_params p;
    aoei_encoder_state s;
    aoei_batch_buffer b;
    aoei_tensor pooled, words[AOEI_W_LAYERS] = {{0}};
    float values[V * D], got[V * D];
    double want[V * D] = {0};
    size_t n = 0;
    assert_int_equal(aoei_slot_count(&c), AOEI_W_LAYERS);
    assert_int_equal(aoei_batch_buffer_create(&b, 64, CASES, NULL), 0);
    aoei_batch_clear(&b);
    for (size_t i = 0; i < CASES; i++)
        if (cases[i].n)
            aoei_batch_add(&b, cases[i].id, cases[i].n, (uint32_t)n++);
    aoei_arena_measure(&plan);
    for (int k = 0; k < 2; k++) {
        aoei_arena *a = k ? &arena : &plan;
        if (k)
            assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
        assert_int_equal(aoei_params_layout(&p, ctx, &c, &(aoei_params_options){0}, a, NULL), 0);
        assert_int_equal(aoei_encoder_layout(&s, ctx, &c, a, b.batch.n_tokens, n, b.batch.longest, mode, NULL), 0);
        pooled = aoei_tensor_take(a, n, D);
    }
    for (size_t i = 0; i < V * D; i++)
        values[i] = row((int32_t)(i / D), i % D);
    words[AOEI_W_WORD] = aoei_tensor_wrap(values, V, D);
    aoei_params_load(ctx, &p, words);
    aoei_tensor last = aoei_encoder_forward(ctx, &c, p.values, &b.batch, &s, NULL);
    aoei_pool_forward(ctx, pooled, AOE_POOLING_LAST_AVG, last, last, &b.batch);
    float dout[CASES * D], mean[D];
    test_fill_normal(dout, n * D, 1, 3);
    for (size_t i = 0, text = 0; i < CASES; i++) {
        if (!cases[i].n)
            continue;
        reference(i, 0, mean);
        aoei_tensor_read(ctx, got, aoei_tensor_rows(pooled, text, 1));
        assert_memory_equal(got, mean, sizeof mean);
        for (size_t t = 0; t < cases[i].n; t++)
            for (size_t k = 0; k < D; k++)
                want[(size_t)cases[i].id[t] * D + k] += (double)dout[text * D + k] / (double)cases[i].n;
        text++;
    }
    aoei_tensor_write(ctx, pooled, dout);
    aoei_pool_backward(ctx, aoei_encoder_grad_first(&s, b.batch.n_tokens), aoei_encoder_grad_last(&s, b.batch.n_tokens),
                       AOE_POOLING_LAST_AVG, pooled, last, &b.batch);
    aoei_encoder_backward(ctx, &c, p.values, p.grads, &b.batch, &s, NULL, 0);
    aoei_tensor_read(ctx, got, p.grads[AOEI_W_WORD]);
    for (size_t i = 0; i < V * D; i++)
        assert_true(fabs((double)got[i] - want[i]) <= 1e-6);
    assert_true(want[CAT * D] != 0 && got[0] == 0);
    aoei_batch_buffer_destroy(&b);
    aoei_arena_destroy(&arena);
}

static aoe_context *one_thread;

static int open_and_embed(void *dir) {
    const aoe_text texts[] = {aoe_text_of("the cat"), aoe_text_of("bird")};
    float v[2 * D];
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_encode_options o = {.struct_size = sizeof o};
    int rc = aoe_encode_options_of(&o, dir, NULL);
    if (!rc)
        rc = aoe_model_open(&m, one_thread, dir, NULL, NULL);
    if (!rc)
        rc = aoe_embedder_create(&e, m, NULL, NULL);
    if (!rc)
        rc = aoe_embed(e, texts, 2, v, NULL, NULL);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return rc;
}

static void fails_cleanly_without_memory(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        char *dir = test_dir_create();
        write_model(dir, &(spec){.config = k ? model2vec_json : NULL, .dtype = AOEI_ST_F16});
        one_thread = test_context(AOEI_TIER_C, 1);
        assert_true(test_alloc_failures(open_and_embed, dir, 0) > 60);
        aoe_context_destroy(one_thread);
        test_dir_remove(dir);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_every_layout),
        cmocka_unit_test(bits_do_not_depend_on_batch_or_threads),
        cmocka_unit_test(computes_in_bf16),
        cmocka_unit_test(truncates_after_dropping),
        cmocka_unit_test(needs_no_special_tokens),
        cmocka_unit_test(normalizes_as_specified),
        cmocka_unit_test(opens_sentence_transformers_models),
        cmocka_unit_test(embeds_long_texts),
        cmocka_unit_test(rejects_invalid_directories),
        cmocka_unit_test(saves_and_opens_again),
        cmocka_unit_test(rejects_training_texts_without_tokens),
        cmocka_unit_test(adds_gradients_to_rows),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
