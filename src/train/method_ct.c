/* SPDX-License-Identifier: MIT
 * The methods ct (Contrastive Tension, Carlsson et al. 2021) and ct-in-batch (its variant with in-batch negatives in
 * sentence-transformers). Two encoders start from the same weights and are trained together. The embeddings of a text
 * by both encoders form a positive pair. One of the encoders is saved.
 */
#include "train/method.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "model/extra_layers.h"
#include "table/texts.h"
#include "train/twin_batch.h"

static int check(const aoe_train_options *o, aoe_error *err) {
    if (o->teachers[0])
        return aoei_fail(
            err, AOE_EARG,
            "options.teachers: this method trains two encoders, so a teacher has no embeddings to compare with; "
            "choose another method, or leave out options.teachers");
    return aoei_check_plain_texts(o, err);
}

static int load(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                const aoe_table_options *table, aoe_error *err) {
    (void)o;
    return aoei_texts_load(e, file->path, table, err);
}

static void defaults(aoe_train_options *o) {
    static const aoe_lr_step steps[] = {{500, 8e-6}, {1000, 6e-6}, {1500, 4e-6}, {2000, 2e-6}};
    o->batch_size = 2;
    o->args.lr = 1e-5;
    o->args.warmup = 0;
    o->args.dropout = 0;
    o->args.weight_decay = 0;
    o->args.max_grad_norm = 0;
    o->args.optimizer = AOE_OPTIMIZER_RMSPROP;
    o->args.optimizer_eps = 1e-7;
    o->args.schedule = AOE_SCHEDULE_CONSTANT;
    o->args.n_lr_steps = sizeof steps / sizeof *steps;
    memcpy(o->args.lr_steps, steps, sizeof steps);
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_ibn = j->w_angle = j->w_cln = 0;
}

/* Checks that random pairs of different texts exist. The targets of the pairs are passed as labels. */
static int file_loss(aoei_file_loss *l, const aoe_train_options *o, const aoe_train_data *file, const aoei_dataset *d,
                     aoe_error *err) {
    (void)o;
    l->has_labels = 1;
    return aoei_twin_has_negatives(d)
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT, "%s: contains only one text; add texts for random pairs", file->path);
}

/* Checks the layers after the pooling, which have only one set of weights that both encoders would share. */
static int check_layers(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    (void)highest;
    for (size_t i = 0; i < m->config.modules.n; i++)
        if (m->config.modules.list[i].kind == AOEI_MODULE_DENSE ||
            m->config.modules.list[i].kind == AOEI_MODULE_LAYERNORM ||
            m->config.modules.list[i].kind == AOEI_MODULE_FLOW)
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: the model has trained layers after the pooling, which two encoders cannot share; start from "
                "a model without them",
                o->args.model);
    return AOE_OK;
}

/* Each text is encoded by both encoders, and o->negatives pairs of random texts are added to it. */
static size_t pairs_with_negatives(const aoe_train_options *o) {
    return 1 + o->negatives;
}

static void measure(const aoei_method_run *r, aoei_pair_step_options *sizes) {
    (void)r;
    sizes->twin = 1;
}

/* The state is an array for the texts of a batch. */
static int lay_out(aoei_method_run *r, const aoei_pair_step_options *sizes, aoe_error *err) {
    r->state = aoei_malloc_array(sizes->pairs, sizeof(size_t));
    return r->state ? AOE_OK : aoei_fail_nomem(err, sizes->pairs * sizeof(size_t));
}

static size_t fill(aoei_method_run *r, const aoei_planned_batch *batch, uint64_t step, size_t text) {
    const aoei_twin_plan plan = {
        .data = &r->sources[batch->source].data, .negatives = r->pairs - 1, .seed = r->o->args.seed, .step = step};
    size_t *texts = r->state;
    for (size_t i = 0; i < batch->n; i++)
        texts[i] = aoei_batches_texts(r->batches, batch->first + i)[0];
    r->step->arity = 2;
    return aoei_twin_batch_fill(&r->step->buffer, r->labels, &plan, texts, batch->n, text);
}

static const aoei_method_state two_encoders = {
    .measure = measure, .lay_out = lay_out, .fill = fill, .destroy = aoei_free};

static void in_batch_defaults(aoe_train_options *o) {
    o->batch_size = 128;
    o->args.lr = 5e-5;
}

static void in_batch_weights(aoe_objective_options *j, aoe_example_kind kind) {
    weights(j, kind);
    j->w_ibn = 1;
    j->directions = AOE_QUERY_TO_DOCUMENT | AOE_DOCUMENT_TO_QUERY;
    j->joint = 0;
}

/* Adds the learned scale of the cosines as a head with one weight. */
static int learned_scale(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const float scale = (float)log(1 / o->objective.tau_ibn);
    const int code = check_layers(o, m, highest, err);
    return code ? code : aoei_model_add_constant_head(m, scale, err);
}

const aoei_method aoei_method_ct = {.name = "ct",
                                    .group = AOEI_METHODS_TEXTS,
                                    .about = "two encoders, Contrastive Tension (CT, Carlsson et al. 2021)",
                                    .kinds = AOEI_KIND(TEXTS),
                                    .supported = "the texts of any file",
                                    .second_encoder = "second encoder",
                                    .pairs = pairs_with_negatives,
                                    .defaults = defaults,
                                    .check = check,
                                    .load = load,
                                    .weights = weights,
                                    .step_loss = &aoei_loss_of_tension,
                                    .file_loss = file_loss,
                                    .layer = check_layers,
                                    .state = &two_encoders};

const aoei_method aoei_method_ct_in_batch = {.name = "ct-in-batch",
                                             .head = "temperature",
                                             .group = AOEI_METHODS_TEXTS,
                                             .about = "two encoders, in-batch negatives (CT in sentence-transformers)",
                                             .kinds = AOEI_KIND(TEXTS),
                                             .supported = "the texts of any file",
                                             .second_encoder = "second encoder",
                                             .defaults = in_batch_defaults,
                                             .check = check,
                                             .load = load,
                                             .weights = in_batch_weights,
                                             .step_loss = &aoei_loss_of_scaled_directions,
                                             .layer = learned_scale,
                                             .state = &two_encoders};
