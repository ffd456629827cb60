/* SPDX-License-Identifier: MIT
 * Reads and writes the description of a classification head.
 */
#include "modeldir/cross_encoder.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "modeldir/adapter_tensors.h"
#include "modeldir/cross_encoder_modules.h"
#include "modeldir/layout.h"
#include "modeldir/peft.h"
#include "modeldir/safetensors.h"

#define CLASS_SUFFIX      "ForSequenceClassification"
#define ACTIVATION_MODULE "torch.nn.modules."

/* Returns 1 if the class in the contents of a config.json ends with `suffix`. */
static int class_ends_with(const json_t *config, const char *suffix) {
    const char *name = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    const size_t len = name ? strlen(name) : 0, tail = strlen(suffix);
    return len >= tail && !strcmp(name + len - tail, suffix);
}

/* Returns 1 if the contents of a config.json name a class with a classification head. */
static int promises_head(const json_t *config) {
    return class_ends_with(config, CLASS_SUFFIX);
}

/* Returns the decoder of a language model that is used as a reranker. */
static aoei_decoder decoder_of(const aoei_encoder_config *c, const aoei_model_files *f) {
    const json_t *tied = json_object_get(f->config_json, "tie_word_embeddings");
    if (!class_ends_with(f->config_json, "ForCausalLM") || c->arch->head->pooling != AOE_POOLING_LAST_TOKEN ||
        f->base_dir)
        return AOEI_DECODER_NONE;
    if (json_is_boolean(tied))
        return json_is_true(tied) ? AOEI_DECODER_TIED : AOEI_DECODER_UNTIED;
    return f->weights && aoei_safetensors_find(f->weights, "lm_head.weight") ? AOEI_DECODER_UNTIED : AOEI_DECODER_TIED;
}

/* Returns the weight of the last layer of the head, or NULL if the files contain no head. If the adapter file contains
 * a head, this head replaces that of the base model; *saved is then set to 1, and otherwise to 0. */
static const aoei_st_tensor *find_head(const aoei_encoder_config *c, const aoei_model_files *f, int *saved) {
    const aoei_classification_head *h = c->arch->head;
    char name[128];
    snprintf(name, sizeof name, "%s.weight", h->module[h->n - 1].name);
    const aoei_st_tensor *t = aoei_adapters_saved(f, c, name);
    *saved = t != NULL;
    return t || !f->weights ? t : aoei_safetensors_find(f->weights, name);
}

/* Returns an error for a model without a head. */
static int fail_no_head(const aoei_encoder_config *c, const aoei_model_files *f, aoe_error *err) {
    const aoei_classification_head *h = c->arch->head;
    if (promises_head(f->config_json))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: config.json names a class with a classification head, but the weights contain no tensor "
                         "'%s.weight'; the checkpoint is incomplete, so download it again",
                         aoei_weights_dir(f), h->module[h->n - 1].name);
    return aoei_fail(
        err, AOE_EARG,
        "%s: the model is not a cross-encoder: it has no classification head ('%s.weight'); give a cross-encoder, "
        "train one from this model with the method cross-encoder, or rank texts by their cosine (aoe similarity)",
        aoei_weights_dir(f), h->module[h->n - 1].name);
}

/* Marks a head that consists of modules, which aoei_cross_encoder_modules_finish completes. */
static int open_module_head(aoei_model_files *f, const aoei_head_request *request, aoe_error *err) {
    f->module_head = 1;
    if (!request->new_classes)
        return 0;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: the head of this cross-encoder consists of modules (modules.json), which cannot be trained; train a new "
        "head (options.new_head)",
        f->dir);
}

/* Checks that the files contain the requested head. classes: number of classes of the head in the files, 0 if there is
 * none. */
static int check_head(const aoei_encoder_config *c, const aoei_model_files *f, const aoei_head_request *request,
                      size_t classes, aoe_error *err) {
    if (f->logit_score.given && !f->saved_head && !request->new_classes && !f->decoder)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the module LogitScore is supported only for causal language models, such as Qwen3",
                         f->dir);
    if (c->arch->head && f->new_head && !request->new_classes && !f->decoder)
        return fail_no_head(c, f, err);
    if (!f->new_head && request->new_classes && request->new_classes != classes)
        return aoei_fail(err, AOE_EARG,
                         "%s: the classification head has %zu output%s, but %zu %s needed; train a new head "
                         "(options.new_head), or change options.classes",
                         f->dir, classes, classes == 1 ? "" : "s", request->new_classes,
                         request->new_classes == 1 ? "is" : "are");
    return 0;
}

