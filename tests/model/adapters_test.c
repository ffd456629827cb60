/* SPDX-License-Identifier: MIT
 * covers: model/lora_options modeldir/adapter_tensors
 * Tests adapter directories (PEFT). Opening such a directory merges the adapters into the base model. Its embeddings
 * must be bit-identical to the embeddings of a directory in which the merged model was saved. If the adapters are not
 * merged, the embeddings may differ only by rounding errors. Other tests cover every storage type of the base model,
 * frozen weights in bf16 and int8, the directories in which the base model, the tokenizer and the settings are found,
 * memory plans, and rejected inputs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/bf16.h"
#include "base/context.h"
#include "base/json.h"
#include "encoder/params.h"
#include "encoder/slots.h"
#include "modeldir/peft.h"
#include "model/open.h"
#include "modeldir/layout.h"
#include "modeldir/safetensors_writer.h"

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
    float out[VECTORS * MAX_DIMS];
    aoe_error err = {0};
    memset(&v, 0, sizeof v);
    for (uint32_t i = 0; i < VECTORS; i++) {
        snprintf(copies[i], sizeof copies[i], "%s", tiny_text(i + 3));
        texts[i] = aoe_text_of(copies[i]);
    }
    const size_t D = aoe_model_dims(m);
    assert_true(D <= MAX_DIMS);
    if (aoe_embedder_create(&e, m, NULL, &err) || aoe_embed(e, texts, VECTORS, out, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < VECTORS; i++)
        memcpy(v.x[i], out + i * D, D * sizeof *out);
    aoe_embedder_destroy(e);
    return v;
}

static aoe_model *open_as(const char *dir, aoe_dtype dtype, const aoei_open_mode *p) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    aoe_model *m;
    aoe_error err = {0};
    if (aoei_model_open_for(&m, test_model_context, dir, &o, p, &err))
        fail_msg("%s", err.message);
    return m;
}

static const aoei_open_mode inference = {.packed = 1}, unmerged = {0};

static vectors embed_as(const char *dir, aoe_dtype dtype, const aoei_open_mode *p) {
    aoe_model *m = open_as(dir, dtype, p);
    const vectors v = embed(m);
    aoe_model_close(m);
    return v;
}

/* Returns the norm of a - b divided by the norm of b, over all vectors. */
static double distance(const vectors *a, const vectors *b) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < VECTORS; i++)
        for (size_t k = 0; k < MAX_DIMS; k++) {
            difference += pow((double)a->x[i][k] - (double)b->x[i][k], 2);
            norm += pow((double)b->x[i][k], 2);
        }
    return sqrt(difference / norm);
}

static int equal(const vectors *a, const vectors *b) {
    return !memcmp(a, b, sizeof *a);
}

static void (*const kinds[])(aoei_encoder_config *c) = {NULL,       tiny_roberta, tiny_llama, tiny_mistral, tiny_qwen2,
                                                        tiny_mpnet, tiny_deberta, tiny_qwen3, tiny_gemma3};
static const char *const prefixes[] = {"bert.",  "roberta.", "model.", "model.", NULL,
                                       "mpnet.", "deberta.", "model.", "model."};
