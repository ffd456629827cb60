/* SPDX-License-Identifier: MIT
 * The methods simcse-unsup and simcse-sup. The positive of an unlabeled text is the text itself with another dropout
 * mask. A dense layer with tanh follows the pooling in training. The unsupervised method drops it afterwards; the
 * supervised method keeps it.
 */
#include "train/method.h"

#include "base/error.h"
#include "model/extra_layers.h"

static int check_texts(const aoe_train_options *o, aoe_error *err) {
    if (aoei_has_distillation(o) && !o->no_projection)
        return aoei_fail(
            err, AOE_EARG,
            "options.teachers: simcse-unsup trains a projection of the embeddings, but a teacher has no projection; "
            "set options.no_projection");
    return aoei_check_plain_texts(o, err);
}

static int check_dropout(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    (void)m;
    return has_dropout
               ? AOE_OK
               : aoei_fail(err, AOE_EARG,
                           "%s: without dropout both embeddings of a text are equal, so options.method simcse-unsup "
                           "cannot learn; set options.dropout to 0.1",
                           o->args.model);
}

static int projection(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config);
    (void)highest;
    const aoei_module dense = {.kind = AOEI_MODULE_DENSE, .in = dims, .out = dims, .activation = AOEI_DENSE_TANH};
    return o->no_projection ? AOE_OK : aoei_model_add_projection(m, &dense, 1, 0, o->args.seed, err);
}

/* Adds a dense layer that stays in the model, if the model has none. */
static int dense_layer(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    (void)highest;
    if (o->no_projection || m->config.modules.n)
        return AOE_OK;
    return aoei_model_add_dense(m, aoei_vector_dims(&m->config), 1, NULL, NULL, o->args.seed, err);
}

const aoei_method aoei_method_simcse_unsup = {.name = "simcse-unsup",
                                              .group = AOEI_METHODS_TEXTS,
                                              .about = "two dropout masks of each text (SimCSE, Gao et al. 2021)",
                                              .kinds = AOEI_KIND(TEXTS),
                                              .supported = "the texts of any file",
                                              .check = check_texts,
                                              .check_model = check_dropout,
                                              .load = aoei_load_texts,
                                              .weights = aoei_contrastive_weights,
                                              .step_loss = &aoei_loss_of_labels,
                                              .file_loss = aoei_label_loss,
                                              .layer = projection};

const aoei_method aoei_method_simcse_sup = {.name = "simcse-sup",
                                            .group = AOEI_METHODS_POSITIVES,
                                            .about =
                                                "contrastive loss, dense layer with tanh (SimCSE, Gao et al. 2021)",
                                            .kinds = AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
                                            .positives_only = 1,
                                            .supported = "triplets, positives or labeled pairs",
                                            .weights = aoei_contrastive_weights,
                                            .step_loss = &aoei_loss_of_labels,
                                            .file_loss = aoei_label_loss,
                                            .layer = dense_layer};
