/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: model/model model/weight_placement model/weight_view modeldir/model_files modeldir/weight_layout
 * covers: modeldir/weight_tensors
 * Tests the opening of model directories. Every layout of the files and every storage type must give equal weights.
 * Every kind of damaged file must be rejected with a message. Other tests cover options, views of a model (models that
 * use other weights but share everything else), and the memory plan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/context.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "nn/dtype.h"
#include "nn/gemm.h"
#include "nn/optimizer.h"
#include "train/pair_step.h"
#include "model/open.h"
#include "model/packed_weights.h"
#include "model/weight_view.h"
#include "modeldir/layout.h"

static void check_weights(const aoe_model *m) {
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        float v[TEST_VOCAB * TEST_INTERMEDIATE];
        aoei_tensor t = m->weights[i];
        aoei_tensor_read(test_model_context, v, t);
        for (size_t k = 0; k < t.rows * t.cols; k++)
            assert_true(v[k] == test_model_value(i, k));
    }
}

static void opens_every_layout(void **state) {
    (void)state;
    static const struct {
        test_model_spec spec;
        const char *storage;
    } cases[] = {
        {{0}, "F32"},
        {{.dtype = AOEI_ST_F16}, "F16"},
        {{.dtype = AOEI_ST_BF16}, "BF16"},
        {{.mixed = "encoder.layer.0.output.dense.weight"}, "mixed"},
        {{.prefix = "bert."}, "F32"},
        {{.prefix = "bert.", .older_names = 1, .dtype = AOEI_ST_F16}, "F16"},
        {{.shards = 2}, "F32"},
        {{.misaligned = 1}, "F32"},
        {{.pooler = 1, .no_tokenizer = 1}, "F32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir = test_dir_create();
        aoe_model *m;
        aoe_error err;
        test_model_write(dir, &cases[i].spec);
        if (aoe_model_open(&m, test_model_context, dir, NULL, &err))
            fail_msg("case %zu: %s", i, err.message);
        assert_string_equal(m->files.storage, cases[i].storage);
        assert_int_equal(aoe_model_tokenizer(m) != NULL, !cases[i].spec.no_tokenizer);
        check_weights(m);
        aoe_model_close(m);
        test_dir_remove(dir);
    }
    aoe_model_close(NULL);
}

static void packs_for_inference_only(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model *m;
    test_model_write(dir, NULL);
    for (int dtype = AOE_DTYPE_AUTO; dtype <= AOE_DTYPE_BF16; dtype++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = (aoe_dtype)dtype;
        const aoei_dtype type = aoei_context_type(test_model_context, o.dtype);
        assert_int_equal(aoei_model_open_for(&m, test_model_context, dir, &o, &(aoei_open_mode){.packed = 1}, NULL), 0);
        assert_int_equal(m->type, type);
        size_t bytes = 0;
        for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
            const aoei_tensor w = m->weights[i];
            aoei_slot d;
            aoei_slot_describe(&m->config, i, &d);
            assert_int_equal(w.packed != NULL, d.linear);
            if (!d.linear)
                continue;
            assert_int_equal(w.packed_type, type);
            assert_int_equal((uintptr_t)w.packed % 64, 0);
            bytes += aoei_weight_packed_size(test_model_context, type, d.rows, d.cols);
        }
        assert_int_equal(aoei_model_packed_bytes(m), bytes);
        aoe_model_close(m);
        assert_int_equal(aoei_model_open_trainable(&m, test_model_context, dir, &o, NULL), 0);
        assert_null(m->memory.packed);
        assert_int_equal(aoei_model_packed_bytes(m), bytes);
        check_weights(m);
        aoe_model_close(m);
    }
    test_dir_remove(dir);
}