/* names of the query and value layers */
static const char *const some_targets[] = {"query,value",           "query,value",   "q_proj,v_proj",
                                           "q_proj,v_proj",         "q_proj,v_proj", "attn.q,v",
                                           "query_proj,value_proj", "q_proj,v_proj", "q_proj,v_proj"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Writes a base model of architecture kinds[kind] and adapters of rank 3 for it into the test directory. targets: names
 * of the layers with adapters; NULL: all linear layers. The caller frees the two paths, *base and *adapters, with
 * remove_both. */
static void write_both(size_t kind, const char *targets, char **base, char **adapters) {
    tiny_model o = tiny_defaults();
    o.hidden = 32;
    o.heads = 4;
    o.options = kinds[kind];
    o.prefix = prefixes[kind];
    *base = test_path(test_dir, "base");
    *adapters = test_path(test_dir, "adapters");
    tiny_model_write(*base, &o);
    tiny_adapters_write(test_model_context, *adapters, *base, 3, targets);
}

static void remove_both(char *base, char *adapters) {
    test_dir_remove(base);
    test_dir_remove(adapters);
}

static void merge(const char *from, const char *to, aoe_storage storage) {
    aoe_error err = {0};
    const aoe_convert_options o = {.struct_size = sizeof(aoe_convert_options),
                                   .table = {.struct_size = sizeof(aoe_table_options)},
                                   .storage = storage,
                                   .merge = 1,
                                   .force = 1};
    if (aoe_convert(test_model_context, from, to, &o, NULL, &err))
        fail_msg("%s", err.message);
}

/* Tests that an adapter directory gives bit-identical embeddings to the directory of the merged model. With unmerged
 * adapters, the embeddings may differ from the merged model only by rounding errors. The embeddings of the base model
 * must be different. */
static void opens_and_merges(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int some = 0; some < 2; some++) {
            char *base, *adapters, *merged = test_path(test_dir, "merged");
            aoe_model_info info = {.struct_size = sizeof info};
            write_both(kind, some ? some_targets[kind] : NULL, &base, &adapters);
            merge(adapters, merged, AOE_STORAGE_F32);
            for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
                const vectors without = embed_as(base, (aoe_dtype)dtype, &inference),
                              with = embed_as(adapters, (aoe_dtype)dtype, &inference),
                              whole = embed_as(merged, (aoe_dtype)dtype, &inference),
                              separate = embed_as(adapters, (aoe_dtype)dtype, &unmerged);
                assert_true(equal(&with, &whole));
                assert_true(distance(&without, &whole) > 1e-2);
                const double error = distance(&separate, &whole);
                if (!(error < (dtype == AOE_DTYPE_F32 ? 1e-5 : 0.05)))
                    fail_msg("kind %zu, type %d: the relative error %g is too large", kind, dtype, error);
            }
            aoe_model *m = open_as(adapters, AOE_DTYPE_F32, &inference);
            aoe_model_get_info(m, &info);
            assert_string_equal(info.base, base);
            assert_true(info.lora_r == 3 && fabs(info.lora_alpha - 8) < 1e-12 && fabs(info.lora_dropout - 0.1) < 1e-12);
            assert_int_equal(*info.lora_targets, 'q');
            assert_int_equal(m->config.lora.r, 0);
            assert_int_equal(info.parameters, aoei_parameter_count(&m->config));
            aoe_model_close(m);
            m = open_as(merged, AOE_DTYPE_F32, &inference);
            aoe_model_get_info(m, &info);
            assert_true(!info.base && !info.lora_r && !*info.lora_targets);
            aoe_model_close(m);
            remove_both(base, adapters);
            test_dir_remove(merged);
        }
}

/* Tests that the tensors and the settings of an adapter directory have the names that PEFT uses, and that the directory
 * contains no file of the base model. */
static void writes_peft_files(void **state) {
    (void)state;
    for (size_t kind = 0; kind < 5; kind += 2) { /* BERT, LLaMA, and a Qwen2 without a prefix in tensor names */
        static const char *const names[] = {"base_model.model.encoder.layer.1.attention.output.dense.lora_B.weight",
                                            NULL, "base_model.model.model.layers.1.self_attn.o_proj.lora_B.weight",
                                            NULL, "base_model.model.layers.1.self_attn.o_proj.lora_B.weight"};
        static const char *const tasks[] = {"FEATURE_EXTRACTION", NULL, "CAUSAL_LM", NULL, "FEATURE_EXTRACTION"};
        char *base, *adapters;
        aoei_safetensors *f;
        write_both(kind, NULL, &base, &adapters);
        char *path = test_path(adapters, AOEI_PEFT_WEIGHTS), *config = test_path(adapters, AOEI_PEFT_CONFIG),
             *text = test_read(config, NULL);
        assert_int_equal(aoei_safetensors_open(&f, path, NULL), 0);
        assert_int_equal(aoei_safetensors_count(f), 2 * 2 * (kind ? 7 : 6));
        const aoei_st_tensor *t = aoei_safetensors_find(f, names[kind]);
        assert_true(t && t->dtype == AOEI_ST_F32 && t->n_dims == 2 && t->shape[0] == 32 && t->shape[1] == 3);
        assert_non_null(strstr(text, tasks[kind]));
        assert_non_null(strstr(text, base)); /* the configuration contains the full path of the base model */
        assert_non_null(strstr(text, kind ? "down_proj" : "\"output.dense\""));
        static const char *const present[] = {"aoe.json", "modules.json", "README.md", "vocab.txt",
                                              "tokenizer_config.json"},
                                 *const absent[] = {"config.json", "model.safetensors"};
        for (size_t i = 0; i < sizeof present / sizeof *present; i++)
            assert_true(aoei_entry_exists(adapters, present[i]));
        for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
            assert_false(aoei_entry_exists(adapters, absent[i]));
        assert_true(aoei_is_model_dir(adapters));
        aoei_safetensors_close(f);
        free(text);
        free(config);
        free(path);
        remove_both(base, adapters);
    }
}

/* Tests that the base model may be stored in any data type. Merging must read the stored values exactly. Without
 * merging, the weights must keep their storage type, and the embeddings must be bit-identical to the embeddings with a
 * float32 copy of the base model. */
