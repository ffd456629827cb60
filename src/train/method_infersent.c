/* SPDX-License-Identifier: MIT
 * The method infersent (Conneau et al. 2017, "Supervised learning of universal sentence representations from natural
 * language inference data"). A bidirectional LSTM with maximum pooling follows the word embeddings of the start model,
 * which are not trained. A classifier of three linear layers predicts the class of a pair from the features [u; v; |u -
 * v|; u v]. The values of its options are those of the authors' code.
 */
#include "train/method.h"

#include "base/error.h"
#include "model/extra_layers.h"

enum { DEFAULT_LSTM = 2048 };

static void defaults(aoe_train_options *o) {
    o->batch_size = 64;
    o->objective.features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_PRODUCT;
    o->args.epochs = 20;
    o->args.lr = 0.1;
    o->args.warmup = 0;
    o->args.dropout = 0;
    o->args.weight_decay = 0;
    o->args.max_grad_norm = 5;
    o->args.optimizer = AOE_OPTIMIZER_SGD;
    o->args.schedule = AOE_SCHEDULE_CONSTANT;
    o->args.lr_epoch_factor = 0.99;
    o->args.lr_divide = 5;
    o->args.min_lr = 1e-5;
}

static int check(const aoe_train_options *o, aoe_error *err) {
    return aoei_check_words(o, "infersent", AOE_POOLING_LAST_MAX, err);
}

/* Adds the LSTM, unless the model has one, and the classifier. */
static int layers(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    int code = AOE_OK;
    if (m->config.modules.n || m->config.modules.n_kernels)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has modules after its word embeddings that options.method infersent does not support; "
            "start from a model without them, or with an LSTM",
            o->args.model);
    if (m->config.modules.lstm_dims && o->lstm_dims != m->config.modules.lstm_dims && o->lstm_dims != AOE_AUTO)
        return aoei_fail(
            err, AOE_EARG,
            "%s: options.lstm_dims is %zu, but the LSTM of the model has %zu outputs per direction, whose number "
            "cannot change; leave out the option or start from another model",
            m->files.dir, o->lstm_dims, m->config.modules.lstm_dims);
    const size_t added = o->lstm_dims == AOE_AUTO ? DEFAULT_LSTM : o->lstm_dims;
    if (!m->config.modules.lstm_dims && (code = aoei_model_add_lstm(m, added, o->args.seed, err)))
        return code;
    return aoei_add_layered_classifier(o, m, highest, err);
}

const aoei_method aoei_method_infersent = {
    .name = "infersent",
    .group = AOEI_METHODS_CLASSES,
    .about = "LSTM on the word embeddings (InferSent, Conneau et al. 2017)",
    .kinds = AOEI_KIND(PAIRS),
    .supported = "labeled pairs (text1, text2, label)",
    .words = AOE_POOLING_LAST_MAX,
    .unsupported = {.matryoshka = "has a classifier, which needs whole embeddings",
                    .lora = "uses only the word embeddings of the model, which have no adapters"},
    .defaults = defaults,
    .check = check,
    .load = aoei_load_classes,
    .step_loss = &aoei_loss_of_layered_classes,
    .layer = layers};