static void reports_model_info(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_model_info info = {.struct_size = sizeof info};
    aoei_encoder_config c;
    test_model_config(&c);
    test_model_write(dir, NULL);
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, NULL), 0);
    aoe_model_get_info(m, &info);
    assert_string_equal(info.architecture, "bert");
    assert_int_equal(info.hidden, 8);
    assert_int_equal(info.vocab, 16);
    assert_int_equal(info.positions, 10);
    assert_int_equal(info.parameters, aoei_parameter_count(&c));
    assert_int_equal(info.dims, 8);
    assert_int_equal(info.pooling, AOE_POOLING_LAST_AVG);
    assert_string_equal(info.pooling_from, "default");
    assert_int_equal(info.max_length, 10);
    assert_string_equal(info.max_length_from, "default");
    assert_string_equal(info.prompt, "");
    assert_int_equal(info.normalize, 0);
    assert_int_equal(info.dtype,
                     aoei_dtype_in_use(AOE_DTYPE_AUTO, aoei_context_type(test_model_context, AOE_DTYPE_AUTO)));
    assert_string_equal(info.storage, "F32");
    assert_string_equal(info.tokenizer, "WordPiece");
    assert_true(info.dropout == 0.25);
    assert_int_equal(aoe_model_dims(m), 8);
    aoe_model_close(m);
    for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = (aoe_dtype)dtype;
        assert_int_equal(aoe_model_open(&m, test_model_context, dir, &o, NULL), 0);
        aoe_model_get_info(m, &info);
        assert_int_equal(info.dtype, dtype);
        aoe_model_close(m);
    }
    test_dir_remove(dir);
}

/* Writes a model as specified by spec and asserts that opening it fails with the error `code`. The message must contain
 * the path of the directory, `fragment` and `fragment2`. */
static void expect_rejected(const test_model_spec *spec, int code, const char *fragment, const char *fragment2) {
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_error err;
    test_model_write(dir, spec);
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), code);
    assert_null(m);
    assert_int_equal(err.code, code);
    FRAGMENT(err, dir);
    FRAGMENT(err, fragment);
    FRAGMENT(err, fragment2);
    test_dir_remove(dir);
}

static void rejects_damaged_weights(void **state) {
    (void)state;
    expect_rejected(&(test_model_spec){.missing = "encoder.layer.1.attention.self.value.bias"}, AOE_EFORMAT,
                    "/model.safetensors: ", "tensor 'encoder.layer.1.attention.self.value.bias' is missing");
    expect_rejected(&(test_model_spec){.prefix = "bert.", .missing = "embeddings.LayerNorm.bias"}, AOE_EFORMAT,
                    "/model.safetensors: ", "tensor 'bert.embeddings.LayerNorm.bias' is missing");
    expect_rejected(&(test_model_spec){.missing = "embeddings.word_embeddings.weight"}, AOE_EFORMAT,
                    "no tensor 'embeddings.word_embeddings.weight'", "BertModel");
    expect_rejected(&(test_model_spec){.prefix = "roberta."}, AOE_EFORMAT,
                    "no tensor 'embeddings.word_embeddings.weight'", "with or without a prefix");
    expect_rejected(&(test_model_spec){.misshapen = "encoder.layer.0.output.dense.weight"}, AOE_EFORMAT,
                    "tensor 'encoder.layer.0.output.dense.weight' has shape [9, 12], but config.json requires [8, 12]",
                    "/model.safetensors: ");
    expect_rejected(&(test_model_spec){.misshapen = "encoder.layer.0.output.dense.bias"}, AOE_EFORMAT,
                    "has shape [9], but config.json requires [8]", "/model.safetensors: ");
    expect_rejected(&(test_model_spec){.damaged = "encoder.layer.1.output.dense.weight"}, AOE_ENUMERIC,
                    "tensor 'encoder.layer.1.output.dense.weight' contains NaN at element 5", "/model.safetensors: ");
    expect_rejected(
        &(test_model_spec){.damaged = "embeddings.word_embeddings.weight", .dtype = AOEI_ST_F16, .prefix = "bert."},
        AOE_ENUMERIC, "tensor 'bert.embeddings.word_embeddings.weight' contains NaN at element 5", "damaged");
    expect_rejected(&(test_model_spec){.mixed = "none", .dtype = AOEI_ST_F32, .config = "{\"model_type\": \"bert\""},
                    AOE_EFORMAT, "/config.json:1: ", "byte");
    expect_rejected(&(test_model_spec){.config = "{\"model_type\": \"gpt2\"}"}, AOE_EUNSUPPORTED,
                    "/config.json: model_type 'gpt2' is not supported", "supported: bert");
    expect_rejected(&(test_model_spec){.config = "{}"}, AOE_EFORMAT, "/config.json: no \"model_type\"",
                    "supported: bert");
}

