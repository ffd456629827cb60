/* SPDX-License-Identifier: MIT
 * Implements the fine-tuning methods. CoSENT, SimCSE and contrastive training use the objectives of the angle method with other
 * weights, so each objective is implemented only once.
 */
#include "train/methods.h"

#include "aoe_data.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "table/labels.h"
#include "table/texts.h"
#include "model/extra_layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CLASSES = 10000 };
#define KIND(kind) (1u << AOE_EXAMPLES_##kind)

typedef struct method {
    const char *name;      /* name of the method in options and messages */
    unsigned kinds;        /* kinds of examples that the method supports, a combination of KIND bits */
    int positives_only;    /* 1: in labeled data, only positive pairs are used */
    const char *supported; /* description of the supported data for messages */
} method;

static const method methods[AOE_METHOD_COUNT] = {
    [AOE_METHOD_ANGLE] = {"angle", KIND(PAIRS) | KIND(POSITIVES) | KIND(TRIPLETS), 0, "labeled pairs, positives or triplets"},
    [AOE_METHOD_COSENT] = {"cosent", KIND(PAIRS) | KIND(TRIPLETS), 0, "labeled pairs (text1, text2, label) or triplets"},
    [AOE_METHOD_SBERT_CLASSIFICATION] = {"sbert-classification", KIND(PAIRS), 0, "labeled pairs (text1, text2, label)"},
    [AOE_METHOD_SBERT_REGRESSION] = {"sbert-regression", KIND(PAIRS), 0, "labeled pairs (text1, text2, label)"},
    [AOE_METHOD_SIMCSE_UNSUP] = {"simcse-unsup", KIND(TEXTS), 0, "the texts of any file"},
    [AOE_METHOD_SIMCSE_SUP] = {"simcse-sup", KIND(POSITIVES) | KIND(TRIPLETS), 1, "triplets, positives or labeled pairs"},
    [AOE_METHOD_CONTRASTIVE] = {"contrastive", KIND(POSITIVES) | KIND(TRIPLETS), 1, "triplets, positives or labeled pairs"},
    [AOE_METHOD_CROSS_ENCODER] = {"cross-encoder", KIND(PAIRS) | KIND(TRIPLETS), 0, "labeled pairs or triplets"},
};

const char *aoe_method_name(aoe_method m) {
    return m >= 0 && m < AOE_METHOD_COUNT ? methods[m].name : NULL;
}

int aoe_method_parse(aoe_method *m, const char *name, aoe_error *err) {
    AOEI_CHECK(err, m, name);
    for (int i = 0; i < AOE_METHOD_COUNT; i++)
        if (!strcmp(methods[i].name, name)) {
            *m = (aoe_method)i;
            return 0;
        }
    return aoei_fail(err, AOE_EARG,
                     "method '%s' is unknown; use angle, cosent, sbert-classification, sbert-regression, simcse-unsup, "
                     "simcse-sup, contrastive or cross-encoder",
                     name);
}

/* ---------------------------------------------------------------- options */

/* Returns 1 if the method uses options.w_cosine, w_ibn, w_angle and w_cln. */
static int is_weighted(aoe_method m) {
    return m == AOE_METHOD_ANGLE || m == AOE_METHOD_CONTRASTIVE;
}

static int is_simcse(aoe_method m) {
    return m == AOE_METHOD_SIMCSE_UNSUP || m == AOE_METHOD_SIMCSE_SUP;
}

static int check_objective(const aoe_objective_options *j, aoe_error *err) {
    if (!(j->w_cosine >= 0 && j->w_ibn >= 0 && j->w_angle >= 0 && j->w_cln >= 0 &&
          isfinite(j->w_cosine + j->w_ibn + j->w_angle + j->w_cln)))
        return aoei_fail(err, AOE_EARG,
                         "options.w_cosine, options.w_ibn, options.w_angle and options.w_cln must be finite and non-negative");
    if (!(j->tau_cosine > 0 && j->tau_ibn > 0 && j->tau_angle > 0 && isfinite(j->tau_cosine + j->tau_ibn + j->tau_angle)))
        return aoei_fail(err, AOE_EARG, "options.tau_cosine, options.tau_ibn and options.tau_angle must be finite and above 0");
    if (!isfinite(j->hard_negative))
        return aoei_fail(err, AOE_EARG, "options.hard_negative must be finite");
    return aoei_check_option("options.ibn_threshold", j->ibn_threshold, err);
}

