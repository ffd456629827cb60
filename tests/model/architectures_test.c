/* SPDX-License-Identifier: MIT
 * covers: encoder/arch_albert encoder/arch_deberta encoder/arch_distilbert encoder/arch_electra encoder/arch_gemma3
 * covers: encoder/arch_gte encoder/arch_jina_bert encoder/arch_llama encoder/arch_modernbert encoder/arch_mpnet
 * covers: encoder/arch_nomic encoder/arch_qwen3 encoder/arch_roberta
 * Tests model directories of architectures other than BERT. Tensor names may have a prefix or none. A model that is
 * saved and opened again must give equal embeddings. bf16 weights must be used without a float32 copy. Other tests
 * cover bidirectional attention, which options select and aoe.json stores, new models with random weights, and rejected
 * settings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "modeldir/sentence_transformers.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"

enum { VECTORS = 3, MAX_DIMS = 64 };

typedef struct vectors {
    float x[VECTORS][MAX_DIMS]; /* embeddings, padded with zeros */
} vectors;

/* Returns the embeddings of VECTORS fixed texts. */
static vectors embed(aoe_model *m) {
    vectors v;
    aoe_embedder *e;
    aoe_text texts[VECTORS];
    char copies[VECTORS][256];
    aoe_error err = {0};
    memset(&v, 0, sizeof v);
    for (uint32_t i = 0; i < VECTORS; i++) {
        snprintf(copies[i], sizeof copies[i], "%s", tiny_text(i + 3));
        texts[i] = aoe_text_of(copies[i]);
    }
    const size_t D = aoe_model_dims(m);
    float *out = malloc(VECTORS * D * sizeof *out);
    assert_true(out && D <= MAX_DIMS);
    if (aoe_embedder_create(&e, m, NULL, &err) || aoe_embed(e, texts, VECTORS, out, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < VECTORS; i++)
        memcpy(v.x[i], out + i * D, D * sizeof *out);
    free(out);
    aoe_embedder_destroy(e);
    return v;
}

static vectors embed_dir(aoe_context *ctx, const char *dir, const aoe_model_options *o) {
    aoe_model *m = test_model_open(ctx, dir, o);
    const vectors v = embed(m);
    aoe_model_close(m);
    return v;
}

static int equal(const vectors *a, const vectors *b) {
    return !memcmp(a, b, sizeof *a);
}

/* The architectures of the tests. NomicBERT has two layouts; tiny_nomic_fused has fused tensors. */
static const struct {
    void (*options)(aoei_encoder_config *c);
    const char *class_name, *prefix; /* name in "architectures"; prefix of tensor names */
} kinds[] = {
    {tiny_roberta, "RobertaModel", "roberta."},
    {tiny_llama, "LlamaModel", "model."},
    {tiny_mistral, "MistralModel", "model."},
    {tiny_qwen2, "Qwen2Model", "model."},
    {tiny_mpnet, "MPNetModel", "mpnet."},
    {tiny_nomic, "NomicBertModel", "nomic_bert."},
    {tiny_nomic_fused, "NomicBertModel", "bert."},
    {tiny_qwen3, "Qwen3Model", "model."},
    {tiny_gemma3, "Gemma3TextModel", "model."},
    {tiny_modernbert, "ModernBertModel", "model."},
    {tiny_jina_bert, "JinaBertModel", "bert."},
    {tiny_distilbert, "DistilBertModel", "distilbert."},
    {tiny_camembert, "CamembertModel", "roberta."},
    {tiny_electra, "ElectraModel", "electra."},
    {tiny_jina_code, "JinaBertModel", "bert."},
    {tiny_albert, "AlbertModel", "albert."},
    {tiny_gte, "GteModel", "gte."},
    {tiny_new, "NewModel", "new."},
    {tiny_deberta, "DebertaV2Model", "deberta."},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tiny_model tiny_kind(size_t kind) {
    tiny_model o = tiny_defaults();
    o.hidden = 32;
    o.heads = 4;
    o.options = kinds[kind].options;
    return o;
}

/* Tests that a saved model gives equal embeddings. The tensor names in the saved file have no prefix, and
 * `architectures` in config.json contains the transformers class of the architecture, for example "LlamaModel". */
static void saves_and_opens(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int prefixed = 0; prefixed < 2; prefixed++) {
            char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "to"),
                 *config = test_path(to, "config.json");
            tiny_model o = tiny_kind(kind);
            aoe_error err = {0};
            o.prefix = prefixed ? kinds[kind].prefix : NULL;
            tiny_model_write(from, &o);
            aoe_model *m = test_model_open(ctx, from, NULL);
            assert_string_equal(m->files.prefix, prefixed ? kinds[kind].prefix : "");
            assert_int_equal(m->settings.pooling, m->config.arch->default_pooling);
            assert_int_equal(m->settings.max_length, aoei_sentence_transformers_positions(&m->config));
            const vectors before = embed(m);
            if (aoei_model_save(m, to, NULL, &err))
                fail_msg("%s", err.message);
            aoei_encoder_config c = m->config;
            const aoe_pooling pooling = m->settings.pooling;
            aoe_model_close(m);
            m = test_model_open(ctx, to, NULL);
            assert_int_equal(m->settings.pooling, pooling);
            c.default_pooling = m->config.default_pooling; /* depends on the name of the class in config.json */
            const vectors after = embed(m);
            assert_true(equal(&before, &after));
            assert_memory_equal(&c, &m->config, sizeof c);
            aoe_model_close(m);
            char *text = test_read(config, NULL);
            assert_non_null(strstr(text, kinds[kind].class_name));
            free(text);
            free(config);
            test_dir_remove(from);
            test_dir_remove(to);
        }
    aoe_context_destroy(ctx);
}

