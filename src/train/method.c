/* SPDX-License-Identifier: MIT
 * Parts that several fine-tuning methods share: reading classes and positive pairs, the objective of labels, and
 * classifiers.
 */
#include "train/method.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "loss/classification_objective.h"
#include "model/extra_layers.h"
#include "table/examples.h"
#include "table/labels.h"
#include "table/texts.h"

#include <stdio.h>
#include <string.h>

/* Names of the kinds of examples in messages. */
static const char *const kind_names[] = {[AOE_EXAMPLES_PAIRS] = "labeled pairs",
                                         [AOE_EXAMPLES_POSITIVES] = "positives",
                                         [AOE_EXAMPLES_TRIPLETS] = "triplets",
                                         [AOE_EXAMPLES_TEXTS] = "texts"};

const char *aoei_kind_name(aoe_example_kind kind) {
    return kind_names[kind];
}

int aoei_has_distillation(const aoe_train_options *o) {
    return o->teachers[0] && o->w_teacher > 0;
}

int aoei_has_dropout(const aoe_training_args *o, const aoei_encoder_config *c) {
    return c->lora.dropout > 0 ||
           (aoei_is_auto(o->dropout) ? c->hidden_dropout > 0 || c->attention_dropout > 0 : o->dropout > 0);
}

/* ---------------------------------------------------------------- reading */

int aoei_check_plain_texts(const aoe_train_options *o, aoe_error *err) {
    for (size_t i = 0; i < o->n_data; i++)
        if (o->data[i].kind != AOE_EXAMPLES_AUTO || o->data[i].table.label_map)
            return aoei_fail(err, AOE_EARG,
                             "%s: the method reads plain texts; do not give a kind of examples or a label map",
                             o->data[i].path);
    return AOE_OK;
}

/* Returns 1 if the label map contains the label name "neutral". */
static int maps_neutral(const char *map) {
    for (const char *s = map ? strstr(map, "neutral=") : NULL; s; s = strstr(s + 1, "neutral="))
        if (s == map || s[-1] == ',')
            return 1;
    return 0;
}

int aoei_load_texts(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                    const aoe_table_options *table, aoe_error *err) {
    (void)o;
    return aoei_texts_load(e, file->path, table, err);
}

int aoei_load_classes(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                      const aoe_table_options *table, aoe_error *err) {
    static const char neutral[] = "neutral=2";
    aoe_table_options options = *table;
    const size_t size = sizeof neutral + 1 + (options.label_map ? strlen(options.label_map) : 0);
    char *map = NULL;
    (void)o;
    if (!maps_neutral(options.label_map)) {
        if (!(map = aoei_malloc(size)))
            return aoei_fail_nomem(err, size);
        snprintf(map, size, "%s%s%s", neutral, options.label_map && *options.label_map ? "," : "",
                 options.label_map ? options.label_map : "");
        options.label_map = map;
    }
    const int code = aoei_examples_load(e, file->path, file->kind, &options, err);
    aoei_free(map);
    return code;
}

/* Returns the threshold for positive pairs: a pair is positive if its label is at least the threshold. The threshold of
 * the file takes precedence over the threshold of the run. If neither is set, it is lowest + 0.8 * (highest - lowest),
 * where lowest and highest are the extreme labels of the file. */
static double threshold_of(const aoe_objective_options *j, const aoe_train_data *file, double lowest, double highest) {
    const double option = aoei_is_auto(file->ibn_threshold) ? j->ibn_threshold : file->ibn_threshold;
    return aoei_positive_threshold(option, lowest, highest);
}

int aoei_keep_positives(aoei_examples *e, double *threshold, const aoe_objective_options *j, const aoe_train_data *file,
                        aoe_error *err) {
    double lowest = e->label[0], highest = e->label[0];
    for (size_t i = 1; i < e->n; i++) {
        lowest = e->label[i] < lowest ? e->label[i] : lowest;
        highest = e->label[i] > highest ? e->label[i] : highest;
    }
    *threshold = threshold_of(j, file, lowest, highest);
    aoei_examples_keep_positives(e, *threshold);
    return e->n
               ? AOE_OK
               : aoei_fail(err, AOE_EARG, "%s: no label reaches options.ibn_threshold %g (highest label: %g); lower it",
                           file->path, *threshold, highest);
}

/* ------------------------------------------------------------------ losses */

/* Checks that at least one objective that supports this kind of examples has a positive weight. */
static int check_weights(const aoe_objective_options *j, aoe_example_kind kind, const char *path, aoe_error *err) {
    const double pairs = j->w_cosine + j->w_ibn + j->w_angle;
    if (kind == AOE_EXAMPLES_PAIRS ? pairs > 0 : kind == AOE_EXAMPLES_TRIPLETS ? pairs + j->w_cln > 0 : j->w_ibn > 0)
        return AOE_OK;
    static const char *const weights[] = {[AOE_EXAMPLES_PAIRS] = "options.w_cosine, options.w_ibn or options.w_angle",
                                          [AOE_EXAMPLES_POSITIVES] = "options.w_ibn",
                                          [AOE_EXAMPLES_TRIPLETS] = "options.w_ibn or options.w_cln",
                                          [AOE_EXAMPLES_TEXTS] = "options.w_ibn"};
    return aoei_fail(err, AOE_EARG, "%s: all losses for %s have the weight 0; set %s to a value above 0", path,
                     kind_names[kind], weights[kind]);
}

