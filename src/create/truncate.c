/* SPDX-License-Identifier: MIT
 * Selects layers of a model, and truncates its embeddings to the first components. The first layers of a model compute
 * the embeddings of the hidden state of their last layer (options.layers). Other selections of layers are start models
 * for training (options.take_layers), so they are also possible if a norm follows the last layer.
 */
#include "create/truncate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/arch_llama.h"
#include "encoder/arch_registry.h"
#include "encoder/layer_pooling.h"
#include "encoder/slots.h"
#include "model/first_layers.h"

/* Keys of config.json for the number of layers. An architecture reads one of them, and the library transformers uses
 * some of them as other names of this key. */
static const char *const layer_keys[] = {"num_hidden_layers", "num_layers", "n_layers", "n_layer"};
/* Keys of config.json that describe which layers have a sliding window. layer_types replaces them. */
static const char *const window_keys[] = {"global_attn_every_n_layers", "sliding_window_pattern",
                                          "_sliding_window_pattern", "max_window_layers"};

/* Returns the slot of the complete model that contains the weight `slot` of the truncated model. */
static size_t source_slot(const aoei_truncated_model *t, size_t slot) {
    const aoei_encoder_config *c = &t->config, *all = t->all_config;
    const size_t begin = aoei_slot_of_layer(c, 0, 0), per_layer = aoei_slot_of_layer(c, 1, 0) - begin;
    if (slot < begin)
        return slot;
    if (slot >= aoei_head_slot(c, 0))
        return slot - aoei_head_slot(c, 0) + aoei_head_slot(all, 0);
    const size_t layer = t->take[(slot - begin) / per_layer];
    return aoei_slot_of_layer(all, aoei_layer_group(all, layer), (slot - begin) % per_layer);
}

static void truncated_rows(aoei_weight_reader *r, float *to, size_t slot, size_t first, size_t n) {
    aoei_truncated_model *t = (aoei_truncated_model *)(void *)((char *)r - offsetof(aoei_truncated_model, source));
    if (slot != AOEI_W_WORD || !t->tokens) {
        t->all->rows(t->all, to, source_slot(t, slot), first, n);
        return;
    }
    const size_t cols = aoei_embed_width(&t->config);
    for (size_t i = 0, run; i < n; i += run) {
        const int32_t *token = t->tokens + first + i;
        for (run = 1; i + run < n && token[run] == token[0] + (int32_t)run;)
            run++;
        t->all->rows(t->all, to + i * cols, AOEI_W_WORD, (size_t)token[0], run);
    }
}

/* ------------------------------------------------------------------- layers */

/* Checks that the layers `take` exist, are in ascending order and occur once. */
static int check_indices(const size_t *take, size_t n, size_t layers, const char *dir, aoe_error *err) {
    if (!n)
        return aoei_fail(err, AOE_EARG, "options.take_layers is empty; give the indices of the layers to keep");
    for (size_t i = 0; i < n; i++) {
        if (take[i] >= layers)
            return aoei_fail(
                err, AOE_EARG,
                "options.take_layers: there is no layer %zu; %s has %zu layer%s, with the indices 0 to %zu", take[i],
                dir, layers, layers == 1 ? "" : "s", layers - 1);
        if (i && take[i] <= take[i - 1])
            return aoei_fail(err, AOE_EARG,
                             "options.take_layers: layer %zu %s layer %zu; list each layer once, in ascending order",
                             take[i], take[i] == take[i - 1] ? "repeats" : "follows", take[i - 1]);
    }
    return AOE_OK;
}

/* Checks that the layers of the model `c` in the directory `dir` can be selected, and that take[n] is a selection of
 * them. */
