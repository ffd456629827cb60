/* SPDX-License-Identifier: MIT
 * Creates a model directory with randomly initialized weights. The vocabulary is either trained on texts or copied from
 * another model. Weights are generated when they are written, so the model may be larger than memory. A slot is the
 * index of a weight tensor in the list of all model weights (encoder/slot_layout.h).
 */
#include "create/init.h"
#include "create/convert.h"
#include "tokenizer/wordpiece_save.h"

#include <string.h>
#include <unistd.h>

#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "encoder/shapes.h"
#include "encoder/layer_pooling.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "encoder/initial_weights.h"
#include "encoder/token_pooling.h"
#include "modeldir/contents.h"
#include "modeldir/model_writer.h"
#include "modeldir/publish.h"
#include "modeldir/readme.h"
#include "options/create.h"

#define MIN_POSITIONS ((size_t)3) /* positions for [CLS], one token and [SEP] */
/* Size in floats of the buffer for generated weights. If a weight is larger, the buffer has the size of this weight. */
#define BUFFER_FLOATS ((size_t)64 << 20)

/* Error messages about the configuration contain this text instead of a file name, because the configuration is not
 * read from a file. */
static const char *const config_source = "shape";

/* Checks the output directory, and checks that the options specify exactly one source of the tokenizer. */
static int check_arguments(const char *dir, const aoe_init_options *o, aoe_error *err) {
    const int code = aoei_option_group_check(&aoei_init_rows, o, AOEI_ALL_METHODS, err);
    if (code)
        return code;
    if (!o->tokenizer_from && !o->n_texts)
        return aoei_fail(
            err, AOE_EARG,
            "%s: the model needs a tokenizer; set options.texts to train one, or options.tokenizer_from to copy one",
            dir);
    if (o->tokenizer_from && o->n_texts)
        return aoei_fail(
            err, AOE_EARG,
            "%s: there are two sources of the tokenizer; set either options.texts or options.tokenizer_from, not both",
            dir);
    return aoei_check_new_model(dir, o->storage, o->force, err);
}

/* Returns the maximum sequence length of the new model in tokens. This is the number of positions in the options, or
 * the maximum of the architecture if that is smaller. */
static size_t max_sequence_length(const aoei_encoder_config *c, const aoe_init_options *o) {
    const size_t supported = c->arch->max_length(c);
    return o->shape.positions < supported ? o->shape.positions : supported;
}

/* Checks the number of positions in the options. c is the configuration that was created from the options. */
static int check_positions(const aoei_encoder_config *c, const aoe_init_options *o, aoe_error *err) {
    const size_t n = o->shape.positions, min = c->position_offset + MIN_POSITIONS;
    if (n < min)
        return aoei_fail(err, AOE_EARG,
                         "options.shape.positions is %zu, but must be at least %zu, for [CLS], one token and [SEP]", n,
                         min);
    const size_t max = c->arch->max_length(c) + c->position_offset;
    return n <= max ? 0 : aoei_fail(err, AOE_EARG, "options.shape.positions is %zu, but must be at most %zu", n, max);
}

/* The parts of a new model, before the model is written. */
typedef struct new_model {
    aoe_context *ctx; /* borrowed */
    const char *dir;  /* output directory, borrowed */
    aoei_encoder_config config;
    json_t *config_json;      /* contents of config.json, owned */
    aoe_tokenizer *tokenizer; /* owned */
    aoei_settings settings;   /* pooling, maximum length and prompt; owned */
} new_model;

/* Creates m->config_json from the shape in the options. Then parses m->config_json into m->config, in the same way as
 * when the new model is opened. vocab: vocabulary size, used if o->shape.vocab is 0. */
