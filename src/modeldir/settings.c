/* SPDX-License-Identifier: MIT
 * Converts the names of poolings, and initializes, copies and frees settings.
 */
#include "modeldir/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/token_pooling.h"

static const char *const pooling_names[AOE_POOLING_COUNT] = {
    [AOE_POOLING_AUTO] = "auto",
    [AOE_POOLING_CLS] = "cls",
    [AOE_POOLING_CLS_LAST_AVG] = "cls-last-avg",
    [AOE_POOLING_LAST_AVG] = "mean",
    [AOE_POOLING_LAST_MAX] = "max",
    [AOE_POOLING_FIRST_LAST_AVG] = "first-last-avg",
    [AOE_POOLING_LAST_TOKEN] = "last-token",
    [AOE_POOLING_MEAN_SQRT_LEN] = "mean-sqrt-len",
    [AOE_POOLING_WEIGHTED_MEAN] = "weighted-mean",
    [AOE_POOLING_CELL_LAST] = "cell-last",
    [AOE_POOLING_CELL_MEAN] = "cell-mean",
    [AOE_POOLING_CELL_MAX] = "cell-max",
    [AOE_POOLING_LAST_TWO_AVG] = "last-two-avg",
    [AOE_POOLING_LAYER1_LAST_AVG] = "layer1-last-avg",
    [AOE_POOLING_MASK] = "mask",
};

/* Names of the concatenations, indexed by the sum of their bits, with a leading "+". Each macro adds the name of one
 * pooling to the second half of its elements. */
#define CLS(s)      s, "+cls" s
#define MAX(s)      CLS(s), CLS("+max" s)
#define MEAN(s)     MAX(s), MAX("+mean" s)
#define SQRT_LEN(s) MEAN(s), MEAN("+mean-sqrt-len" s)
#define WEIGHTED(s) SQRT_LEN(s), SQRT_LEN("+weighted-mean" s)
static const char *const concat_names[AOE_POOLING_CONCAT] = {WEIGHTED(""), WEIGHTED("+last-token")};

/* names of the poolings that can be concatenated, in the order of their bits */
static const char *const part_names[] = {"cls", "max", "mean", "mean-sqrt-len", "weighted-mean", "last-token"};
enum { N_PARTS = sizeof part_names / sizeof *part_names };

const char *aoe_pooling_name(aoe_pooling p) {
    if (p >= AOE_POOLING_CONCAT && p < 2 * AOE_POOLING_CONCAT && aoei_pooling_parts(p) > 1)
        return concat_names[p - AOE_POOLING_CONCAT] + 1;
    return p >= 0 && p < AOE_POOLING_COUNT ? pooling_names[p] : NULL;
}

/* Parses a concatenation such as "cls+mean". Returns AOE_POOLING_AUTO if the name is invalid. */
static aoe_pooling parse_concatenation(const char *name) {
    int bits = 0;
    for (const char *at = name; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL) {
        const size_t len = strcspn(at, "+");
        const char *part = len == 8 && !strncmp(at, "last-avg", len)   ? "mean"
                           : len == 8 && !strncmp(at, "last-max", len) ? "max"
                                                                       : at;
        const size_t part_len = part == at ? len : strlen(part);
        int i = 0;
        while (i < N_PARTS && (strlen(part_names[i]) != part_len || strncmp(part_names[i], part, part_len) != 0))
            i++;
        if (i == N_PARTS || (bits >> i & 1))
            return AOE_POOLING_AUTO;
        bits |= 1 << i;
    }
    return (aoe_pooling)(AOE_POOLING_CONCAT + bits);
}

int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *err) {
    AOEI_CHECK(err, p, name);
    /* the names of the AnglE paper */
    const char *canonical = !strcmp(name, "last-avg") ? "mean" : !strcmp(name, "last-max") ? "max" : name;
    const aoe_pooling concatenation = strchr(name, '+') ? parse_concatenation(name) : AOE_POOLING_AUTO;
    for (int i = AOE_POOLING_AUTO + 1; i < AOE_POOLING_COUNT; i++)
        if (!strcmp(pooling_names[i], canonical)) {
            *p = (aoe_pooling)i;
            return 0;
        }
    if (concatenation != AOE_POOLING_AUTO) {
        *p = concatenation;
        return 0;
    }
    return aoei_fail(
        err, AOE_EARG,
        "unknown pooling '%s'; use cls, mean, max, mean-sqrt-len, weighted-mean, "
        "last-token, a concatenation of these such as cls+mean, cls-last-avg, first-last-avg, last-two-avg, "
        "layer1-last-avg, mask, or for a RAN cell-last, cell-mean or cell-max",
        name);
}

