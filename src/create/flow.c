/* SPDX-License-Identifier: MIT
 * Implements aoe_flow (BERT-flow, Li et al. 2020). Embeds texts, fits a normalizing flow to the embeddings, and adds it
 * after the pooling. The embeddings of all texts are stored in memory as float32.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/random.h"
#include "create/convert.h"
#include "create/flow_fit.h"
#include "model/describe.h"
#include "model/extra_layers.h"
#include "model/open.h"
#include "model/save.h"
#include "options/create.h"
#include "options/model.h"
#include "table/texts.h"

enum { BATCH = 4096 /* number of texts that are embedded at a time */ };
/* A component is constant if its standard deviation is below this fraction of their mean. Embeddings are equal if the
 * mean standard deviation is at most this fraction of the mean absolute value. */
#define MIN_SD 1e-5

/* The state of one call of aoe_flow. */
typedef struct flow_job {
    aoe_context *ctx;                       /* borrowed */
    const aoe_flow_options *o;              /* borrowed */
    aoe_embedder *embedder;                 /* used by embed_files only; owned */
    aoei_flow_shape shape;                  /* its field dims is the embedding size */
    float *vectors;                         /* [texts, dims] embeddings of all texts, owned */
    size_t *first;                          /* [examples + 1] index of the first text of each example, owned */
    size_t texts, examples;                 /* numbers of texts and of examples so far */
    size_t vector_capacity, first_capacity; /* allocated rows of `vectors` and elements of `first` */
    aoe_text_info *info;                    /* [BATCH] information about the texts of a batch, owned */
    aoei_flow flow;                         /* its arrays are in `memory` */
    double *memory;                         /* owned */
} flow_job;

AOEI_DEFAULTS(aoe_flow_options) {
    *o = (aoe_flow_options){.struct_size = sizeof *o,
                            .levels = 3,
                            .depth = 3,
                            .width = 32,
                            .epochs = 1,
                            .batch_size = 32,
                            .lr = 1e-3,
                            .seed = 42,
                            .batch_tokens = 4096};
    aoe_table_options_defaults(&o->table);
    aoe_model_options_defaults(&o->model_options);
}

static int check_options(const aoe_flow_options *o, aoe_error *err) {
    int rc;
    if (!o->n_texts)
        return aoei_fail(err, AOE_EARG, "options.texts is empty; give at least one file of texts");
    if ((rc = aoei_option_group_check(&aoei_flow_rows, o, AOEI_ALL_METHODS, err)) ||
        (rc = aoei_option_group_check(&aoei_flow_training_rows, o, AOEI_ALL_METHODS, err)))
        return rc;
    return aoei_option_check(AOEI_ROW_OF_BATCH_TOKENS, &o->batch_tokens, err);
}

/* -------------------------------------------------------------- embedding */

/* Extends the arrays to `texts` texts and `examples` examples. */
static int reserve(flow_job *j, size_t texts, size_t examples, aoe_error *err) {
    if (texts > j->vector_capacity) {
        const size_t n = texts > 2 * j->vector_capacity ? texts : 2 * j->vector_capacity;
        float *vectors = aoei_realloc_array(j->vectors, n, j->shape.dims * sizeof *vectors);
        if (!vectors)
            return aoei_fail(err, AOE_ENOMEM, "out of memory for the embeddings of %zu texts; give fewer texts", n);
        j->vectors = vectors;
        j->vector_capacity = n;
    }
    if (examples + 1 > j->first_capacity) {
        const size_t n = 2 * (examples + 1);
        size_t *first = aoei_realloc_array(j->first, n, sizeof *first);
        if (!first)
            return aoei_fail_nomem(err, n * sizeof *first);
        j->first = first;
        j->first_capacity = n;
    }
    return 0;
}

/* Adds the texts [begin, begin + n) of e, whose embeddings follow those of the earlier texts in j->vectors. The
 * consecutive texts of a line form an example. Embeddings of texts without tokens are zero vectors and are removed.
 * *line: line of the last text of the file that was added, or 0. */
static void add_texts(flow_job *j, const aoei_examples *e, size_t begin, size_t n, size_t *line) {
    const size_t D = j->shape.dims, before = j->texts;
    for (size_t i = 0; i < n; i++) {
        const size_t at = aoei_examples_line(e, begin + i);
        if (!j->info[i].tokens)
            continue;
        if (at != *line)
            j->first[j->examples++] = j->texts;
        *line = at;
        if (before + i != j->texts)
            memcpy(j->vectors + j->texts * D, j->vectors + (before + i) * D, D * sizeof *j->vectors);
        j->texts++;
    }
    j->first[j->examples] = j->texts;
}