/* Tests that linear weights and embedding tables are used as stored if both the storage and the computation are bf16.
 * The embeddings must be bit-identical to the embeddings with a float32 copy of the weights. */
static void keeps_bf16_as_stored(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoe_model_options bf16;
    aoe_model_options_defaults(&bf16);
    bf16.dtype = AOE_DTYPE_BF16;
    for (size_t kind = 0; kind < KINDS; kind++) {
        char *from = test_path(test_dir, "from"), *narrow = test_path(test_dir, "narrow"),
             *wide = test_path(test_dir, "wide");
        tiny_model o = tiny_kind(kind);
        aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                                 .table = {.struct_size = sizeof(aoe_table_options)},
                                 .storage = AOE_STORAGE_BF16};
        aoe_error err = {0};
        tiny_model_write(from, &o);
        int rc = aoe_convert(ctx, from, narrow, &c, NULL, &err);
        c.storage = AOE_STORAGE_F32;
        if (rc || aoe_convert(ctx, narrow, wide, &c, NULL, &err))
            fail_msg("%s", err.message);
        aoe_model *m = test_model_open(ctx, narrow, &bf16);
        for (size_t s = 0; s < aoei_slot_count(&m->config); s++) {
            aoei_slot d;
            aoei_slot_describe(&m->config, s, &d);
            assert_int_equal(!d.absent && m->weights[s].type == AOEI_BF16, d.linear || d.table);
        }
        assert_true(m->memory.converted_bytes < 16384);
        const vectors a = embed(m), b = embed_dir(ctx, wide, &bf16);
        assert_true(equal(&a, &b));
        aoe_model_close(m);
        aoe_model_options f32;
        aoe_model_options_defaults(&f32);
        f32.dtype = AOE_DTYPE_F32;
        const vectors x = embed_dir(ctx, narrow, &f32), y = embed_dir(ctx, wide, &f32);
        assert_true(equal(&x, &y));
        test_dir_remove(from);
        test_dir_remove(narrow);
        test_dir_remove(wide);
    }
    aoe_context_destroy(ctx);
}

/* Returns options with bidirectional attention in layers `layer` and above. */
static aoe_model_options bidirectional_options(size_t layer) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.pooling = AOE_POOLING_LAST_AVG;
    o.bidirectional_from = layer;
    return o;
}

/* Tests that bidirectional attention changes the embeddings and is saved in aoe.json, and that options override the
 * saved value. */
