/* SPDX-License-Identifier: MIT
 * The method diffcse (DiffCSE, Chuang et al. 2022): the contrastive loss of SimCSE, after a head with batch
 * normalization, plus the loss of a discriminator (train/discriminator.h) that detects the tokens that a masked
 * language model has replaced (train/generator.h). The head, the discriminator, its classifier and the generator are
 * not saved with the model.
 */
#include "train/method.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "loss/detection_objective.h"
#include "model/extra_layers.h"
#include "train/discriminator.h"
#include "train/generator.h"

static int check(const aoe_train_options *o, aoe_error *err) {
    if (!o->generator)
        return aoei_fail(
            err, AOE_EARG,
            "options.method diffcse needs a generator that replaces tokens; set options.generator to a masked "
            "language model with the vocabulary of the model");
    return aoei_check_plain_texts(o, err);
}

static int check_model(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    if (!has_dropout)
        return aoei_fail(
            err, AOE_EARG,
            "%s: without dropout both embeddings of a text are equal, so options.method diffcse cannot learn; set "
            "options.dropout to 0.1",
            o->args.model);
    return aoei_discriminator_supports(&m->config)
               ? AOE_OK
               : aoei_fail(
                     err, AOE_EUNSUPPORTED,
                     "%s: the discriminator of options.method diffcse must be a transformer without convolutions whose "
                     "pooling uses the last hidden state; choose another model or options.pooling",
                     o->args.model);
}

static void defaults(aoe_train_options *o) {
    o->batch_size = 64;
    o->args.lr = 7e-6;
    o->args.epochs = 2;
    o->args.warmup = 0;
    o->args.weight_decay = 0;
    o->args.model_options.pooling = AOE_POOLING_CLS;
    o->args.model_options.max_length = 32;
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = j->w_cln = 0;
    j->w_ibn = 1;
}

/* Adds the head and the classifier of the discriminator. */
static int layers(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t in = aoei_vector_dims(&m->config), out = m->config.hidden, wide = 2 * out;
    (void)highest;
    const aoei_module head[] = {
        {.kind = AOEI_MODULE_DENSE, .in = in, .out = wide, .no_bias = 1},
        {.kind = AOEI_MODULE_BATCHNORM, .in = wide, .out = wide, .activation = AOEI_DENSE_RELU},
        {.kind = AOEI_MODULE_DENSE, .in = wide, .out = out, .no_bias = 1},
        {.kind = AOEI_MODULE_BATCHNORM, .in = out, .out = out, .no_bias = 1},
    };
    const int code = aoei_model_add_projection(m, head, sizeof head / sizeof *head, 0, o->args.seed, err);
    return code ? code : aoei_model_add_head(m, AOEI_DETECTION_CLASSES, out, o->args.seed, err);
}

typedef struct detection {
    aoei_generator generator;
    aoei_discriminator discriminator;
} detection;

static int create(aoei_method_run *r, aoe_error *err) {
    detection *d = r->state = aoei_calloc(1, sizeof *d);
    if (!d)
        return aoei_fail_nomem(err, sizeof *d);
    aoei_discriminator_init(
        &d->discriminator,
        &(aoei_replacement){.replace = aoei_generator_replace, .self = &d->generator, .weight = r->o->w_detection});
    return AOE_OK;
}

static int load(aoei_method_run *r, aoe_error *err) {
    aoei_generator *g = &((detection *)r->state)->generator;
    int code = aoei_generator_open(g, r->model, r->o->generator, r->o->mask_rate, err);
    for (size_t i = 0; i < r->o->n_data && !code; i++)
        code = aoei_generator_check_texts(g, &r->sources[i].data.tokens, r->o->data[i].path, err);
    return code;
}

/* Adds the generator and a fingerprint of its weights. */
static int describe(const aoei_method_run *r, json_t *record) {
    const detection *d = r->state;
    char fingerprint[24], *name = aoei_hub_model_name(r->o->generator);
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)d->generator.fingerprint);
    int bad = !name || json_object_set_new(record, "generator", aoei_name_json(name));
    aoei_free(name);
    bad |= json_object_set_new(record, "generator_fingerprint", json_string(fingerprint));
    return bad;
}

static void measure(const aoei_method_run *r, aoei_pair_step_options *sizes) {
    sizes->added = &((detection *)r->state)->discriminator.base;
}

static int lay_out(aoei_method_run *r, const aoei_pair_step_options *sizes, aoe_error *err) {
    return aoei_generator_lay_out(
        &((detection *)r->state)->generator, sizes->chunk_pairs ? sizes->chunk_tokens : sizes->tokens,
        r->arity * (sizes->chunk_pairs ? sizes->chunk_pairs : sizes->pairs), sizes->longest, err);
}

static void begin_step(aoei_method_run *r, uint64_t step) {
    aoei_dropout_key(((detection *)r->state)->discriminator.key, r->o->args.seed, step);
}

static void destroy(void *state) {
    detection *d = state;
    aoei_discriminator_destroy(&d->discriminator);
    aoei_generator_destroy(&d->generator);
    aoei_free(d);
}

static const aoei_method_state detection_state = {.create = create,
                                                  .load = load,
                                                  .describe = describe,
                                                  .measure = measure,
                                                  .lay_out = lay_out,
                                                  .begin_step = begin_step,
                                                  .destroy = destroy};

const aoei_method aoei_method_diffcse = {
    .name = "diffcse",
    .group = AOEI_METHODS_TEXTS,
    .about = "detector of tokens replaced by a model (DiffCSE, Chuang et al. 2022)",
    .kinds = AOEI_KIND(TEXTS),
    .supported = "the texts of any file",
    .second_encoder = "discriminator",
    .dropped = "generator",
    .head = "classifier of the discriminator",
    .unsupported = {.distillation = "trains a projection of the embeddings, but a teacher has no projection",
                    .matryoshka = "has a discriminator, which needs whole embeddings",
                    .layers = "has a batch normalization, which is only defined for the last hidden state"},
    .defaults = defaults,
    .check = check,
    .check_model = check_model,
    .load = aoei_load_texts,
    .weights = weights,
    .step_loss = &aoei_loss_of_labels,
    .file_loss = aoei_label_loss,
    .layer = layers,
    .state = &detection_state};