/* Embeds n texts of e, from text `begin`. path: name of the file in messages. line: see add_texts. */
static int embed_batch(flow_job *j, const aoei_examples *e, size_t begin, size_t n, const char *path, size_t *line,
                       aoe_error *err) {
    aoe_error inner = {0};
    int rc = reserve(j, j->texts + n, j->examples + n, err);
    if (rc)
        return rc;
    if ((rc = aoe_embed(j->embedder, e->text + begin, n, j->vectors + j->texts * j->shape.dims, j->info, &inner))) {
        const size_t failed = aoe_embed_failed_text(j->embedder);
        return failed == (size_t)-1
                   ? aoei_fail(err, rc, "%s", inner.message)
                   : aoei_fail(err, rc, "%s:%zu: %s", path, aoei_examples_line(e, begin + failed), inner.message);
    }
    add_texts(j, e, begin, n, line);
    return j->o->progress && j->o->progress(j->o->user, AOE_FLOW_EMBED, j->texts, 0)
               ? aoei_fail(err, AOE_ECANCELLED, "cancelled by the caller")
               : 0;
}

static int embed_file(flow_job *j, const char *path, aoe_error *err) {
    aoei_examples e;
    aoe_table_options table = j->o->table;
    size_t line = 0;
    table.allow_empty = 0;
    int rc = aoei_texts_load(&e, path, &table, err);
    if (!rc && e.skipped)
        aoei_log_write(&j->ctx->log, AOE_LOG_WARNING, "%s: skipped %zu bad rows", path, e.skipped);
    if (!rc && e.files)
        aoei_log_write(&j->ctx->log, AOE_LOG_INFO, "%s: %zu texts in %zu files", path, e.n_texts, e.files);
    for (size_t i = 0; i < e.n_texts && !rc; i += BATCH)
        rc = embed_batch(j, &e, i, e.n_texts - i < BATCH ? e.n_texts - i : BATCH, path, &line, err);
    aoei_examples_free(&e);
    return rc;
}

/* Checks that a flow can be added to the model. */
static int check_model(flow_job *j, const aoe_model *m, const char *from, aoe_error *err) {
    if (m->config.modules.n)
        return aoei_fail(err, AOE_EARG,
                         "%s: the model already has a %s after the pooling; start from the model without it", from,
                         aoei_settings_has_flow(&m->settings) ? "flow" : "dense layer");
    j->shape = (aoei_flow_shape){
        .dims = aoe_model_dims(m), .levels = j->o->levels, .depth = j->o->depth, .width = j->o->width};
    if (aoei_flow_dims_valid(&j->shape))
        return 0;
    return aoei_fail(err, AOE_EARG,
                     "%s: an embedding has %zu components, but a flow with %zu levels needs a multiple of %zu; lower "
                     "options.levels, or choose another model or pooling",
                     from, j->shape.dims, j->shape.levels, (size_t)1 << j->shape.levels);
}

/* Embeds the texts of all files. The embeddings are not normalized to unit length. */
static int embed_files(flow_job *j, const char *from, aoe_error *err) {
    aoe_model *m;
    aoe_model_options options = j->o->model_options;
    const aoe_embedder_options e = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = j->o->batch_tokens, .threads = AOE_AUTO};
    options.normalize = 0;
    int rc = aoe_model_open(&m, j->ctx, from, &options, err);
    if (rc)
        return rc;
    m->settings.truncate_dim = 0; /* the flow is applied to the complete embeddings */
    if (!(rc = check_model(j, m, from, err)))
        rc = aoe_embedder_create(&j->embedder, m, &e, err);
    if (!rc)
        aoei_model_log_description(m);
    if (!rc && !(j->info = aoei_malloc_array(BATCH, sizeof *j->info)))
        rc = aoei_fail_nomem(err, BATCH * sizeof *j->info);
    for (size_t i = 0; i < j->o->n_texts && !rc; i++)
        rc = embed_file(j, j->o->texts[i], err);
    if (!rc && j->texts < 2)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: a flow needs at least 2 texts, but there %s %zu; give many more texts",
                       j->o->texts[0], j->texts == 1 ? "is" : "are", j->texts);
    aoe_embedder_destroy(j->embedder);
    aoe_model_close(m);
    return rc;
}

/* ------------------------------------------------------------------- flow */

static int report_step(void *user, size_t done, size_t total) {
    const flow_job *j = user;
    return j->o->progress ? j->o->progress(j->o->user, AOE_FLOW_TRAIN, done, total) : 0;
}

/* Adds random numbers to the components that are the same in all embeddings. Their standard deviation is the mean of
 * those of all components. A constant component has no density: the flow would scale it without limit. all-MiniLM-L6-v2
 * has three such components. The random numbers are a function of the seed, the component and the text. If all
 * embeddings are equal, they are not changed. sd: [dims] workspace. */
static void add_noise_to_constant_components(flow_job *j, double *sd) {
    const size_t D = j->shape.dims, n = j->texts;
    size_t constant = 0;
    double mean_sd = 0, mean_size = 0;
    for (size_t k = 0; k < D; k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            mean += (double)j->vectors[i * D + k] / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += ((double)j->vectors[i * D + k] - mean) * ((double)j->vectors[i * D + k] - mean);
        sd[k] = sqrt(squares / (double)n);
        mean_sd += sd[k] / (double)D;
        mean_size += fabs(mean) / (double)D;
    }
    if (mean_sd <= MIN_SD * mean_size)
        return;
    for (size_t k = 0; k < D; k++) {
        aoei_rng r;
        if (!(sd[k] < MIN_SD * mean_sd)) /* also if an embedding is NaN */
            continue;
        constant++;
        aoei_rng_init(&r, j->o->seed, AOEI_STREAM_FLOW_NOISE, (uint32_t)k);
        for (size_t i = 0; i < n; i++)
            j->vectors[i * D + k] += (float)(mean_sd * aoei_rng_normal(&r));
    }
    if (constant)
        aoei_log_write(
            &j->ctx->log, AOE_LOG_INFO,
            "%zu of %zu components are the same in all embeddings; random numbers are added to them while the flow "
            "is fitted",
            constant, D);
}

