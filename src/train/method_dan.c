/* SPDX-License-Identifier: MIT
 * The method dan: a deep averaging network (Iyyer et al. 2015), the encoder of the smaller model of Cer et al. 2018
 * ("Universal sentence encoder"). The mean of the embeddings of the tokens and of the bigrams of a text is the input of
 * two dense layers with tanh, which the model keeps. A classifier of three linear layers predicts the class of a pair,
 * as in method_infersent.c. The word embeddings are those of the start model, and are trained. Cer et al. published
 * neither their training data nor the sizes of their model, so the sizes are those of this program.
 */
#include "train/method.h"

#include "base/error.h"
#include "model/extra_layers.h"

enum { DIMS = 512, DEFAULT_BIGRAMS = 65536, MAX_BIGRAMS = 1 << 24 };

static void defaults(aoe_train_options *o) {
    o->batch_size = 64;
    o->objective.features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_PRODUCT;
    o->args.lr = 1e-3;
    o->args.epochs = 5;
    o->args.dropout = 0;
}

static int check(const aoe_train_options *o, aoe_error *err) {
    if (o->bigrams == AOE_AUTO)
        return aoei_check_words(o, "dan", AOE_POOLING_LAST_AVG, err);
    if (o->bigrams > MAX_BIGRAMS || (o->bigrams & (o->bigrams - 1)))
        return aoei_fail(err, AOE_EARG, "options.bigrams is %zu; give 0, or a power of two of at most %d", o->bigrams,
                         MAX_BIGRAMS);
    return aoei_check_words(o, "dan", AOE_POOLING_LAST_AVG, err);
}

/* Adds the bigrams and the dense layers, unless the model already consists of word embeddings with dense layers, and
 * the classifier. */
static int layers(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const aoei_module dense[] = {
        {.kind = AOEI_MODULE_DENSE, .in = m->config.hidden, .out = DIMS, .activation = AOEI_DENSE_TANH},
        {.kind = AOEI_MODULE_DENSE, .in = DIMS, .out = DIMS, .activation = AOEI_DENSE_TANH},
    };
    int code;
    if (m->config.modules.n_kernels || m->config.modules.lstm_dims)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has %s after its word embeddings, which options.method dan does not support; start from "
            "a model without them",
            o->args.model, m->config.modules.n_kernels ? "convolutions" : "an LSTM");
    const int is_new = !m->config.modules.n && !m->config.bigrams;
    if (!is_new && o->bigrams != m->config.bigrams && o->bigrams != AOE_AUTO)
        return aoei_fail(
            err, AOE_EARG,
            "%s: options.bigrams is %zu, but the model has %zu bigram embeddings, whose number cannot change; leave "
            "out the option or start from another model",
            m->files.dir, o->bigrams, m->config.bigrams);
    const size_t added = !is_new ? 0 : o->bigrams == AOE_AUTO ? DEFAULT_BIGRAMS : o->bigrams;
    if (!(code = aoei_model_train_words(m, added, err)) && is_new)
        code = aoei_model_add_modules(m, dense, sizeof dense / sizeof *dense, o->args.seed, err);
    return code ? code : aoei_add_layered_classifier(o, m, highest, err);
}

const aoei_method aoei_method_dan = {
    .name = "dan",
    .group = AOEI_METHODS_CLASSES,
    .about = "average of words and bigrams, dense layers (DAN, Iyyer et al. 2015)",
    .kinds = AOEI_KIND(PAIRS),
    .supported = "labeled pairs (text1, text2, label)",
    .words = AOE_POOLING_LAST_AVG,
    .unsupported = {.matryoshka = "has a classifier, which needs whole embeddings",
                    .lora = "uses only the word embeddings of the model, which have no adapters"},
    .defaults = defaults,
    .check = check,
    .load = aoei_load_classes,
    .step_loss = &aoei_loss_of_layered_classes,
    .layer = layers};