static void saves_the_attention_direction(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "to");
    const tiny_model o = tiny_kind(1);
    const aoe_model_options all = bidirectional_options(0), last = bidirectional_options(1),
                            none = bidirectional_options(2), plain = bidirectional_options(AOE_AUTO);
    aoe_error err = {0};
    aoe_model_info info = {.struct_size = sizeof info};
    tiny_model_write(from, &o);
    const vectors causal = embed_dir(ctx, from, &plain), half = embed_dir(ctx, from, &last),
                  full = embed_dir(ctx, from, &all), off = embed_dir(ctx, from, &none);
    assert_true(equal(&causal, &off) && !equal(&causal, &half) && !equal(&half, &full) && !equal(&causal, &full));
    aoe_model *m = test_model_open(ctx, from, &last);
    if (aoei_model_save(m, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
    m = test_model_open(ctx, to, &plain);
    const vectors again = embed(m);
    aoe_model_get_info(m, &info);
    assert_true(equal(&again, &half) && info.causal && info.bidirectional_from == 1 && info.kv_heads == 2);
    char limits[512];
    assert_non_null(
        strstr(aoei_settings_limits(&m->settings, limits, sizeof limits), "causal attention in all layers"));
    aoe_model_close(m);
    const vectors other = embed_dir(ctx, to, &all);
    assert_true(equal(&other, &full));
    test_dir_remove(from);
    test_dir_remove(to);
    aoe_context_destroy(ctx);
}

static void expect_rejected(aoe_context *ctx, const char *dir, const aoe_model_options *o, int code,
                            const char *fragment) {
    aoe_model *m;
    aoe_error err = {0};
    assert_int_equal(aoe_model_open(&m, ctx, dir, o, &err), code);
    assert_null(m);
    FRAGMENT(err, fragment);
}

static void rejects_attention_directions(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    char *from = test_path(test_dir, "from");
    tiny_model o = tiny_kind(0);
    const aoe_model_options all = bidirectional_options(0), beyond = bidirectional_options(3);
    tiny_model_write(from, &o);
    expect_rejected(ctx, from, &all, AOE_EARG, "the attention of a roberta model is bidirectional in all layers");
    free(test_write_text(from, "aoe.json", "{\"format_version\": 1, \"bidirectional_from\": 0}"));
    expect_rejected(ctx, from, NULL, AOE_EFORMAT, "aoe.json: \"bidirectional_from\" is 0");
    test_dir_remove(from);
    from = test_path(test_dir, "from");
    o = tiny_kind(1);
    tiny_model_write(from, &o);
    expect_rejected(ctx, from, &beyond, AOE_EARG, "options.bidirectional_from is 3, but must be at most 2");
    free(test_write_text(from, "aoe.json", "{\"format_version\": 1, \"bidirectional_from\": 3}"));
    expect_rejected(ctx, from, NULL, AOE_EFORMAT, "aoe.json: \"bidirectional_from\" is 3");
    free(test_write_text(from, "aoe.json", "{\"format_version\": 1, \"bidirectional_from\": -1}"));
    expect_rejected(ctx, from, NULL, AOE_EFORMAT, "\"bidirectional_from\" is not a non-negative integer");
    test_dir_remove(from);
    aoe_context_destroy(ctx);
}

/* Tests that aoe_init writes random weights with the given sizes. All other settings must be the defaults of the
 * architecture. */
static void creates_models(void **state) {
    (void)state;
    static const char *const types[] = {"roberta", "xlm-roberta", "llama", "mistral", "qwen2", "qwen3", "gemma3_text"};
    aoe_context *ctx = tiny_context(2);
    char *from = test_path(test_dir, "from");
    const tiny_model bert = tiny_defaults();
    tiny_model_write(from, &bert);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char *to = test_path(test_dir, "to");
        aoe_init_options o;
        aoe_error err = {0};
        aoe_init_options_defaults(&o);
        o.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                              .hidden = 32,
                              .layers = 2,
                              .heads = 4,
                              .intermediate = 48,
                              .positions = 40,
                              .architecture = types[i]};
        o.shape.kv_heads = i < 2 ? 0 : 2;
        o.tokenizer_from = from;
        if (aoe_init(ctx, to, &o, NULL, &err))
            fail_msg("%s", err.message);
        aoe_model *m = test_model_open(ctx, to, NULL);
        const aoei_encoder_config *c = &m->config;
        assert_string_equal(c->arch->model_type, types[i]);
        assert_int_equal(c->arch->max_length(c), i < 2 ? 38 : 40);
        assert_int_equal(m->settings.pooling, i < 2 ? AOE_POOLING_LAST_AVG : AOE_POOLING_LAST_TOKEN);
        assert_true(c->attention_dropout == (i < 2 ? 0.1 : 0) && c->hidden_dropout == c->attention_dropout);
        assert_true(c->causal == (i >= 2) && aoei_key_width(c) == (i < 2 ? 32u : 16u));
        assert_int_equal(c->no_qkv_bias, i == 2 || i == 3 || i > 4);
        assert_int_equal(c->window > 0, i == 6);
        const vectors v = embed(m);
        assert_true(v.x[0][0] == v.x[0][0] && memcmp(v.x[0], v.x[1], sizeof v.x[0]) != 0);
        aoe_model_close(m);
        test_dir_remove(to);
    }
    aoe_init_options o;
    aoe_error err = {0};
    aoe_init_options_defaults(&o);
    o.shape.architecture = "model2vec";
    o.tokenizer_from = from;
    char *to = test_path(test_dir, "to");
    assert_int_equal(aoe_init(ctx, to, &o, NULL, &err), AOE_EARG);
    FRAGMENT(err, "options.shape.architecture 'model2vec'");
    free(to);
    test_dir_remove(from);
    aoe_context_destroy(ctx);
}

