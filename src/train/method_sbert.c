/* SPDX-License-Identifier: MIT
 * The methods sbert-classification and sbert-regression. Classification trains a classifier on features of the
 * embeddings u and v of a pair, such as [u; v; |u - v|]. Regression fits the cosine of a pair to its label.
 */
#include "train/method.h"

#include "base/error.h"
#include "base/options.h"

/* Sets file_loss->label_scale. Labels are divided by this value to obtain target cosines. Fails if the value is not
 * positive or is below the highest label. */
static int scale_labels(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    file_loss->label_scale = aoei_is_auto(o->label_max) ? d->highest : o->label_max;
    if (!(file_loss->label_scale > 0))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the highest label is %g; set options.label_max to the label that means a cosine of 1",
                         file->path, d->highest);
    if (file_loss->label_scale < d->highest)
        return aoei_fail(err, AOE_EARG,
                         "%s: the highest label is %g, which is above options.label_max %g; raise options.label_max",
                         file->path, d->highest, file_loss->label_scale);
    return AOE_OK;
}

const aoei_method aoei_method_sbert_classification = {
    .name = "sbert-classification",
    .group = AOEI_METHODS_CLASSES,
    .about = "classifier of both embeddings (SBERT, Reimers and Gurevych 2019)",
    .kinds = AOEI_KIND(PAIRS),
    .supported = "labeled pairs (text1, text2, label)",
    .check = aoei_check_features,
    .load = aoei_load_classes,
    .step_loss = &aoei_loss_of_classes,
    .layer = aoei_add_classifier};

const aoei_method aoei_method_sbert_regression = {.name = "sbert-regression",
                                                  .group = AOEI_METHODS_LABELS,
                                                  .about =
                                                      "squared error of the cosine (SBERT, Reimers and Gurevych 2019)",
                                                  .kinds = AOEI_KIND(PAIRS),
                                                  .supported = "labeled pairs (text1, text2, label)",
                                                  .step_loss = &aoei_loss_of_regression,
                                                  .scales_labels = 1,
                                                  .file_loss = scale_labels};
