/* SPDX-License-Identifier: MIT
 * The methods promptbert and promptbert-sup (Jiang et al. 2022, "PromptBERT: Improving BERT sentence embeddings with
 * prompts"). The vector of a text is the state of the token [MASK] in a template around the text. The vector of the
 * empty template is subtracted from it (train/template_batch.h). In promptbert, the two vectors of a text in two
 * templates are a positive pair, to which a dense layer with tanh is applied, which is not saved. In promptbert-sup,
 * the texts of an example are in one template, and the transform of the masked-LM head, a dense layer and a layer norm,
 * is applied to the states before the subtraction. The saved model contains these layers and also subtracts the vector
 * of the empty template.
 */
#include "train/method.h"

#include "base/alloc.h"
#include "base/error.h"
#include "encoder/slots.h"
#include "model/extra_layers.h"
#include "model/open.h"
#include "train/template_batch.h"

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

static void defaults_sup(aoe_train_options *o) {
    o->batch_size = 512;
    o->objective.tau_ibn = 0.05;
    o->args.lr = 5e-5;
    o->args.epochs = 3;
    o->args.model_options.prompt = first_template;
    o->args.model_options.pooling = AOE_POOLING_MASK;
    o->args.model_options.max_length = 42;
}

/* Checks that no file has a prompt. name: name of the method. */
static int check_prompts(const aoe_train_options *o, const char *name, aoe_error *err) {
    for (size_t i = 0; i < o->n_data; i++)
        if (o->data[i].prompt || o->data[i].doc_prompt)
            return aoei_fail(err, AOE_EARG,
                             "%s: options.method %s has templates for all texts; leave out the prompt of the file",
                             o->data[i].path, name);
    return AOE_OK;
}

static int check(const aoe_train_options *o, aoe_error *err) {
    const int code = check_prompts(o, "promptbert", err);
    if (!code && !o->second_prompt)
        return aoei_fail(err, AOE_EARG, "options.method promptbert needs two templates; set options.second_prompt");
    return code ? code : aoei_check_plain_texts(o, err);
}

static int check_sup(const aoe_train_options *o, aoe_error *err) {
    return check_prompts(o, "promptbert-sup", err);
}

static int check_model(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err) {
    (void)has_dropout;
    if (!m->config.layers || m->config.score_buckets || m->config.relative.span || m->config.alibi)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: %s, but options.method %s requires position embeddings or rotary positions; choose another "
            "model, such as BERT or RoBERTa",
            o->args.model,
            m->config.layers ? "the attention of the model depends on the distances between tokens"
                             : "the model consists of word embeddings",
            o->method == AOE_METHOD_PROMPTBERT ? "promptbert" : "promptbert-sup");
    return AOE_OK;
}

static void weights(aoe_objective_options *j, aoe_example_kind kind) {
    (void)kind;
    j->w_cosine = j->w_angle = j->w_cln = 0;
    j->w_ibn = 1;
}

/* Checks that the model has a tokenizer. The memory plan of a run may have a model without one. */
static int check_tokenizer(const aoe_model *m, const char *name, aoe_error *err) {
    return m->tokenizer
               ? AOE_OK
               : aoei_fail(err, AOE_EARG,
                           "options.method %s has prompt templates, which require a tokenizer; plan a model directory "
                           "that has one",
                           name);
}

static int projection(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config);
    const aoei_module dense = {.kind = AOEI_MODULE_DENSE, .in = dims, .out = dims, .activation = AOEI_DENSE_TANH};
    (void)highest;
    const int code = check_tokenizer(m, "promptbert", err);
    return code ? code : aoei_model_add_projection(m, &dense, 1, 0, o->args.seed, err);
}

/* Returns the activation function of the transform, or -1 if a dense layer does not support it. */
static int transform_activation(const aoei_encoder_config *c) {
    switch (c->mlm_activation == AOEI_IDENTITY ? c->activation : c->mlm_activation) {
    case AOEI_GELU:
        return AOEI_DENSE_GELU;
    case AOEI_RELU:
        return AOEI_DENSE_RELU;
    case AOEI_SILU:
        return AOEI_DENSE_SILU;
    default:
        return -1;
    }
}