int aoei_method_check(const aoe_train_options *o, aoe_error *err) {
    const aoe_objective_options *j = &o->objective;
    const int has_teacher = o->teacher && o->w_teacher > 0, code = check_objective(j, err);
    if (code)
        return code;
    if (o->method < 0 || o->method >= AOE_METHOD_COUNT)
        return aoei_fail(err, AOE_EARG, "method %d is unknown; use a value of aoe_method", (int)o->method);
    if (!aoei_is_auto(o->label_max) && !(o->label_max > 0 && isfinite(o->label_max)))
        return aoei_fail(err, AOE_EARG,
                         "options.label_max is %g; give a finite number above 0, the label that means a cosine of 1",
                         o->label_max);
    const size_t min_classes = o->method == AOE_METHOD_CROSS_ENCODER ? 1 : 2;
    if (o->classes != AOE_AUTO && (o->classes < min_classes || o->classes > MAX_CLASSES))
        return aoei_fail(err, AOE_EARG, "options.classes is %zu; give %zu to %d", o->classes, min_classes, MAX_CLASSES);
    if (o->method == AOE_METHOD_CROSS_ENCODER && has_teacher)
        return aoei_fail(err, AOE_EARG,
                         "options.teacher: a cross-encoder cannot learn from the vectors of a teacher; unset it");
    if (o->method != AOE_METHOD_CROSS_ENCODER && o->new_head)
        return aoei_fail(err, AOE_EARG, "options.new_head: only options.method cross-encoder trains a classification head");
    for (size_t i = 0; o->method == AOE_METHOD_CROSS_ENCODER && i < o->n_data; i++)
        if (o->data[i].doc_prompt)
            return aoei_fail(err, AOE_EARG, "%s: a cross-encoder has one prompt, for the first text; unset options.doc_prompt",
                             o->data[i].path);
    if (o->method == AOE_METHOD_SIMCSE_UNSUP && has_teacher && !o->no_projection)
        return aoei_fail(
            err, AOE_EARG,
            "options.teacher: simcse-unsup trains a projection of the embeddings, but a teacher has no projection; set options.no_projection");
    for (size_t i = 0; o->method == AOE_METHOD_SIMCSE_UNSUP && i < o->n_data; i++)
        if (o->data[i].kind != AOE_EXAMPLES_AUTO || o->data[i].table.label_map)
            return aoei_fail(err, AOE_EARG,
                             "%s: options.method simcse-unsup reads plain texts; do not give a kind of examples or a label map",
                             o->data[i].path);
    if (is_weighted(o->method) && j->w_cosine + j->w_ibn + j->w_angle + j->w_cln == 0 && !has_teacher)
        return aoei_fail(
            err, AOE_EARG,
            "all loss weights are 0; set options.w_cosine, options.w_ibn, options.w_angle or options.w_cln to a value above 0");
    return AOE_OK;
}

size_t aoei_cross_classes(const aoe_train_options *o) {
    return o->method != AOE_METHOD_CROSS_ENCODER ? 0 : o->classes == AOE_AUTO ? 1 : o->classes;
}

/* ---------------------------------------------------------------- reading */

/* Returns 1 if the label map contains the label name "neutral". */
static int maps_neutral(const char *map) {
    for (const char *s = map ? strstr(map, "neutral=") : NULL; s; s = strstr(s + 1, "neutral="))
        if (s == map || s[-1] == ',')
            return 1;
    return 0;
}

/* Loads labeled pairs for classification. The label "neutral" becomes class 2, unless the label map assigns another value to
 * it. */
static int load_classes(aoei_examples *e, const aoe_train_data *file, aoe_table_options table, aoe_error *err) {
    static const char neutral[] = "neutral=2";
    const size_t size = sizeof neutral + 1 + (table.label_map ? strlen(table.label_map) : 0);
    char *map = NULL;
    if (!maps_neutral(table.label_map)) {
        if (!(map = aoei_malloc(size)))
            return aoei_fail_nomem(err, size);
        snprintf(map, size, "%s%s%s", neutral, table.label_map && *table.label_map ? "," : "",
                 table.label_map ? table.label_map : "");
        table.label_map = map;
    }
    const int code = aoei_examples_load(e, file->path, file->kind, &table, err);
    aoei_free(map);
    return code;
}

/* Returns the threshold for positive pairs: a pair is positive if its label is at least the threshold. The threshold of the
 * file takes precedence over the threshold of the run. If neither is set, it is lowest + 0.8 * (highest - lowest), where lowest
 * and highest are the extreme labels of the file. */
static double threshold_of(const aoe_objective_options *j, const aoe_train_data *file, double lowest, double highest) {
    const double option = aoei_is_auto(file->ibn_threshold) ? j->ibn_threshold : file->ibn_threshold;
    return aoei_positive_threshold(option, lowest, highest);
}