int aoei_cross_encoder_open(aoei_encoder_config *c, aoei_model_files *f, const aoei_head_request *request,
                            aoe_error *err) {
    const aoei_st_tensor *last = c->arch->head ? find_head(c, f, &f->saved_head) : NULL;
    const int expected = !f->weights && c->arch->head && promises_head(f->config_json);
    size_t classes = (last && !f->saved_head) || expected ? aoei_head_classes(f->config_json) : 0;
    aoei_module_head modules;
    int rc = aoei_cross_encoder_modules_read(&modules, &f->logit_score, aoei_settings_dir(f), err);
    if (rc)
        return rc;
    if (modules == AOEI_MODULE_HEAD_POOLED && !request->replace && !f->saved_head)
        return open_module_head(f, request, err);
    if (last && !classes)
        classes = last->n_dims ? last->shape[0] : 0;
    if (expected && !classes)
        classes = 1;
    f->new_head = (!last && !expected) || request->replace;
    f->decoder = c->arch->head && !last && !expected && !request->new_classes ? decoder_of(c, f) : AOEI_DECODER_NONE;
    if ((rc = check_head(c, f, request, classes, err)))
        return rc;
    char *path = aoei_path_join(aoei_weights_dir(f), AOEI_CONFIG_FILE);
    rc = path ? aoei_head_read(c,
                               f->decoder    ? 1
                               : f->new_head ? request->new_classes
                                             : classes,
                               f->config_json, path, err)
              : aoei_fail_nomem(err, 1);
    aoei_free(path);
    return rc;
}

/* ------------------------------------------------------------- activation */

static const struct {
    const char *name; /* class name in torch.nn */
    const char *file; /* module of torch that contains the class */
    aoe_score_activation activation;
} activations[] = {{"Identity", "linear", AOE_SCORE_LOGIT},
                   {"Sigmoid", "activation", AOE_SCORE_SIGMOID},
                   {"Softmax", "activation", AOE_SCORE_SOFTMAX},
                   {"Tanh", "activation", AOE_SCORE_TANH}};

enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

/* Sets *out to the activation function with the class name `value`. */
static int parse_activation(aoe_score_activation *out, const json_t *value, const char *path, aoe_error *err) {
    const char *name = json_string_value(value), *dot = name ? strrchr(name, '.') : NULL;
    for (size_t i = 0; dot && !strncmp(name, "torch.", 6) && i < N_ACTIVATIONS; i++)
        if (!strcmp(dot + 1, activations[i].name)) {
            *out = activations[i].activation;
            return 0;
        }
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: the activation function '%.100s' of the scores is not supported (supported: Identity, Sigmoid, "
        "Softmax and Tanh in torch.nn)",
        path, name ? name : "");
}

void aoei_score_activation_name(char *out, size_t size, aoe_score_activation activation) {
    size_t i = 0;
    while (i < N_ACTIVATIONS - 1 && activations[i].activation != activation)
        i++;
    snprintf(out, size, ACTIVATION_MODULE "%s.%s", activations[i].file, activations[i].name);
}

/* Returns the value of `key` if it is neither missing nor null, otherwise NULL. */
static const json_t *given(const json_t *root, const char *key) {
    const json_t *v = json_object_get(root, key);
    return v && !json_is_null(v) ? v : NULL;
}

/* Reads the activation function of the scores from config_sentence_transformers.json or from config.json. */
static int read_activation(aoei_settings *s, const aoei_encoder_config *c, const aoei_model_files *f, aoe_error *err) {
    json_t *root;
    const char *own;
    char *config = aoei_path_join(aoei_weights_dir(f), AOEI_CONFIG_FILE);
    int rc = aoei_model_dir_json(&root, &own, aoei_settings_dir(f), "config_sentence_transformers.json", err);
    if (!rc && !config)
        rc = aoei_fail_nomem(err, 0);
    const json_t *first = given(root, "activation_fn"),
                 *second = given(json_object_get(f->config_json, "sentence_transformers"), "activation_fn"),
                 *third = given(f->config_json, "sbert_ce_default_activation_function");
    s->activation = c->modules.classes == 1 ? AOE_SCORE_SIGMOID : AOE_SCORE_LOGIT;
    if (!rc && (first || second || third) && (!f->new_head || f->decoder) &&
        !(rc = parse_activation(&s->activation,
                                first    ? first
                                : second ? second
                                         : third,
                                first ? own : config, err)))
        rc = aoei_source_add(f->cache, "activation", NULL, first ? own : config,
                             first    ? "activation_fn"
                             : second ? "sentence_transformers"
                                      : "sbert_ce_default_activation_function",
                             err);
    aoei_free(config);
    return rc;
}

