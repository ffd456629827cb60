/* SPDX-License-Identifier: MIT
 * Reads the configuration files of sentence-transformers, in the format before version 5.4 and in the format since
 * version 5.4. The files contain the modules after the transformer (pooling, dense layer, normalization), the maximum
 * sequence length and the prompts. A module that is not supported is an error, because ignoring the module would change
 * the embeddings without notice.
 */
#include "modeldir/sentence_transformers.h"

#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "modeldir/layout.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/safetensors.h"
#include "modeldir/token_module.h"
#include "modeldir/transformer_module.h"

#define MAX_MODES 6 /* number of known pooling modes */

/* The modes of a Pooling module. The outputs of the modes are concatenated in the order of the array. */
typedef struct modes {
    const char *name[MAX_MODES]; /* [n] names of the modes, static or borrowed from the parsed JSON */
    const char *key;             /* key that contains the modes, or the first of several keys; static */
    size_t n;                    /* number of modes */
} modes;

/* Parses the file `name` in `dir` like aoei_model_dir_json. Its contents must be an object or an array. */
static int load_optional(json_t **root, const char **path, aoei_model_dir dir, const char *name, aoe_error *err) {
    const int rc = aoei_model_dir_json(root, path, dir, name, err);
    if (rc || !*root || json_is_object(*root) || json_is_array(*root))
        return rc;
    *root = NULL;
    return aoei_fail(err, AOE_EFORMAT, "%s: neither a JSON object nor an array; download the file again", *path);
}

/* Parses config.json of the module in DIR/folder. */
static int load_module(json_t **root, const char **path, aoei_model_dir dir, const char *folder, aoe_error *err) {
    *root = NULL;
    *path = NULL;
    const int rc = aoei_model_dir_folder(&dir, dir, folder, err);
    return rc ? rc : load_optional(root, path, dir, "config.json", err);
}

/* Records the source of a setting, if `config`, the contents of the file `path`, contains the key. */
static int add_source(aoei_model_dir dir, const char *setting, const json_t *config, const char *path, const char *key,
                      aoe_error *err) {
    const json_t *v = json_object_get(config, key);
    return v && !json_is_null(v) ? aoei_source_add(dir.cache, setting, NULL, path, key, err) : 0;
}

/* --------------------------------------------------------------- pooling */

/* Reads `mode`, the value of the key pooling_mode. The value is a mode or a list of modes. */
static int read_mode_list(modes *m, json_t *mode, const char *path, aoe_error *err) {
    size_t n = json_is_array(mode) ? json_array_size(mode) : 1;
    if (n < 1 || n > MAX_MODES)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: pooling_mode contains %zu modes, but 1 to 6 are supported", path,
                         n);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_is_array(mode) ? json_array_get(mode, i) : mode);
        if (!name)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: \"pooling_mode\" is neither a string nor a list of strings; correct the value", path);
        m->name[m->n++] = name;
    }
    return 0;
}

/* Reads the modes of a Pooling module. If the key pooling_mode exists, its value contains the modes. Otherwise, each
 * mode has a flag, and all modes whose flag is true are used. If no flag is true, the mode is "mean". */
