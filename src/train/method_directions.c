/* SPDX-License-Identifier: MIT
 * The methods symmetric and gist: in-batch negatives in several directions (loss/direction_objective.h). The teacher of
 * gist is its guide.
 */
#include "train/method.h"

#include "base/error.h"

/* Sets the weights of the objectives of labels to 0, except w_ibn, which is the weight of the loss. */
static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = j->w_cln = 0;
    j->w_ibn = 1;
}

static int check_directions(const aoe_train_options *o, aoe_error *err) {
    const unsigned set = o->objective.directions;
    if (!(set & AOE_QUERY_TO_DOCUMENT) || set & ~(unsigned)AOE_ALL_DIRECTIONS)
        return aoei_fail(err, AOE_EARG,
                         "options.directions must contain query-to-document; add it to the other directions");
    if (!o->objective.joint && set & (AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT))
        return aoei_fail(
            err, AOE_EARG,
            "options.directions: query-to-query and document-to-document have no positive pair of their own; set "
            "options.joint, so that all directions share one softmax");
    return AOE_OK;
}

static void gist_defaults(aoe_train_options *o) {
    o->objective.tau_ibn = 0.01;
    o->w_teacher = 0;
}

static void gist_weights(aoe_objective_options *j, aoe_example_kind kind) {
    weights(j, kind);
    j->directions = AOE_QUERY_TO_DOCUMENT | AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT;
    j->joint = 1;
}

const aoei_method aoei_method_symmetric = {.name = "symmetric",
                                           .group = AOEI_METHODS_POSITIVES,
                                           .about = "contrastive loss in several directions (GTE, Li et al. 2023)",
                                           .kinds = AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
                                           .positives_only = 1,
                                           .supported = "triplets, positives or labeled pairs",
                                           .check = check_directions,
                                           .weights = weights,
                                           .step_loss = &aoei_loss_of_directions};

const aoei_method aoei_method_gist = {.name = "gist",
                                      .group = AOEI_METHODS_POSITIVES,
                                      .about =
                                          "contrastive loss filtered by options.teachers (GISTEmbed, Solatorio 2024)",
                                      .kinds = AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
                                      .positives_only = 1,
                                      .supported = "triplets, positives or labeled pairs",
                                      .needs_teacher = "a guide, the model that decides which negatives are used",
                                      .defaults = gist_defaults,
                                      .weights = gist_weights,
                                      .step_loss = &aoei_loss_of_guided_directions};