static int keep_positives(aoei_examples *e, aoei_file_loss *file_loss, const aoe_objective_options *j,
                          const aoe_train_data *file, aoe_error *err) {
    double lowest = e->label[0], highest = e->label[0];
    for (size_t i = 1; i < e->n; i++) {
        lowest = e->label[i] < lowest ? e->label[i] : lowest;
        highest = e->label[i] > highest ? e->label[i] : highest;
    }
    file_loss->threshold = threshold_of(j, file, lowest, highest);
    aoei_examples_keep_positives(e, file_loss->threshold);
    return e->n ? AOE_OK
                : aoei_fail(err, AOE_EARG, "%s: no label reaches options.ibn_threshold %g (highest label: %g); lower it",
                            file->path, file_loss->threshold, highest);
}

int aoei_method_load(aoei_examples *e, aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, aoe_error *err) {
    const aoe_train_data *file = &o->data[number];
    aoe_table_options table = file->table;
    table.allow_empty = 0;
    *file_loss = (aoei_file_loss){.copies = 1, .label_scale = 1, .threshold = (double)NAN};
    if (o->method == AOE_METHOD_SIMCSE_UNSUP)
        return aoei_texts_load(e, file->path, &table, err);
    if (o->method == AOE_METHOD_SBERT_CLASSIFICATION || (o->method == AOE_METHOD_CROSS_ENCODER && aoei_cross_classes(o) > 2))
        return load_classes(e, file, table, err);
    const int code = aoei_examples_load(e, file->path, file->kind, &table, err);
    if (!code && e->kind == AOE_EXAMPLES_PAIRS && methods[o->method].positives_only)
        return keep_positives(e, file_loss, &o->objective, file, err);
    return code;
}

/* ------------------------------------------------------------------ losses */

/* Names of the kinds of examples in messages. */
static const char *const kind_names[] = {[AOE_EXAMPLES_PAIRS] = "labeled pairs",
                                         [AOE_EXAMPLES_POSITIVES] = "positives",
                                         [AOE_EXAMPLES_TRIPLETS] = "triplets",
                                         [AOE_EXAMPLES_TEXTS] = "texts"};

static int check_kind(const method *m, aoe_example_kind kind, const char *path, aoe_error *err) {
    if (m->kinds >> kind & 1)
        return AOE_OK;
    return aoei_fail(err, AOE_EARG, "%s: options.method %s trains on %s, not on %s; give other data or choose another method",
                     path, m->name, m->supported, kind_names[kind]);
}

/* Returns the weights and temperatures of the objectives for the method of the run and a kind of examples. */
static aoe_objective_options options_of(const aoe_train_options *o, aoe_example_kind kind) {
    aoe_objective_options j = o->objective;
    j.ibn_threshold = 1;
    if (o->method == AOE_METHOD_COSENT || is_simcse(o->method))
        j.w_cosine = j.w_ibn = j.w_angle = j.w_cln = 0;
    if (o->method == AOE_METHOD_COSENT)
        j.w_cosine = 1;
    if (o->method == AOE_METHOD_CONTRASTIVE)
        j.w_cosine = j.w_angle = 0;
    if (is_simcse(o->method) && kind == AOE_EXAMPLES_TRIPLETS)
        j.w_cln = 2; /* the weight becomes 1, because aoe_contrastive multiplies this term by w_cln / 2 */
    else if (is_simcse(o->method))
        j.w_ibn = 1;
    return j;
}

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

/* Sets the threshold of positive pairs. Fails in two cases: the cosine or angle objective is used but all labels are equal, or
 * in-batch negatives are used but no pair is positive. */
static int check_labels(aoei_file_loss *file_loss, const aoe_objective_options *j, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    const aoe_objective_options *g = &file_loss->objective;
    file_loss->threshold = file_loss->objective.ibn_threshold = threshold_of(j, file, d->lowest, d->highest);
    if (d->lowest == d->highest && (g->w_cosine > 0 || g->w_angle > 0))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: every label is %g, so no pair is more similar than another; add other labels, or set options.w_cosine and "
            "options.w_angle to 0",
            file->path, d->lowest);
    if (g->w_ibn > 0 && d->highest < file_loss->threshold)
        return aoei_fail(
            err, AOE_EARG,
            "%s: no label reaches options.ibn_threshold %g (highest label: %g); lower it, or set options.w_ibn to 0",
            file->path, file_loss->threshold, d->highest);
    return AOE_OK;
}

/* Sets file_loss->label_scale. Labels are divided by this value to obtain target cosines. Fails if the value is not positive or
 * is below the highest label. */