static int read_modes(modes *m, json_t *config, const char *path, aoe_error *err) {
    static const struct {
        const char *flag, *mode;
    } flags[MAX_MODES] = {
        {"pooling_mode_cls_token", "cls"},
        {"pooling_mode_max_tokens", "max"},
        {"pooling_mode_mean_tokens", "mean"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean"},
        {"pooling_mode_lasttoken", "lasttoken"},
    };
    json_t *mode = json_object_get(config, "pooling_mode");
    m->n = 0;
    m->key = "pooling_mode";
    if (mode && !json_is_null(mode))
        return read_mode_list(m, mode, path, err);
    for (size_t i = 0; i < MAX_MODES; i++) {
        int is_set = 0, rc = aoei_json_bool(config, flags[i].flag, &is_set, path, err);
        if (rc)
            return rc;
        if (is_set && !m->n)
            m->key = flags[i].flag;
        if (is_set)
            m->name[m->n++] = flags[i].mode;
    }
    if (!m->n)
        m->name[m->n++] = "mean";
    return 0;
}

/* Sets *p to the pooling that the modes describe. averaged: 1 if the next module is a Dense module that computes the
 * mean of the two halves of its input. */
static int pooling_of_modes(aoe_pooling *p, const modes *m, int averaged, const char *path, aoe_error *err) {
    static const struct {
        const char *mode;
        aoe_pooling pooling;
    } known[MAX_MODES] = {{"cls", AOE_POOLING_CLS},
                          {"max", AOE_POOLING_LAST_MAX},
                          {"mean", AOE_POOLING_LAST_AVG},
                          {"mean_sqrt_len_tokens", AOE_POOLING_MEAN_SQRT_LEN},
                          {"weightedmean", AOE_POOLING_WEIGHTED_MEAN},
                          {"lasttoken", AOE_POOLING_LAST_TOKEN}};
    enum { CLS_AND_MEAN = 1 | 4 };
    int bits = 0, is_ordered = 1;
    for (size_t i = 0; i < m->n; i++) {
        int k = 0;
        while (k < MAX_MODES && strcmp(known[k].mode, m->name[i]) != 0)
            k++;
        if (k == MAX_MODES || (bits >> k & 1))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: pooling '%s' in pooling_mode is not supported, or is given twice (supported: cls, max, mean, "
                "mean_sqrt_len_tokens, weightedmean, lasttoken)",
                path, m->name[i]);
        is_ordered = is_ordered && bits < 1 << k;
        bits |= 1 << k;
        *p = known[k].pooling;
    }
    if (m->n > 1 && averaged && bits == CLS_AND_MEAN)
        *p = AOE_POOLING_CLS_LAST_AVG;
    else if (m->n > 1 && !is_ordered)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the order of the modes in pooling_mode is not supported; the supported order is cls, max, mean, "
            "mean_sqrt_len_tokens, weightedmean, lasttoken",
            path);
    else if (m->n > 1)
        *p = (aoe_pooling)(AOE_POOLING_CONCAT + bits);
    return 0;
}

/* Returns an error if the key `key` exists and its value is not the hidden size of the model. */
static int check_dimension(json_t *config, const char *key, size_t hidden, const char *path, aoe_error *err) {
    size_t n = hidden;
    int rc = aoei_json_size(config, key, &n, path, err);
    if (!rc && n != hidden)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: %s is %zu, but the model's hidden size is %zu; download the model again",
                       path, key, n, hidden);
    return rc;
}

/* Reads and checks the Pooling module in DIR/folder. If the pooling is known from an option or from aoe.json, only
 * include_prompt is read. If the file is missing, the directory is damaged, and only an option can replace the
 * pooling. */
static int read_pooling(aoei_partial_settings *s, aoei_model_dir dir, const char *folder, int averaged, size_t hidden,
                        aoe_error *err) {
    json_t *config;
    const char *path;
    modes m = {0};
    const int is_set = s->pooling != AOE_POOLING_AUTO;
    int include_prompt = 1, rc = load_module(&config, &path, dir, folder, err);
    if (!rc && !config && (!is_set || strcmp(s->pooling_from, "option") != 0))
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: the file is missing, but modules.json requires it; download the model again", path);
    if (rc || !config || (rc = aoei_json_bool(config, "include_prompt", &include_prompt, path, err)))
        return rc;
    if (s->include_prompt == AOE_AUTO)
        s->include_prompt = include_prompt;
    if ((rc = add_source(dir, "include_prompt", config, path, "include_prompt", err)) || is_set ||
        (rc = check_dimension(config, "word_embedding_dimension", hidden, path, err)) ||
        (rc = check_dimension(config, "embedding_dimension", hidden, path, err)) ||
        (rc = read_modes(&m, config, path, err)) || (rc = pooling_of_modes(&s->pooling, &m, averaged, path, err)))
        return rc;
    s->pooling_from = !strcmp(folder, "1_Pooling") ? "1_Pooling/config.json" : "modules.json";
    return add_source(dir, "pooling", config, path, m.key, err);
}

/* ----------------------------------------------------------------- dense */

/* Sets *concatenated to 1 if the input size of the Dense module in DIR/folder is 2 * hidden, so the input consists of
 * two concatenated vectors. A Dense module with this input size is supported only if it computes the mean of the two
 * vectors. */
static int has_concatenated_input(int *concatenated, aoei_model_dir dir, const char *folder, size_t hidden,
                                  aoe_error *err) {
    json_t *config;
    const char *path;
    size_t in = 0;
    int rc = load_module(&config, &path, dir, folder, err);
    if (!rc && !config)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: the file is missing, but modules.json requires it; download the model again", path);
    if (!rc)
        rc = aoei_json_need_size(config, "in_features", &in, path, err);
    *concatenated = in == 2 * hidden;
    return rc;
}

/* Returns 1 if the file contains only one tensor, the weight [I/2 I/2], where I is the identity matrix. If an
 * allocation fails, returns 0 and sets *rc to the error code.
 */