/* Copies a weight of the masked-LM head of `from` to slot `to` of m, unless it is absent. */
static int copy_weight(aoe_model *m, size_t to, const aoe_model *from, size_t kind, aoe_error *err) {
    const aoei_tensor w = from->weights[aoei_head_slot(&from->config, kind)];
    float *values = w.data ? aoei_malloc_array(w.rows * w.cols, sizeof *values) : NULL;
    if (w.data && !values)
        return aoei_fail_nomem(err, w.rows * w.cols * sizeof *values);
    if (values) {
        aoei_tensor_read(m->ctx, values, w);
        aoei_tensor_write(m->ctx, m->weights[to], values);
    }
    aoei_free(values);
    return AOE_OK;
}

/* Adds the transform of the masked-LM head of `from` to m. */
static int add_transform(aoe_model *m, const aoe_model *from, uint64_t seed, aoe_error *err) {
    const aoei_encoder_config *c = &from->config;
    const size_t bias = aoei_head_slot(c, AOEI_HW_TRANSFORM_BIAS), norm_bias = aoei_head_slot(c, AOEI_HW_NORM_BIAS);
    const int activation = transform_activation(c);
    if (!aoei_model_has_mlm_head(from))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has no masked-LM head, whose transform options.method promptbert-sup trains; start from a "
            "pretrained masked language model",
            from->files.dir);
    if (activation < 0)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.method promptbert-sup does not support the activation function of the masked-LM head; start "
            "from a model with gelu, relu or silu",
            from->files.dir);
    const aoei_module modules[] = {{.kind = AOEI_MODULE_DENSE,
                                    .in = c->hidden,
                                    .out = aoei_embed_width(c),
                                    .activation = (aoei_dense_activation)activation,
                                    .no_bias = !from->weights[bias].data},
                                   {.kind = AOEI_MODULE_LAYERNORM,
                                    .in = aoei_embed_width(c),
                                    .out = aoei_embed_width(c),
                                    .norm_eps = c->norm_eps,
                                    .no_bias = !from->weights[norm_bias].data}};
    int code = aoei_model_add_modules(m, modules, 2, seed, err);
    for (size_t kind = AOEI_HW_TRANSFORM; kind <= AOEI_HW_NORM_BIAS && !code; kind++) {
        const size_t module = kind >= AOEI_HW_NORM, part = (kind - AOEI_HW_TRANSFORM) % 2;
        code = copy_weight(m, aoei_pooled_slot(&m->config, AOEI_MODULE_WEIGHTS * module + part), from, kind, err);
    }
    return code;
}

/* Adds the transform of the masked-LM head unless the model already has it. For adapters, the head of the base model is
 * used. */
static int transform(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err) {
    aoe_model *from;
    aoe_model_options options;
    const char *dir = m->files.base_dir ? m->files.base_dir : m->files.dir;
    int code = check_tokenizer(m, "promptbert-sup", err);
    (void)highest;
    if (code || m->settings.subtract_empty_prompt)
        return code;
    if (m->config.modules.n)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.method promptbert-sup does not support the modules after the pooling of the model; start "
            "from a pretrained masked language model",
            o->args.model);
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    if ((code = aoei_model_open_mlm(&from, m->ctx, dir, &options, o->args.seed, err)))
        return code;
    code = add_transform(m, from, o->args.seed, err);
    aoe_model_close(from);
    m->settings.subtract_empty_prompt = 1;
    aoei_model_describe_modules(m);
    return code;
}

/* The templates, and an array for the texts of a batch. */
typedef struct template_state {
    aoei_templates templates;
    size_t *texts; /* [maximum number of texts] */
} template_state;

/* second: second template, or NULL if there is only one. */
static int create_templates(aoei_method_run *r, const char *second, aoe_error *err) {
    template_state *s = r->state = aoei_calloc(1, sizeof *s);
    if (!s)
        return aoei_fail_nomem(err, sizeof *s);
    return aoei_templates_create(&s->templates, r->model, second, r->longest, err);
}

static int create_one(aoei_method_run *r, aoe_error *err) {
    return create_templates(r, NULL, err);
}

static int create_two(aoei_method_run *r, aoe_error *err) {
    return create_templates(r, r->o->second_prompt, err);
}

