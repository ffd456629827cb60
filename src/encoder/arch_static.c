/* SPDX-License-Identifier: MIT
 * Static models (Model2Vec, the potion models): a vector a token and nothing else,
 * the tensor `embeddings` [V, D]; a text's vector is the mean of its tokens'. For
 * the encoder that is a configuration of no layer, no positions, no token types and
 * no norm. Their config.json says nothing of sizes, or is not there at all: sizes
 * are those of the tensor, and config.json is completed by them in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/config.h"

#define MOST_TOKENS    ((size_t)1 << 20) /* of a text: there is no table of positions that ends */
#define DEFAULT_TOKENS ((size_t)512)     /* as Model2Vec has it */

static const char *const prefixes[] = {"", NULL};
static const char tensor_name[] = "embeddings";
static const char scale_name[] = "embeddings_scale"; /* of rows that are stored as integers */

static int read_static(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    c->no_embed_norm = 1;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)))
        return rc;
    return aoei_json_bool(config, "normalize", &c->normalize, file, err);
}

static int write_static(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack("{s:s, s:I, s:I, s:b}", "model_type", "model2vec", "hidden_size", (json_int_t)c->hidden,
                             "vocab_size", (json_int_t)c->vocab, "normalize", c->normalize);
    int rc = keys ? json_object_update(config, keys) : -1;
    json_decref(keys);
    return rc ? AOE_ENOMEM : 0;
}

static void name_static(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    (void)layer;
    snprintf(out, size, "%s", kind == AOEI_W_WORD && group == AOEI_GROUP_OUTER ? tensor_name : ""); /* the others are absent */
}

static size_t max_length_static(const aoei_encoder_config *c) {
    (void)c;
    return MOST_TOKENS;
}

const aoei_arch aoei_arch_static = {
    .model_type = "static",
    .other_type = "model2vec",
    .class_name = "StaticModel",
    .prefixes = prefixes,
    .read = read_static,
    .write = write_static,
    .name = name_static,
    .max_length = max_length_static,
    .default_length = DEFAULT_TOKENS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .is_static = 1,
};

int aoei_static_may_be(const json_t *config) {
    const json_t *type = json_object_get(config, "model_type");
    if (!config || (json_is_object(config) && (!type || json_is_null(type))))
        return 1;
    return json_is_string(type) && aoei_arch_find(json_string_value(type)) == &aoei_arch_static;
}

/* The first tensor that such a model does not have, or NULL. */
static const aoei_st_tensor *stranger(const aoei_safetensors *f) {
    for (size_t i = 0; i < aoei_safetensors_count(f); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f, i);
        if (strcmp(t->name, tensor_name) != 0 && strcmp(t->name, scale_name) != 0)
            return t;
    }
    return NULL;
}

static int lacks(const json_t *config, const char *key) {
    const json_t *v = json_object_get(config, key);
    return !v || json_is_null(v);
}

static int set_missing_size(json_t *config, const char *key, size_t value) {
    return lacks(config, key) && json_object_set_new(config, key, json_integer((json_int_t)value));
}

int aoei_static_complete(json_t **config, const aoei_safetensors *file, const char *dir, aoe_error *err) {
    const aoei_st_tensor *t = aoei_safetensors_find(file, tensor_name), *other = stranger(file);
    const int says_so = json_is_string(json_object_get(*config, "model_type")), matrix = t && t->n_dims == 2;
    if (!says_so && (!matrix || other))
        return 0; /* of another kind, and what it lacks is for others to say */
    if (!matrix)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the weights have no tensor '%s' [tokens, components], which a static model consists of: fetch "
                         "the model again",
                         dir, tensor_name);
    if (other)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: tensor '%s' beside '%s' is not supported: only static models whose vectors are the rows as they "
                         "are; export the model without vocabulary quantization",
                         aoei_safetensors_path(file, other), other->name, tensor_name);
    aoei_json_init();
    if (!*config)
        *config = json_object();
    if (!*config || (!says_so && json_object_set_new(*config, "model_type", json_string(aoei_arch_static.other_type))) ||
        set_missing_size(*config, "hidden_size", t->shape[1]) || set_missing_size(*config, "vocab_size", t->shape[0]))
        return aoei_fail_nomem(err, strlen(dir));
    return 0;
}
