/* SPDX-License-Identifier: MIT
 * A new model directory: a vocabulary trained or copied, and weights as BERT
 * begins: normal with standard deviation 0.02, norms 1, biases 0. A weight is a
 * pure function of (seed, slot, index), whatever the number of threads.
 */
#include "model/init.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/random.h"
#include "model/model.h"
#include "nn/context.h"

#define WEIGHT_SD       0.02
#define LEAST_POSITIONS ((size_t)3)

static const char *const shape_file = "shape"; /* stands for the file in messages about sizes */

static int check_request(const char *dir, const aoe_init_options *o, aoe_error *err) {
    if (!o->tokenizer_from && !o->n_texts)
        return aoei_fail(err, AOE_EARG,
                         "%s: no tokenizer: give texts to train a vocabulary on, or a model directory to copy it from", dir);
    if (o->tokenizer_from && o->n_texts)
        return aoei_fail(err, AOE_EARG,
                         "%s: two tokenizers: give texts to train a vocabulary on or a directory to copy it from", dir);
    if (aoei_is_model_dir(dir) && !o->force)
        return aoei_fail(err, AOE_EEXIST,
                         "%s: holds a model already; choose another directory or force its replacement (--force)", dir);
    const int rc = aoei_model_dir_check(dir, o->force, err);
    return rc ? rc : aoei_check_writable_dir(dir, err);
}

/* What texts are cut to: a RAN has no table of positions that would say so. */
static size_t longest_text(const aoei_encoder_config *c, const aoe_init_options *o) {
    return c->ran.window ? o->shape.positions : c->arch->max_length(c);
}

static int check_length(const aoei_encoder_config *c, const aoe_init_options *o, aoe_error *err) {
    const size_t n = o->shape.positions, least = c->position_offset + LEAST_POSITIONS;
    if (n < least)
        return aoei_fail(err, AOE_EARG, "%zu positions leave no room for a text between [CLS] and [SEP]; use at least %zu", n,
                         least);
    return !c->ran.window || n <= c->arch->max_length(c)
               ? 0
               : aoei_fail(err, AOE_EARG, "%zu positions are more than %zu; use fewer", n, c->arch->max_length(c));
}

/* config.json of the shape, and the configuration as it will be read back. Vocabulary 0 in the shape: `vocab`. */
static int make_config(aoe_model *m, const aoe_init_options *o, size_t vocab, aoe_error *err) {
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
static int train_tokenizer(aoe_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
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

void aoei_init_weight(float *to, const aoei_encoder_config *c, size_t slot, uint64_t seed) {
    aoei_slot d;
    aoei_rng rng;
    aoei_slot_describe(c, slot, &d);
    aoei_rng_init(&rng, seed, AOEI_STREAM_INIT, aoei_slot_stream(c, slot));
    for (size_t i = 0; i < d.rows * d.cols; i++)
        to[i] = d.norm ? 1.0f : d.vector ? 0.0f : (float)(WEIGHT_SD * aoei_rng_normal(&rng));
}

typedef struct filling {
    const aoe_model *m;
    float **to; /* [slots], NULL: absent */
    uint64_t seed;
} filling;

static void fill_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const filling *f = arg;
    if (f->to[task])
        aoei_init_weight(f->to[task], &f->m->config, task, f->seed);
}

static int make_weights(aoe_model *m, uint64_t seed, aoe_error *err) {
    size_t n = aoei_slot_count(&m->config), floats = aoei_parameter_count(&m->config), used = 0;
    float **to = aoei_calloc(n, sizeof *to);
    m->weights = aoei_calloc(n, sizeof *m->weights);
    m->converted = aoei_aligned(floats * sizeof(float));
    int rc = to && m->weights && m->converted ? 0 : aoei_fail_nomem(err, floats * sizeof(float));
    for (size_t i = 0; i < n && !rc; i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent)
            continue;
        to[i] = m->converted + used;
        used += slot.rows * slot.cols;
        m->weights[i] = aoei_tensor_wrap(to[i], slot.rows, slot.cols);
    }
    if (!rc)
        aoei_parallel_for(m->ctx->pool, n, fill_task, &(filling){m, to, seed});
    aoei_free(to);
    return rc;
}

static int make_settings(aoe_model *m, const aoe_init_options *o, aoe_error *err) {
    m->prefix = "";
    m->storage = "F32";
    m->settings.pooling = o->pooling != AOE_POOLING_AUTO             ? o->pooling
                          : m->config.causal || m->config.ran.window ? m->config.arch->default_pooling
                                                                     : AOE_POOLING_LAST_AVG;
    m->settings.pooling_from = m->settings.max_length_from = "default";
    m->settings.max_length = longest_text(&m->config, o);
    m->settings.prompt = aoei_strdup("");
    return m->settings.prompt ? 0 : aoei_fail_nomem(err, 1);
}

/* The tokenizer, and the configuration checked against it. */
static int make_tokenizer(aoe_model *m, const aoe_init_options *o, aoei_feed_fn feed, void *user, aoe_error *err) {
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

int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_error *err) {
    aoei_json_init();
    int rc = check_request(dir, o, err), existed = aoei_exists(dir);
    if (rc)
        return rc;
    aoe_model *m = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->ctx = ctx;
    m->dir = aoei_strdup(dir);
    if (!m->dir)
        rc = aoei_fail_nomem(err, strlen(dir));
    /* sizes that cannot work are refused before a vocabulary is trained for them */
    if (!rc && !(rc = make_config(m, o, 1, err)) && !(rc = make_tokenizer(m, o, feed, user, err)) &&
        !(rc = make_weights(m, o->seed, err)) && !(rc = make_settings(m, o, err)))
        rc = aoei_model_save(m, dir, NULL, err);
    aoe_model_close(m);
    if (rc && !existed)
        rmdir(dir);
    return rc;
}