void aoei_partial_settings_init(aoei_partial_settings *s) {
    *s = (aoei_partial_settings){.pooling = AOE_POOLING_AUTO,
                                 .max_length = AOE_AUTO,
                                 .normalize = AOE_AUTO,
                                 .lowercase = AOE_AUTO,
                                 .bidirectional_from = AOE_AUTO,
                                 .include_prompt = AOE_AUTO,
                                 .truncate_dim = AOE_AUTO,
                                 .similarity = AOE_AUTO};
}

void aoei_partial_settings_free(aoei_partial_settings *s) {
    aoei_free(s->prompt);
    aoei_free(s->layer_pooling);
    aoei_free(s->token_module_folder);
    json_decref(s->modules);
    json_decref(s->prompts);
    json_decref(s->chat);
    aoei_partial_settings_init(s);
}

int aoei_partial_settings_set_prompt(aoei_partial_settings *s, const char *prompt, aoe_error *err) {
    s->prompt = aoei_strdup(strcmp(prompt, AOEI_PLACEHOLDER) != 0 ? prompt : "");
    return s->prompt ? 0 : aoei_fail_nomem(err, strlen(prompt) + 1);
}

void aoei_settings_free(aoei_settings *s) {
    aoei_free(s->prompt);
    aoei_free(s->layer_pooling);
    aoei_free(s->token_module_folder);
    json_decref(s->modules);
    json_decref(s->prompts);
    json_decref(s->chat);
    *s = (aoei_settings){0};
}

/* Returns a new array with the elements of `list`, which are shared. If list is NULL, returns NULL. If memory
 * allocation fails, returns NULL. */
static json_t *copy_list(const json_t *list) {
    json_t *copy = list ? json_array() : NULL;
    for (size_t i = 0; copy && i < json_array_size(list); i++)
        if (json_array_append(copy, json_array_get(list, i))) {
            json_decref(copy);
            copy = NULL;
        }
    return copy;
}

int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err) {
    *to = *from;
    to->prompts = to->modules = to->chat = NULL;
    to->prompt = aoei_strdup(from->prompt);
    to->layer_pooling = from->layer_pooling ? aoei_strdup(from->layer_pooling) : NULL;
    to->token_module_folder = from->token_module_folder ? aoei_strdup(from->token_module_folder) : NULL;
    if (!to->prompt || !to->layer_pooling != !from->layer_pooling ||
        !to->token_module_folder != !from->token_module_folder)
        return aoei_fail_nomem(err, strlen(from->prompt) + 1);
    to->prompts = json_incref(from->prompts); /* the objects can be shared, because they are never modified after
                                                 reading */
    to->chat = json_incref(from->chat);
    to->modules = copy_list(from->modules); /* aoei_model_add_dense appends to the list */
    return !to->modules == !from->modules ? 0 : aoei_fail_nomem(err, 1);
}

const char *aoei_prompt_find(const json_t *prompts, const char *name) {
    static const char *const names[] = {"document", "passage", "corpus"};
    const char *found = json_string_value(json_object_get(prompts, name));
    for (size_t i = 0; !found && !strcmp(name, names[0]) && i < sizeof names / sizeof *names; i++)
        found = json_string_value(json_object_get(prompts, names[i]));
    return found;
}

int aoei_prompt_is_prefix(const char *prompt, size_t *len) {
    const char *at = strstr(prompt, AOEI_PLACEHOLDER);
    *len = at ? (size_t)(at - prompt) : 0;
    return at && !at[strlen(AOEI_PLACEHOLDER)];
}

int aoei_pooling_is_portable(aoe_pooling pooling) {
    return pooling != AOE_POOLING_FIRST_LAST_AVG && pooling != AOE_POOLING_MASK;
}

int aoei_settings_has_flow(const aoei_settings *s) {
    const json_t *v;
    size_t i;
    json_array_foreach(s->modules, i, v) {
        const char *type = json_string_value(json_object_get(v, "type"));
        if (type && !strcmp(type, AOEI_FLOW_TYPE))
            return 1;
    }
    return 0;
}

const char *aoei_settings_unsupported(const aoei_settings *s) {
    return !aoei_pooling_is_portable(s->pooling) ? "AoePooling"
           : aoei_settings_has_flow(s)           ? "AoeFlow"
           : s->subtract_empty_prompt            ? "AoeEmptyPrompt"
                                                 : NULL;
}