static int is_average_matrix(const aoei_safetensors *f, size_t hidden, aoe_error *err, int *rc) {
    const aoei_st_tensor *t = aoei_safetensors_find(f, "linear.weight");
    int is_float = t && (t->dtype == AOEI_ST_F32 || t->dtype == AOEI_ST_F16 || t->dtype == AOEI_ST_BF16);
    if (!is_float || aoei_safetensors_count(f) != 1 || t->n_dims != 2 || t->shape[0] != hidden ||
        t->shape[1] != 2 * hidden)
        return 0;
    float *w = aoei_malloc_array(aoei_st_elements(t), sizeof *w);
    if (!w) {
        *rc = aoei_fail_nomem(err, aoei_st_elements(t) * sizeof *w);
        return 0;
    }
    aoei_st_to_float(w, t);
    int equal = 1;
    for (size_t r = 0; r < hidden && equal; r++)
        for (size_t c = 0; c < 2 * hidden && equal; c++)
            equal = w[r * 2 * hidden + c] == (c % hidden == r ? 0.5f : 0.0f);
    aoei_free(w);
    return equal;
}

/* Returns 1 if the activation function is the identity. */
static int is_identity(const json_t *config) {
    const char *name = json_string_value(json_object_get(config, "activation_function"));
    const char *dot = name ? strrchr(name, '.') : NULL;
    return name && !strcmp(dot ? dot + 1 : name, "Identity");
}

/* Sets *averages to 1 if the Dense module in DIR/folder computes the mean of two concatenated vectors. Such a module
 * has no bias, no activation function and no residual connection. */
static int is_averaging_dense(int *averages, aoei_model_dir dir, const char *folder, size_t hidden, aoe_error *err) {
    aoei_safetensors *f = NULL;
    json_t *config;
    const char *path;
    int bias = 1, residual = 0, rc = load_module(&config, &path, dir, folder, err);
    *averages = 0;
    if (rc || (rc = aoei_json_bool(config, "bias", &bias, path, err)) ||
        (rc = aoei_json_bool(config, "use_residual", &residual, path, err)))
        return rc;
    if (!config || bias || residual || !is_identity(config))
        return 0;
    rc = aoei_model_dir_folder(&dir, dir, folder, err);
    if (!rc)
        rc = aoei_safetensors_open_dir(&f, dir.path, err);
    if (!rc)
        *averages = is_average_matrix(f, hidden, err, &rc);
    aoei_safetensors_close(f);
    return rc;
}

/* --------------------------------------------------------------- modules */

/* The modules in modules.json. The strings are borrowed from the parsed file. */
typedef struct module_list {
    const char *first;  /* type of the first module, which the architecture of the model determines */
    const char *layers; /* folder of the WeightedLayerPooling module, which precedes the Pooling module; NULL: none */
    const char *tokens; /* folder of the CNN or LSTM module, which precedes the Pooling module; NULL: none */
    aoei_token_module token_module; /* kind of this module */
    const char *pooling;            /* folder of the Pooling module */
    json_t *after;                  /* modules after the pooling, as in aoei_settings.modules; owned; NULL: none */
    int normalize;                  /* 1: a Normalize module is the last module; it is not part of `after` */
} module_list;

/* Returns the last component of the class name of a module, such as "Pooling", if the class belongs to
 * sentence-transformers. Otherwise returns NULL, because the module contains code of its own. */
static const char *class_of(const char *type) {
    const char *dot = strrchr(type, '.');
    return dot && !strncmp(type, "sentence_transformers.", 22) ? dot + 1 : NULL;
}

/* Returns 1 if `kind` is a module that may follow the pooling. */
static int may_follow_pooling(const char *kind) {
    return !strcmp(kind, "Dense") || !strcmp(kind, "LayerNorm") || !strcmp(kind, "Dropout") ||
           !strcmp(kind, "Normalize");
}

