/* SPDX-License-Identifier: MIT
 * The methods consert and consert-sup (ConSERT, Yan et al. 2021). Each text of a batch has two views (train/views.h),
 * whose embeddings are a positive pair. consert trains on texts. consert-sup also trains a classifier on labeled pairs.
 */
#include "train/method.h"

#include "base/alloc.h"
#include "base/error.h"
#include "train/views.h"

/* Sets the options of the recipe that both methods share. */
static void defaults(aoe_train_options *o) {
    o->batch_size = 96;
    o->objective.w_ibn = 0.3; /* 0.15 times NT-Xent, which is twice the in-batch negatives loss */
    o->objective.tau_ibn = 0.1;
    o->objective.isp = 0;
    o->args.optimizer_eps = 1e-6;
    o->args.no_bias_correction = 1;
}

static void text_defaults(aoe_train_options *o) {
    defaults(o);
    o->views[0] = (aoe_view){AOE_VIEW_FEATURE_CUT, 0.2};
    o->views[1] = (aoe_view){AOE_VIEW_SHUFFLE, 0};
    o->args.dropout = 0;
    o->args.epochs = 10;
    o->args.lr = 5e-7;
}

static void pair_defaults(aoe_train_options *o) {
    defaults(o);
    o->views[0] = (aoe_view){AOE_VIEW_PLAIN, 0};
    o->views[1] = (aoe_view){AOE_VIEW_TOKEN_CUT, 0.1};
    o->objective.features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_MAX_SQUARED;
    o->args.lr = 2e-5;
}

static int check_texts(const aoe_train_options *o, aoe_error *err) {
    const int code = aoei_check_plain_texts(o, err);
    return code ? code : aoei_views_check(o->views, err);
}

static int check_pairs(const aoe_train_options *o, aoe_error *err) {
    const int code = aoei_check_features(o, err);
    return code ? code : aoei_views_check(o->views, err);
}

static int check_model(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    if (!has_dropout && aoei_view_is_plain(&o->views[0]) && aoei_view_is_plain(&o->views[1]))
        return aoei_fail(
            err, AOE_EARG,
            "%s: without dropout both views of a text are equal; set options.dropout to 0.1 or change options.views",
            o->args.model);
    return aoei_views_check_model(o->views, &m->config, o->args.model, err);
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = j->w_cln = 0;
}

static int lay_out(aoei_method_run *r, const aoei_pair_step_options *sizes, aoe_error *err) {
    aoei_views *views = r->state = aoei_calloc(1, sizeof *views);
    return views ? aoei_views_create(views, &r->model->config, r->arity * sizes->pairs, sizes->tokens, sizes->longest,
                                     err)
                 : aoei_fail_nomem(err, sizeof *views);
}

static void begin_step(aoei_method_run *r, uint64_t step) {
    aoei_views_begin_step(r->state, r->o->args.seed, step);
}

static void change_text(aoei_method_run *r, size_t copy) {
    aoei_views_apply(r->state, &r->o->views[copy], &r->step->buffer);
}

static void destroy(void *state) {
    aoei_views_destroy(state);
    aoei_free(state);
}

static const aoei_method_state two_views = {
    .lay_out = lay_out, .begin_step = begin_step, .change_text = change_text, .destroy = destroy};

const aoei_method aoei_method_consert = {.name = "consert",
                                         .group = AOEI_METHODS_TEXTS,
                                         .about = "two views of each text, options.views (ConSERT, Yan et al. 2021)",
                                         .kinds = AOEI_KIND(TEXTS),
                                         .supported = "the texts of any file",
                                         .defaults = text_defaults,
                                         .check = check_texts,
                                         .check_model = check_model,
                                         .load = aoei_load_texts,
                                         .weights = weights,
                                         .step_loss = &aoei_loss_of_views,
                                         .file_loss = aoei_label_loss,
                                         .state = &two_views};

const aoei_method aoei_method_consert_sup = {.name = "consert-sup",
                                             .group = AOEI_METHODS_CLASSES,
                                             .about =
                                                 "classifier and two views of each text (ConSERT, Yan et al. 2021)",
                                             .kinds = AOEI_KIND(PAIRS),
                                             .supported = "labeled pairs (text1, text2, label)",
                                             .copies = AOE_VIEWS,
                                             .unsupported = {.distillation = "has no distillation loss"},
                                             .defaults = pair_defaults,
                                             .check = check_pairs,
                                             .check_model = check_model,
                                             .load = aoei_load_classes,
                                             .weights = weights,
                                             .step_loss = &aoei_loss_of_views,
                                             .layer = aoei_add_classifier,
                                             .state = &two_views};
