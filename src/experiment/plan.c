/* SPDX-License-Identifier: MIT
 * Estimates the memory that a run uses.
 */
#include "experiment/plan.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

#define PROCESS_BYTES ((size_t)32 << 20) /* memory of a process in addition to its model, activations and data */

/* A memory estimate that was computed before. */
typedef struct entry {
    char *key;    /* text that contains all options on which the memory depends; owned */
    size_t bytes; /* estimated memory of the process in bytes */
} entry;

struct aoei_plans {
    entry *entry;       /* [n] estimates computed before; owned */
    size_t n, capacity; /* used and allocated elements of `entry` */
    char *texts_key;    /* model, maximum length, prompt and training files for which `longest` and `texts_per_example` were
                           computed; owned */
    size_t longest;     /* maximum number of tokens of a text in the training files */
    size_t texts_per_example; /* maximum number of texts of an example of the training files, 2 or 3 */
};

int aoei_plans_create(aoei_plans **p, aoe_error *err) {
    *p = aoei_calloc(1, sizeof **p);
    return *p ? 0 : aoei_fail_nomem(err, sizeof **p);
}

void aoei_plans_free(aoei_plans *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        aoei_free(p->entry[i].key);
    aoei_free(p->entry);
    aoei_free(p->texts_key);
    aoei_free(p);
}

/* Returns the maximum number of tokens of a text in a file of labeled pairs, or 0 if the file cannot be read as labeled
 * pairs. */
static size_t longest_text(const aoe_train_data *d, const aoe_tokenizer *t, const aoe_encode_options *o) {
    aoe_pairs *p = NULL;
    aoe_ids ids = {0};
    size_t longest = 0;
    aoe_table_options table = d->table;
    table.skip_bad_rows = table.allow_empty = 1;
    if (aoe_pairs_load(&p, d->path, &table, NULL))
        return 0;
    for (size_t i = 0; i < 2 * aoe_pairs_count(p); i++) {
        const aoe_text text = i % 2 ? aoe_pairs_text2(p, i / 2) : aoe_pairs_text1(p, i / 2);
        if (!aoe_tokenizer_encode(t, text, o, &ids, NULL) && ids.n > longest)
            longest = ids.n;
    }
    aoe_ids_free(&ids);
    aoe_pairs_free(p);
    return longest;
}

static void append_paths(aoei_buffer *key, const aoe_train_options *o) {
    for (size_t i = 0; i < o->n_data; i++)
        aoei_buffer_printf(key, "|%s", o->data[i].path);
}

/* Sets p->longest and p->texts_per_example for the training files, unless they were already computed for these files. */
static int measure_texts(aoei_plans *p, const aoe_train_options *o, const aoe_model *m, aoe_error *err) {
    aoe_model_info info;
    aoei_buffer key = {0};
    aoe_model_get_info(m, &info);
    aoei_buffer_printf(&key, "%s|%zu|%s", o->args.model, info.max_length, info.prompt);
    append_paths(&key, o);
    if (key.failed) {
        aoei_buffer_free(&key);
        return aoei_fail_nomem(err, 0);
    }
    if (p->texts_key && strcmp(p->texts_key, key.data) == 0) {
        aoei_buffer_free(&key);
        return 0;
    }
    aoei_free(p->texts_key);
    p->texts_key = key.data;
    p->longest = 1;
    p->texts_per_example = 2;
    const aoe_tokenizer *t = aoe_model_tokenizer(m);
    aoe_encode_options encode;
    aoe_encode_options_defaults(&encode);
    encode.max_length = info.max_length;
    encode.prompt = *info.prompt ? info.prompt : NULL;
    for (size_t i = 0; i < o->n_data; i++) {
        const aoe_train_data *d = &o->data[i];
        const int may_be_pairs = d->kind == AOE_EXAMPLES_AUTO || d->kind == AOE_EXAMPLES_PAIRS;
        size_t n = may_be_pairs && t && !d->prompt && !d->doc_prompt ? longest_text(d, t, &encode) : 0;
        if (!n) {
            n = info.max_length;
            p->texts_per_example = d->kind == AOE_EXAMPLES_POSITIVES ? p->texts_per_example : 3;
        }
        p->longest = n > p->longest ? n : p->longest;
    }
    return 0;
}