/* Adds module i to the list. type: class name; at: folder. */
static int add_module(module_list *list, size_t i, const char *type, const char *at, const char *path, aoe_error *err) {
    const char *kind = class_of(type);
    const int is_first = i == 0 && kind && !strcmp(kind, list->first);
    const int is_layers = i == 1 && kind && !strcmp(kind, "WeightedLayerPooling");
    const aoei_token_module tokens = i == 1 && kind ? aoei_token_module_find(kind) : AOEI_TOKEN_MODULE_NONE;
    const int is_second = i == 1u + (list->layers != NULL) + (list->tokens != NULL) && kind && !strcmp(kind, "Pooling");
    if (!is_first && !is_layers && !tokens && !is_second && (!list->pooling || !kind || !may_follow_pooling(kind)))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: module %zu of type '%s' is not supported at this position (supported: %s, optionally "
            "WeightedLayerPooling, CNN or LSTM, Pooling, then any of Dense, LayerNorm, Dropout and Normalize)%s",
            path, i, type, list->first,
            kind && !strcmp(kind, "LogitScore") ? "; the model is a reranker, so score pairs with it (aoe rerank)"
                                                : "");
    if (is_first ? *at && !aoei_is_plain_folder(at) : !aoei_is_plain_folder(at))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: path '%s' of module %zu is not supported; it must be a subfolder of the model directory",
                         path, at, i);
    if (is_second)
        list->pooling = at;
    if (is_layers)
        list->layers = at;
    if (tokens) {
        list->tokens = at;
        list->token_module = tokens;
    }
    return is_first || is_layers || tokens || is_second ? 0 : aoei_module_list_append(&list->after, kind, at, err);
}

/* If the last module is Normalize, removes it from the list and sets list->normalize. */
static int remove_normalize(module_list *list, aoei_model_dir dir, aoe_error *err) {
    const size_t n = json_array_size(list->after);
    const json_t *last = n ? json_array_get(list->after, n - 1) : NULL;
    if (!last || strcmp(json_string_value(json_object_get(last, "type")), "Normalize") != 0)
        return 0;
    json_t *config;
    const char *path;
    int rc = load_module(&config, &path, dir, json_string_value(json_object_get(last, "path")), err);
    if (!rc && config)
        rc = aoei_module_check_names(config, 0, path, err);
    list->normalize = 1;
    json_array_remove(list->after, n - 1);
    return rc;
}

/* Checks that the names of the modules differ: sentence-transformers replaces a module by a later one with the same
 * name. */
static int check_names(json_t *root, const char *path, aoe_error *err) {
    for (size_t i = 1; i < json_array_size(root); i++)
        for (size_t k = 0; k < i; k++) {
            const json_t *a = json_object_get(json_array_get(root, k), "name"),
                         *b = json_object_get(json_array_get(root, i), "name");
            if (a && json_equal(a, b))
                return aoei_fail(err, AOE_EUNSUPPORTED, "%s: modules %zu and %zu have the same name; correct \"name\"",
                                 path, k, i);
        }
    return 0;
}

/* Reads the modules in `root`, the contents of modules.json in `dir`. The caller frees list->after even if the function
 * fails. */