/* Returns the tensor `name` of the weight file in `dir`, whose file *f must be closed by the caller. */
static const aoei_st_tensor *stored(aoei_safetensors **f, const char *dir, const char *name) {
    assert_int_equal(aoei_safetensors_open_dir(f, dir, NULL), 0);
    const aoei_st_tensor *t = aoei_safetensors_find(*f, name);
    assert_non_null(t);
    return t;
}

/* Tests fused tensors, which contain the weights of several layers. A converted model must have the same fused tensors
 * with equal values. An int8 model must give equal embeddings after another conversion. Adapters of fused tensors are
 * rejected, and messages name the stored tensor and its shape. */
static void fused_tensors(void **state) {
    (void)state;
    static const char name[] = "encoder.layers.1.attn.Wqkv.weight";
    aoe_context *ctx = tiny_context(2);
    char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "to"), *again = test_path(test_dir, "again");
    tiny_model o = tiny_kind(0);
    aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                             .table = {.struct_size = sizeof(aoe_table_options)},
                             .storage = AOE_STORAGE_F32};
    aoe_error err = {0};
    aoei_safetensors *a, *b;
    o.options = tiny_nomic_fused;
    tiny_model_write(from, &o);
    assert_int_equal(aoe_convert(ctx, from, to, &c, NULL, &err), 0);
    const aoei_st_tensor *s = stored(&a, from, name), *t = stored(&b, to, name);
    assert_true(s->shape[0] == 96 && t->shape[0] == 96 && t->shape[1] == 32 && t->bytes == s->bytes);
    assert_memory_equal(s->data, t->data, s->bytes);
    aoei_safetensors_close(a);
    aoei_safetensors_close(b);
    test_dir_remove(to);
    to = test_path(test_dir, "to");
    c.storage = AOE_STORAGE_INT8;
    assert_int_equal(aoe_convert(ctx, from, to, &c, NULL, &err), 0);
    c.storage = AOE_STORAGE_F32;
    assert_int_equal(aoe_convert(ctx, to, again, &c, NULL, &err), 0);
    t = stored(&a, to, name);
    assert_true(t->dtype == AOEI_ST_I8 && t->scale && t->scale->shape[0] == 96);
    aoei_safetensors_close(a);
    aoe_model_options f32;
    aoe_model_options_defaults(&f32);
    f32.dtype = AOE_DTYPE_F32;
    const vectors x = embed_dir(ctx, to, &f32), y = embed_dir(ctx, again, &f32);
    assert_true(equal(&x, &y));
    aoe_model *m;
    aoe_lora lora;
    aoe_lora_defaults(&lora);
    lora.r = 2;
    assert_int_equal(aoei_model_open_for(&m, ctx, from, NULL, &(aoei_open_mode){.lora = &lora}, &err),
                     AOE_EUNSUPPORTED);
    FRAGMENT(err, "LoRA adapters are not supported for 'encoder.layers.0.attn.Wqkv.weight'");
    lora.targets = "out_proj,fc2";
    assert_int_equal(aoei_model_open_for(&m, ctx, from, NULL, &(aoei_open_mode){.lora = &lora}, &err), 0);
    aoe_model_close(m);
    o.hidden = 36;
    test_dir_remove(again);
    again = test_path(test_dir, "again");
    tiny_model_write(again, &o);
    char *config = test_path(from, "config.json"), *text = test_read(config, NULL);
    free(test_write_text(again, "config.json", text));
    expect_rejected(ctx, again, NULL, AOE_EFORMAT, "config.json requires");
    free(text);
    free(config);
    test_dir_remove(from);
    test_dir_remove(to);
    test_dir_remove(again);
    aoe_context_destroy(ctx);
}

int main(void) {
    test_use_memory();
    const struct CMUnitTest tests[] = {cmocka_unit_test(saves_and_opens),
                                       cmocka_unit_test(keeps_bf16_as_stored),
                                       cmocka_unit_test(saves_the_attention_direction),
                                       cmocka_unit_test(rejects_attention_directions),
                                       cmocka_unit_test(creates_models),
                                       cmocka_unit_test(fused_tensors)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