/* Sets the threshold of positive pairs. Fails in two cases: the cosine or angle objective is used but all labels are
 * equal, or in-batch negatives are used but no pair is positive. */
static int check_labels(aoei_file_loss *file_loss, const aoe_objective_options *j, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    const aoe_objective_options *g = &file_loss->objective;
    file_loss->threshold = file_loss->objective.ibn_threshold = threshold_of(j, file, d->lowest, d->highest);
    if (d->lowest == d->highest && (g->w_cosine > 0 || g->w_angle > 0)) {
        char columns[128];
        if (!aoei_examples_as_positives(columns, sizeof columns, file->path, &file->table))
            snprintf(columns, sizeof columns, "query=NAME,positive=NAME,ignore=NAME");
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: every label is %g, so no pair is more similar than another; add other labels, use the pairs as "
            "positives with options.columns '%s', or set options.w_cosine and options.w_angle to 0",
            file->path, d->lowest, columns);
    }
    if (g->w_ibn > 0 && d->highest < file_loss->threshold)
        return aoei_fail(
            err, AOE_EARG,
            "%s: no label reaches options.ibn_threshold %g (highest label: %g); lower it, or set options.w_ibn to 0",
            file->path, file_loss->threshold, d->highest);
    return AOE_OK;
}

void aoei_contrastive_weights(aoe_objective_options *j, aoe_example_kind kind) {
    j->w_cosine = j->w_ibn = j->w_angle = j->w_cln = 0;
    if (kind == AOE_EXAMPLES_TRIPLETS)
        j->w_cln = 2; /* the weight becomes 1, because aoe_contrastive multiplies this term by w_cln / 2 */
    else
        j->w_ibn = 1;
}

int aoei_label_loss(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                    const aoei_dataset *d, aoe_error *err) {
    int code = AOE_OK;
    if (!aoei_has_distillation(o))
        code = check_weights(&file_loss->objective, d->kind, file->path, err);
    if (!code && d->kind == AOE_EXAMPLES_PAIRS)
        code = check_labels(file_loss, &o->objective, file, d, err);
    return code;
}

/* ------------------------------------------------------------- classifiers */

/* One feature alone is not accepted, because a classifier with as many columns as a vector has components would be
 * taken for a projection (pair_step.c). */
int aoei_check_features(const aoe_train_options *o, aoe_error *err) {
    const unsigned set = o->objective.features, all = 2 * AOE_FEATURE_MAX_SQUARED - 1;
    if (set & ~all || aoei_feature_count(set) < 2)
        return aoei_fail(err, AOE_EARG, "options.features must contain at least two features");
    return AOE_OK;
}

size_t aoei_class_count(const aoe_train_options *o, double highest) {
    return o->classes != AOE_AUTO ? o->classes : highest >= 1 ? (size_t)highest + 1 : 2;
}

int aoei_add_classifier(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t columns = aoei_feature_count(o->objective.features) * aoei_vector_dims(&m->config);
    return aoei_model_add_head(m, aoei_class_count(o, highest), columns, o->args.seed, err);
}

enum { CLASSIFIER_WIDTH = 512 /* outputs of the first two layers of the classifier of InferSent */ };

int aoei_check_words(const aoe_train_options *o, const char *name, aoe_pooling pooling, aoe_error *err) {
    const aoe_pooling given = o->args.model_options.pooling;
    if (given != AOE_POOLING_AUTO && given != pooling)
        return aoei_fail(err, AOE_EARG,
                         "options.pooling is %s, but the pooling of options.method %s is %s; leave it out",
                         aoe_pooling_name(given), name, aoe_pooling_name(pooling));
    return aoei_check_features(o, err);
}

int aoei_add_layered_classifier(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t features = aoei_feature_count(o->objective.features) * aoei_vector_dims(&m->config);
    const aoei_module hidden[] = {
        {.kind = AOEI_MODULE_DENSE, .in = features, .out = CLASSIFIER_WIDTH},
        {.kind = AOEI_MODULE_DENSE, .in = CLASSIFIER_WIDTH, .out = CLASSIFIER_WIDTH},
    };
    const int code = aoei_model_add_projection(m, hidden, sizeof hidden / sizeof *hidden, 1, o->args.seed, err);
    return code ? code : aoei_model_add_head(m, aoei_class_count(o, highest), CLASSIFIER_WIDTH, o->args.seed, err);
}