static void rejects_other_types(void **state) {
    (void)state;
    char *dir = test_dir_create(), *path;
    aoe_model *m;
    aoe_error err;
    size_t size;
    test_model_write(dir, NULL);
    path = test_path(dir, "model.safetensors");
    char *file = test_read(path, &size), *at = strstr(file + 8, "\"F32\"");
    memcpy(at, "\"U32\"", 5);
    free(test_write(dir, "model.safetensors", file, size));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_EUNSUPPORTED);
    FRAGMENT(
        err,
        "the data type of tensor 'embeddings.word_embeddings.weight' is unsupported; weights must be F32, F16, BF16");
    free(file);
    free(path);
    test_dir_remove(dir);
}

static void rejects_damaged_files(void **state) {
    (void)state;
    char *dir = test_dir_create(), *path = test_path(dir, "model.safetensors");
    aoe_model *m;
    aoe_error err;
    size_t size;
    test_model_write(dir, NULL);
    char *file = test_read(path, &size);
    free(test_write(dir, "model.safetensors", file, size - 10));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "the file is truncated: tensor 'encoder.layer.1.output.LayerNorm.bias' has 32 bytes at offset");
    FRAGMENT(err, ", but the file contains only 22 of them");
    free(test_write(dir, "model.safetensors", file, 100));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "the length of the header is");
    free(test_write(dir, "model.safetensors", file, 3));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "truncated: it has only 3 bytes");
    unlink(path);
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_ENOENT);
    FRAGMENT(err, "neither model.safetensors nor");
    free(path);
    path = test_path(dir, "config.json");
    unlink(path);
    assert_false(aoei_is_model_dir(dir));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), AOE_ENOENT);
    FRAGMENT(err, "no config.json");
    assert_int_equal(aoe_model_open(&m, test_model_context, "/nonexistent-model", NULL, &err), AOE_ENOENT);
    FRAGMENT(err, "/nonexistent-model: no such directory");
    free(file);
    free(path);
    test_dir_remove(dir);
}