int aoei_pooling_averages_layers(aoe_pooling pooling) {
    return pooling == AOE_POOLING_LAST_TWO_AVG || pooling == AOE_POOLING_LAYER1_LAST_AVG;
}

const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size) {
    size_t len, at = 0;
    const char *reasons[6];
    char unsupported[64];
    int n = 0;
    if (!aoei_pooling_over_tokens(s->pooling))
        reasons[n++] = "they do not support recurrent encoders and pooling of cell states";
    if (!aoei_pooling_is_portable(s->pooling)) {
        snprintf(unsupported, sizeof unsupported, "they do not support %s pooling", aoe_pooling_name(s->pooling));
        reasons[n++] = unsupported;
    }
    if (aoei_settings_has_flow(s))
        reasons[n++] = "they have no module for the flow after the pooling";
    if (s->subtract_empty_prompt)
        reasons[n++] = "they do not subtract the embedding of the empty prompt";
    if (*s->prompt && !aoei_prompt_is_prefix(s->prompt, &len))
        reasons[n++] = "they do not support prompts with text after {text}";
    if (s->bidirectional)
        reasons[n++] = "they use causal attention in all layers";
    const char *programs = aoei_settings_unsupported(s)
                               ? "sentence-transformers cannot open the model, and other programs "
                                 "(text-embeddings-inference, angle_emb) compute different embeddings: "
                               : "other programs (sentence-transformers, text-embeddings-inference, "
                                 "angle_emb) compute different embeddings: ";
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", and " : programs, reasons[i]);
    return n ? buf : NULL;
}

size_t aoei_settings_dims(const aoei_settings *s, size_t n) {
    return s->truncate_dim && s->truncate_dim < n ? s->truncate_dim : n;
}

static const char *const similarities[AOE_SIMILARITY_COUNT] = {[AOE_SIMILARITY_COSINE] = "cosine",
                                                               [AOE_SIMILARITY_DOT] = "dot",
                                                               [AOE_SIMILARITY_EUCLIDEAN] = "euclidean",
                                                               [AOE_SIMILARITY_MANHATTAN] = "manhattan"};

const char *aoei_similarity_name(aoe_similarity_function similarity) {
    return similarities[similarity];
}

int aoei_partial_settings_read_output(aoei_partial_settings *s, const json_t *config, const char *key, const char *file,
                                      aoe_error *err) {
    const char *name = NULL;
    size_t dims = AOE_AUTO;
    int rc, similarity = 0;
    if ((rc = aoei_json_size(config, "truncate_dim", &dims, file, err)) ||
        (rc = aoei_json_string(config, key, &name, NULL, file, err)))
        return rc;
    if (!dims)
        return aoei_fail(err, AOE_EFORMAT, "%s: truncate_dim is 0, but must be at least 1; correct or remove the value",
                         file);
    while (name && similarity < AOE_SIMILARITY_COUNT && strcmp(similarities[similarity], name) != 0)
        similarity++;
    if (similarity == AOE_SIMILARITY_COUNT)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: %s '%s' is not supported (supported: cosine, dot, euclidean, manhattan); correct or remove the value",
            file, key, name);
    if (s->truncate_dim == AOE_AUTO)
        s->truncate_dim = dims;
    if (s->similarity == AOE_AUTO && name)
        s->similarity = similarity;
    return 0;
}

size_t aoei_settings_module_count(const aoei_settings *s) {
    return json_array_size(s->modules);
}

const char *aoei_settings_module_folder(const aoei_settings *s, size_t i, char name[AOEI_MODULE_FOLDER_SIZE]) {
    const char *type = json_string_value(json_object_get(json_array_get(s->modules, i), "type"));
    /* With cls-last-avg pooling, 2_Dense is the module that computes the mean of the [CLS] vector and the mean
     * vector. */
    const size_t first = s->pooling == AOE_POOLING_CLS_LAST_AVG ? 3 : 2;
    snprintf(name, AOEI_MODULE_FOLDER_SIZE, "%zu_%s", first + i, type ? type : "Dense");
    return name;
}

int aoei_module_list_append(json_t **modules, const char *type, const char *path, aoe_error *err) {
    json_t *v = json_pack("{s:s, s:s}", "type", type, "path", path);
    *modules = *modules ? *modules : json_array();
    if (!*modules)
        json_decref(v);
    return v && *modules && !json_array_append_new(*modules, v) ? 0 : aoei_fail_nomem(err, strlen(path));
}