static int regression_loss(aoei_file_loss *file_loss, const aoe_train_options *o, const char *path, const aoei_dataset *d,
                           aoe_error *err) {
    file_loss->loss = AOEI_STEP_REGRESSION;
    file_loss->label_scale = aoei_is_auto(o->label_max) ? d->highest : o->label_max;
    if (!(file_loss->label_scale > 0))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the highest label is %g; set options.label_max to the label that means a cosine of 1", path,
                         d->highest);
    if (file_loss->label_scale < d->highest)
        return aoei_fail(err, AOE_EARG,
                         "%s: the highest label is %g, which is above options.label_max %g; raise options.label_max", path,
                         d->highest, file_loss->label_scale);
    return AOE_OK;
}

static int classification_loss(aoei_file_loss *file_loss, const aoe_train_options *o, const char *path, const aoei_dataset *d,
                               aoe_error *err) {
    file_loss->loss = AOEI_STEP_CLASSES;
    const double max_classes = o->classes != AOE_AUTO ? (double)o->classes : MAX_CLASSES;
    for (size_t i = 0; i < d->n; i++)
        if (!(d->labels[i] >= 0 && d->labels[i] < max_classes && !(d->labels[i] > floor(d->labels[i]))))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: label %g is not a class: options.method %s expects integers from 0%s; map label "
                             "names with options.label_map, or %s for scores",
                             path, d->labels[i], methods[o->method].name,
                             o->classes != AOE_AUTO ? " to options.classes - 1" : "",
                             o->method == AOE_METHOD_CROSS_ENCODER ? "unset options.classes" : "choose sbert-regression");
    return AOE_OK;
}

/* Sets the loss of a cross-encoder. With one output, a label divided by file_loss->label_scale is the target. */
static int score_loss(aoei_file_loss *file_loss, const aoe_train_options *o, const char *path, const aoei_dataset *d,
                      aoe_error *err) {
    int code = AOE_OK;
    if (aoei_cross_classes(o) > 1)
        code = classification_loss(file_loss, o, path, d, err);
    file_loss->loss = AOEI_STEP_SCORES;
    if (code || aoei_cross_classes(o) > 1)
        return code;
    file_loss->label_scale = !aoei_is_auto(o->label_max) ? o->label_max : d->highest > 1 ? d->highest : 1;
    if (d->lowest < 0 || d->highest > file_loss->label_scale)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the labels are from %g to %g, but must be from 0 to %g (options.label_max); change the labels or "
                         "options.label_max",
                         path, d->lowest, d->highest, file_loss->label_scale);
    if (d->lowest < d->highest)
        return AOE_OK;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: every label is %g, so there is nothing to learn; add pairs with other labels, for example negatives "
                     "(aoe data mine)",
                     path, d->lowest);
}

int aoei_method_loss(aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, const aoei_dataset *d,
                     aoe_error *err) {
    const aoe_train_data *file = &o->data[number];
    file_loss->has_labels = d->kind == AOE_EXAMPLES_PAIRS;
    file_loss->copies = d->kind == AOE_EXAMPLES_TEXTS ? 2 : 1;
    file_loss->objective = options_of(o, d->kind);
    int code = check_kind(&methods[o->method], d->kind, file->path, err);
    if (code)
        return code;
    if (o->method == AOE_METHOD_SBERT_REGRESSION)
        return regression_loss(file_loss, o, file->path, d, err);
    if (o->method == AOE_METHOD_SBERT_CLASSIFICATION)
        return classification_loss(file_loss, o, file->path, d, err);
    if (o->method == AOE_METHOD_CROSS_ENCODER)
        return score_loss(file_loss, o, file->path, d, err);
    if (!(o->teacher && o->w_teacher > 0))
        code = check_weights(&file_loss->objective, d->kind, file->path, err);
    if (!code && d->kind == AOE_EXAMPLES_PAIRS)
        code = check_labels(file_loss, &o->objective, file, d, err);
    return code;
}

int aoei_method_layer(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config);
    const uint64_t seed = o->args.seed;
    if (o->method == AOE_METHOD_SBERT_CLASSIFICATION) {
        const size_t classes = o->classes != AOE_AUTO ? o->classes : highest >= 1 ? (size_t)highest + 1 : 2;
        return aoei_model_add_head(m, classes, 3 * dims, seed, err);
    }
    if (o->method == AOE_METHOD_SIMCSE_UNSUP && !o->no_projection)
        return aoei_model_add_head(m, dims, dims, seed, err);
    if (o->method == AOE_METHOD_SIMCSE_SUP && !o->no_projection && !m->config.n_modules)
        return aoei_model_add_dense(m, dims, 1, NULL, NULL, seed, err);
    return AOE_OK;
}
