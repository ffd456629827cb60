/* SPDX-License-Identifier: MIT
 * The method cross-encoder, which trains a model with a classification head on text pairs. With one output, the loss is
 * the binary cross entropy with the label divided by its maximum; with several outputs, labels are classes.
 */
#include "train/methods.h"

#include "base/error.h"
#include "base/options.h"

static int check(const aoe_train_options *o, aoe_error *err) {
    for (size_t i = 0; i < o->n_data; i++)
        if (o->data[i].doc_prompt)
            return aoei_fail(err, AOE_EARG,
                             "%s: a cross-encoder has one prompt, for the first text; unset options.doc_prompt",
                             o->data[i].path);
    return AOE_OK;
}

static int load(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                const aoe_table_options *table, aoe_error *err) {
    return aoei_method_scores(&aoei_method_cross_encoder, o) > 2
               ? aoei_load_classes(e, o, file, table, err)
               : aoei_examples_load(e, file->path, file->kind, table, err);
}

/* Sets the loss of a cross-encoder. With one output, a label divided by file_loss->label_scale is the target. */
static int scale_labels(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                        const aoei_dataset *d, aoe_error *err) {
    if (aoei_method_scores(&aoei_method_cross_encoder, o) > 1)
        return AOE_OK;
    file_loss->label_scale = !aoei_is_auto(o->label_max) ? o->label_max : d->highest > 1 ? d->highest : 1;
    if (d->lowest < 0 || d->highest > file_loss->label_scale)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the labels are from %g to %g, but must be from 0 to %g (options.label_max); change the labels or "
            "options.label_max",
            file->path, d->lowest, d->highest, file_loss->label_scale);
    if (d->lowest < d->highest)
        return AOE_OK;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: every label is %g, so there is nothing to learn; add pairs with other labels, for example negatives "
        "(aoe data mine)",
        file->path, d->lowest);
}

const aoei_method aoei_method_cross_encoder = {.name = "cross-encoder",
                                               .group = AOEI_METHODS_LABELS,
                                               .about = "scores text pairs, for aoe rerank (Nogueira and Cho 2019)",
                                               .kinds = AOEI_KIND(PAIRS) | AOEI_KIND(TRIPLETS),
                                               .supported = "labeled pairs or triplets",
                                               .cross_encoder = 1,
                                               .unsupported = {.distillation = "cannot learn from teacher embeddings",
                                                               .matryoshka = "has no embeddings",
                                                               .layers = "has no embeddings"},
                                               .check = check,
                                               .load = load,
                                               .step_loss = &aoei_loss_of_scores,
                                               .scales_labels = 1,
                                               .file_loss = scale_labels};