static int make_config(new_model *m, const aoe_init_options *o, size_t vocab, aoe_error *err) {
    aoei_encoder_config c;
    int rc = aoei_shape_config(&c, &o->shape, err);
    if (rc || (rc = check_positions(&c, o, err)))
        return rc;
    c.vocab = c.vocab ? c.vocab : vocab;
    c.hidden_dropout = c.hidden_dropout > 0 ? o->dropout : 0;
    c.attention_dropout = c.attention_dropout > 0 ? o->dropout : 0;
    json_decref(m->config_json);
    m->config_json = json_pack("{s:[s]}", "architectures", c.arch->class_name);
    if (!m->config_json || c.arch->write(&c, m->config_json) ||
        json_object_set_new(m->config_json, "torch_dtype", json_string("float32")))
        return aoei_fail_nomem(err, sizeof c);
    rc = aoei_config_read(&m->config, m->config_json, config_source, err);
    if (rc == AOE_EFORMAT) {
        rc = AOE_EARG; /* the invalid values come from the options, not from a file */
        if (err)
            err->code = rc;
    }
    return rc;
}

/* Trains a vocabulary on the texts that `feed` passes to the trainer. The tokenizer files are written to a temporary
 * directory, the staging directory of m->dir. m->tokenizer is opened from this directory, which is then removed. */
static int train_tokenizer(new_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
    aoei_wordpiece_trainer *trainer = NULL;
    aoei_wordpiece_options w;
    char *staging = NULL;
    aoei_wordpiece_options_defaults(&w);
    w.vocab_size = o->vocab_size;
    w.lowercase = o->lowercase;
    w.model_max_length = max_sequence_length(&m->config, o);
    w.pad_id = m->config.position_offset == 2; /* in RoBERTa and MPNet, the token with id 1 has no position of its
                                                  own */
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

/* Generates random weights. The buffer contains only some of the weights at a time, so the model may be larger than
 * memory. */
typedef struct weight_generator {
    /* base type; must be the first field, because generated_rows casts its address to weight_generator */
    aoei_weight_reader source;
    uint64_t seed;
    const new_model *m; /* borrowed */
    size_t begin, end;  /* `buffer` contains the weights of the slots [begin, end) */
    size_t *offset;     /* [number of slots] offset in `buffer`, in floats, of the weight of each slot in [begin, end);
                           owned */
    float *buffer;      /* [size] generated weights, owned */
    size_t size;        /* capacity of `buffer` in floats; at least the size of the largest weight */
} weight_generator;

/* Returns the number of parameters in a slot. */
static size_t slot_size(const new_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    return d.absent ? 0 : d.rows * d.cols;
}

/* Generates the weight in the slot g->begin + task. `arg` is the weight_generator g. */
static void generate_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const weight_generator *g = arg;
    const size_t slot = g->begin + task;
    if (slot_size(g->m, slot))
        aoei_init_weight(g->buffer + g->offset[slot], &g->m->config, slot, g->seed);
}

/* Generates the weight in `slot`, and the weights in as many following slots as fit into the buffer. */
static void generate_from(weight_generator *g, size_t slot) {
    const size_t slots = aoei_slot_count(&g->m->config);
    size_t used = 0;
    g->begin = g->end = slot;
    while (g->end < slots && slot_size(g->m, g->end) <= g->size - used) {
        g->offset[g->end] = used;
        used += slot_size(g->m, g->end++);
    }
    aoei_parallel_for(g->m->ctx->pool, g->end - g->begin, generate_task, g);
}

/* The callback `rows` of aoei_weight_reader, which copies rows of a generated weight. */
static void generated_rows(aoei_weight_reader *source, float *to, size_t slot, size_t first, size_t n) {
    weight_generator *g = (weight_generator *)source;
    aoei_slot d;
    aoei_slot_describe(&g->m->config, slot, &d);
    if (slot < g->begin || slot >= g->end)
        generate_from(g, slot);
    memcpy(to, g->buffer + g->offset[slot] + first * d.cols, n * d.cols * sizeof *to);
}

