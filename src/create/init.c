/* SPDX-License-Identifier: MIT
 * Creates a model directory with a trained or copied vocabulary and randomly initialized weights. Weights are generated while
 * they are written, so the model may be larger than memory.
 */
#include "create/init.h"
#include "tokenizer/wordpiece_save.h"

#include <string.h>
#include <unistd.h>

#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "encoder/shapes.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "encoder/initial_weights.h"
#include "modeldir/contents.h"
#include "modeldir/layout.h"
#include "modeldir/model_writer.h"
#include "modeldir/publish.h"

#define LEAST_POSITIONS ((size_t)3)
#define BUFFER          ((size_t)64 << 20) /* floats generated at a time */

static const char *const shape_file = "shape"; /* named as the file in messages about sizes */

static int check_request(const char *dir, const aoe_init_options *o, aoe_error *err) {
    if (!o->tokenizer_from && !o->n_texts)
        return aoei_fail(err, AOE_EARG,
                         "%s: no tokenizer: give texts to train a vocabulary on, or a model directory to copy it from", dir);
    if (o->tokenizer_from && o->n_texts)
        return aoei_fail(err, AOE_EARG,
                         "%s: two tokenizers: give texts to train a vocabulary on or a directory to copy it from", dir);
    if (o->storage != AOE_STORAGE_F32 && o->storage != AOE_STORAGE_BF16 && o->storage != AOE_STORAGE_INT8)
        return aoei_fail(err, AOE_EARG, "storage %d is unknown; use f32, bf16 or int8", (int)o->storage);
    if (aoei_is_model_dir(dir) && !o->force)
        return aoei_fail(err, AOE_EEXIST, "%s: holds a model already; choose another directory, or use options.force", dir);
    const int rc = aoei_model_dir_check(dir, o->force, err);
    return rc ? rc : aoei_check_writable_dir(dir, err);
}

/* The maximum length of the new model in tokens: its positions, as far as the architecture uses them. */
static size_t longest_text(const aoei_encoder_config *c, const aoe_init_options *o) {
    const size_t most = c->arch->max_length(c);
    return o->shape.positions < most ? o->shape.positions : most;
}

static int check_length(const aoei_encoder_config *c, const aoe_init_options *o, aoe_error *err) {
    const size_t n = o->shape.positions, least = c->position_offset + LEAST_POSITIONS;
    if (n < least)
        return aoei_fail(err, AOE_EARG, "%zu positions leave no room for a text between [CLS] and [SEP]; use at least %zu", n,
                         least);
    const size_t most = c->arch->max_length(c) + c->position_offset;
    return n <= most ? 0 : aoei_fail(err, AOE_EARG, "%zu positions are more than %zu; use fewer", n, most);
}

/* A new model before it is written. */
typedef struct new_model {
    aoe_context *ctx; /* borrowed */
    const char *dir;  /* borrowed; output directory */
    aoei_encoder_config config;
    json_t *config_json;      /* owned */
    aoe_tokenizer *tokenizer; /* owned */
    aoei_settings settings;   /* owned */
} new_model;

/* config.json of the shape, and the configuration as it will be read back. Vocabulary 0 in the shape: `vocab`. */
static int make_config(new_model *m, const aoe_init_options *o, size_t vocab, aoe_error *err) {
    aoei_encoder_config c;
    int rc = aoei_shape_config(&c, &o->shape, err);
    if (rc || (rc = check_length(&c, o, err)))
        return rc;
    c.vocab = c.vocab ? c.vocab : vocab;
    c.hidden_dropout = c.hidden_dropout > 0 ? o->dropout : 0;
    c.attention_dropout = c.attention_dropout > 0 ? o->dropout : 0;
    json_decref(m->config_json);
    m->config_json = json_pack("{s:[s]}", "architectures", c.arch->class_name);
    if (!m->config_json || c.arch->write(&c, m->config_json) ||
        json_object_set_new(m->config_json, "torch_dtype", json_string("float32")))
        return aoei_fail_nomem(err, sizeof c);
    rc = aoei_config_read(&m->config, m->config_json, shape_file, err);
    if (rc == AOE_EFORMAT) {
        rc = AOE_EARG; /* the caller's numbers, not a file's */
        if (err)
            err->code = rc;
    }
    return rc;
}

/* Trains a vocabulary and reads it back through the staging folder of the directory. */
static int train_tokenizer(new_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
    aoei_wordpiece_trainer *trainer = NULL;
    aoei_wordpiece_options w;
    char *staging = NULL;
    aoei_wordpiece_options_defaults(&w);
    w.vocab_size = o->vocab_size;
    w.lowercase = o->lowercase;
    w.model_max_length = longest_text(&m->config, o);
    int rc = aoei_wordpiece_trainer_create(&trainer, &w, err);
    if (rc || (rc = feed(user, trainer, err)) || (rc = aoei_wordpiece_train(trainer, err)))
        goto done;
    if (!(staging = aoei_model_staging(m->dir)))
        rc = aoei_fail_nomem(err, strlen(m->dir));
    else if (!(rc = aoei_make_dir(staging, err))) {
        rc = aoei_wordpiece_save(trainer, staging, err);
        if (!rc)
            rc = aoe_tokenizer_open(&m->tokenizer, staging, err);
        aoei_remove_tree(staging, NULL);
    }
done:
    aoei_free(staging);
    aoei_wordpiece_trainer_destroy(trainer);
    return rc;
}

