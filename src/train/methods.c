/* SPDX-License-Identifier: MIT
 * Names of methods, and what each makes of a file. Methods that rank, contrast or
 * regress one thing are the objectives of angle with other weights: there is one
 * implementation of each loss.
 */
#include "train/methods.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

#define FORM(form) (1u << AOEI_FORM_##form)

typedef struct method {
    const char *name;
    unsigned forms;    /* FORM bits */
    const char *wants; /* what it learns from, in words */
} method;

static const method methods[AOE_METHOD_COUNT] = {
    [AOE_METHOD_ANGLE] = {"angle", FORM(PAIR) | FORM(POSITIVE) | FORM(TRIPLE), "labelled pairs, positives or triples"},
    [AOE_METHOD_COSENT] = {"cosent", FORM(PAIR) | FORM(TRIPLE), "labelled pairs (text1, text2, label) or triples"},
    [AOE_METHOD_SBERT_REGRESSION] = {"sbert-regression", FORM(PAIR), "labelled pairs (text1, text2, label)"},
    [AOE_METHOD_CONTRASTIVE] = {"contrastive", FORM(POSITIVE) | FORM(TRIPLE),
                                "positives (query, positive) or triples (query, positive, negative)"},
};

const char *aoe_method_name(aoe_method m) {
    return m >= 0 && m < AOE_METHOD_COUNT ? methods[m].name : NULL;
}

int aoe_method_parse(aoe_method *m, const char *name, aoe_error *err) {
    for (int i = 0; i < AOE_METHOD_COUNT; i++)
        if (!strcmp(methods[i].name, name)) {
            *m = (aoe_method)i;
            return 0;
        }
    return aoei_fail(err, AOE_EARG, "method '%s' is unknown; use angle, cosent, sbert-regression or contrastive", name);
}

/* 1: the weights of the options count. */
static int is_weighted(aoe_method m) {
    return m == AOE_METHOD_ANGLE || m == AOE_METHOD_CONTRASTIVE;
}

int aoei_method_check(const aoe_train_options *o, aoe_error *err) {
    const aoe_objective_options *j = &o->objective;
    if (o->method < 0 || o->method >= AOE_METHOD_COUNT)
        return aoei_fail(err, AOE_EARG, "method %d is unknown; use a value of aoe_method", (int)o->method);
    if (!isnan(o->label_max) && !(o->label_max > 0 && isfinite(o->label_max)))
        return aoei_fail(err, AOE_EARG, "--label-max %g: the label of a cosine of 1 is a number above 0", o->label_max);
    if (!(j->w_cosine >= 0 && j->w_ibn >= 0 && j->w_angle >= 0 && j->w_cln >= 0 &&
          isfinite(j->w_cosine + j->w_ibn + j->w_angle + j->w_cln)))
        return aoei_fail(err, AOE_EARG, "--w-cosine, --w-ibn, --w-angle and --w-cln must be finite and not negative");
    if (!(j->tau_cosine > 0 && j->tau_ibn > 0 && j->tau_angle > 0 && isfinite(j->tau_cosine + j->tau_ibn + j->tau_angle)))
        return aoei_fail(err, AOE_EARG, "--tau-cosine, --tau-ibn and --tau-angle must be finite and above 0");
    const int taught = o->teacher && o->w_teacher > 0;
    if (is_weighted(o->method) && j->w_cosine + j->w_ibn + j->w_angle + j->w_cln == 0 && !taught)
        return aoei_fail(err, AOE_EARG,
                         "every objective has weight 0; set one of --w-cosine, --w-ibn, --w-angle, --w-cln above 0");
    return AOE_OK;
}

static int check_form(const method *m, aoei_form form, const char *path, aoe_error *err) {
    static const char *const names[] = {
        [AOEI_FORM_PAIR] = "labelled pairs", [AOEI_FORM_POSITIVE] = "positives", [AOEI_FORM_TRIPLE] = "triples"};
    if (m->forms >> form & 1)
        return AOE_OK;
    return aoei_fail(err, AOE_EARG, "%s: --method %s learns from %s, not from %s; give it other data, or choose another method",
                     path, m->name, m->wants, names[form]);
}

