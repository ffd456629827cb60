/* SPDX-License-Identifier: MIT
 * Implements aoe_average, which writes a model whose weights are the mean of the weights of several models ("model
 * soups", Wortsman et al., ICML 2022). Each row is read and averaged when it is written, so the models may be larger
 * than memory. The configuration, the settings and the tokenizer are copied from the first model; the settings that
 * change embeddings, except the maximum sequence length, must be equal. The training record contains the names of all
 * models.
 */
#include <string.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "create/convert.h"
#include "model/open.h"
#include "model/save.h"
#include "model/weight_rows.h"
#include "modeldir/layout.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer_parts.h"

typedef struct averaging {
    aoei_weight_reader source; /* base type; must be the first field, because mean_rows casts its address to
                                  averaging */
    aoe_model **models;        /* [n] models to average; array and elements owned */
    size_t n;
    /* Directory from which each of aoei_license_files is copied, borrowed; NULL if no model has the file. */
    const char *license_dir[AOEI_LICENSE_FILES];
    float *row;  /* [largest row length of all weights] current row of one model, owned */
    double *sum; /* [largest row length of all weights] sum of the current row over all models, owned */
} averaging;

/* The callback of aoei_weight_reader: writes the mean of rows [first, first + n) to to[n, cols]. */
static void mean_rows(aoei_weight_reader *source, float *to, size_t slot, size_t first, size_t n) {
    const averaging *a = (const averaging *)source;
    aoei_slot d;
    aoei_slot_describe(&a->models[0]->config, slot, &d);
    for (size_t i = 0; i < n; i++, to += d.cols) {
        memset(a->sum, 0, d.cols * sizeof *a->sum);
        for (size_t k = 0; k < a->n; k++) {
            aoei_model_rows(a->models[k], a->row, slot, first + i, 1);
            for (size_t c = 0; c < d.cols; c++)
                a->sum[c] += (double)a->row[c];
        }
        for (size_t c = 0; c < d.cols; c++)
            to[c] = (float)(a->sum[c] / (double)a->n);
    }
}

/* Keys of config.json that do not affect the computed embeddings. Their values may differ between the models. */
static const char *const ignored_keys[] = {
    "_name_or_path", "architectures",      "torch_dtype",         "transformers_version",
    "dtype",         "initializer_range",  "hidden_dropout_prob", "attention_probs_dropout_prob",
    "use_cache",     "classifier_dropout", "attention_dropout",   "gradient_checkpointing"};

/* Returns a copy of a model's config.json without the ignored keys, or NULL if an allocation fails. */
static json_t *copy_relevant_config(const aoe_model *m) {
    json_t *copy = aoei_json_copy(m->files.config_json);
    for (size_t i = 0; copy && i < sizeof ignored_keys / sizeof *ignored_keys; i++)
        json_object_del(copy, ignored_keys[i]);
    return copy;
}

/* Returns 1 if the weights of the models have the same shapes. */
static int same_shapes(const aoe_model *a, const aoe_model *b) {
    const size_t n = aoei_slot_count(&a->config);
    int same = n == aoei_slot_count(&b->config);
    for (size_t i = 0; i < n && same; i++) {
        aoei_slot s, t;
        aoei_slot_describe(&a->config, i, &s);
        aoei_slot_describe(&b->config, i, &t);
        same = s.absent == t.absent && (s.absent || (s.rows == t.rows && s.cols == t.cols));
    }
    return same;
}

/* Returns 1 if both tokenizers have the same chat template. A model without a tokenizer has none. */
static int same_template(const aoe_tokenizer *a, const aoe_tokenizer *b) {
    return a && b && a->chat && b->chat && aoei_chat_equal(a->chat, b->chat);
}

/* Returns the name of a setting that changes embeddings and differs between the models, or NULL if there is none. */
static const char *different_setting(const aoe_model *a, const aoe_model *b) {
    const aoei_settings *s = &a->settings, *t = &b->settings;
    const int same_prompt = strcmp(s->prompt, t->prompt) == 0 && s->exclude_prompt == t->exclude_prompt &&
                            s->subtract_empty_prompt == t->subtract_empty_prompt;
    const int same_mask =
        s->bidirectional == t->bidirectional && (!s->bidirectional || s->bidirectional_from == t->bidirectional_from);
    const int same_token_module = !a->config.modules.n_kernels == !b->config.modules.n_kernels &&
                                  !a->config.modules.lstm_dims == !b->config.modules.lstm_dims;
    const int same_modules = strcmp(a->modules_text, b->modules_text) == 0;
    const int same_chat =
        !s->chat && !t->chat ? 1 : json_equal(s->chat, t->chat) && same_template(a->tokenizer, b->tokenizer);
    return s->pooling != t->pooling             ? "poolings"
           : !same_prompt                       ? "prompts"
           : !same_token_module                 ? "modules before the pooling"
           : !same_modules                      ? "modules after the pooling"
           : !same_shapes(a, b)                 ? "module sizes"
           : s->normalize != t->normalize       ? "normalizations"
           : s->truncate_dim != t->truncate_dim ? "embedding sizes"
           : s->lowercase != t->lowercase       ? "lowercase settings"
           : !same_chat                         ? "chat templates"
           : !same_mask                         ? "attention masks"
                                                : NULL;
}