static void checks_the_tokenizer_against_the_embeddings(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_error err;
    test_model_write(dir, NULL);
    free(test_write_text(dir, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"));
    /* opening succeeds; embedding must fail only for a text that contains token 16, which is not a row of the embedding
     * table */
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), 0);
    aoe_embedder *e;
    float vectors[2 * 8];
    const aoe_text texts[2] = {aoe_text_of("a k"), aoe_text_of("b l")};
    assert_int_equal(aoe_embedder_create(&e, m, NULL, &err), 0);
    assert_int_equal(aoe_embed(e, texts, 1, vectors, NULL, &err), 0);
    assert_int_equal(aoe_embed(e, texts, 2, vectors, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "token 'l' has id 16, but the model has embeddings of only 16 tokens");
    assert_int_equal(aoe_embed_failed_text(e), 1);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    free(test_write_text(dir, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), 0);
    assert_int_equal(aoe_tokenizer_vocab_size(aoe_model_tokenizer(m)), 6);
    aoe_model_close(m);
    test_dir_remove(dir);
}

static void checks_the_options(void **state) {
    (void)state;
    static const struct {
        aoe_model_options o;
        int code;
        const char *fragment;
    } cases[] = {
#define OTHERS .struct_size = sizeof(aoe_model_options), .bidirectional_from = AOE_AUTO, .activation = AOE_AUTO
        {{OTHERS, .dtype = (aoe_dtype)9, .max_length = AOE_AUTO, .normalize = AOE_AUTO},
         AOE_EARG,
         "options.dtype is 9"},
        {{OTHERS, .pooling = AOE_POOLING_COUNT, .max_length = AOE_AUTO, .normalize = AOE_AUTO},
         AOE_EARG,
         "options.pooling is 15"},
        {{OTHERS, .max_length = 11, .normalize = AOE_AUTO},
         AOE_EARG,
         "options.max_length is 11, but must be at most 10"},
        {{OTHERS, .max_length = 0, .normalize = AOE_AUTO}, AOE_EARG, "options.max_length must be at least 1"},
        {{OTHERS, .prompt = "no place", .max_length = AOE_AUTO, .normalize = AOE_AUTO},
         AOE_EARG,
         "options.prompt \"no place\" does not contain {text}"},
        {{OTHERS, .max_length = AOE_AUTO, .normalize = 2}, AOE_EARG, "options.normalize is 2; use 0, 1 or AOE_AUTO"},
        {{OTHERS, .max_length = AOE_AUTO, .normalize = -1}, AOE_EARG, "options.normalize is -1; use 0, 1 or AOE_AUTO"},
#undef OTHERS
    };
    char *dir = test_dir_create();
    test_model_write(dir, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_model *m;
        aoe_error err;
        assert_int_equal(aoe_model_open(&m, test_model_context, dir, &cases[i].o, &err), cases[i].code);
        assert_null(m);
        FRAGMENT(err, cases[i].fragment);
    }
    test_dir_remove(dir);
}

static void views_share_everything_except_weights(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model *m, *view;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_options o;
    test_model_write(dir, NULL);
    aoe_model_options_defaults(&o);
    o.prompt = "query: {text}";
    o.pooling = AOE_POOLING_LAST_MAX;
    assert_int_equal(aoei_model_open_trainable(&m, test_model_context, dir, &o, NULL), 0);
    aoei_tensor *other = calloc(aoei_slot_count(&m->config), sizeof *other);
    memcpy(other, m->weights, aoei_slot_count(&m->config) * sizeof *other);
    float values[TEST_HIDDEN] = {9};
    other[AOEI_W_EMBED_NORM] = aoei_tensor_wrap(values, 1, TEST_HIDDEN);
    assert_int_equal(aoei_model_view(&view, m, other, NULL), 0);
    free(other);
    aoe_model_get_info(view, &info);
    assert_int_equal(info.pooling, AOE_POOLING_LAST_MAX);
    assert_string_equal(info.prompt, "query: {text}");
    assert_ptr_equal(aoe_model_tokenizer(view), aoe_model_tokenizer(m));
    assert_ptr_equal(view->weights[AOEI_W_EMBED_NORM].data, values);
    assert_ptr_equal(view->weights[AOEI_W_WORD].data, m->weights[AOEI_W_WORD].data);
    aoe_model_close(view);
    check_weights(m);
    aoe_model_close(m);
    test_dir_remove(dir);
}

/* Returns the number of bytes that the trainer allocates for a batch of n_texts texts with `length` tokens each. *kept
 * is set to the number of these bytes that store activations for the backward pass. */
static size_t training_bytes(const aoe_model *m, size_t n_texts, size_t length, int recompute, size_t *kept) {
    aoei_pair_step step;
    const aoei_pair_step_options o = {
        .pairs = n_texts / 2, .tokens = n_texts * length, .longest = length, .type = m->type, .recompute = recompute};
    assert_int_equal(aoei_pair_step_create(&step, test_model_context, &m->config, &o, NULL), 0);
    /* subtracts the parts of the arena that the plan does not include: the arrays of tensors and of optimizer segments;
     * adds the memory outside the arena */
    const size_t vectors = n_texts * m->config.hidden * sizeof(float);
    const size_t slots = step.params.n_slots, views = 2 * ((slots * sizeof(aoei_tensor) + 63) / 64 * 64),
                 segments = (slots * sizeof(aoei_optimizer_segment) + 63) / 64 * 64,
                 host = 2 * vectors + step.workspace_bytes, bytes = step.arena.used;
    *kept = step.state.kept_bytes;
    assert_int_equal(step.arena.used, step.arena.size);
    aoei_pair_step_destroy(&step);
    return bytes - views - segments + host;
}

/* Asserts that the memory plan equals the number of bytes that are actually allocated. */
static void check_plan(const aoe_model *m, size_t n_texts, size_t length) {
    aoe_memory_plan p = {.struct_size = sizeof p};
    size_t kept, kept_recompute, parameters = 0;
    assert_int_equal(
        aoe_model_plan(
            m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = n_texts, .length = length}, &p,
            NULL),
        0);
    assert_int_equal(p.dtype, aoei_dtype_in_use(AOE_DTYPE_AUTO, m->type));
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot d;
        aoei_slot_describe(&m->config, i, &d);
        parameters += d.absent ? 0 : (d.rows * d.cols + 15) / 16 * 16;
    }
    assert_int_equal(p.weights, aoei_parameter_count(&m->config) * 2); /* the weights are stored as F16, 2 bytes each */
    assert_int_equal(p.packed, m->memory.converted_bytes + aoei_model_packed_bytes(m));
    assert_true(m->memory.converted_bytes >= aoei_parameter_count(&m->config) * 4);
    assert_int_equal(p.parameters, parameters * sizeof(float));
    assert_int_equal(p.gradients, p.parameters);
    assert_int_equal(p.moments, 2 * p.parameters);
    assert_int_equal(p.training_packed, m->type == AOEI_BF16 ? aoei_model_packed_bytes(m) : 0);
    assert_int_equal(p.training,
                     p.parameters + p.gradients + p.moments + p.training_packed + p.kept + p.working + p.objectives);
    assert_int_equal(training_bytes(m, n_texts, length, 0, &kept), p.training);
    assert_int_equal(training_bytes(m, n_texts, length, 1, &kept_recompute), p.training_recompute);
    assert_int_equal(kept, p.kept);
    assert_int_equal(kept_recompute, p.kept_recompute);
    assert_true(p.kept_recompute < p.kept && p.training_recompute < p.training);
    assert_true(p.evaluation > p.parameters);

    aoei_arena arena;
    aoei_encoder_state state;
    const aoei_encoder_mode mode = {.type = m->type, .unpacked = 1};
    assert_int_equal(aoei_arena_create(&arena, p.activations, NULL), 0);
    assert_int_equal(aoei_encoder_layout(&state, test_model_context, &m->config, &arena, n_texts * length, n_texts,
                                         length, mode, NULL),
                     0);
    assert_true(!arena.overflow && arena.used == p.activations);
    aoei_arena_destroy(&arena);
}

