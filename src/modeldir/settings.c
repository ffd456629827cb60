/* SPDX-License-Identifier: MIT
 * Settings of a model directory: names of poolings, aoe.json read and written,
 * and the precedence of option, aoe.json, sentence-transformers and default.
 * Each source only fills what the ones before it left open.
 */
#include "modeldir/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "modeldir/dense_module.h"

#define PLACEHOLDER "{text}"

static const char *const pooling_names[AOE_POOLING_COUNT] = {
    [AOE_POOLING_AUTO] = "auto",
    [AOE_POOLING_CLS] = "cls",
    [AOE_POOLING_CLS_LAST_AVG] = "cls-last-avg",
    [AOE_POOLING_LAST_AVG] = "last-avg",
    [AOE_POOLING_LAST_MAX] = "last-max",
    [AOE_POOLING_FIRST_LAST_AVG] = "first-last-avg",
    [AOE_POOLING_LAST_TOKEN] = "last-token",
    [AOE_POOLING_CELL_LAST] = "cell-last",
    [AOE_POOLING_CELL_MEAN] = "cell-mean",
    [AOE_POOLING_CELL_MAX] = "cell-max",
};

const char *aoe_pooling_name(aoe_pooling p) {
    return p >= 0 && p < AOE_POOLING_COUNT ? pooling_names[p] : NULL;
}

int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *err) {
    const char *own = !strcmp(name, "mean") ? "last-avg" : !strcmp(name, "max") ? "last-max" : name;
    for (int i = AOE_POOLING_AUTO + 1; i < AOE_POOLING_COUNT; i++)
        if (!strcmp(pooling_names[i], own)) {
            *p = (aoe_pooling)i;
            return 0;
        }
    return aoei_fail(err, AOE_EARG,
                     "unknown pooling '%s'; use cls, mean (or last-avg), max (or last-max), cls-last-avg, first-last-avg, "
                     "last-token, or for a RAN cell-last, cell-mean or cell-max",
                     name);
}

void aoei_stated_init(aoei_stated *s) {
    *s = (aoei_stated){.pooling = AOE_POOLING_AUTO, .normalize = -1, .lowercase = -1};
}

void aoei_stated_free(aoei_stated *s) {
    aoei_free(s->prompt);
    aoei_free(s->dense);
    json_decref(s->prompts);
    aoei_stated_init(s);
}

void aoei_settings_free(aoei_settings *s) {
    aoei_free(s->prompt);
    aoei_free(s->dense);
    json_decref(s->prompts);
    *s = (aoei_settings){0};
}

int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err) {
    *to = *from;
    to->prompts = NULL;
    to->dense = NULL;
    to->prompt = aoei_strdup(from->prompt);
    if (to->prompt && from->dense)
        to->dense = aoei_strdup(from->dense);
    if (!to->prompt || !to->dense != !from->dense)
        return aoei_fail_nomem(err, strlen(from->prompt) + 1);
    to->prompts = json_incref(from->prompts); /* never changed once read */
    return 0;
}

int aoei_prompt_is_prefix(const char *prompt, size_t *len) {
    const char *at = strstr(prompt, PLACEHOLDER);
    *len = at ? (size_t)(at - prompt) : 0;
    return at && !at[strlen(PLACEHOLDER)];
}

static int set_prompt(aoei_stated *s, const char *prompt, aoe_error *err) {
    /* the bare placeholder is no prompt at all */
    s->prompt = aoei_strdup(strcmp(prompt, PLACEHOLDER) != 0 ? prompt : "");
    return s->prompt ? 0 : aoei_fail_nomem(err, strlen(prompt) + 1);
}

static int take_options(aoei_stated *s, const aoei_encoder_config *c, const aoe_model_options *o, aoe_error *err) {
    size_t most = c->arch->max_length(c);
    if (o->pooling < AOE_POOLING_AUTO || o->pooling >= AOE_POOLING_COUNT)
        return aoei_fail(err, AOE_EARG, "pooling %d is unknown; use a value of aoe_pooling", (int)o->pooling);
    if (o->max_length > most)
        return aoei_fail(err, AOE_EARG, "max length %zu is more than the model's %zu positions; ask for at most %zu",
                         o->max_length, most, most);
    if (o->prompt && *o->prompt && !strstr(o->prompt, PLACEHOLDER))
        return aoei_fail(err, AOE_EARG, "prompt '%s' has no {text}; put {text} where the text belongs", o->prompt);
    if (o->bidirectional && !c->causal)
        return aoei_fail(err, AOE_EARG,
                         "attention of a %s model goes in both directions anyway; leave --bidirectional-from out",
                         c->arch->model_type);
    if (o->bidirectional && o->bidirectional_from > c->layers)
        return aoei_fail(err, AOE_EARG, "bidirectional from layer %zu, but there are %zu layers; ask for at most %zu",
                         o->bidirectional_from, c->layers, c->layers);
    s->bidirectional = o->bidirectional;
    s->bidirectional_from = o->bidirectional_from;
    s->pooling = o->pooling;
    s->pooling_from = s->max_length_from = "option";
    s->max_length = o->max_length;
    s->normalize = o->normalize;
    return o->prompt ? set_prompt(s, o->prompt, err) : 0;
}