/* Generates random weights, some slots at a time, so that the model may be larger than memory. */
typedef struct weight_generator {
    aoei_weight_reader source; /* first */
    uint64_t seed;
    const new_model *m;
    size_t begin, end; /* slots in `buffer` */
    size_t *at;        /* owned [slots]; offset of each slot in `buffer` */
    float *buffer;     /* owned [size] */
    size_t size;       /* floats; at least as many as the largest slot has */
} weight_generator;

static size_t slot_size(const new_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    return d.absent ? 0 : d.rows * d.cols;
}

static void generate_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const weight_generator *k = arg;
    const size_t slot = k->begin + task;
    if (slot_size(k->m, slot))
        aoei_init_weight(k->buffer + k->at[slot], &k->m->config, slot, k->seed);
}

/* Fills the buffer with `slot` and as many slots after it as fit. */
static void generate_from(weight_generator *k, size_t slot) {
    const size_t slots = aoei_slot_count(&k->m->config);
    size_t used = 0;
    k->begin = k->end = slot;
    while (k->end < slots && slot_size(k->m, k->end) <= k->size - used) {
        k->at[k->end] = used;
        used += slot_size(k->m, k->end++);
    }
    aoei_parallel_for(k->m->ctx->pool, k->end - k->begin, generate_task, k);
}

static void generated_rows(aoei_weight_reader *source, float *to, size_t slot, size_t first, size_t n) {
    weight_generator *k = (weight_generator *)source;
    aoei_slot d;
    aoei_slot_describe(&k->m->config, slot, &d);
    if (slot < k->begin || slot >= k->end)
        generate_from(k, slot);
    memcpy(to, k->buffer + k->at[slot] + first * d.cols, n * d.cols * sizeof *to);
}

static int begin_weights(weight_generator *k, const new_model *m, uint64_t seed, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config), all = aoei_parameter_count(&m->config);
    *k = (weight_generator){.source = {.rows = generated_rows}, .seed = seed, .m = m, .size = all < BUFFER ? all : BUFFER};
    for (size_t i = 0; i < n; i++)
        if (slot_size(m, i) > k->size)
            k->size = slot_size(m, i);
    k->at = aoei_calloc(n, sizeof *k->at);
    k->buffer = aoei_malloc_array(k->size, sizeof *k->buffer);
    return k->at && k->buffer ? 0 : aoei_fail_nomem(err, k->size * sizeof *k->buffer);
}

static int make_settings(new_model *m, const aoe_init_options *o, aoe_error *err) {
    m->settings.pooling = o->pooling != AOE_POOLING_AUTO ? o->pooling : m->config.arch->default_pooling;
    m->settings.pooling_from = m->settings.max_length_from = "default";
    m->settings.max_length = longest_text(&m->config, o);
    m->settings.prompt = aoei_strdup("");
    return m->settings.prompt ? 0 : aoei_fail_nomem(err, 1);
}

/* The tokenizer, and the configuration checked against it. */
static int make_tokenizer(new_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
    int rc =
        o->tokenizer_from ? aoe_tokenizer_open(&m->tokenizer, o->tokenizer_from, err) : train_tokenizer(m, o, feed, user, err);
    if (rc)
        return rc;
    size_t n = aoe_tokenizer_vocab_size(m->tokenizer);
    if (o->shape.vocab && o->shape.vocab < n)
        return aoei_fail(err, AOE_EARG,
                         "the shape has a vocabulary of %zu, the tokenizer %zu tokens; ask for at least as many or 0",
                         o->shape.vocab, n);
    return make_config(m, o, n, err);
}

static int write_model(new_model *m, weight_generator *k, aoe_storage storage, aoe_error *err) {
    const aoei_model_contents contents = {.config = &m->config,
                                          .settings = &m->settings,
                                          .config_json = m->config_json,
                                          .tokenizer = m->tokenizer,
                                          .rows = &k->source,
                                          .storage = storage};
    return aoei_contents_save(&contents, m->dir, &m->ctx->log, err);
}

int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_init_result *result, aoe_error *err) {
    aoei_json_init();
    int rc = check_request(dir, o, err), existed = aoei_exists(dir);
    if (rc)
        return rc;
    new_model m = {.ctx = ctx, .dir = dir};
    weight_generator k = {.size = 0};
    /* sizes that cannot work are rejected before a vocabulary is trained for them */
    if (!(rc = make_config(&m, o, 1, err)) && !(rc = make_tokenizer(&m, o, feed, user, err)) &&
        !(rc = begin_weights(&k, &m, o->seed, err)) && !(rc = make_settings(&m, o, err)))
        rc = write_model(&m, &k, o->storage, err);
    if (!rc && result)
        *result = (aoe_init_result){.parameters = aoei_parameter_count(&m.config),
                                    .hidden = m.config.hidden,
                                    .layers = m.config.layers,
                                    .vocab = m.config.vocab};
    aoei_free(k.at);
    aoei_free(k.buffer);
    json_decref(m.config_json);
    aoe_tokenizer_close(m.tokenizer);
    aoei_settings_free(&m.settings);
    if (rc && !existed)
        rmdir(dir);
    return rc;
}