static int check_take_layers(const aoei_encoder_config *c, const size_t *take, size_t n, const char *dir,
                             aoe_error *err) {
    if (!c->arch->encoder->taps)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: options.take_layers requires a transformer, but the model_type of this model is '%s'",
                         dir, c->arch->model_type);
    const int rc = check_indices(take, n, c->layers, dir, err);
    if (rc || n == c->layers)
        return rc;
    if (c->layer_groups > 1)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.take_layers is not supported if the layers are divided into %zu groups with shared "
            "weights (num_hidden_groups); use a model with one group",
            dir, c->layer_groups);
    if (c->modules.layer_weights)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.take_layers is not supported with the module WeightedLayerPooling, which has one weight "
            "for each of the last %zu hidden states; keep all layers",
            dir, c->modules.layer_weights);
    if (c->no_first_norm && take[0] > 0)
        return aoei_fail(
            err, AOE_EARG,
            "options.take_layers: the first layer is %zu, but only layer 0 of the %s model %s has no norm before "
            "its attention, so it must be the first layer; add layer 0",
            take[0], c->arch->model_type, dir);
    return AOE_OK;
}

/* Sets t->take to the layers that the options select. */
static int choose_layers(aoei_truncated_model *t, const aoe_model *m, const aoe_convert_options *o, aoe_error *err) {
    const char *dir = m->files.dir;
    const size_t n = o->take_layers ? o->n_take_layers : o->layers ? o->layers : m->config.layers;
    int rc = AOE_OK;
    if (o->take_layers && o->layers)
        rc = aoei_fail(err, AOE_EARG,
                       "options.layers and options.take_layers both select layers; give only one of them");
    else if (o->take_layers)
        rc = check_take_layers(&m->config, o->take_layers, n, dir, err);
    else if (o->layers)
        rc = aoei_first_layers_check(&m->config, n, dir, err);
    if (rc)
        return rc;
    if (!(t->take = aoei_malloc_array(n + 1, sizeof *t->take)))
        return aoei_fail_nomem(err, n * sizeof *t->take);
    for (size_t i = 0; i < n; i++)
        t->take[i] = o->take_layers ? o->take_layers[i] : i;
    t->config.layers = n;
    return AOE_OK;
}

/* Sets the options of t->config and t->settings that depend on the index of a layer: the sliding windows, and the first
 * layer with bidirectional attention. */
static void select_layer_options(aoei_truncated_model *t) {
    const aoei_encoder_config *all = t->all_config;
    size_t windows = 0, causal = 0;
    memset(&t->config.windowed, 0, sizeof t->config.windowed);
    for (size_t i = 0; i < t->config.layers; i++) {
        causal += t->take[i] < all->bidirectional_from;
        if (aoei_layer_set_has(&all->windowed, t->take[i])) {
            aoei_layer_set_add(&t->config.windowed, i);
            windows++;
        }
    }
    if (!windows)
        t->config.window = 0;
    if (t->settings.bidirectional)
        t->config.bidirectional_from = t->settings.bidirectional_from = causal;
}

/* Sets the number of layers in t->config_json, and removes the elements of other layers from layer_types. */
static int set_layer_keys(aoei_truncated_model *t) {
    json_t *count = json_integer((json_int_t)t->config.layers), *types = json_object_get(t->config_json, "layer_types");
    int failed = !count;
    for (size_t i = 0; i < sizeof layer_keys / sizeof *layer_keys; i++)
        if (json_object_get(t->config_json, layer_keys[i]))
            failed |= json_object_set(t->config_json, layer_keys[i], count);
    if (!strcmp(t->config.arch->model_type, "distilbert")) /* the only architecture with a default for the number of
                                                              layers */
        failed |= json_object_set(t->config_json, "n_layers", count);
    if (json_array_size(types) == t->all_config->layers) {
        json_t *taken = json_array();
        for (size_t i = 0; i < t->config.layers; i++)
            failed |= json_array_append(taken, json_array_get(types, t->take[i]));
        failed |= json_object_set_new(t->config_json, "layer_types", taken);
    }
    json_decref(count);
    return failed;
}