/* "prompts" of aoe.json: an object of templates, "default" the one that is used. */
static int read_prompts(aoei_stated *s, json_t *root, const char *file, aoe_error *err) {
    json_t *prompts = json_object_get(root, "prompts"), *v;
    const char *name;
    if (!prompts)
        return 0;
    if (!json_is_object(prompts))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"prompts\" is not an object of templates; correct the value", file);
    json_object_foreach(prompts, name, v) {
        const char *text = json_string_value(v);
        if (!text || strlen(text) != json_string_length(v) || (*text && !strstr(text, PLACEHOLDER)))
            return aoei_fail(err, AOE_EFORMAT, "%s: prompt \"%s\" is not a template with {text}; correct the value", file,
                             name);
    }
    s->prompts = json_incref(prompts);
    if (s->prompt)
        return 0;
    const char *used = json_string_value(json_object_get(prompts, "default"));
    return set_prompt(s, used ? used : "", err);
}

static int read_own_pooling(aoei_stated *s, json_t *root, const char *file, aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(root, "pooling", &name, NULL, file, err);
    if (rc || !name || s->pooling != AOE_POOLING_AUTO)
        return rc;
    if (aoe_pooling_parse(&s->pooling, name, err)) {
        aoei_error_prefix(err, "%s", file);
        if (err)
            err->code = AOE_EFORMAT;
        return AOE_EFORMAT;
    }
    s->pooling_from = "aoe.json";
    return 0;
}

static int read_own_max_length(aoei_stated *s, json_t *root, const aoei_encoder_config *c, const char *file, aoe_error *err) {
    size_t n = SIZE_MAX, most = c->arch->max_length(c);
    int rc = aoei_json_size(root, "max_length", &n, file, err);
    if (rc || s->max_length || n == SIZE_MAX)
        return rc;
    if (n < 1 || n > most)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"max_length\" is %zu, the model has %zu positions; correct the value", file, n,
                         most);
    s->max_length = n;
    s->max_length_from = "aoe.json";
    return 0;
}

static int read_own_direction(aoei_stated *s, json_t *root, const aoei_encoder_config *c, const char *file, aoe_error *err) {
    size_t from = SIZE_MAX;
    const int rc = aoei_json_size(root, "bidirectional_from", &from, file, err);
    if (rc || from == SIZE_MAX)
        return rc;
    if (!c->causal || from > c->layers)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"bidirectional_from\" is %zu, which the model's %zu %s layers do not go with; correct the value",
                         file, from, c->layers, c->arch->model_type);
    if (!s->bidirectional) {
        s->bidirectional = 1;
        s->bidirectional_from = from;
    }
    return 0;
}

/* The folder of the dense layer. */
static int read_own_dense(aoei_stated *s, json_t *root, const char *file, aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(root, "dense", &name, NULL, file, err);
    if (rc || !name)
        return rc;
    if (!aoei_module_folder(name))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"dense\" is '%s', which is no folder of the model directory; correct the value", file, name);
    s->dense = aoei_strdup(name);
    return s->dense ? 0 : aoei_fail_nomem(err, strlen(name));
}

static int read_own_fields(aoei_stated *s, json_t **record, json_t *root, const aoei_encoder_config *c, const char *file,
                           aoe_error *err) {
    size_t version = 0;
    int rc, normalize = -1, lowercase = -1;
    json_t *training = json_object_get(root, "training");
    if (!json_is_object(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; remove the file or write it again", file);
    if ((rc = aoei_json_need_size(root, "format_version", &version, file, err)))
        return rc;
    if (version > AOEI_SETTINGS_FORMAT)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: format_version %zu is newer than %d, the newest this version reads; update aoe", file, version,
                         AOEI_SETTINGS_FORMAT);
    if ((rc = read_own_pooling(s, root, file, err)) || (rc = read_own_max_length(s, root, c, file, err)) ||
        (rc = read_own_direction(s, root, c, file, err)) || (rc = read_prompts(s, root, file, err)) ||
        (rc = read_own_dense(s, root, file, err)) || (rc = aoei_json_bool(root, "normalize", &normalize, file, err)) ||
        (rc = aoei_json_bool(root, "lowercase", &lowercase, file, err)))
        return rc;
    if (training && !json_is_object(training))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"training\" is not an object; remove it", file);
    s->settled = json_is_string(json_object_get(root, "pooling")) && normalize >= 0;
    if (s->normalize < 0)
        s->normalize = normalize;
    s->lowercase = lowercase;
    *record = json_incref(training);
    return 0;
}