static size_t data_bytes(const aoe_train_options *o) {
    size_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < o->n_data; i++)
        if (stat(o->data[i].path, &st) == 0 && st.st_size > 0)
            bytes += (size_t)st.st_size;
    return bytes;
}

static int plan_model(aoei_plans *p, const aoe_train_options *o, const aoe_model *m, int has_dev, int evaluates_only,
                      size_t *bytes, aoe_error *err) {
    aoe_memory_plan plan;
    aoe_plan_options options;
    int code = measure_texts(p, o, m, err);
    if (code)
        return code;
    aoe_plan_options_defaults(&options);
    options.n_texts = aoe_train_batch_texts(o, p->texts_per_example);
    options.length = p->longest;
    options.train = o;
    code = aoe_model_plan(m, &options, &plan, err);
    if (code)
        return code;
    if (evaluates_only)
        *bytes = plan.weights + plan.packed + plan.activations;
    else
        *bytes =
            (o->args.recompute ? plan.training_recompute : plan.training) + (has_dev ? plan.evaluation : 0) + 3 * data_bytes(o);
    *bytes += PROCESS_BYTES;
    return 0;
}

/* Opens the model and estimates the memory of a run. The model is opened with one thread, so that no other threads exist when
 * processes are forked later. */
static int make_plan(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes,
                     aoe_error *err) {
    aoe_context_options one;
    aoe_context *ctx = NULL;
    aoe_model *m = NULL;
    aoe_context_options_defaults(&one);
    one.threads = 1;
    int code = aoe_context_create(&ctx, &one, err);
    if (!code)
        code = aoe_model_open(&m, ctx, o->args.model, &o->args.model_options, err);
    if (!code)
        code = plan_model(p, o, m, has_dev, evaluates_only, bytes, err);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes,
                     aoe_error *err) {
    const aoe_model_options *m = &o->args.model_options;
    aoei_buffer key = {0};
    aoei_buffer_printf(&key, "%d|%zu|%d|%d|%zu|%zu|%zu|%d|%s|", (int)o->method, o->negatives,
                       o->layers.adaptive || o->layers.ese, (int)o->args.optimizer, o->lstm_dims, o->bigrams, o->classes,
                       o->no_projection, o->second_prompt ? o->second_prompt : "");
    aoei_buffer_printf(&key, "%s|%s|%d|%d|%zu|%zu|%s|%s|%zu|%zu|%d|%zu|%d|%s|%d|%d", o->args.model, m->base ? m->base : "",
                       (int)m->dtype, (int)m->pooling, m->max_length, m->bidirectional_from, m->prompt ? m->prompt : "",
                       m->prompt_name ? m->prompt_name : "", o->batch_size, o->cache_chunk, o->args.recompute, o->lora.r,
                       o->lora.load_8bit, o->lora.targets ? o->lora.targets : "", has_dev, evaluates_only);
    append_paths(&key, o);
    if (key.failed || aoei_grow((void **)&p->entry, &p->capacity, p->n, sizeof *p->entry)) {
        aoei_buffer_free(&key);
        return aoei_fail_nomem(err, 0);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->entry[i].key, key.data) == 0) {
            *bytes = p->entry[i].bytes;
            aoei_buffer_free(&key);
            return 0;
        }
    }
    const int code = make_plan(p, o, has_dev, evaluates_only, bytes, err);
    if (code)
        aoei_buffer_free(&key);
    else
        p->entry[p->n++] = (entry){key.data, *bytes};
    return code;
}