/* Returns 1 if t->config_json describes the sliding windows of t->config. */
static int describes_windows(const aoei_truncated_model *t) {
    aoei_encoder_config c;
    return !aoei_config_read(&c, t->config_json, "config.json", NULL) && c.window == t->config.window &&
           !memcmp(&c.windowed, &t->config.windowed, sizeof c.windowed);
}

/* Writes the sliding windows of the layers to t->config_json as layer_types, unless its keys describe them already. */
static int set_windows(aoei_truncated_model *t, const char *dir, aoe_error *err) {
    if (describes_windows(t))
        return AOE_OK;
    for (size_t i = 0; i < sizeof window_keys / sizeof *window_keys; i++)
        json_object_del(t->config_json, window_keys[i]);
    if (json_object_set_new(t->config_json, "layer_types", aoei_llama_layer_types_json(&t->config)))
        return aoei_fail_nomem(err, strlen(dir));
    if (describes_windows(t))
        return AOE_OK;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: options.take_layers: config.json of a %s model cannot describe the sliding windows of the selected "
        "layers; keep all layers",
        dir, t->config.arch->model_type);
}

/* Sets the members of t->config, t->settings and t->config_json for the layers t->take. */
static int set_layers(aoei_truncated_model *t, const aoe_model *m, aoe_error *err) {
    t->config_json = aoei_json_copy(t->contents.config_json);
    if (!t->config_json)
        return aoei_fail_nomem(err, strlen(m->files.dir));
    select_layer_options(t);
    if (set_layer_keys(t))
        return aoei_fail_nomem(err, strlen(m->files.dir));
    t->contents.config_json = t->config_json;
    const int rc = m->config.window ? set_windows(t, m->files.dir, err) : AOE_OK;
    return rc ? rc : aoei_layer_pooling_select(&t->config, t->settings.pooling, err);
}

int aoei_truncated_create(aoei_truncated_model *t, const aoei_model_contents *contents, const aoe_model *m,
                          const aoe_convert_options *o, aoe_error *err) {
    *t = (aoei_truncated_model){.contents = *contents,
                                .config = *contents->config,
                                .settings = *contents->settings,
                                .source = {.rows = truncated_rows},
                                .all = contents->rows,
                                .all_config = contents->config};
    t->contents.config = &t->config;
    t->contents.settings = &t->settings;
    t->contents.rows = &t->source;
    int rc = aoei_first_dims_check(&t->settings, &m->config, o->dims, m->files.dir, err);
    if (o->dims && o->dims < aoei_vector_dims(&m->config))
        t->settings.truncate_dim = o->dims;
    if (!rc)
        rc = choose_layers(t, m, o, err);
    return !rc && t->config.layers != m->config.layers ? set_layers(t, m, err) : rc;
}

/* ------------------------------------------------------------------- tokens */

int aoei_truncated_set_tokens(aoei_truncated_model *t, const int32_t *tokens, size_t n, json_t *config,
                              const aoe_tokenizer *tokenizer, const char *dir, aoe_error *err) {
    aoei_encoder_config again;
    json_decref(t->config_json);
    t->config_json = config;
    t->contents.config_json = config;
    t->contents.tokenizer = tokenizer;
    t->tokens = tokens;
    t->config.vocab = n;
    if (json_object_set_new(config, "vocab_size", json_integer((json_int_t)n)) ||
        (json_object_get(config, "pad_vocab_size_multiple") &&
         json_object_set_new(config, "pad_vocab_size_multiple", json_integer(1))))
        return aoei_fail_nomem(err, strlen(dir));
    if (!aoei_config_read(&again, config, "config.json", NULL) && again.vocab == n &&
        again.position_offset == t->config.position_offset)
        return AOE_OK;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: the vocabulary of this model cannot be reduced: config.json of a %s model with %zu tokens would "
        "describe other positions or another number of tokens",
        dir, t->config.arch->model_type, n);
}

void aoei_truncated_destroy(aoei_truncated_model *t) {
    json_decref(t->config_json);
    aoei_free(t->take);
    memset(t, 0, sizeof *t);
}
