/* SPDX-License-Identifier: MIT
 * The methods angle (Li and Li 2023), cosent and contrastive. They minimize the objectives of labels with different
 * weights.
 */
#include "train/method.h"

#include "base/error.h"

static int check_weights(const aoe_train_options *o, aoe_error *err) {
    const aoe_objective_options *j = &o->objective;
    if (j->w_cosine + j->w_ibn + j->w_angle + j->w_cln == 0 && !aoei_has_distillation(o))
        return aoei_fail(
            err, AOE_EARG,
            "all loss weights are 0; set options.w_cosine, options.w_ibn, options.w_angle or options.w_cln to a "
            "value above 0");
    return AOE_OK;
}

static void cosent_weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_ibn = j->w_angle = j->w_cln = 0;
    j->w_cosine = 1;
}

static void contrastive_weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = 0;
}

const aoei_method aoei_method_angle = {.name = "angle",
                                       .group = AOEI_METHODS_LABELS,
                                       .about = "cosine, in-batch negatives and angle losses (AnglE, Li and Li 2023)",
                                       .kinds = AOEI_KIND(PAIRS) | AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
                                       .supported = "labeled pairs, positives or triplets",
                                       .check = check_weights,
                                       .step_loss = &aoei_loss_of_labels,
                                       .file_loss = aoei_label_loss};

const aoei_method aoei_method_cosent = {.name = "cosent",
                                        .group = AOEI_METHODS_LABELS,
                                        .about = "only the cosine loss (CoSENT, Su 2022)",
                                        .kinds = AOEI_KIND(PAIRS) | AOEI_KIND(TRIPLETS),
                                        .supported = "labeled pairs (text1, text2, label) or triplets",
                                        .weights = cosent_weights,
                                        .step_loss = &aoei_loss_of_labels,
                                        .file_loss = aoei_label_loss};

const aoei_method aoei_method_contrastive = {.name = "contrastive",
                                             .group = AOEI_METHODS_POSITIVES,
                                             .about = "contrastive loss of queries and positives (angle_emb)",
                                             .kinds = AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
                                             .positives_only = 1,
                                             .supported = "triplets, positives or labeled pairs",
                                             .check = check_weights,
                                             .weights = contrastive_weights,
                                             .step_loss = &aoei_loss_of_labels,
                                             .file_loss = aoei_label_loss};