/* Initializes *g and allocates its buffer. */
static int create_generator(weight_generator *g, const new_model *m, uint64_t seed, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config), total = aoei_parameter_count(&m->config);
    *g = (weight_generator){.source = {.rows = generated_rows},
                            .seed = seed,
                            .m = m,
                            .size = total < BUFFER_FLOATS ? total : BUFFER_FLOATS};
    for (size_t i = 0; i < n; i++)
        if (slot_size(m, i) > g->size)
            g->size = slot_size(m, i);
    g->offset = aoei_calloc(n, sizeof *g->offset);
    g->buffer = aoei_malloc_array(g->size, sizeof *g->buffer);
    return g->offset && g->buffer ? 0 : aoei_fail_nomem(err, g->size * sizeof *g->buffer);
}

/* Sets the settings that are stored with the model: the pooling, the maximum sequence length, and an empty prompt. */
static int make_settings(new_model *m, const aoe_init_options *o, aoe_error *err) {
    m->settings.pooling = o->pooling != AOE_POOLING_AUTO ? o->pooling : m->config.arch->default_pooling;
    m->config.modules.pooled_parts = aoei_pooling_parts(m->settings.pooling);
    const int rc = aoei_layer_pooling_select(&m->config, m->settings.pooling, err);
    if (rc)
        return rc;
    m->settings.pooling_from = m->settings.max_length_from = "default";
    m->settings.max_length = max_sequence_length(&m->config, o);
    m->settings.prompt = aoei_strdup("");
    return m->settings.prompt ? 0 : aoei_fail_nomem(err, 1);
}

/* Trains or opens the tokenizer, then creates the configuration again with the vocabulary size of the tokenizer. */
static int make_tokenizer(new_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
    int rc = o->tokenizer_from ? aoe_tokenizer_open(&m->tokenizer, o->tokenizer_from, err)
                               : train_tokenizer(m, o, feed, user, err);
    if (rc)
        return rc;
    size_t n = aoe_tokenizer_vocab_size(m->tokenizer);
    if (o->shape.vocab && o->shape.vocab < n)
        return aoei_fail(
            err, AOE_EARG,
            "options.shape.vocab is %zu, but the tokenizer has %zu tokens; use at least %zu, or 0 for the vocabulary "
            "size of the tokenizer",
            o->shape.vocab, n, n);
    return make_config(m, o, n, err);
}

static int write_model(new_model *m, weight_generator *g, aoe_storage storage, aoe_error *err) {
    const aoei_model_contents contents = {.config = &m->config,
                                          .settings = &m->settings,
                                          .config_json = m->config_json,
                                          .tokenizer = m->tokenizer,
                                          .rows = &g->source,
                                          .storage = storage};
    const char *limit = aoei_tokenizer_limit(&m->config, m->tokenizer);
    if (limit)
        aoei_log_write(&m->ctx->log, AOE_LOG_WARNING, "%s: use aoe for this model: %s", m->dir, limit);
    return aoei_contents_save(&contents, m->dir, &m->ctx->log, err);
}

int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_init_result *result, aoe_error *err) {
    int rc = check_arguments(dir, o, err), existed = aoei_exists(dir);
    if (rc)
        return rc;
    new_model m = {.ctx = ctx, .dir = dir};
    weight_generator g = {.size = 0};
    /* make_config is first called with a vocabulary size of 1, so that invalid sizes are reported before a vocabulary
     * is trained */
    if (!(rc = make_config(&m, o, 1, err)) && !(rc = make_tokenizer(&m, o, feed, user, err)) &&
        !(rc = create_generator(&g, &m, o->seed, err)) && !(rc = make_settings(&m, o, err)))
        rc = write_model(&m, &g, o->storage, err);
    if (!rc && result)
        *result = (aoe_init_result){.parameters = aoei_parameter_count(&m.config),
                                    .hidden = m.config.hidden,
                                    .layers = m.config.layers,
                                    .vocab = m.config.vocab};
    aoei_free(g.offset);
    aoei_free(g.buffer);
    json_decref(m.config_json);
    aoe_tokenizer_close(m.tokenizer);
    aoei_settings_free(&m.settings);
    if (rc && !existed)
        rmdir(dir);
    return rc;
}