static void accepts_any_storage_type(void **state) {
    (void)state;
    for (int storage = AOE_STORAGE_BF16; storage <= AOE_STORAGE_INT8 + 1; storage++) { /* the last one: int5 token
                                                                                          embeddings */
        const int int5 = storage > AOE_STORAGE_INT8;
        char *base, *adapters, *narrow = test_path(test_dir, "narrow"), *wide = test_path(test_dir, "wide"),
                               *merged = test_path(test_dir, "merged");
        const aoe_convert_options to_narrow = {.struct_size = sizeof(aoe_convert_options),
                                               .table = {.struct_size = sizeof(aoe_table_options)},
                                               .storage = int5 ? AOE_STORAGE_INT8 : (aoe_storage)storage,
                                               .embedding_storage = (aoe_embedding_storage)int5},
                                  to_wide = {.struct_size = sizeof(aoe_convert_options),
                                             .table = {.struct_size = sizeof(aoe_table_options)},
                                             .storage = AOE_STORAGE_F32};
        write_both(2, NULL, &base, &adapters);
        assert_int_equal(aoe_convert(test_model_context, base, narrow, &to_narrow, NULL, NULL), 0);
        assert_int_equal(aoe_convert(test_model_context, narrow, wide, &to_wide, NULL, NULL), 0);
        for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++)
            for (int packed = 0; packed < 2; packed++) {
                const aoei_open_mode *p = packed ? &inference : &unmerged;
                aoe_model_options o;
                aoe_model_options_defaults(&o);
                o.dtype = (aoe_dtype)dtype;
                o.base = narrow;
                aoe_model *a, *b;
                assert_int_equal(aoei_model_open_for(&a, test_model_context, adapters, &o, p, NULL), 0);
                o.base = wide;
                assert_int_equal(aoei_model_open_for(&b, test_model_context, adapters, &o, p, NULL), 0);
                const vectors x = embed(a), y = embed(b);
                assert_true(equal(&x, &y));
                const aoei_tensor q = a->weights[aoei_layer_slot(1, AOEI_LW_Q)],
                                  f = b->weights[aoei_layer_slot(1, AOEI_LW_Q)];
                if (!packed) {
                    assert_int_equal(q.type, storage >= AOE_STORAGE_INT8 ? AOEI_I8 : AOEI_BF16);
                    /* the weight f belongs to the base model `wide`, which is stored in float32 and converted to the
                     * data type of the computation */
                    assert_int_equal(f.type, dtype == AOE_DTYPE_BF16 ? AOEI_BF16 : AOEI_F32);
                    assert_int_equal(a->weights[AOEI_W_WORD].type, q.type);
                }
                assert_int_equal(packed, !q.data);
                aoe_model_close(a);
                aoe_model_close(b);
            }
        aoe_convert_options o = {.struct_size = sizeof(aoe_convert_options),
                                 .table = {.struct_size = sizeof(aoe_table_options)},
                                 .storage = AOE_STORAGE_F32,
                                 .merge = 1,
                                 .base = narrow};
        assert_int_equal(aoe_convert(test_model_context, adapters, merged, &o, NULL, NULL), 0);
        aoe_model_options with;
        aoe_model_options_defaults(&with);
        with.dtype = AOE_DTYPE_F32;
        with.base = narrow;
        aoe_model *m;
        assert_int_equal(aoe_model_open(&m, test_model_context, adapters, &with, NULL), 0);
        const vectors x = embed(m), y = embed_as(merged, AOE_DTYPE_F32, &inference);
        assert_true(equal(&x, &y));
        aoe_model_close(m);
        remove_both(base, adapters);
        test_dir_remove(narrow);
        test_dir_remove(wide);
        test_dir_remove(merged);
    }
}

/* If the model is opened with eight_bit, its frozen linear weights must equal the int8 weights that aoe_convert
 * stores. */
static void quantizes_frozen_weights(void **state) {
    (void)state;
    char *base, *adapters, *narrow = test_path(test_dir, "narrow");
    const aoe_convert_options to_int8 = {.struct_size = sizeof(aoe_convert_options),
                                         .table = {.struct_size = sizeof(aoe_table_options)},
                                         .storage = AOE_STORAGE_INT8};
    const aoei_open_mode eight = {.eight_bit = 1};
    write_both(0, NULL, &base, &adapters);
    assert_int_equal(aoe_convert(test_model_context, base, narrow, &to_int8, NULL, NULL), 0);
    for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
        aoe_model *a = open_as(adapters, (aoe_dtype)dtype, &eight), *b;
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = (aoe_dtype)dtype;
        o.base = narrow;
        assert_int_equal(aoei_model_open_for(&b, test_model_context, adapters, &o, &unmerged, NULL), 0);
        /* the last kind of adapter belongs to the gate projection, which BERT does not have */
        for (size_t kind = 0; kind < AOEI_ADAPTERS - 1; kind++) {
            const size_t slot = aoei_layer_slot(1, aoei_adapter_kind(kind));
            const aoei_tensor x = a->weights[slot], y = b->weights[slot];
            assert_true(x.type == AOEI_I8 && y.type == AOEI_I8);
            assert_memory_equal(x.data, y.data, x.rows * x.cols);
            assert_memory_equal(x.scale, y.scale, x.rows * sizeof *x.scale);
        }
        assert_int_equal(a->weights[AOEI_W_WORD].type, AOEI_F32);
        aoe_model_close(a);
        aoe_model_close(b);
    }
    remove_both(base, adapters);
    test_dir_remove(narrow);
}