static int read_module_list(module_list *list, json_t *root, aoei_model_dir dir, const char *path, aoe_error *err) {
    size_t i;
    json_t *v;
    int rc = 0;
    if (!json_is_array(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a list of modules; download the model again", path);
    json_array_foreach(root, i, v) {
        const char *type = json_string_value(json_object_get(v, "type")),
                   *at = json_string_value(json_object_get(v, "path"));
        if (!type || !at)
            return aoei_fail(err, AOE_EFORMAT, "%s: module %zu has no type or no path; download the model again", path,
                             i);
        if ((rc = add_module(list, i, type, !strcmp(at, ".") ? "" : at, path, err)))
            return rc;
    }
    if (!list->pooling)
        return aoei_fail(
            err, AOE_EUNSUPPORTED, "%s: there is no %s module, so aoe cannot compute embeddings with this model%s",
            path, json_array_size(root) ? "Pooling" : "Transformer",
            json_array_size(root) ? "; if it is a cross-encoder, score text pairs with it (aoe rerank)" : "");
    rc = check_names(root, path, err);
    return rc ? rc : remove_normalize(list, dir, err);
}

/* Sets *averaged to 1 if the first module after the pooling averages two concatenated vectors. */
static int is_averaged(int *averaged, const module_list *list, aoei_model_dir dir, size_t hidden, aoe_error *err) {
    const json_t *first = json_array_get(list->after, 0);
    *averaged = 0;
    if (!first || strcmp(json_string_value(json_object_get(first, "type")), "Dense") != 0)
        return 0;
    const char *folder = json_string_value(json_object_get(first, "path"));
    const int rc = has_concatenated_input(averaged, dir, folder, hidden, err);
    return rc || !*averaged ? rc : is_averaging_dense(averaged, dir, folder, hidden, err);
}

/* Sets s->layer_pooling to the folder of the module WeightedLayerPooling. sentence-transformers ignores the module
 * unless the configuration of the transformer requests all hidden states. */
static int set_layer_pooling(aoei_partial_settings *s, const module_list *list, const aoei_encoder_config *c,
                             const char *path, aoe_error *err) {
    if (!list->layers || s->layer_pooling)
        return 0;
    if (!c->modules.output_hidden_states)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: sentence-transformers ignores the module WeightedLayerPooling, because config.json of the "
            "transformer does not contain \"output_hidden_states\": true; add this key, or remove the module",
            path);
    s->layer_pooling = aoei_strdup(list->layers);
    return s->layer_pooling ? 0 : aoei_fail_nomem(err, strlen(list->layers));
}

/* Sets s->token_module and its folder, and *width to the number of components of the token vectors that are pooled. */
static int set_token_module(aoei_partial_settings *s, size_t *width, const module_list *list, aoei_model_dir dir,
                            const aoei_encoder_config *c, aoe_error *err) {
    aoei_encoder_config with_module = *c;
    int rc = list->tokens ? aoei_token_module_read(&with_module, list->token_module, dir, list->tokens, err) : 0;
    *width = aoei_token_width(&with_module);
    if (rc || !list->tokens || s->token_module_folder)
        return rc;
    s->token_module = list->token_module;
    s->token_module_folder = aoei_strdup(list->tokens);
    return s->token_module_folder ? 0 : aoei_fail_nomem(err, strlen(list->tokens));
}

/* Reads the modules after the transformer. modules.json is checked even if the options of the caller override all its
 * settings. */
static int read_modules(aoei_partial_settings *s, aoei_model_dir dir, const aoei_encoder_config *c, aoe_error *err) {
    size_t width = c->hidden;
    module_list list = {.first = c->arch->first_module ? c->arch->first_module : "Transformer"};
    json_t *root;
    const char *path;
    int averaged = 0, rc = load_optional(&root, &path, dir, "modules.json", err);
    if (rc)
        return rc;
    if (!root) /* without modules.json, the folder 1_Pooling may specify the pooling */
        return aoei_entry_exists(dir.path, "1_Pooling/config.json") ? read_pooling(s, dir, "1_Pooling", 0, width, err)
                                                                    : 0;
    if ((rc = read_module_list(&list, root, dir, path, err)) || (rc = set_layer_pooling(s, &list, c, path, err)) ||
        (rc = set_token_module(s, &width, &list, dir, c, err)) ||
        (rc = is_averaged(&averaged, &list, dir, width, err)) ||
        (rc = read_pooling(s, dir, list.pooling, averaged, width, err)))
        goto done;
    static const char *const settings[] = {"modules", "normalize", "layer_pooling", "cnn", "lstm"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if ((rc = aoei_source_add(dir.cache, settings[i], NULL, path, "type", err)))
            goto done;
    if (averaged && s->pooling < AOE_POOLING_CONCAT) /* the pooling contains the average, or an option replaces it */
        json_array_remove(list.after, 0);
    if (!s->modules && json_array_size(list.after))
        s->modules = json_incref(list.after);
    if (s->normalize == AOE_AUTO)
        s->normalize = list.normalize;
done:
    json_decref(list.after);
    return rc;
}

/* Adds module i of a static model to the list. type: class name; at: folder. */
static int add_static_module(module_list *list, size_t i, const char *type, const char *at, const char *path,
                             aoe_error *err) {
    const char *kind = class_of(type);
    if (!kind || (i ? !may_follow_pooling(kind) || !aoei_is_plain_folder(at)
                    : strcmp(kind, "StaticEmbedding") != 0 || (*at && !aoei_is_plain_folder(at))))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: module %zu of type '%s' is not supported at this position (supported: StaticEmbedding, then any of "
            "Dense, LayerNorm, Dropout and Normalize, each in a subfolder of the model directory)",
            path, i, kind ? kind : type);
    return i ? aoei_module_list_append(&list->after, kind, at, err) : 0;
}

/* Reads the maximum number of tokens from the section "truncation" of tokenizer.json in `dir`. The module
 * StaticEmbedding has no other limit. */
static int read_truncation(aoei_partial_settings *s, aoei_model_dir dir, size_t max, aoe_error *err) {
    json_t *root = NULL;
    const char *path;
    aoe_text text;
    size_t n = 0;
    int rc = aoei_model_dir_text(&text, &path, dir, "tokenizer.json", err);
    if (!rc && text.data)
        rc = aoei_json_parse(&root, text.data, text.len, path, err);
    json_t *truncation = json_object_get(root, "truncation");
    if (!rc && json_is_object(truncation))
        rc = aoei_json_size(truncation, "max_length", &n, path, err);
    if (!rc && n) {
        s->max_length = n < max ? n : max;
        s->max_length_from = "tokenizer.json";
        rc = aoei_source_add(dir.cache, "max_length", NULL, path, "truncation", err);
    }
    json_decref(root);
    return rc;
}

/* Reads the modules in `root`, the contents of modules.json of a static model; NULL: the file does not exist. The
 * module StaticEmbedding is stored in the model directory or in a subfolder, whose name is written to *folder. */
static int read_static_list(module_list *list, json_t *root, const char **folder, aoei_model_dir dir, const char *path,
                            aoe_error *err) {
    json_t *v;
    size_t i;
    int rc = 0;
    if (root && !json_is_array(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a list of modules; download the model again", path);
    json_array_foreach(root, i, v) {
        const char *type = json_string_value(json_object_get(v, "type")),
                   *at = json_string_value(json_object_get(v, "path"));
        if (rc)
            break;
        if (i == 0)
            *folder = at && strcmp(at, ".") != 0 ? at : "";
        rc = add_static_module(list, i, type ? type : "without a type", i ? at ? at : "" : *folder, path, err);
    }
    if (!rc)
        rc = check_names(root, path, err);
    return rc ? rc : remove_normalize(list, dir, err);
}

/* Reads the modules of a static model. Normalization may also be specified by the key "normalize" in config.json. */
static int read_static_modules(aoei_partial_settings *s, const aoei_encoder_config *c, aoei_model_dir dir,
                               aoe_error *err) {
    module_list list = {0};
    json_t *root, *config;
    const char *folder = "", *path, *config_path;
    aoei_model_dir tokenizer_dir;
    int rc = load_optional(&root, &path, dir, "modules.json", err);
    if (!rc)
        rc = read_static_list(&list, root, &folder, dir, path, err);
    if (!rc)
        rc = aoei_model_dir_folder(&tokenizer_dir, dir, folder, err);
    if (!rc && c->arch->library == AOEI_LIBRARY_STATIC_EMBEDDING && s->max_length == AOE_AUTO)
        rc = read_truncation(s, tokenizer_dir, c->arch->max_length(c), err);
    if (!rc && c->arch->library == AOEI_LIBRARY_MODEL2VEC && s->max_length == AOE_AUTO && c->max_tokens) {
        s->max_length = c->max_tokens;
        s->max_length_from = "config.json";
    }
    if (!rc)
        rc = aoei_model_dir_json(&config, &config_path, tokenizer_dir, "config.json", err);
    if (!rc && c->max_tokens)
        rc = add_source(dir, "max_length", config, config_path, "max_length", err);
    if (!rc && c->normalize)
        rc = add_source(dir, "normalize", config, config_path, "normalize", err);
    for (size_t i = 0; i < 2 && root && !rc; i++)
        rc = aoei_source_add(dir.cache, i ? "normalize" : "modules", NULL, path, "type", err);
    if (!rc && !s->modules && json_array_size(list.after))
        s->modules = json_incref(list.after);
    if (!rc && s->normalize == AOE_AUTO && (c->normalize || root))
        s->normalize = c->normalize || list.normalize;
    json_decref(list.after);
    return rc;
}

/* ---------------------------------------------------------------- length */

/* Sets *out to the minimum of `max` and the maximum sequence length under `key`. If the key is missing, sets *out to
 * 0. */
static int read_length(size_t *out, json_t *config, const char *key, size_t max, const char *path, aoe_error *err) {
    double n = 0;
    int rc = aoei_json_double(config, key, &n, path, err);
    if (rc)
        return rc;
    if (n < 0 || (n < 1 && json_is_number(json_object_get(config, key))))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g; it must be at least 1", path, key, n);
    *out = n < (double)max ? (size_t)n : max;
    return 0;
}

/* Reads the maximum sequence length (under the key `key`) and do_lower_case from the file DIR/name. Sets *present to 1
 * if the file exists, and to 0 otherwise. */
static int read_length_file(aoei_partial_settings *s, aoei_model_dir dir, const char *name, const char *key, size_t max,
                            int *present, aoe_error *err) {
    json_t *config, *arguments = NULL;
    const char *path;
    size_t n = 0;
    int lowercase = AOE_AUTO, rc = load_optional(&config, &path, dir, name, err);
    *present = config != NULL;
    if (!rc && config && strcmp(name, "tokenizer_config.json") != 0)
        rc = aoei_transformer_module_check(&arguments, config, path, err);
    if (!rc && config && !s->chat && strcmp(name, "tokenizer_config.json") != 0)
        rc = aoei_transformer_module_chat(&s->chat, config, path, err);
    if (!rc && arguments) /* an argument of the tokenizer has priority */
        rc = read_length(&n, arguments, "model_max_length", max, path, err);
    if (!rc && json_is_null(json_object_get(arguments, "model_max_length")))
        n = max;
    if (!rc && config && !n)
        rc = read_length(&n, config, key, max, path, err);
    if (!rc && config)
        rc = aoei_json_bool(config, "do_lower_case", &lowercase, path, err);
    if (!rc && n && s->max_length == AOE_AUTO) {
        s->max_length = n;
        s->max_length_from = name;
        rc = aoei_source_add(dir.cache, "max_length", NULL, path,
                             json_object_get(arguments, "model_max_length") ? "model_max_length" : key, err);
    }
    if (!rc && s->lowercase == AOE_AUTO && strcmp(name, "tokenizer_config.json") != 0) /* there, do_lower_case is an
                                                                                          option of the tokenizer */
        s->lowercase = lowercase;
    if (!rc && config && strcmp(name, "tokenizer_config.json") != 0 &&
        !(rc = add_source(dir, "lowercase", config, path, "do_lower_case", err)) && s->chat)
        rc = add_source(dir, "chat_template", config, path, "modality_config", err);
    return rc;
}

size_t aoei_sentence_transformers_positions(const aoei_encoder_config *c) {
    const size_t max = c->arch->max_length(c);
    return c->positions && c->positions < max ? c->positions : max;
}

/* Reads the maximum sequence length and do_lower_case from the first file in aoei_transformer_files that exists. If the
 * maximum sequence length is still not set, reads it from tokenizer_config.json; `positions` then limits it instead of
 * `max`. */
static int read_lengths(aoei_partial_settings *s, aoei_model_dir dir, size_t max, size_t positions, aoe_error *err) {
    int present = 0, rc = 0;
    for (size_t i = 0; aoei_transformer_files[i] && !present && !rc; i++)
        rc = read_length_file(s, dir, aoei_transformer_files[i], "max_seq_length", max, &present, err);
    /* since version 5.4, and in directories of transformers, tokenizer_config.json contains the maximum sequence
     * length */
    if (!rc && s->max_length == AOE_AUTO)
        rc = read_length_file(s, dir, "tokenizer_config.json", "model_max_length", positions, &present, err);
    return rc;
}

/* Reads wordembedding_config.json from the folder of the module WordEmbeddings: the maximum sequence length, and the
 * class of the tokenizer, which must be supported. */
static int read_word_embeddings(aoei_partial_settings *s, aoei_model_dir dir, size_t max, aoe_error *err) {
    json_t *config;
    const char *path, *tokenizer = NULL;
    size_t n = 0;
    int rc = load_optional(&config, &path, dir, AOEI_WORDS_CONFIG, err);
    if (!rc && config)
        rc = aoei_json_string(config, "tokenizer_class", &tokenizer, NULL, path, err);
    const char *kind = tokenizer ? class_of(tokenizer) : NULL;
    if (!rc && tokenizer &&
        (!kind || (strcmp(kind, "TransformersTokenizerWrapper") != 0 && strcmp(kind, "WhitespaceTokenizer") != 0)))
        rc = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tokenizer_class '%s' is not supported (supported: TransformersTokenizerWrapper, WhitespaceTokenizer)",
            path, tokenizer);
    if (!rc && config)
        rc = read_length(&n, config, "max_seq_length", max, path, err);
    if (!rc && n && s->max_length == AOE_AUTO) {
        s->max_length = n;
        s->max_length_from = AOEI_WORDS_CONFIG;
        rc = aoei_source_add(dir.cache, "max_length", NULL, path, "max_seq_length", err);
    }
    return rc;
}

/* Reads the lengths and the settings of the chat template from the folder of the first module, Transformer or
 * WordEmbeddings: `dir`, or a subfolder such as 0_Transformer. max, positions: see read_lengths. */
static int read_transformer_lengths(aoei_partial_settings *s, aoei_model_dir dir, size_t max, size_t positions,
                                    aoe_error *err) {
    json_t *root;
    const char *path;
    int rc = load_optional(&root, &path, dir, "modules.json", err);
    const char *at = json_string_value(json_object_get(json_array_get(root, 0), "path"));
    if (!rc && at && aoei_is_plain_folder(at))
        rc = aoei_model_dir_folder(&dir, dir, at, err);
    if (rc)
        return rc;
    return aoei_entry_exists(dir.path, AOEI_WORDS_CONFIG) ? read_word_embeddings(s, dir, max, err)
                                                          : read_lengths(s, dir, max, positions, err);
}

int aoei_sentence_transformers_text_settings(int *lowercase, json_t **chat, aoei_model_dir dir, aoe_error *err) {
    aoei_partial_settings s;
    aoei_partial_settings_init(&s);
    s.max_length = 1; /* is not read */
    const int rc = read_transformer_lengths(&s, dir, 1, 1, err);
    *lowercase = s.lowercase;
    *chat = json_incref(s.chat);
    aoei_partial_settings_free(&s);
    return rc;
}

/* --------------------------------------------------------------- prompts */

/* Returns the prompt template that consists of `prefix` and "{text}", as a new reference. Returns NULL if an allocation
 * fails. */
static json_t *template_of(const json_t *prefix) {
    size_t len = json_string_length(prefix);
    char *text = aoei_malloc(len + sizeof AOEI_PLACEHOLDER);
    if (!text)
        return NULL;
    memcpy(text, len ? json_string_value(prefix) : "", len);
    memcpy(text + len, AOEI_PLACEHOLDER, sizeof AOEI_PLACEHOLDER);
    json_t *v = json_stringn(text, len + sizeof AOEI_PLACEHOLDER - 1);
    aoei_free(text);
    return v;
}

/* Reads the keys "prompts" and "default_prompt_name". */
static int read_templates(aoei_partial_settings *s, json_t *config, const char *path, aoe_error *err) {
    json_t *prompts = json_object_get(config, "prompts"), *v, *out = json_object();
    const char *name, *selected = NULL;
    int rc =
        out ? aoei_json_string(config, "default_prompt_name", &selected, NULL, path, err) : aoei_fail_nomem(err, 0);
    json_object_foreach(prompts, name, v) {
        const char *prefix = json_is_null(v) ? "" : json_string_value(v); /* null means an empty prompt */
        if (rc)
            break;
        if (!prefix || (json_is_string(v) && strlen(prefix) != json_string_length(v)))
            rc = aoei_fail(err, AOE_EFORMAT, "%s: prompt \"%s\" is not a string; correct the value", path, name);
        else if (strstr(prefix, AOEI_PLACEHOLDER))
            rc = aoei_fail(err, AOE_EUNSUPPORTED,
                           "%s: prompt \"%s\" contains {text}, which is not supported; change the prompt", path, name);
        else if (json_object_set_new(out, name, template_of(v)))
            rc = aoei_fail_nomem(err, json_string_length(v));
    }
    if (selected && !json_object_get(out, selected) && (!strcmp(selected, "query") || !strcmp(selected, "document")))
        selected = NULL; /* these two prompts exist in every model and are empty by default */
    if (!rc && selected && !json_object_get(out, selected))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: default_prompt_name \"%s\" is not among the prompts; correct the value",
                       path, selected);
    if (!rc && !s->prompt) {
        const char *text = selected ? json_string_value(json_object_get(out, selected)) : "";
        s->prompt = aoei_strdup(strcmp(text, AOEI_PLACEHOLDER) != 0 ? text : "");
        rc = s->prompt ? 0 : aoei_fail_nomem(err, strlen(text));
    }
    if (!rc && json_object_size(out))
        s->prompts = json_incref(out);
    json_decref(out);
    return rc;
}

/* Reads config_sentence_transformers.json, if this file exists: the prompts, truncate_dim and similarity_fn_name. */
static int read_model_config(aoei_partial_settings *s, aoei_model_dir dir, aoe_error *err) {
    json_t *config;
    const char *path;
    int rc = load_optional(&config, &path, dir, "config_sentence_transformers.json", err);
    if (!rc && config)
        rc = aoei_partial_settings_read_output(s, config, "similarity_fn_name", path, err);
    if (!rc && config && !s->prompts)
        rc = read_templates(s, config, path, err);
    static const char *const keys[][2] = {{"similarity", "similarity_fn_name"},
                                          {"truncate_dim", "truncate_dim"},
                                          {"prompts", "prompts"},
                                          {"prompt", "default_prompt_name"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !rc; i++)
        rc = add_source(dir, keys[i][0], config, path, keys[i][1], err);
    return rc;
}

int aoei_sentence_transformers_read(aoei_partial_settings *s, aoei_model_dir dir, const aoei_encoder_config *c,
                                    aoe_error *err) {
    const int is_static =
        c->arch->library == AOEI_LIBRARY_MODEL2VEC || c->arch->library == AOEI_LIBRARY_STATIC_EMBEDDING;
    int rc = 0;
    if (!s->skip_modules)
        rc = is_static ? read_static_modules(s, c, dir, err) : read_modules(s, dir, c, err);
    if (!rc && !is_static)
        rc = read_transformer_lengths(s, dir, c->arch->max_length(c), aoei_sentence_transformers_positions(c), err);
    return rc ? rc : read_model_config(s, dir, err);
}