static void plans_memory(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_error err;
    aoe_memory_plan p = {.struct_size = sizeof p}, larger = p, plans[3] = {p, p, p};
    test_model_write(dir, &(test_model_spec){.dtype = AOEI_ST_F16});
    for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = (aoe_dtype)dtype;
        assert_int_equal(aoe_model_open(&m, test_model_context, dir, &o, NULL), 0);
        check_plan(m, 2, 1);
        check_plan(m, 4, 10);
        check_plan(m, 64, 9);
        assert_int_equal(
            aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 64, .length = 10},
                           &plans[dtype], NULL),
            0);
        aoe_model_close(m);
    }
    assert_true(plans[AOE_DTYPE_BF16].activations < plans[AOE_DTYPE_F32].activations);
    assert_true(plans[AOE_DTYPE_BF16].kept < plans[AOE_DTYPE_F32].kept);
    assert_int_equal(plans[AOE_DTYPE_BF16].moments, plans[AOE_DTYPE_F32].moments);
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, NULL), 0);
    size_t parameters = aoei_parameter_count(&m->config);
    assert_int_equal(
        aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 4, .length = 10}, &p,
                       NULL),
        0);
    assert_true(p.packed >= parameters * 4);
    assert_true(p.activations > 40 * TEST_HIDDEN * aoei_dtype_size(m->type));
    assert_true(p.training >= p.activations + 4 * 4 * parameters);
    assert_int_equal(
        aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 8, .length = 10},
                       &larger, NULL),
        0);
    assert_true(larger.activations > p.activations && larger.training > p.training);
    assert_int_equal(
        aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 4, .length = 11}, &p,
                       &err),
        AOE_EARG);
    FRAGMENT(err, "a text of 11 tokens is longer than the maximum length of the model, 10");
    assert_int_equal(
        aoe_model_plan(m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = 0, .length = 10}, &p,
                       &err),
        AOE_EARG);
    assert_int_equal(
        aoe_model_plan(
            m, &(aoe_plan_options){.struct_size = sizeof(aoe_plan_options), .n_texts = SIZE_MAX / 2, .length = 10}, &p,
            &err),
        AOE_EARG);
    FRAGMENT(err, "cannot be planned");
    aoe_model_close(m);
    test_dir_remove(dir);
}

/* The directories in which opened files are counted. */
enum { MAX_WATCHED = 4 };
typedef struct watch {
    int fd, wd[MAX_WATCHED];
    const char *dirs[MAX_WATCHED + 1]; /* NULL-terminated */
} watch;

static void watch_begin(watch *w) {
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(w->fd >= 0);
    for (size_t i = 0; w->dirs[i]; i++) /* the events of closing separate equal events of opening */
        assert_true((w->wd[i] = inotify_add_watch(w->fd, w->dirs[i], IN_OPEN | IN_CLOSE)) >= 0);
}

/* Asserts that each file except the weights was opened at most once, and that n files were opened. */
static void watch_end(watch *w, size_t n) {
    static _Alignas(struct inotify_event) char events[65536];
    char opened[64][64];
    size_t n_opened = 0;
    const ssize_t len = read(w->fd, events, sizeof events);
    assert_true(len > 0);
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *e = (const void *)(events + at);
        at += (ssize_t)(sizeof *e + e->len);
        if (!(e->mask & IN_OPEN) || (e->mask & IN_ISDIR) || strstr(e->name, ".safetensors"))
            continue;
        char name[64];
        (void)snprintf(name, sizeof name, "%d/%s", e->wd, e->name);
        for (size_t i = 0; i < n_opened; i++)
            if (!strcmp(opened[i], name))
                fail_msg("%s was opened twice", e->name);
        memcpy(opened[n_opened++], name, sizeof name);
    }
    close(w->fd);
    for (size_t i = 0; i < n_opened && n_opened != n; i++)
        print_error("opened: %s\n", opened[i]);
    assert_int_equal(n_opened, n);
}

