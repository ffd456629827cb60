/* SPDX-License-Identifier: MIT
 * The method is-bert (IS-BERT, Zhang et al. 2020): three convolutions follow the encoder, and the outputs of the tokens
 * of a text learn to agree with their mean, which is the embedding of the text. The convolutions remain in the saved
 * model.
 */
#include "train/method.h"

#include "base/error.h"
#include "model/extra_layers.h"
#include "table/texts.h"

enum { CHANNELS = 256 /* outputs of each convolution in the paper */ };
static const size_t kernels[] = {1, 3, 5};

static int check_model(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    (void)has_dropout;
    return m->settings.pooling == AOE_POOLING_LAST_AVG
               ? AOE_OK
               : aoei_fail(
                     err, AOE_EARG,
                     "%s: the embedding of options.method is-bert is the mean of the token vectors, but the pooling of "
                     "the model is %s; set the pooling to mean",
                     o->args.model, aoe_pooling_name(m->settings.pooling));
}

static void defaults(aoe_train_options *o) {
    o->batch_size = 32;
    o->args.lr = 2e-6;
    o->args.epochs = 1;
    o->args.optimizer_eps = 1e-7;
    o->args.no_bias_correction = 1;
    o->args.model_options.pooling = AOE_POOLING_LAST_AVG;
}

static int load(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                const aoe_table_options *table, aoe_error *err) {
    (void)o;
    return aoei_texts_load(e, file->path, table, err);
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_ibn = j->w_angle = j->w_cln = 0;
}

static int file_loss(aoei_file_loss *l, const aoe_train_options *o, const aoe_train_data *file, const aoei_dataset *d,
                     aoe_error *err) {
    (void)l;
    (void)o;
    return d->n > 1
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT, "%s: contains only one text; add texts to compare it with", file->path);
}

/* Adds the convolutions, unless the model has convolutions. */
static int convolutions(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    (void)highest;
    if (m->config.modules.n)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has modules after the pooling, which options.method is-bert does not train; start "
            "from a model without them",
            o->args.model);
    if (m->config.modules.n_kernels)
        return AOE_OK;
    if (m->config.modules.lstm_dims)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has an LSTM, but options.method is-bert adds convolutions; start from a model without "
            "the LSTM",
            o->args.model);
    return aoei_model_add_convolutions(m, kernels, sizeof kernels / sizeof *kernels, CHANNELS, o->args.seed, err);
}

const aoei_method aoei_method_is_bert = {
    .name = "is-bert",
    .group = AOEI_METHODS_TEXTS,
    .about = "convolutions, mutual information (IS-BERT, Zhang et al. 2020)",
    .kinds = AOEI_KIND(TEXTS),
    .supported = "the texts of any file",
    .copies = 1,
    .unsupported = {.distillation = "compares token vectors, but a teacher has none",
                    .matryoshka = "compares token vectors, not truncated embeddings",
                    .layers = "trains convolutions of the last hidden state only"},
    .defaults = defaults,
    .check = aoei_check_plain_texts,
    .check_model = check_model,
    .load = load,
    .weights = weights,
    .step_loss = &aoei_loss_of_tokens,
    .file_loss = file_loss,
    .layer = convolutions};