/* Checks that modules.json, if it exists, describes a transformer with a classification head. */
static int check_modules(aoei_model_dir dir, aoe_error *err) {
    aoei_module_head head;
    aoei_logit_score score;
    const int rc = aoei_cross_encoder_modules_read(&head, &score, dir, err);
    if (rc || head == AOEI_MODULE_HEAD_NONE)
        return rc;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s/modules.json: the modules of this cross-encoder are not supported; supported are a Transformer with a "
        "classification head, Transformer and LogitScore, and Transformer, Pooling and Dense",
        dir.path);
}

int aoei_has_head(int *has, const aoei_encoder_config *c, const aoei_model_files *f, aoe_error *err) {
    int saved = 0;
    aoe_error ignored;
    *has = f->module_head || f->logit_score.given;
    if (*has || !c->arch->head || !f->weights || !find_head(c, f, &saved))
        return 0;
    const int rc = saved || !promises_head(f->config_json) ? 0 : check_modules(aoei_settings_dir(f), &ignored);
    *has = saved || (promises_head(f->config_json) && !rc);
    return rc == AOE_ENOMEM ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_declares_cross_encoder(int *declared, const aoei_encoder_config *c, const aoei_model_files *f,
                                aoe_error *err) {
    aoei_module_head head;
    aoei_logit_score score;
    const int rc = aoei_cross_encoder_modules_read(&head, &score, aoei_settings_dir(f), err);
    *declared = head == AOEI_MODULE_HEAD_POOLED || head == AOEI_MODULE_HEAD_LOGITS;
    if (rc || head != AOEI_MODULE_HEAD_NONE)
        return rc;
    if (f->weights)
        return aoei_has_head(declared, c, f, err);
    *declared = c->arch->head && promises_head(f->config_json);
    return 0;
}

int aoei_is_language_model(const aoei_encoder_config *c, const aoei_model_files *f) {
    return !aoei_entry_exists(aoei_settings_dir(f).path, "modules.json") && c->arch->head && f->weights &&
           decoder_of(c, f) != AOEI_DECODER_NONE;
}

int aoei_cross_encoder_settings(aoei_settings *s, const aoei_encoder_config *c, const aoei_model_files *f,
                                const aoe_model_options *o, aoe_error *err) {
    const aoei_model_dir dir = aoei_settings_dir(f);
    const int of_embeddings = !promises_head(f->config_json) &&
                              ((f->new_head && !f->decoder) || (f->saved_head && strcmp(dir.path, f->dir) != 0));
    int rc = f->new_head || of_embeddings ? 0 : check_modules(dir, err);
    s->reranker_template = f->decoder != AOEI_DECODER_NONE && !f->logit_score.given;
    if (of_embeddings) {
        json_decref(s->prompts);
        s->prompts = NULL;
        if (!o->prompt && !o->prompt_name)
            *s->prompt = 0;
    }
    s->pooling = c->pooling;
    s->pooling_from = "config.json";
    s->normalize = 0;
    json_decref(s->modules);
    s->modules = NULL;
    return rc ? rc : read_activation(s, c, f, err);
}

int aoei_cross_encoder_modules_finish(aoei_settings *s, aoei_encoder_config *c, const aoei_model_files *f,
                                      aoe_error *err) {
    const size_t n = aoei_settings_module_count(s);
    if (!c->modules.n || n != c->modules.n || s->normalize || s->truncate_dim)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the modules of this cross-encoder are not supported; the supported modules after the pooling are "
            "Dense, LayerNorm and Dropout",
            aoei_settings_dir(f).path);
    c->modules.classes = c->modules.list[n - 1].out;
    c->modules.head_in_modules = 1;
    return read_activation(s, c, f, err);
}

int aoei_is_cross_encoder(const char *path, const char *base) {
    json_t *root = NULL;
    char *found = NULL;
    aoei_model_dir dir = {path, aoei_file_cache_create()};
    if (dir.cache && aoei_is_adapter_dir(path) && !aoei_peft_base(&found, dir, base, NULL))
        dir.path = found;
    const int is = dir.cache && !aoei_model_dir_json(&root, NULL, dir, AOEI_CONFIG_FILE, NULL) && promises_head(root);
    aoei_file_cache_destroy(dir.cache);
    aoei_free(found);
    return is;
}