static int load(aoei_method_run *r, aoe_error *err) {
    const template_state *s = r->state;
    int code = AOE_OK;
    for (size_t i = 0; i < r->o->n_data && !code; i++)
        code = aoei_templates_check(&s->templates, &r->sources[i].data, r->o->data[i].path, err);
    return code;
}

/* Adds the templates and the references to the sizes of a step. */
static void measure(const aoei_method_run *r, aoei_pair_step_options *sizes) {
    const aoei_templates *t = &((const template_state *)r->state)->templates;
    const size_t texts = r->arity / t->count; /* of an example, which occur in each template */
    aoei_templates_measure(t, texts * sizes->pairs, &sizes->references, &sizes->tokens, &sizes->longest);
    if (sizes->chunk_pairs)
        sizes->chunk_tokens = aoei_templates_tokens(t, texts * sizes->chunk_pairs, sizes->chunk_tokens);
}

static int lay_out(aoei_method_run *r, const aoei_pair_step_options *sizes, aoe_error *err) {
    template_state *s = r->state;
    s->texts = aoei_malloc_array(r->arity * sizes->pairs, sizeof *s->texts);
    return s->texts ? AOE_OK : aoei_fail_nomem(err, r->arity * sizes->pairs * sizeof *s->texts);
}

static size_t fill(aoei_method_run *r, const aoei_planned_batch *batch, uint64_t step, size_t text) {
    template_state *s = r->state;
    const aoei_dataset *d = &r->sources[batch->source].data;
    size_t n = 0;
    (void)step;
    for (size_t i = 0; i < batch->n; i++)
        for (size_t position = 0; position < d->arity; position++)
            s->texts[n++] = aoei_batches_texts(r->batches, batch->first + i)[position];
    r->step->arity = d->arity * s->templates.count;
    r->step->n_references =
        aoei_templates_fill(&s->templates, &r->step->buffer, r->step->reference, d, s->texts, n, text);
    return text + s->templates.count * n;
}

static void destroy(void *state) {
    template_state *s = state;
    aoei_templates_destroy(&s->templates);
    aoei_free(s->texts);
    aoei_free(s);
}

static const aoei_method_state one_template = {
    .create = create_one, .load = load, .measure = measure, .lay_out = lay_out, .fill = fill, .destroy = destroy};
static const aoei_method_state two_templates = {
    .create = create_two, .load = load, .measure = measure, .lay_out = lay_out, .fill = fill, .destroy = destroy};

const aoei_method aoei_method_promptbert = {
    .name = "promptbert",
    .group = AOEI_METHODS_TEXTS,
    .about = "states of [MASK] in two templates (PromptBERT, Jiang et al. 2022)",
    .kinds = AOEI_KIND(TEXTS),
    .supported = "the texts of any file",
    .kept = "prompt template",
    .dropped = "second prompt template",
    .unsupported = {.distillation = "trains differences of embeddings, but teacher embeddings are not differences",
                    .matryoshka = "computes its loss after a projection of whole embeddings",
                    .layers = "does not support losses on hidden states"},
    .defaults = defaults,
    .check = check,
    .check_model = check_model,
    .load = aoei_load_texts,
    .weights = weights,
    .step_loss = &aoei_loss_of_labels,
    .file_loss = aoei_label_loss,
    .layer = projection,
    .state = &two_templates};

const aoei_method aoei_method_promptbert_sup = {
    .name = "promptbert-sup",
    .group = AOEI_METHODS_POSITIVES,
    .about = "states of [MASK] in a template (PromptBERT, Jiang et al. 2022)",
    .kinds = AOEI_KIND(POSITIVES) | AOEI_KIND(TRIPLETS),
    .positives_only = 1,
    .subtracts_empty_prompt = 1,
    .supported = "triplets, positives or labeled pairs",
    .kept = "prompt template",
    .unsupported = {.distillation = "trains differences of embeddings, but teacher embeddings are not differences",
                    .layers = "does not support losses on hidden states"},
    .defaults = defaults_sup,
    .check = check_sup,
    .check_model = check_model,
    .weights = aoei_contrastive_weights,
    .step_loss = &aoei_loss_of_labels,
    .file_loss = aoei_label_loss,
    .layer = transform,
    .state = &one_template};