/* Writes the model files of sentence-transformers. folder: folder of the transformer, or "". */
static void write_modules(const char *dir, const char *folder) {
    static const char type[] = "\"type\": \"sentence_transformers.models.";
    char text[800], *pooling = test_path(dir, "1_Pooling"), *dropout = test_path(dir, "2_Dropout"),
                    *at = test_path(dir, folder);
    (void)snprintf(text, sizeof text,
                   "[{\"name\": \"0\", \"path\": \"%s\", %sTransformer\"}, {\"name\": \"1\", \"path\": "
                   "\"1_Pooling\", %sPooling\"}, {\"name\": \"2\", \"path\": \"2_Dropout\", %sDropout\"}, "
                   "{\"name\": \"3\", \"path\": \"3_Normalize\", %sNormalize\"}]",
                   folder, type, type, type, type);
    free(test_write_text(dir, "modules.json", text));
    assert_int_equal(mkdir(pooling, 0700) || mkdir(dropout, 0700), 0);
    free(test_write_text(pooling, "config.json", "{\"pooling_mode\": \"mean\"}"));
    free(test_write_text(dropout, "config.json", "{\"dropout\": 0.5}"));
    free(test_write_text(dir, "config_sentence_transformers.json", "{\"prompts\": {\"query\": \"q: \"}}"));
    free(test_write_text(at, "sentence_bert_config.json", "{\"max_seq_length\": 8}"));
    free(test_write_text(at, "special_tokens_map.json", "{}"));
    free(pooling);
    free(dropout);
    free(at);
}

static void opens_each_file_once(void **state) {
    (void)state;
    char *dir = test_dir_create(), *other = test_dir_create(), *adapters = test_dir_create();
    char *pooling = test_path(dir, "1_Pooling"), *dropout = test_path(dir, "2_Dropout"), *inner = test_path(other, "0");
    aoe_tokenizer *t;
    test_model_write(dir, NULL);
    write_modules(dir, "");
    watch w = {.dirs = {dir, pooling, dropout}};
    watch_begin(&w);
    aoe_model_close(test_model_open(test_model_context, dir, NULL));
    watch_end(&w, 9); /* config, modules, pooling, dropout, 2 of sentence-transformers, 3 of the tokenizer */
    watch_begin(&w);
    assert_int_equal(aoe_tokenizer_open(&t, dir, NULL), 0);
    aoe_tokenizer_close(t);
    watch_end(&w, 5);
    /* the transformer in a folder, the settings in aoe.json, and adapters of this model */
    assert_int_equal(mkdir(inner, 0700), 0);
    test_model_write(inner, NULL);
    write_modules(other, "0");
    free(test_write_text(other, "aoe.json", "{\"format_version\": 1, \"lowercase\": true}"));
    tiny_adapters_write(test_model_context, adapters, dir, 2, NULL);
    w = (watch){.dirs = {other, inner}};
    watch_begin(&w);
    aoe_model_close(test_model_open(test_model_context, other, NULL));
    watch_end(&w, 8);
    w = (watch){.dirs = {adapters, dir}};
    watch_begin(&w);
    aoe_model_close(test_model_open(test_model_context, adapters, NULL));
    watch_end(&w, 9);
    test_dir_remove(dir);
    test_dir_remove(other);
    test_dir_remove(adapters);
    free(pooling);
    free(dropout);
    free(inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_every_layout),
        cmocka_unit_test(packs_for_inference_only),
        cmocka_unit_test(reports_model_info),
        cmocka_unit_test(rejects_damaged_weights),
        cmocka_unit_test(rejects_other_types),
        cmocka_unit_test(rejects_damaged_files),
        cmocka_unit_test(checks_the_tokenizer_against_the_embeddings),
        cmocka_unit_test(checks_the_options),
        cmocka_unit_test(views_share_everything_except_weights),
        cmocka_unit_test(plans_memory),
        cmocka_unit_test(opens_each_file_once),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