/* aoe.json, when the directory has one. */
static int read_own(aoei_stated *s, json_t **record, const char *dir, const aoei_encoder_config *c, aoe_error *err) {
    char *path = aoei_path_join(dir, "aoe.json");
    json_t *root = NULL;
    int rc = path ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc && aoei_exists(path) && !(rc = aoei_json_load(&root, path, err)))
        rc = read_own_fields(s, record, root, c, path, err);
    json_decref(root);
    aoei_free(path);
    return rc;
}

static int check_pooling(const aoei_stated *s, const aoei_encoder_config *c, aoe_error *err) {
    if (s->pooling == AOE_POOLING_AUTO || (c->arch->poolings & AOEI_POOLING_BIT(s->pooling)))
        return 0;
    char names[256] = "";
    for (aoe_pooling p = AOE_POOLING_CLS; p < AOE_POOLING_COUNT; p++)
        if (c->arch->poolings & AOEI_POOLING_BIT(p))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", aoe_pooling_name(p));
    return aoei_fail(err, strcmp(s->pooling_from, "option") ? AOE_EFORMAT : AOE_EARG,
                     "pooling '%s' (%s) is not supported by architecture '%s' (supported: %s)", aoe_pooling_name(s->pooling),
                     s->pooling_from, c->arch->model_type, names);
}

int aoei_settings_read(aoei_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err) {
    aoei_stated st;
    int rc;
    *s = (aoei_settings){0};
    *record = NULL;
    aoei_stated_init(&st);
    if ((rc = take_options(&st, c, o, err)) || (rc = read_own(&st, record, dir, c, err)) ||
        (rc = aoei_sentence_transformers_read(&st, dir, c, err)) || (rc = check_pooling(&st, c, err)))
        goto fail;
    if (!st.prompt && (rc = set_prompt(&st, "", err)))
        goto fail;
    *s = (aoei_settings){
        .pooling = st.pooling != AOE_POOLING_AUTO   ? st.pooling
                   : c->pooling != AOE_POOLING_AUTO ? c->pooling
                                                    : c->arch->default_pooling,
        .pooling_from = st.pooling != AOE_POOLING_AUTO   ? st.pooling_from
                        : c->pooling != AOE_POOLING_AUTO ? "config.json"
                                                         : "default",
        .max_length = st.max_length             ? st.max_length
                      : c->arch->default_length ? c->arch->default_length
                                                : c->arch->max_length(c),
        .max_length_from = st.max_length ? st.max_length_from : "default",
        .prompt = st.prompt,
        .prompts = st.prompts,
        .dense = st.dense,
        .normalize = st.normalize > 0,
        .lowercase = st.lowercase > 0,
        .bidirectional = st.bidirectional,
        .bidirectional_from = st.bidirectional_from,
    };
    return 0;
fail:
    aoei_stated_free(&st);
    json_decref(*record);
    *record = NULL;
    return rc;
}

json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record) {
    json_t *prompts = s->prompts ? json_copy(s->prompts) : json_object();
    if (*s->prompt && json_object_set_new(prompts, "default", json_string(s->prompt))) {
        json_decref(prompts);
        return NULL;
    }
    if (!*s->prompt)
        json_object_del(prompts, "default"); /* fails when there is none, which is as wanted */
    json_t *root =
        json_pack("{s:i, s:s, s:o, s:I, s:b}", "format_version", s->dense ? 2 : 1, "pooling", aoe_pooling_name(s->pooling),
                  "prompts", prompts, "max_length", (json_int_t)s->max_length, "normalize", s->normalize);
    if (root && ((s->dense && json_object_set_new(root, "dense", json_string(aoei_dense_folder(s)))) ||
                 (s->lowercase && json_object_set_new(root, "lowercase", json_true())) ||
                 (s->bidirectional &&
                  json_object_set_new(root, "bidirectional_from", json_integer((json_int_t)s->bidirectional_from))) ||
                 (record && json_object_set(root, "training", record)))) {
        json_decref(root);
        return NULL;
    }
    return root;
}

const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size) {
    size_t len, at = 0;
    const char *reasons[3];
    int n = 0;
    if (s->pooling >= AOE_POOLING_CELL_LAST)
        reasons[n++] = "they have no recurrent encoder and no pooling of cells";
    if (s->pooling == AOE_POOLING_FIRST_LAST_AVG)
        reasons[n++] = "they have no first-last-avg pooling";
    if (*s->prompt && !aoei_prompt_is_prefix(s->prompt, &len))
        reasons[n++] = "their prompts cannot have text after {text}";
    if (s->bidirectional)
        reasons[n++] = "their attention of such a model is causal in all layers";
    for (int i = 0; i < n && at < size; i++)
        at +=
            (size_t)snprintf(buf + at, size - at, "%s%s",
                             i ? ", and "
                               : "other programs (sentence-transformers, text-embeddings-inference, angle_emb) do not make the "
                                 "same vectors: ",
                             reasons[i]);
    return n ? buf : NULL;
}
