/* SPDX-License-Identifier: MIT
 * The method distill (Reimers and Gurevych 2020; model distillation in sentence-transformers): the teacher embeddings
 * for plain texts are targets, and so are the similarities of the texts of a batch (loss/vector_objective.h). A linear
 * map (train/teacher_map.h) is trained if the sizes of the vectors differ.
 */
#include "train/method.h"

#include "base/error.h"

static void defaults(aoe_train_options *o) {
    o->batch_size = 64;
    o->w_teacher = 0;
    o->args.dropout = 0;
}

static int check(const aoe_train_options *o, aoe_error *err) {
    const aoe_objective_options *j = &o->objective;
    if (!(j->w_vectors + j->w_similarities > 0))
        return aoei_fail(err, AOE_EARG,
                         "options.w_vectors and options.w_similarities are 0; set one of them to a value above 0");
    return aoei_check_plain_texts(o, err);
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_ibn = j->w_angle = j->w_cln = 0;
}

const aoei_method aoei_method_distill = {.name = "distill",
                                         .group = AOEI_METHODS_TEXTS,
                                         .about = "teacher embeddings as targets (Reimers and Gurevych 2020)",
                                         .kinds = AOEI_KIND(TEXTS),
                                         .supported = "the texts of any file",
                                         .copies = 1,
                                         .head = "linear map",
                                         .maps_vectors = 1,
                                         .needs_teacher = "another model, whose embeddings it learns",
                                         .defaults = defaults,
                                         .check = check,
                                         .load = aoei_load_texts,
                                         .weights = weights,
                                         .step_loss = &aoei_loss_of_vectors};
