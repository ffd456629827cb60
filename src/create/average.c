/* SPDX-License-Identifier: MIT
 * The mean of the weights of several models: "model soups" (Wortsman et al., ICML 2022). Rows are averaged while they are
 * written, so memory does not grow with the models. Everything else is copied from the first model, except the training record,
 * which names all models.
 */
#include <string.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "create/convert.h"
#include "model/open.h"
#include "model/save.h"
#include "model/weight_rows.h"

typedef struct averaging {
    aoei_weight_reader source; /* first */
    aoe_model **models;        /* owned array [n], each owned; the first gives everything except the weights */
    size_t n;
    const char *license_dir; /* borrowed; directory of the LICENSE that is copied; NULL: no model has one */
    float *row;              /* owned [longest row]; a row of one model */
    double *sum;             /* owned [longest row] */
} averaging;

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

/* Keys of config.json that do not affect the meaning of the weights. */
static const char *const without_meaning[] = {
    "_name_or_path", "architectures",      "torch_dtype",         "transformers_version",
    "dtype",         "initializer_range",  "hidden_dropout_prob", "attention_probs_dropout_prob",
    "use_cache",     "classifier_dropout", "attention_dropout",   "gradient_checkpointing"};

/* A copy of a model's config.json without them; NULL: no memory. */
static json_t *meaning(const aoe_model *m) {
    json_t *copy = json_object(); /* not json_copy: it leaves out what it has no memory for */
    if (json_object_update(copy, m->files.config_json)) {
        json_decref(copy);
        return NULL;
    }
    for (size_t i = 0; i < sizeof without_meaning / sizeof *without_meaning; i++)
        json_object_del(copy, without_meaning[i]);
    return copy;
}

/* Models a and b have one configuration and one vocabulary. */
static int check_alike(const aoe_model *a, const aoe_model *b, aoe_error *err) {
    json_t *x = meaning(a), *y = meaning(b);
    const int memory = x && y, same = memory && json_equal(x, y);
    json_decref(x);
    json_decref(y);
    if (!memory)
        return aoei_fail_nomem(err, 1);
    if (!same)
        return aoei_fail(err, AOE_EARG,
                         "%s and %s: their config.json differ; only models of one architecture and size have a mean",
                         a->files.dir, b->files.dir);
    if (!a->tokenizer != !b->tokenizer)
        return aoei_fail(err, AOE_EARG, "%s and %s: only one of them has a tokenizer; add the missing files", a->files.dir,
                         b->files.dir);
    const size_t n = a->tokenizer ? aoe_tokenizer_vocab_size(a->tokenizer) : 0;
    int differ = a->tokenizer && n != aoe_tokenizer_vocab_size(b->tokenizer);
    for (size_t id = 0; id < n && !differ; id++) {
        const aoe_text s = aoe_tokenizer_token(a->tokenizer, (int32_t)id), t = aoe_tokenizer_token(b->tokenizer, (int32_t)id);
        differ = s.len != t.len || (s.len && memcmp(s.data, t.data, s.len) != 0);
    }
    if (differ)
        return aoei_fail(err, AOE_EARG, "%s and %s: their vocabularies differ; only models with one vocabulary have a mean",
                         a->files.dir, b->files.dir);
    return 0;
}