/* Returns an error if the models a and b have different configurations, settings or vocabularies. */
static int check_compatible(const aoe_model *a, const aoe_model *b, aoe_error *err) {
    json_t *config_a = copy_relevant_config(a), *config_b = copy_relevant_config(b);
    const int copied = config_a && config_b, equal = copied && json_equal(config_a, config_b);
    json_decref(config_a);
    json_decref(config_b);
    if (!copied)
        return aoei_fail_nomem(err, 1);
    if (!equal)
        return aoei_fail(
            err, AOE_EARG,
            "%s and %s have different config.json files; only models of the same architecture and size can be averaged",
            a->files.dir, b->files.dir);
    const char *setting = different_setting(a, b);
    if (setting)
        return aoei_fail(
            err, AOE_EARG,
            "%s and %s have different %s; only models that compute embeddings in the same way can be averaged",
            a->files.dir, b->files.dir, setting);
    if (!a->tokenizer != !b->tokenizer)
        return aoei_fail(err, AOE_EARG,
                         "%s and %s: only one of these models has a tokenizer; add the missing tokenizer files",
                         a->files.dir, b->files.dir);
    const size_t n = a->tokenizer ? aoe_tokenizer_vocab_size(a->tokenizer) : 0;
    int differ = a->tokenizer && n != aoe_tokenizer_vocab_size(b->tokenizer);
    for (size_t id = 0; id < n && !differ; id++) {
        const aoe_text s = aoe_tokenizer_token(a->tokenizer, (int32_t)id),
                       t = aoe_tokenizer_token(b->tokenizer, (int32_t)id);
        differ = s.len != t.len || (s.len && memcmp(s.data, t.data, s.len) != 0);
    }
    if (differ)
        return aoei_fail(err, AOE_EARG,
                         "%s and %s have different vocabularies; only models with equal vocabularies can be averaged",
                         a->files.dir, b->files.dir);
    return 0;
}

/* Returns the training record of the output. It contains the names and the training records of all models. Returns NULL
 * if an allocation fails. */
static json_t *make_record(const averaging *a, const char *const *from) {
    json_t *record = json_object(), *names = json_array(), *records = json_array();
    int bad = !record || !names || !records;
    for (size_t k = 0; k < a->n && !bad; k++) {
        json_t *trained = a->models[k]->files.record;
        char *name = aoei_hub_model_name(from[k]);
        bad = !name || json_array_append_new(names, aoei_name_json(name)) ||
              json_array_append_new(records, trained ? json_incref(trained) : json_null());
        aoei_free(name);
    }
    if (bad) {
        json_decref(names);
        json_decref(records);
    } else {
        bad = json_object_set_new(record, "mean_of", names);
        bad |= json_object_set_new(record, "trained", records);
        bad |= json_object_set_new(record, "aoe_version", json_string(AOE_VERSION));
    }
    if (!bad)
        return record;
    json_decref(record);
    return NULL;
}

/* Sets a->license_dir[i] to the first model directory that contains the file aoei_license_files[i]. Logs a warning for
 * each further model in which this file differs. */
static int choose_license(averaging *a, size_t i, const char *const *from, const char *to, aoe_error *err) {
    const char *name = aoei_license_files[i];
    char *first = NULL;
    size_t size = 0;
    int rc = 0;
    for (size_t k = 0; k < a->n && !rc; k++) {
        char *path = aoei_path_join(from[k], name), *text = NULL;
        size_t n = 0;
        rc = path ? 0 : aoei_fail_nomem(err, strlen(from[k]));
        if (!rc && aoei_exists(path) && !(rc = aoei_read_regular(&text, &n, path, 0, err))) {
            if (!first) {
                a->license_dir[i] = from[k];
                first = text;
                size = n;
                text = NULL;
            } else if (n != size || memcmp(text, first, n) != 0) {
                aoei_log_write(&a->models[0]->ctx->log, AOE_LOG_WARNING,
                               "%s: %s was copied from %s; the different %s in %s also applies to this model", to, name,
                               a->license_dir[i], i ? "notice" : "license", path);
            }
        }
        aoei_free(text);
        aoei_free(path);
    }
    aoei_free(first);
    return rc;
}