/* Tests that the tokenizer and the settings are read from the adapter directory if it contains them, and otherwise from
 * the base directory. */
static void finds_tokenizer_and_base(void **state) {
    (void)state;
    char *base, *adapters, *elsewhere = test_path(test_dir, "elsewhere");
    static const char *const own[] = {"aoe.json", "modules.json", "vocab.txt", "tokenizer_config.json"};
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_error err = {0};
    aoe_model *m;
    write_both(0, NULL, &base, &adapters);
    free(test_write_text(base, "aoe.json",
                         "{\"format_version\": 1, \"pooling\": \"last-max\", \"max_length\": 9, \"normalize\": true}"));
    m = open_as(adapters, AOE_DTYPE_F32, &inference);
    aoe_model_get_info(m, &info);
    assert_true(info.pooling == AOE_POOLING_LAST_AVG && info.tokenizer && info.max_length == 32);
    const vectors v = embed(m);
    aoe_model_close(m);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char *path = test_path(adapters, own[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    m = open_as(adapters, AOE_DTYPE_F32, &inference);
    aoe_model_get_info(m, &info);
    assert_true(info.pooling == AOE_POOLING_LAST_MAX && info.tokenizer && info.max_length == 9 && info.normalize);
    aoe_model_close(m);
    /* the base directory was moved */
    assert_int_equal(rename(base, elsewhere), 0);
    assert_int_equal(aoe_model_open(&m, test_model_context, adapters, NULL, &err), AOE_ENOENT);
    FRAGMENT(err, "of the base model does not exist; set options.base");
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.normalize = 0;
    o.base = elsewhere;
    o.pooling = AOE_POOLING_LAST_AVG;
    o.max_length = 32;
    assert_int_equal(aoe_model_open(&m, test_model_context, adapters, &o, &err), 0);
    const vectors again = embed(m);
    assert_true(equal(&v, &again));
    aoe_model_close(m);
    assert_int_equal(aoe_model_open(&m, test_model_context, elsewhere, &o, &err), AOE_EARG);
    FRAGMENT(err, "the directory contains no adapters; omit options.base");
    assert_int_equal(aoei_model_open_mlm(&m, test_model_context, adapters, &o, 1, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "which cannot be pretrained");
    remove_both(elsewhere, adapters);
    free(base);
}

/* Rewrites the weights file of the adapter directory dir and sets all elements of all tensors to `value`.
 * - unused: omits tensors whose name contains this string; NULL: none
 * - extra: adds a tensor [2, 2] with this name; NULL: none
 * - misshapen: adds a column to tensors whose name contains this string; NULL: none */
static void rewrite(const char *dir, const char *unused, const char *extra, const char *misshapen, float value) {
    char *path = test_path(dir, AOEI_PEFT_WEIGHTS);
    aoei_safetensors *f;
    aoei_st_writer *w;
    aoei_st_entry e[64];
    static float host[4096];
    size_t n = 0;
    assert_int_equal(aoei_safetensors_open(&f, path, NULL), 0);
    for (size_t i = 0; i < aoei_safetensors_count(f); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f, i);
        if (unused && strstr(t->name, unused))
            continue;
        e[n] = (aoei_st_entry){t->name, AOEI_ST_F32, 2, {t->shape[0], t->shape[1]}};
        e[n++].shape[1] += misshapen && strstr(t->name, misshapen) != NULL;
    }
    if (extra)
        e[n++] = (aoei_st_entry){extra, AOEI_ST_F32, 2, {2, 2}};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        host[i] = value;
    char *new_path = test_path(dir, "new");
    assert_int_equal(aoei_st_writer_open(&w, new_path, e, n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(aoei_st_writer_write(w, host, e[i].shape[0] * e[i].shape[1] * sizeof *host, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoei_safetensors_close(f);
    assert_int_equal(rename(new_path, path), 0);
    free(new_path);
    free(path);
}

/* Rewrites the weights file of the adapter directory dir. The tensor with index i is stored with the data type types[i
 * % 2].
 */
static void store_as(const char *dir, const aoei_st_dtype types[2]) {
    char *path = test_path(dir, AOEI_PEFT_WEIGHTS), *new_path = test_path(dir, "new");
    aoei_safetensors *f;
    aoei_st_writer *w;
    aoei_st_entry e[64];
    static float values[4096];
    static aoei_bf16 halves[4096];
    assert_int_equal(aoei_safetensors_open(&f, path, NULL), 0);
    const size_t n = aoei_safetensors_count(f);
    for (size_t i = 0; i < n; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f, i);
        e[i] = (aoei_st_entry){t->name, types[i % 2], 2, {t->shape[0], t->shape[1]}};
    }
    assert_int_equal(aoei_st_writer_open(&w, new_path, e, n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        const size_t elements = e[i].shape[0] * e[i].shape[1];
        aoei_st_to_float(values, aoei_safetensors_at(f, i));
        for (size_t k = 0; k < elements; k++)
            halves[k] = aoei_bf16_from_f32(values[k]);
        const int wide = e[i].dtype == AOEI_ST_F32;
        assert_int_equal(aoei_st_writer_write(w, wide ? (const void *)values : halves,
                                              elements * aoei_st_dtype_size(e[i].dtype), NULL),
                         0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoei_safetensors_close(f);
    assert_int_equal(rename(new_path, path), 0);
    free(new_path);
    free(path);
}

/* Tests that adapters stored in BF16, or partly in BF16 and partly in F32, compute the same embeddings merged and
 * unmerged. A data type that is not supported must be rejected. */
static void reads_data_types_of_adapters(void **state) {
    (void)state;
    static const aoei_st_dtype types[][2] = {{AOEI_ST_BF16, AOEI_ST_BF16},
                                             {AOEI_ST_F32, AOEI_ST_BF16},
                                             {AOEI_ST_BF16, AOEI_ST_F32},
                                             {AOEI_ST_I8, AOEI_ST_F32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char *base, *adapters;
        aoe_error err = {0};
        aoe_model *m;
        write_both(0, NULL, &base, &adapters);
        store_as(adapters, types[i]);
        if (types[i][0] == AOEI_ST_I8) {
            assert_int_equal(aoe_model_open(&m, test_model_context, adapters, NULL, &err), AOE_EUNSUPPORTED);
            FRAGMENT(err, "is I8; adapters must be F32, F16 or BF16");
        } else {
            const vectors x = embed_as(adapters, AOE_DTYPE_F32, &inference),
                          y = embed_as(adapters, AOE_DTYPE_F32, &unmerged);
            assert_true(distance(&x, &y) < 1e-5);
        }
        remove_both(base, adapters);
    }
}

/* Adds to the weights file of the adapter directory dir a vector of `size` elements with the value 2 for each tensor
 * whose name contains `like`. The name of a vector is the name of the tensor in which `like` and what follows it is
 * replaced by `by`. */
static void add_vectors(const char *dir, const char *like, const char *by, size_t size) {
    char *path = test_path(dir, AOEI_PEFT_WEIGHTS), *new_path = test_path(dir, "new"), names[64][160];
    aoei_safetensors *f;
    aoei_st_writer *w;
    aoei_st_entry e[96];
    static float values[4096];
    size_t added = 0;
    assert_int_equal(aoei_safetensors_open(&f, path, NULL), 0);
    const size_t n = aoei_safetensors_count(f);
    for (size_t i = 0; i < n; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f, i);
        const char *at = strstr(t->name, like);
        e[i] = (aoei_st_entry){t->name, AOEI_ST_F32, t->n_dims, {t->shape[0], t->n_dims > 1 ? t->shape[1] : 1}};
        if (at)
            snprintf(names[added++], sizeof *names, "%.*s%s", (int)(at - t->name), t->name, by);
    }
    for (size_t i = 0; i < added; i++)
        e[n + i] = (aoei_st_entry){names[i], AOEI_ST_F32, 1, {size}};
    assert_int_equal(aoei_st_writer_open(&w, new_path, e, n + added, NULL), 0);
    for (size_t i = 0; i < n + added; i++) {
        const size_t elements = i < n ? aoei_st_elements(aoei_safetensors_at(f, i)) : size;
        for (size_t k = 0; k < size && i >= n; k++)
            values[k] = 2;
        if (i < n)
            aoei_st_to_float(values, aoei_safetensors_at(f, i));
        assert_int_equal(aoei_st_writer_write(w, values, elements * sizeof *values, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoei_safetensors_close(f);
    assert_int_equal(rename(new_path, path), 0);
    free(new_path);
    free(path);
}

/* Sets a key of adapter_config.json; value: JSON. */
static void configure(const char *dir, const char *key, const char *value) {
    char *path = test_path(dir, AOEI_PEFT_CONFIG);
    json_t *root;
    assert_int_equal(aoei_json_load(&root, path, NULL), 0);
    assert_int_equal(json_object_set_new(root, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
    assert_int_equal(aoei_json_save(root, path, NULL), 0);
    json_decref(root);
    free(path);
}

/* Asserts that adapters cannot be trained further, and that the message contains `fragment`. */
static void expect_not_trainable(const char *adapters, const char *fragment) {
    aoe_lora lora;
    aoe_model *m;
    aoe_error err = {0};
    aoe_lora_defaults(&lora);
    const aoei_open_mode training = {.lora = &lora};
    assert_int_equal(aoei_model_open_for(&m, test_model_context, adapters, NULL, &training, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, fragment);
}

/* Tests weight-decomposed adapters (DoRA): each row of a merged weight has the stored norm. */
static void scales_rows_to_magnitudes(void **state) {
    (void)state;
    char *base, *adapters, *merged = test_path(test_dir, "merged");
    aoe_model *m;
    aoe_error err = {0};
    write_both(0, "query", &base, &adapters);
    configure(adapters, "use_dora", "true");
    assert_int_equal(aoe_model_open(&m, test_model_context, adapters, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "lora_magnitude_vector");
    add_vectors(adapters, "lora_A.weight", "lora_magnitude_vector", 32);
    expect_not_trainable(adapters, "use_dora");
    merge(adapters, merged, AOE_STORAGE_F32);
    m = open_as(merged, AOE_DTYPE_F32, &unmerged);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t kind = AOEI_LW_Q; kind <= AOEI_LW_K; kind += AOEI_LW_K - AOEI_LW_Q) {
            const aoei_tensor w = m->weights[aoei_layer_slot(layer, kind)];
            double norm = 0;
            for (size_t i = 0; i < w.cols; i++)
                norm += (double)((const float *)w.data)[i] * ((const float *)w.data)[i];
            assert_int_equal(fabs(sqrt(norm) - 2) < 1e-5, kind == AOEI_LW_Q);
        }
    aoe_model_close(m);
    remove_both(base, adapters);
    test_dir_remove(merged);
}

/* Tests weights of the base model that the adapter file replaces (modules_to_save and bias). */
static void replaces_weights(void **state) {
    (void)state;
    char *base, *adapters, *merged = test_path(test_dir, "merged");
    aoe_model *m;
    aoe_error err = {0};
    write_both(0, "query", &base, &adapters);
    add_vectors(adapters, "query.lora_A.weight", "query.base_layer.bias", 32);
    add_vectors(adapters, "encoder.layer.0.attention.self.query.lora_A", "embeddings.LayerNorm.weight", 32);
    assert_int_equal(aoe_model_open(&m, test_model_context, adapters, NULL, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "does not belong to an adapter");
    configure(adapters, "bias", "\"lora_only\"");
    configure(adapters, "modules_to_save", "[\"embeddings.LayerNorm\"]");
    expect_not_trainable(adapters, "modules_to_save");
    merge(adapters, merged, AOE_STORAGE_F32);
    m = open_as(merged, AOE_DTYPE_F32, &unmerged);
    assert_true(*(const float *)m->weights[AOEI_W_EMBED_NORM].data == 2);
    assert_true(*(const float *)m->weights[aoei_layer_slot(1, AOEI_LW_Q_BIAS)].data == 2);
    assert_true(*(const float *)m->weights[aoei_layer_slot(1, AOEI_LW_K_BIAS)].data != 2);
    aoe_model_close(m);
    const vectors x = embed_as(adapters, AOE_DTYPE_F32, &inference), y = embed_as(merged, AOE_DTYPE_F32, &inference);
    assert_true(equal(&x, &y));
    remove_both(base, adapters);
    test_dir_remove(merged);
}

static void rejects_damaged_adapters(void **state) {
    (void)state;
    static const struct {
        const char *unused, *extra, *misshapen;
        float value;
        int code;
        const char *fragment;
    } cases[] = {
        {NULL, NULL, NULL, 0.5f, 0, NULL},
        {NULL, "base_model.model.lm_head.lora_A.weight", NULL, 0.5f, 0, NULL},
        {"layer.1.output.dense.lora_B", NULL, NULL, 0.5f, AOE_EFORMAT,
         "'base_model.model.encoder.layer.1.output.dense.lora_B.weight' is missing"},
        {NULL, NULL, "layer.0.attention.self.key.lora_A", 0.5f, AOE_EFORMAT, "does not have the shape [3, 32]"},
        {NULL, "base_model.model.pooler.dense.lora_A.weight", NULL, 0.5f, 0, NULL}, /* has no effect on embeddings */
        {NULL, "base_model.model.encoder.lora_A.weight", NULL, 0.5f, AOE_EUNSUPPORTED, "does not belong to an adapter"},
        {NULL, "base_model.model.embeddings.word_embeddings.weight", NULL, 0.5f, AOE_EUNSUPPORTED,
         "is a table of token embeddings that does not fit the base model: tokens were added"},
        {NULL, "base_model.model.embeddings.word_embeddings.lora_embedding_A", NULL, 0.5f, AOE_EUNSUPPORTED,
         "is a table of token embeddings"},
        {NULL, "base_model.model.encoder.layer.0.output.LayerNorm.bias", NULL, 0.5f, AOE_EUNSUPPORTED,
         "does not belong to an adapter"}, /* adapter_config.json has no modules_to_save */
        {NULL, NULL, NULL, (float)NAN, AOE_ENUMERIC, "contains NaN at element 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *base, *adapters;
        aoe_model *m;
        aoe_error err = {0};
        write_both(0, NULL, &base, &adapters);
        rewrite(adapters, cases[i].unused, cases[i].extra, cases[i].misshapen, cases[i].value);
        const int code = aoe_model_open(&m, test_model_context, adapters, NULL, &err);
        if (code != cases[i].code)
            fail_msg("case %zu: expected code %d, found %d: %s", i, cases[i].code, code, err.message);
        if (code)
            FRAGMENT(err, cases[i].fragment);
        aoe_model_close(m);
        remove_both(base, adapters);
    }
}

static void rejects_invalid_options(void **state) {
    (void)state;
    char *base, *adapters, *ran = test_path(test_dir, "ran"),
                           *text = test_write_text(test_dir, "a.txt", "a small plane\n");
    aoe_init_options init;
    aoe_lora lora;
    aoe_model *m;
    aoe_error err = {0};
    write_both(0, NULL, &base, &adapters);
    aoe_init_options_defaults(&init);
    init.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                             .hidden = 8,
                             .layers = 1,
                             .heads = 2,
                             .head_size = 4,
                             .window = 4,
                             .positions = 16,
                             .architecture = "ran"};
    init.texts = (const char *const[]){text};
    init.n_texts = 1;
    init.vocab_size = 30;
    if (aoe_init(test_model_context, ran, &init, NULL, &err))
        fail_msg("%s", err.message);
    aoe_lora_defaults(&lora);
    lora.r = 4;
    const aoei_open_mode p = {.lora = &lora};
    assert_int_equal(aoei_model_open_for(&m, test_model_context, ran, NULL, &p, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "LoRA adapters are not supported for ran models");
    assert_int_equal(aoei_model_open_for(&m, test_model_context, adapters, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "contains adapters of rank 3; the rank, alpha and targets of saved adapters cannot be changed");
    lora.r = 33;
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "options.lora.r is 33, but must be at most the model's hidden size, 32");
    lora.r = 4;
    lora.alpha = 0;
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "options.lora.alpha must be positive and at most 1e6");
    lora.alpha = 1e7;
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "options.lora.alpha must be positive and at most 1e6");
    aoe_lora_defaults(&lora);
    lora.load_8bit = 1;
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "options.lora.load_8bit requires adapters, but ");
    FRAGMENT(err, "contains none; set options.lora.r");
    aoe_lora_defaults(&lora);
    lora.r = 4;
    lora.targets = "query,,value";
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(err, "options.lora.targets has an empty name");
    lora.targets = "query,q_proj";
    assert_int_equal(aoei_model_open_for(&m, test_model_context, base, NULL, &p, &err), AOE_EARG);
    FRAGMENT(
        err,
        "options.lora.targets: a bert model has no linear layer 'q_proj'; its linear layers are query, key, value, "
        "output.dense");
    const aoe_convert_options merging = {
        .struct_size = sizeof(aoe_convert_options), .table = {.struct_size = sizeof(aoe_table_options)}, .merge = 1};
    assert_int_equal(aoe_convert(test_model_context, base, ran, &merging, NULL, &err), AOE_EARG);
    FRAGMENT(err, "there are no adapters to merge");
    free(text);
    test_dir_remove(ran);
    remove_both(base, adapters);
}

/* Tests that new adapters do not change the embeddings, because the matrix B is zero. The elements of A must be
 * uniformly distributed between -1 / sqrt(columns) and 1 / sqrt(columns). */
static void new_adapters_change_nothing(void **state) {
    (void)state;
    char *base, *adapters;
    aoe_lora lora;
    write_both(3, NULL, &base, &adapters);
    aoe_lora_defaults(&lora);
    lora.r = 4;
    const aoei_open_mode p = {.lora = &lora, .seed = 7};
    aoe_model *m = open_as(base, AOE_DTYPE_F32, &p);
    const vectors with = embed(m), without = embed_as(base, AOE_DTYPE_F32, &unmerged);
    assert_true(equal(&with, &without));
    const aoei_tensor down = m->weights[aoei_layer_slot(0, AOEI_LW_ADAPTERS)];
    double largest = 0, sum = 0;
    for (size_t i = 0; i < down.rows * down.cols; i++) {
        const double v = fabs((double)((const float *)down.data)[i]);
        largest = v > largest ? v : largest;
        sum += v;
    }
    const double bound = 1 / sqrt((double)down.cols);
    assert_true(largest < bound && largest > 0.8 * bound &&
                fabs(sum / (double)(down.rows * down.cols) / bound - 0.5) < 0.1);
    assert_true(fabs(m->lora.alpha - 32) < 1e-12 && fabs(m->lora.dropout - 0.1) < 1e-12);
    aoe_model_close(m);
    remove_both(base, adapters);
}

/* Returns the number of bytes of all weights except the adapters. Counts converted weights and weights that are used
 * directly from the mapped file. */
static size_t frozen_bytes(const aoe_model *m) {
    const unsigned char *own = m->memory.converted;
    size_t bytes = m->memory.converted_bytes;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        const aoei_tensor w = m->weights[i];
        const unsigned char *data = w.data;
        aoei_slot d;
        aoei_slot_describe(&m->config, i, &d);
        if (!d.absent && !d.adapter && !(data >= own && data < own + m->memory.converted_bytes))
            bytes += w.rows * w.cols * aoei_dtype_size(w.type) + (w.type == AOEI_I8 ? w.rows * sizeof(float) : 0);
    }
    return bytes;
}

/* Tests that the memory plan for training equals the actual number of bytes of the opened weights and of the trained
 * parameters. A plan computed from a shape must equal the plan of a model with this shape. */
static void plans_memory(void **state) {
    (void)state;
    char *base, *adapters, *made = test_path(test_dir, "made"),
                           *text = test_write_text(test_dir, "a.txt", "a small plane\n");
    write_both(2, NULL, &base, &adapters);
    for (int way = 0; way < 4; way++) {
        const aoe_dtype dtype = way % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        aoe_plan_options o;
        aoe_train_options train;
        aoe_memory_plan p = {.struct_size = sizeof p};
        aoei_arena arena;
        aoei_params params;
        aoe_plan_options_defaults(&o);
        aoe_train_options_defaults(&train);
        o.n_texts = 4;
        o.length = 8;
        train.lora.load_8bit = way / 2;
        o.train = &train;
        aoe_model *packed = open_as(adapters, dtype, &inference),
                  *m = open_as(adapters, dtype, &(aoei_open_mode){.eight_bit = way / 2});
        assert_int_equal(aoe_model_plan(packed, &o, &p, NULL), 0);
        aoei_arena_measure(&arena);
        assert_int_equal(
            aoei_params_layout(&params, m->ctx, &m->config, &(aoei_params_options){.type = m->type}, &arena, NULL), 0);
        assert_int_equal(p.frozen, frozen_bytes(m));
        assert_int_equal(p.parameters, params.count * sizeof(float));
        assert_int_equal(p.training_packed, params.packed_bytes);
        assert_int_equal(p.training,
                         p.frozen + 4 * p.parameters + p.training_packed + p.kept + p.working + p.objectives);
        assert_true(p.parameters < p.weights);
        aoei_arena_destroy(&arena);
        aoe_model_close(packed);
        aoe_model_close(m);
    }
    aoe_init_options init;
    aoe_init_options_defaults(&init);
    init.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                             .hidden = 32,
                             .layers = 2,
                             .heads = 4,
                             .kv_heads = 2,
                             .intermediate = 48,
                             .vocab = 99,
                             .positions = 16,
                             .architecture = "llama"};
    init.texts = (const char *const[]){text};
    init.n_texts = 1;
    init.vocab_size = 30;
    init.storage = AOE_STORAGE_BF16;
    assert_int_equal(aoe_init(test_model_context, made, &init, NULL, NULL), 0);
    for (int way = 0; way < 4; way++) {
        aoe_plan_options o;
        aoe_train_options train;
        aoe_memory_plan a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        aoe_plan_options_defaults(&o);
        aoe_train_options_defaults(&train);
        o.n_texts = 4;
        o.length = 16;
        o.dtype = way % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        train.lora.r = way / 2 ? 4 : 0;
        o.train = &train;
        aoe_model *m = open_as(made, o.dtype, &inference);
        assert_string_equal(m->files.storage, "BF16");
        assert_int_equal(aoe_model_plan(m, &o, &a, NULL), 0);
        assert_int_equal(aoe_shape_plan(test_model_context, &init.shape, &o, &b, NULL), 0);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(a.frozen > 0, train.lora.r > 0);
        aoe_model_close(m);
    }
    free(text);
    test_dir_remove(made);
    remove_both(base, adapters);
}

static int begin(void **state) {
    return test_dir_set_up(state) || test_model_begin(state);
}

static int end(void **state) {
    return test_model_end(state) || test_dir_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_and_merges),
        cmocka_unit_test(writes_peft_files),
        cmocka_unit_test(accepts_any_storage_type),
        cmocka_unit_test(quantizes_frozen_weights),
        cmocka_unit_test(finds_tokenizer_and_base),
        cmocka_unit_test(reads_data_types_of_adapters),
        cmocka_unit_test(scales_rows_to_magnitudes),
        cmocka_unit_test(replaces_weights),
        cmocka_unit_test(rejects_damaged_adapters),
        cmocka_unit_test(rejects_invalid_options),
        cmocka_unit_test(new_adapters_change_nothing),
        cmocka_unit_test(plans_memory),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, begin, end);
}
