/* SPDX-License-Identifier: MIT
 * The method promptbert (Jiang et al. 2022, "PromptBERT: Improving BERT sentence embeddings with prompts"). The vector of a
 * text is the state of the token [MASK] in a template around the text. The two vectors of a text in two templates are a
 * positive pair. Before they are compared, the vector of the empty template is subtracted from each of them
 * (train/template_batch.h), and a dense layer with tanh is applied.
 */
#include "train/method_promptbert.h"

#include "base/error.h"
#include "model/extra_layers.h"

static const char first_template[] = "This sentence of \"{text}\" means [MASK].",
                  second_template[] = "This sentence : \"{text}\" means [MASK].";

static void defaults(aoe_train_options *o) {
    o->batch_size = 256;
    o->objective.tau_ibn = 0.05;
    o->second_prompt = second_template;
    o->args.lr = 1e-5;
    o->args.model_options.prompt = first_template;
    o->args.model_options.pooling = AOE_POOLING_MASK;
    o->args.model_options.max_length = 42; /* 32 tokens of the text and 10 tokens of the template */
}

static int check(const aoe_train_options *o, aoe_error *err) {
    if (aoei_has_teacher(o))
        return aoei_fail(
            err, AOE_EARG,
            "options.teacher: options.method promptbert trains a projection of the embeddings, but a teacher has no "
            "projection; choose another method");
    if (o->layers.adaptive || o->layers.ese)
        return aoei_fail(
            err, AOE_EARG,
            "options.layers.adaptive and options.layers.ese: options.method promptbert compares vectors from which "
            "those of empty templates have been subtracted; choose another method");
    if (!o->second_prompt)
        return aoei_fail(err, AOE_EARG, "options.method promptbert needs two templates; set options.second_prompt");
    for (size_t i = 0; i < o->n_data; i++)
        if (o->data[i].prompt || o->data[i].doc_prompt)
            return aoei_fail(err, AOE_EARG,
                             "%s: options.method promptbert has templates for all texts; leave out the prompt of the file",
                             o->data[i].path);
    return aoei_check_plain_texts(o, err);
}

static int check_model(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    (void)has_dropout;
    if (!m->config.layers || m->config.score_buckets || m->config.relative.span || m->config.alibi)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.method promptbert gives the tokens of an empty template the positions that they have after a "
            "text, but %s; choose a model with position embeddings or rotary positions, such as BERT or RoBERTa",
            o->args.model,
            m->config.layers ? "the attention of the model depends on the distances of tokens" : "the model has none");
    return AOE_OK;
}

static int describe(const aoe_train_options *o, json_t *record) {
    return json_object_set_new(record, "second_prompt", json_string(o->second_prompt));
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = j->w_cln = 0;
    j->w_ibn = 1;
}

static int projection(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config);
    const aoei_module dense = {.kind = AOEI_MODULE_DENSE, .in = dims, .out = dims, .activation = AOEI_DENSE_TANH};
    (void)highest;
    return aoei_model_add_projection(m, &dense, 1, o->args.seed, err);
}

const aoei_method aoei_method_promptbert = {.name = "promptbert",
                                            .group = AOEI_METHODS_TEXTS,
                                            .about = "states of [MASK] in two templates (PromptBERT, Jiang et al. 2022)",
                                            .kinds = AOEI_KIND(TEXTS),
                                            .supported = "the texts of any file",
                                            .templates = 1,
                                            .defaults = defaults,
                                            .check = check,
                                            .check_model = check_model,
                                            .describe = describe,
                                            .load = aoei_load_texts,
                                            .weights = weights,
                                            .step_loss = &aoei_loss_of_labels,
                                            .file_loss = aoei_label_loss,
                                            .layer = projection};