static void free_averaging(averaging *a) {
    for (size_t k = 0; a->models && k < a->n; k++)
        aoe_model_close(a->models[k]);
    aoei_free(a->models);
    aoei_free(a->row);
    aoei_free(a->sum);
}

/* Opens the models, checks that they can be averaged, and allocates the row buffers. */
static int open_models(averaging *a, aoe_context *ctx, const char *const *from, aoe_error *err) {
    const aoei_open_mode mode = {.rows_from_file = 1};
    size_t longest = 0;
    int rc = 0;
    a->models = aoei_calloc(a->n, sizeof(aoe_model *));
    if (!a->models)
        return aoei_fail_nomem(err, a->n * sizeof(aoe_model *));
    for (size_t k = 0; k < a->n && !rc; k++) {
        rc = aoei_model_open_for(&a->models[k], ctx, from[k], NULL, &mode, err);
        if (!rc && a->models[k]->config.lora.r)
            rc = aoei_fail(err, AOE_EARG,
                           "%s: an adapter directory cannot be averaged; merge the adapters first: aoe merge %s -o NEW",
                           from[k], from[k]);
        if (!rc && k)
            rc = check_compatible(a->models[0], a->models[k], err);
    }
    for (size_t i = 0; !rc && i < aoei_slot_count(&a->models[0]->config); i++) {
        aoei_slot d;
        aoei_slot_describe(&a->models[0]->config, i, &d);
        longest = d.cols > longest ? d.cols : longest;
    }
    if (rc)
        return rc;
    a->row = aoei_malloc_array(longest, sizeof *a->row);
    a->sum = aoei_malloc_array(longest, sizeof *a->sum);
    return a->row && a->sum ? 0 : aoei_fail_nomem(err, longest * sizeof *a->sum);
}

/* Writes the output model to the directory `to`. mean_rows computes the rows of its weights. */
static int write_mean(averaging *a, const char *const *from, const char *to, const aoe_convert_options *o,
                      aoe_convert_result *result, aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader unused;
    json_t *record = make_record(a, from);
    if (!record)
        return aoei_fail_nomem(err, a->n);
    aoei_model_contents_of(&contents, &unused, a->models[0], record, o->storage);
    contents.embedding_storage = o->embedding_storage;
    contents.rows = &a->source;
    memcpy(contents.license_dir, a->license_dir, sizeof contents.license_dir);
    const int rc = aoei_convert_write(a->models[0], &contents, to, result, err);
    json_decref(record);
    return rc;
}

/* Returns an error if from[k] and an earlier element of `from` are the same directory, because the weights of this
 * model would be counted twice. */
static int check_distinct(const char *const *from, size_t k, aoe_error *err) {
    for (size_t i = 0; i < k; i++)
        if (aoei_same_path(from[i], from[k]))
            return aoei_fail(err, AOE_EARG, "%s and %s are the same model; give each model once", from[i], from[k]);
    return 0;
}

int aoe_average(aoe_context *ctx, const char *const *from, size_t n, const char *to, const aoe_convert_options *o,
                aoe_convert_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_RESULT(aoe_convert_result, result, err);
    AOEI_OPTIONS(aoe_convert_options, o, err);
    aoe_convert_options options;
    aoe_convert_options_defaults(&options);
    if (o) {
        options.storage = o->storage;
        options.embedding_storage = o->embedding_storage;
        options.force = o->force;
    }
    averaging a = {.source = {.rows = mean_rows}, .n = n};
    int rc = n ? 0 : aoei_fail(err, AOE_EARG, "there is no model to average; give two or more models");
    for (size_t k = 0; k < n && !rc; k++)
        rc = aoei_convert_check(from[k], to, &options, err);
    for (size_t k = 0; k < n && !rc; k++)
        rc = check_distinct(from, k, err);
    if (!rc)
        rc = open_models(&a, ctx, from, err);
    for (size_t i = 0; i < AOEI_LICENSE_FILES && !rc; i++)
        rc = choose_license(&a, i, from, to, err);
    if (!rc)
        rc = write_mean(&a, from, to, &options, result, err);
    free_averaging(&a);
    return rc;
}