/* The options of the objectives as the method has them. */
static aoe_objective_options weights_of(const aoe_train_options *o) {
    aoe_objective_options j = o->objective;
    if (o->method == AOE_METHOD_COSENT) {
        j.w_cosine = 1;
        j.w_ibn = j.w_angle = j.w_cln = 0;
    } else if (o->method == AOE_METHOD_CONTRASTIVE) {
        j.w_cosine = j.w_angle = 0;
    }
    return j;
}

/* A file that no objective of weight above 0 learns from. */
static int check_weights(const aoe_objective_options *j, aoei_form form, const char *path, aoe_error *err) {
    const double pairs = j->w_cosine + j->w_ibn + j->w_angle;
    if (form == AOEI_FORM_PAIR ? pairs > 0 : form == AOEI_FORM_POSITIVE ? j->w_ibn > 0 : pairs + j->w_cln > 0)
        return AOE_OK;
    return aoei_fail(err, AOE_EARG, "%s: no objective of weight above 0 learns from %s; raise %s", path,
                     form == AOEI_FORM_PAIR ? "labelled pairs" : "positives", form == AOEI_FORM_PAIR ? "one" : "--w-ibn");
}

/* Labels against objectives: something to learn, and the threshold of in-batch negatives. */
static int check_labels(const aoe_objective_options *j, const aoe_train_data *o, aoei_source *source, aoe_error *err) {
    const aoei_dataset *d = &source->data;
    source->threshold = isnan(o->ibn_threshold) ? j->ibn_threshold : o->ibn_threshold;
    if (isnan(source->threshold))
        source->threshold = d->lowest + 0.8 * (d->highest - d->lowest);
    if (d->lowest == d->highest && (j->w_cosine > 0 || j->w_angle > 0))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: every label is %g, so no pair is more similar than another; add other labels, or train with --w-cosine 0 "
            "--w-angle 0",
            o->path, d->lowest);
    if (j->w_ibn > 0 && d->highest < source->threshold)
        return aoei_fail(err, AOE_EARG,
                         "%s: no label reaches --ibn-threshold %g (highest: %g); lower it, or train with --w-ibn 0", o->path,
                         source->threshold, d->highest);
    return AOE_OK;
}

/* What labels are divided by, so that they are cosines. */
static int regression_goal(aoei_goal *goal, const aoe_train_options *o, const char *path, const aoei_source *source,
                           aoe_error *err) {
    goal->loss = AOEI_STEP_REGRESSION;
    goal->label_scale = isnan(o->label_max) ? source->data.highest : o->label_max;
    if (goal->label_scale > 0)
        return AOE_OK;
    return aoei_fail(err, AOE_EFORMAT, "%s: the highest label is %g: say with --label-max which one a cosine of 1 has", path,
                     source->data.highest);
}

int aoei_method_goal(aoei_goal *goal, const aoe_train_options *o, size_t number, aoei_source *source, aoe_error *err) {
    const aoe_train_data *file = &o->data[number];
    const aoei_form form = source->data.form;
    *goal = (aoei_goal){.labelled = form == AOEI_FORM_PAIR, .label_scale = 1, .objective = weights_of(o)};
    source->threshold = (double)NAN;
    int code = check_form(&methods[o->method], form, file->path, err);
    if (code)
        return code;
    if (o->method == AOE_METHOD_SBERT_REGRESSION)
        return regression_goal(goal, o, file->path, source, err);
    if (!(o->teacher && o->w_teacher > 0))
        code = check_weights(&goal->objective, form, file->path, err);
    if (!code && form == AOEI_FORM_PAIR)
        code = check_labels(&goal->objective, file, source, err);
    goal->objective.ibn_threshold = form == AOEI_FORM_PAIR ? source->threshold : 1;
    return code;
}
