/* SPDX-License-Identifier: MIT
 * Checks runs and estimates the memory that they use.
 */
#include "experiment/plan.h"

#include <string.h>
#include <sys/stat.h>

#include "aoe_plan.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "experiment/describe.h"
#include "options/training.h"

#define PROCESS_BYTES ((size_t)32 << 20) /* memory of a process in addition to its model, activations and data */

/* A memory estimate that was computed before. */
typedef struct entry {
    char *key;    /* text that contains all options on which the checks and the memory depend; owned */
    size_t bytes; /* estimated memory of the process in bytes */
} entry;

struct aoei_plans {
    entry *entry;       /* [n] estimates computed before; owned */
    size_t n, capacity; /* used and allocated elements of `entry` */
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
    aoei_free(p);
}

static size_t data_bytes(const aoe_train_options *o) {
    size_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < o->n_data; i++)
        if (stat(o->data[i].path, &st) == 0 && st.st_size > 0)
            bytes += (size_t)st.st_size;
    return bytes;
}

/* Estimates the memory of a training run. sizes: sizes of its training data. */
static int plan_training(const aoe_train_options *o, const aoe_model *m, const aoe_train_sizes *sizes, int has_dev,
                         size_t *bytes, aoe_error *err) {
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_plan_options options;
    aoe_plan_options_defaults(&options);
    options.n_texts =
        sizes->texts * (o->cache_chunk && o->cache_chunk < o->batch_size ? o->cache_chunk : o->batch_size);
    options.length = sizes->length;
    options.train = o;
    const int code = aoe_model_plan(m, &options, &plan, err);
    if (code)
        return code;
    *bytes = (o->args.recompute ? plan.training_recompute : plan.training) + (has_dev ? plan.evaluation : 0) +
             3 * data_bytes(o) + PROCESS_BYTES;
    return 0;
}

/* Estimates the memory of a run that only evaluates the start model: the memory of a batch of the embedder. */
static int plan_evaluation(const aoe_train_options *o, const aoe_model *m, size_t *bytes, aoe_error *err) {
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_plan_options options;
    aoe_model_get_info(m, &info);
    aoe_plan_options_defaults(&options);
    options.length = info.max_length;
    options.n_texts = o->args.batch_tokens > info.max_length ? o->args.batch_tokens / info.max_length : 1;
    const int code = aoe_model_plan(m, &options, &plan, err);
    if (code)
        return code;
    *bytes = plan.weights + plan.packed + plan.activations + PROCESS_BYTES;
    return 0;
}

/* Checks a run, opens its model and estimates its memory. All of this is done with one thread, so that no other threads
 * exist when processes are forked later. */
static int make_plan(const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes, aoe_error *err) {
    aoe_context_options one;
    aoe_context *ctx = NULL;
    aoe_model *m = NULL;
    aoe_train_sizes sizes = {.struct_size = sizeof sizes};
    aoe_context_options_defaults(&one);
    one.threads = 1;
    int code = aoe_context_create(&ctx, &one, err);
    if (!code && !evaluates_only)
        code = aoe_train_check_data(ctx, o, &sizes, err);
    if (!code)
        code = aoe_model_open(&m, ctx, o->args.model, &o->args.model_options, err);
    if (!code)
        code = evaluates_only ? plan_evaluation(o, m, bytes, err) : plan_training(o, m, &sizes, has_dev, bytes, err);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

/* Returns a text that contains all options on which the result of make_plan depends, or NULL if out of memory. The
 * caller frees it with aoei_free. */
static char *plan_key(const aoe_train_options *o, int has_dev, int evaluates_only) {
    const aoei_option_group *schedule = &aoei_train_groups[AOEI_GROUP_SCHEDULE];
    static const char *const ignored[] = {"tau_cosine", "tau_angle", "accumulate"};
    char field[AOEI_NAME_SIZE];
    aoei_buffer key = {0};
    json_t *options = aoei_describe_options(o);
    for (size_t i = 0; options && i < schedule->n; i++)
        if (!schedule->options[i].memory)
            json_object_del(options, aoei_option_field(field, &schedule->options[i]));
    for (size_t i = 0; options && i < sizeof ignored / sizeof *ignored; i++)
        json_object_del(options, ignored[i]);
    char *text = options ? aoei_json_text(options, JSON_COMPACT) : NULL;
    json_decref(options);
    if (!text)
        return NULL;
    aoei_buffer_printf(&key, "%s|%d|%d|%d|%zu|%g", text, has_dev, evaluates_only, o->args.recompute,
                       o->args.batch_tokens, o->args.dropout);
    aoei_free(text);
    if (key.failed)
        aoei_buffer_free(&key);
    return key.data;
}

int aoei_plan_memory(aoei_plans *p, const aoe_train_options *o, int has_dev, int evaluates_only, size_t *bytes,
                     aoe_error *err) {
    char *key = plan_key(o, has_dev, evaluates_only);
    if (!key || aoei_grow((void **)&p->entry, &p->capacity, p->n, sizeof *p->entry)) {
        aoei_free(key);
        return aoei_fail_nomem(err, 0);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->entry[i].key, key) == 0) {
            *bytes = p->entry[i].bytes;
            aoei_free(key);
            return 0;
        }
    }
    const int code = make_plan(o, has_dev, evaluates_only, bytes, err);
    if (code)
        aoei_free(key);
    else
        p->entry[p->n++] = (entry){key, *bytes};
    return code;
}
