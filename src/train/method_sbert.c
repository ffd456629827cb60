/* SPDX-License-Identifier: MIT
 * The methods sbert-classification and sbert-regression. Classification trains a classifier on [u; v; |u - v|] of the
 * embeddings u and v of a pair. Regression fits the cosine of a pair to its label.
 */
#include "train/method_sbert.h"

#include "base/error.h"
#include "base/options.h"
#include "model/extra_layers.h"

static int check_labels(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    (void)file_loss;
    return aoei_check_classes(o, file->path, d, "sbert-classification", "choose sbert-regression", err);
}

/* Adds the classifier. */
static int classifier(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t classes = o->classes != AOE_AUTO ? o->classes : highest >= 1 ? (size_t)highest + 1 : 2;
    return aoei_model_add_head(m, classes, 3 * aoei_vector_dims(&m->config), o->args.seed, err);
}

/* Sets file_loss->label_scale. Labels are divided by this value to obtain target cosines. Fails if the value is not positive or
 * is below the highest label. */
static int scale_labels(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    file_loss->label_scale = aoei_is_auto(o->label_max) ? d->highest : o->label_max;
    if (!(file_loss->label_scale > 0))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the highest label is %g; set options.label_max to the label that means a cosine of 1", file->path,
                         d->highest);
    if (file_loss->label_scale < d->highest)
        return aoei_fail(err, AOE_EARG,
                         "%s: the highest label is %g, which is above options.label_max %g; raise options.label_max",
                         file->path, d->highest, file_loss->label_scale);
    return AOE_OK;
}

const aoei_method aoei_method_sbert_classification = {
    .name = "sbert-classification",
    .about =
        "cross entropy of a classifier on both embeddings and their difference; labels are classes (SBERT, Reimers and Gurevych 2019)",
    .kinds = AOEI_KIND(PAIRS),
    .supported = "labeled pairs (text1, text2, label)",
    .load = aoei_load_classes,
    .step_loss = &aoei_loss_of_classes,
    .file_loss = check_labels,
    .layer = classifier};

const aoei_method aoei_method_sbert_regression = {
    .name = "sbert-regression",
    .about = "squared error between cosine and scaled label (SBERT, Reimers and Gurevych 2019)",
    .kinds = AOEI_KIND(PAIRS),
    .supported = "labeled pairs (text1, text2, label)",
    .step_loss = &aoei_loss_of_regression,
    .scales_labels = 1,
    .file_loss = scale_labels};