/* The training record of the mean: the names of the models and their training records. NULL: out of memory. */
static json_t *record_of(const averaging *a, const char *const *from) {
    json_t *record = json_object(), *names = json_array(), *records = json_array();
    int bad = !record || !names || !records;
    for (size_t k = 0; k < a->n && !bad; k++) {
        json_t *trained = a->models[k]->files.record;
        bad = json_array_append_new(names, aoei_name_json(from[k])) ||
              json_array_append_new(records, trained ? json_incref(trained) : json_null());
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

/* Chooses the licence of the first model that has one, and warns about models with another licence. */
static int choose_license(averaging *a, const char *const *from, const char *to, aoe_error *err) {
    char *first = NULL;
    size_t size = 0;
    int rc = 0;
    for (size_t k = 0; k < a->n && !rc; k++) {
        char *path = aoei_path_join(from[k], "LICENSE"), *text = NULL;
        size_t n = 0;
        rc = path ? 0 : aoei_fail_nomem(err, strlen(from[k]));
        if (!rc && aoei_exists(path) && !(rc = aoei_read_file(&text, &n, path, 0, err))) {
            if (!first) {
                a->license_dir = from[k];
                first = text;
                size = n;
                text = NULL;
            } else if (n != size || memcmp(text, first, n) != 0) {
                aoei_log_write(&a->models[0]->ctx->log, AOE_LOG_WARNING,
                               "%s: the LICENSE there is that of %s; %s is another one, whose terms hold too", to,
                               a->license_dir, path);
            }
        }
        aoei_free(text);
        aoei_free(path);
    }
    aoei_free(first);
    return rc;
}

static void close_all(averaging *a) {
    for (size_t k = 0; a->models && k < a->n; k++)
        aoe_model_close(a->models[k]);
    aoei_free(a->models);
    aoei_free(a->row);
    aoei_free(a->sum);
}

static int open_all(averaging *a, aoe_context *ctx, const char *const *from, aoe_error *err) {
    const aoei_open_mode mode = {.rows_from_file = 1};
    size_t longest = 0;
    int rc = 0;
    a->models = aoei_calloc(a->n, sizeof(aoe_model *));
    if (!a->models)
        return aoei_fail_nomem(err, a->n * sizeof(aoe_model *));
    for (size_t k = 0; k < a->n && !rc; k++) {
        rc = aoei_model_open_for(&a->models[k], ctx, from[k], NULL, &mode, err);
        if (!rc && a->models[k]->config.lora.r)
            rc = aoei_fail(err, AOE_EARG, "%s: adapters have no mean; merge them first: aoe merge %s -o NEW", from[k], from[k]);
        if (!rc && k)
            rc = check_alike(a->models[0], a->models[k], err);
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

static int write_mean(averaging *a, const char *const *from, const char *to, aoe_storage storage, aoe_convert_result *result,
                      aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader unused;
    json_t *record = record_of(a, from);
    if (!record)
        return aoei_fail_nomem(err, a->n);
    aoei_model_contents_of(&contents, &unused, a->models[0], record, storage);
    contents.rows = &a->source;
    contents.license_dir = a->license_dir;
    const int rc = aoei_convert_write(a->models[0], &contents, to, result, err);
    json_decref(record);
    return rc;
}

/* Fails if from[k] is the directory of an earlier model: the mean would count its weights twice. */
static int check_named_once(const char *const *from, size_t k, aoe_error *err) {
    for (size_t i = 0; i < k; i++)
        if (aoei_same_path(from[i], from[k]))
            return aoei_fail(err, AOE_EARG, "%s and %s are the same model; name each model once", from[i], from[k]);
    return 0;
}

int aoe_average(aoe_context *ctx, const char *const *from, size_t n, const char *to, const aoe_convert_options *o,
                aoe_convert_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_OPTIONS(aoe_convert_options, o, err);
    aoe_convert_options options;
    aoe_convert_options_defaults(&options);
    if (o) {
        options.storage = o->storage;
        options.force = o->force;
    }
    averaging a = {.source = {.rows = mean_rows}, .n = n};
    int rc = n ? 0 : aoei_fail(err, AOE_EARG, "a mean needs a model; name two or more");
    for (size_t k = 0; k < n && !rc; k++)
        rc = aoei_convert_check(from[k], to, &options, err);
    for (size_t k = 0; k < n && !rc; k++)
        rc = check_named_once(from, k, err);
    if (!rc)
        rc = open_all(&a, ctx, from, err);
    if (!rc)
        rc = choose_license(&a, from, to, err);
    if (!rc)
        rc = write_mean(&a, from, to, options.storage, result, err);
    close_all(&a);
    return rc;
}