/* Fits the flow. */
static int fit(flow_job *j, aoe_flow_result *r, aoe_error *err) {
    const size_t n = aoei_flow_doubles(&j->shape, AOEI_FLOW_FIT_ROWS, 1);
    const aoei_flow_data data = {.vectors = j->vectors, .first = j->first, .examples = j->examples};
    const aoei_flow_fit_options o = {.epochs = j->o->epochs,
                                     .batch_size = j->o->batch_size,
                                     .lr = j->o->lr,
                                     .seed = j->o->seed,
                                     .progress = report_step,
                                     .user = j};
    aoei_flow_fit_result result;
    if (!(j->memory = aoei_malloc_array(n, sizeof *j->memory)))
        return aoei_fail_nomem(err, n * sizeof *j->memory);
    add_noise_to_constant_components(j, j->memory);
    aoei_flow_place(&j->flow, &j->shape, AOEI_FLOW_FIT_ROWS, 1, j->memory);
    const int rc = aoei_flow_fit(&j->flow, &data, &o, j->ctx->pool, &result, err);
    if (!rc && result.bits > result.bits_start)
        aoei_log_write(&j->ctx->log, AOE_LOG_WARNING,
                       "the flow fits worse after training (%g bits per component) than before (%g); lower options.lr",
                       result.bits, result.bits_start);
    *r = (aoe_flow_result){.texts = j->texts,
                           .examples = j->examples,
                           .dims = j->shape.dims,
                           .parameters = j->flow.parameters,
                           .steps = result.steps,
                           .bits_start = result.bits_start,
                           .bits = result.bits};
    return rc;
}

/* Returns a copy of the training record of the model with an additional entry about the flow. Returns NULL if an
 * allocation fails. */
static json_t *make_record(const aoe_model *m, const aoe_flow_options *o, const aoe_flow_result *r) {
    json_t *record = m->files.record ? aoei_json_copy(m->files.record) : json_object(), *files = json_array();
    int bad = !record || !files;
    for (size_t i = 0; i < o->n_texts && !bad; i++)
        bad = json_array_append_new(files, aoei_name_json(o->texts[i]));
    json_t *entry =
        bad ? NULL
            : json_pack("{s:O, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:f, s:f}", "data", files, "texts",
                        (json_int_t)r->texts, "examples", (json_int_t)r->examples, "epochs", (json_int_t)o->epochs,
                        "batch_size", (json_int_t)o->batch_size, "lr", o->lr, "seed", (json_int_t)o->seed, "steps",
                        (json_int_t)r->steps, "bits_start", r->bits_start, "bits", r->bits);
    json_decref(files);
    if (!bad && !json_object_set_new(record, "flow", entry))
        return record;
    json_decref(record);
    return NULL;
}

/* Writes a copy of the model in `from`, with the flow added, to the directory `to`. */
static int write_model(const flow_job *j, const char *from, const char *to, const aoe_flow_result *r, aoe_error *err) {
    aoe_model *m;
    json_t *record = NULL;
    int rc = aoei_model_open_for(&m, j->ctx, from, &j->o->model_options, &(aoei_open_mode){.rows_from_file = 1}, err);
    if (rc)
        return rc;
    m->settings.truncate_dim = 0;
    if (!(rc = aoei_check_base_kept(m, to, err)))
        rc = aoei_model_add_flow(m, &j->shape, j->flow.value, err);
    if (!rc && !(record = make_record(m, j->o, r)))
        rc = aoei_fail_nomem(err, 1);
    if (!rc)
        rc = aoei_model_save_as(m, to, record, AOE_STORAGE_F32, err);
    json_decref(record);
    aoe_model_close(m);
    return rc;
}

int aoe_flow(aoe_context *ctx, const char *from, const char *to, const aoe_flow_options *o, aoe_flow_result *result,
             aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_RESULT(aoe_flow_result, result, err);
    AOEI_OPTIONS(aoe_flow_options, o, err);
    flow_job j = {.ctx = ctx, .o = o};
    const aoe_convert_options output = {
        .struct_size = sizeof(aoe_convert_options), .storage = AOE_STORAGE_F32, .force = o->force};
    int rc = check_options(o, err);
    if (!rc)
        rc = aoei_convert_check(from, to, &output, err);
    if (!rc)
        rc = embed_files(&j, from, err);
    if (!rc)
        rc = fit(&j, result, err);
    if (!rc)
        rc = write_model(&j, from, to, result, err);
    aoei_free(j.memory);
    aoei_free(j.info);
    aoei_free(j.first);
    aoei_free(j.vectors);
    return rc;
}
