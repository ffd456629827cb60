/* SPDX-License-Identifier: MIT
 * Implements fine-tuning as a task of the trainer (trainer.h). The training data are labeled pairs, positives and
 * triplets from one or several files. batch_plan.h selects the examples of a batch, and methods.h selects its loss. If
 * there is a teacher, a distillation term is added to the loss. The dropout mask of a text depends on the number of the
 * text in the step. Therefore, the texts of all batches that are accumulated in a step are numbered consecutively.
 */
#include "aoe_data.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/random.h"
#include "options/rows.h"
#include "options/training.h"
#include "table/labels.h"
#include "tokenizer/prompt.h"
#include "train/layer_loss.h"
#include "train/matryoshka.h"
#include "train/pair_step.h"
#include "train/pair_task.h"
#include "train/batch_plan.h"
#include "train/class_counts.h"
#include "train/methods.h"
#include "train/saved_parts.h"
#include "train/schedule.h"
#include "train/teacher.h"
#include "train/teacher_map.h"
#include "train/teacher_map_fit.h"
#include "train/setup.h"
#include "train/train_loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WEIGHT = 10000 };

/* The state of a fine-tuning run. B: maximum number of examples in a batch. */
typedef struct pair_task {
    aoei_task task;             /* functions that the trainer calls */
    const aoe_train_options *o; /* checked options; borrowed */
    const aoei_method *method;  /* method of the run; borrowed */
    const aoe_model *model;     /* model to train, with the layers that the method adds; set when the data is loaded;
                                   borrowed */
    aoei_examples *files;   /* [o->n_data] examples of each file, if a teacher will embed their texts; NULL afterwards;
                               owned */
    aoei_source *sources;   /* [o->n_data] examples of each file; owned */
    aoei_file_loss *losses; /* [o->n_data] loss of each file; owned */
    size_t arity;           /* maximum number of texts in an example */
    int contrastive;        /* 1: at least one file has no labels */
    aoei_batches batches;   /* batches of the current epoch */
    int warned;             /* 1: the warning about unused examples was already logged */
    size_t negatives, left_out;     /* with a guide: number of negatives since the last logged step, and of those left
                                       out */
    int guide_warned;               /* 1: the warning about a guide that leaves out all negatives was already logged */
    int has_teacher;                /* 1: there is a teacher, and the weight of the distillation term is positive */
    aoei_teacher teacher;           /* embeddings that the teacher computed */
    const aoei_method_state *state; /* functions of the state of the method; without state, all of them are NULL */
    aoei_method_run run;            /* arguments of these functions */
    aoei_pair_step step;            /* computes losses and gradients */
    double *labels;                 /* [B] labels of the batch; owned */
    uint32_t *groups;    /* [arity * B] for each text of the batch, the number of its group of identical texts; owned */
    float *teacher_rows; /* [arity * B, teacher.dims] for each text of the batch, the teacher embedding; NULL if there
                            is no teacher; owned */
    const float **teacher_vectors; /* [arity * B] the rows of `teacher_rows`; array owned */
} pair_task;

AOEI_DEFAULTS(aoe_train_options) {
    *o = (aoe_train_options){.struct_size = sizeof *o};
    aoe_training_args_defaults(&o->args);
    aoe_objective_options_defaults(&o->objective);
    o->objective.ibn_threshold = AOE_AUTO;
    o->batch_size = 32;
    o->accumulate = 1;
    o->w_teacher = 1;
    o->label_max = AOE_AUTO;
    o->negatives = 7;
    o->lstm_dims = AOE_AUTO;
    o->bigrams = AOE_AUTO;
    o->w_detection = 0.005;
    o->mask_rate = 0.3;
    o->classes = AOE_AUTO;
    aoe_layer_options_defaults(&o->layers);
    aoe_lora_defaults(&o->lora);
}

AOEI_DEFAULTS(aoe_train_data) {
    *o = (aoe_train_data){.struct_size = sizeof *o, .weight = 1, .ibn_threshold = AOE_AUTO};
    aoe_table_options_defaults(&o->table);
}

/* Checks the prompts of a file. The message names the file, because each file has its own settings. */
static int check_prompts(const aoe_train_data *d, aoe_error *err) {
    int code = d->prompt && *d->prompt ? aoei_template_check("the setting prompt", d->prompt, err) : AOE_OK;
    if (!code && d->doc_prompt && *d->doc_prompt)
        code = aoei_template_check("the setting doc-prompt", d->doc_prompt, err);
    if (code)
        aoei_error_prefix(err, "%s", d->path);
    return code;
}

static int check_options(const aoei_method *method, const aoe_train_options *o, aoe_error *err) {
    if (!o || !o->args.model || !o->n_data || !o->args.output)
        return aoei_fail(err, AOE_EARG, "training needs options.model, options.data and options.output");
    for (size_t i = 0; i < o->n_data; i++) {
        if (!(o->data[i].weight > 0 && o->data[i].weight <= MAX_WEIGHT))
            return aoei_fail(err, AOE_EARG, "%s: the weight is %g; give a number above 0, at most %d", o->data[i].path,
                             o->data[i].weight, MAX_WEIGHT);
        if (aoei_check_option("options.ibn_threshold", o->data[i].ibn_threshold, err)) {
            aoei_error_prefix(err, "%s", o->data[i].path);
            return AOE_EARG;
        }
        const int code = check_prompts(&o->data[i], err);
        if (code)
            return code;
    }
    int code = aoei_train_options_check(o, err);
    if (code)
        return code;
    if (o->batch_size == 1 && !method->cross_encoder)
        return aoei_fail(
            err, AOE_EARG,
            "options.batch_size is 1, but must be at least 2, because the losses compare the pairs of a batch");
    if (o->batch_size > UINT32_MAX / 4 / o->accumulate)
        return aoei_fail(err, AOE_EARG,
                         "options.batch_size %zu times options.accumulate %zu is too large; lower one of them",
                         o->batch_size, o->accumulate);
    code = aoei_matryoshka_check(o, err);
    if (!code)
        code = aoei_layer_loss_check(o, err);
    return code ? code : aoei_method_check(method, o, err);
}

/* Creates the data set of a cross-encoder. Positives and plain texts have no negative pairs, so they are not joined,
 * and aoei_method_loss rejects them. */
static int create_joined(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                         aoe_error *err) {
    if (e->kind == AOE_EXAMPLES_PAIRS || e->kind == AOE_EXAMPLES_TRIPLETS)
        return aoei_dataset_create_joined(d, m, e, prompt, err);
    return aoei_fail(
        err, AOE_EARG,
        "%s: options.method cross-encoder trains on labeled pairs or triplets, but the file has no negatives; add "
        "them with aoe data mine",
        e->name);
}

/* Logs that the model has prompts for queries or documents, which training does not add to the texts of a file without
 * prompts. kind: kind of the examples of the file. */
static void note_prompts(const aoei_trainer *t, const aoe_train_data *o, aoe_example_kind kind) {
    const char *query = aoe_model_prompt(t->base, "query"), *document = aoe_model_prompt(t->base, "document");
    const int has_query = query && strcmp(query, AOEI_PLACEHOLDER) != 0,
              has_document = document && strcmp(document, AOEI_PLACEHOLDER) != 0;
    if (o->prompt || o->doc_prompt || (kind != AOE_EXAMPLES_POSITIVES && kind != AOE_EXAMPLES_TRIPLETS))
        return;
    if (has_query || has_document)
        aoei_log_write(
            &t->ctx->log, AOE_LOG_INFO,
            "%s: the prompts of the model are not added in training; to add them, use the settings prompt='%s' and "
            "doc-prompt='%s' of the file",
            o->path, has_query ? query : AOEI_PLACEHOLDER, has_document ? document : AOEI_PLACEHOLDER);
}

/* Logs how many rows of a file are used, and why the other rows are not. Nothing is logged if all rows are used.
 * threshold: lowest label of a positive pair. */
static void log_rows(const aoei_log *log, const aoei_examples *e, double threshold) {
    const size_t unused = e->below + e->dropped + e->skipped;
    char reasons[256] = "";
    if (e->below)
        snprintf(reasons, sizeof reasons, ": %zu with a label below %.10g (options.ibn_threshold)", e->below,
                 threshold);
    if (e->dropped)
        snprintf(reasons + strlen(reasons), sizeof reasons - strlen(reasons), "%s %zu dropped by the label map",
                 *reasons ? "," : ":", e->dropped);
    if (e->skipped)
        snprintf(reasons + strlen(reasons), sizeof reasons - strlen(reasons), "%s %zu bad", *reasons ? "," : ":",
                 e->skipped);
    if (unused)
        aoei_log_write(log, AOE_LOG_INFO, "%s: training uses %zu of %zu rows; not used%s", e->name, e->n, e->n + unused,
                       reasons);
}

/* Loads the file p->o->data[number]. *e receives its examples, which the caller frees. */
static int load_source(pair_task *p, aoei_trainer *t, size_t number, aoei_examples *e, aoe_error *err) {
    const aoe_train_data *o = &p->o->data[number];
    aoei_source *source = &p->sources[number];
    int code = aoei_method_load(p->method, e, &p->losses[number], p->o, number, err);
    if (!code && e->skipped)
        aoei_log_write(&t->ctx->log, AOE_LOG_WARNING, "%s: skipped %zu bad row%s", o->path, e->skipped,
                       e->skipped == 1 ? "" : "s");
    if (!code && e->ignores_labels)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO,
                       "%s: options.method %s trains on plain texts; the labels are ignored", o->path, p->method->name);
    if (!code && e->dropped)
        aoei_labels_log_dropped(&t->ctx->log, o->path, e->dropped,
                                aoei_method_has_classes(p->method, p->o) ? "classes, for example neutral=2"
                                                                         : "scores, for example neutral=0.5");
    if (!code) {
        log_rows(&t->ctx->log, e, p->losses[number].threshold);
        p->task.unused += e->below + e->dropped + e->skipped;
    }
    if (!code)
        code = p->task.cross_encoder ? create_joined(&source->data, t->base, e, o->prompt, err)
                                     : aoei_dataset_create(&source->data, t->base, e, o->prompt,
                                                           o->doc_prompt ? o->doc_prompt : o->prompt, err);
    if (!code && source->data.truncated)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO,
                       "%s: truncated %zu of %zu texts to the maximum sequence length of %zu tokens", o->path,
                       source->data.truncated, source->data.tokens.n, t->base->settings.max_length);
    source->weight = o->weight;
    if (!code && !p->task.cross_encoder)
        note_prompts(t, o, source->data.kind);
    if (!code)
        code = aoei_method_loss(p->method, &p->losses[number], p->o, number, &source->data, err);
    if (!code && aoei_method_has_classes(p->method, p->o))
        code = aoei_class_counts_log(&t->ctx->log, o->path, &source->data, err);
    if (!code) /* a text that occurred twice in a batch would be a negative of itself */
        source->distinct = !p->o->allow_duplicates && source->data.kind != AOE_EXAMPLES_PAIRS &&
                           (p->losses[number].objective.w_ibn > 0 || p->losses[number].objective.w_cln > 0);
    return code;
}

/* Returns the weight of the distillation term that is added to the loss of the method. */
static double teacher_weight(const pair_task *p) {
    return p->method->maps_vectors ? 0 : p->o->w_teacher;
}

static int open_teacher(pair_task *p, const aoei_trainer *t, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&t->base->config);
    const int code =
        aoei_teacher_open(&p->teacher, t->ctx, p->o->teachers, t->o->model_options.dtype, p->o->teacher_cache, err);
    if (!code && teacher_weight(p) > 0 && p->o->distill == AOE_DISTILL_KL && p->teacher.dims != dims)
        return aoei_fail(
            err, AOE_EARG,
            "options.teachers: the embeddings of %s have %zu components but the embeddings of %s have %zu; set "
            "options.distill to cosine, because kl requires equal sizes",
            p->teacher.n > 1 ? "all teachers" : p->o->teachers[0], p->teacher.dims, t->o->model, dims);
    return code;
}

/* Loads every file and checks that the method supports it. If there is a teacher, p->files keeps the texts, because the
 * teacher embeds them. Otherwise, this function frees them. */
static int load_sources(pair_task *p, aoei_trainer *t, aoe_error *err) {
    aoei_task *task = &p->task;
    double highest = 0;
    int code = AOE_OK, triplets = 0;
    for (size_t i = 0; i < p->o->n_data && !code; i++) {
        code = load_source(p, t, i, &p->files[i], err);
        if (!p->has_teacher)
            aoei_examples_free(&p->files[i]);
        if (code)
            break;
        const size_t arity = p->sources[i].data.arity * p->losses[i].copies;
        if (isnan(task->ibn_threshold))
            task->ibn_threshold = p->losses[i].threshold;
        p->contrastive |= !p->losses[i].has_labels;
        p->arity = arity > p->arity ? arity : p->arity;
        triplets |= p->sources[i].data.kind == AOE_EXAMPLES_TRIPLETS && !task->cross_encoder;
        highest = p->sources[i].data.highest > highest ? p->sources[i].data.highest : highest;
    }
    if (!code && !triplets && fabs(p->o->objective.hard_negative) > 0)
        code = aoei_fail(err, AOE_EARG, "options.hard_negative is %g, but no file contains triplets; set it to 0",
                         p->o->objective.hard_negative);
    if (!code && aoei_method_has_classes(p->method, p->o))
        code = aoei_class_counts_check(p->o->data, p->sources, p->o->n_data, err);
    if (!code && aoei_method_has_classes(p->method, p->o))
        code = aoei_class_counts_warn(&t->ctx->log, p->sources, p->o->n_data, aoei_class_count(p->o, highest), err);
    if (!code && p->method->layer)
        code = p->method->layer(p->o, t->base, highest, err);
    if (!code && p->method->maps_vectors)
        code = aoei_teacher_map_add(p->o, t->base, p->teacher.dims, err);
    p->model = t->base;
    if (!code)
        aoei_saved_parts_log(p->method, p->model);
    return code;
}

/* Creates the state of the method. */
static int create_state(pair_task *p, const aoei_trainer *t, aoe_error *err) {
    size_t longest = 0;
    for (size_t i = 0; i < p->o->n_data; i++)
        longest = p->sources[i].data.longest > longest ? p->sources[i].data.longest : longest;
    p->run = (aoei_method_run){.o = p->o,
                               .model = t->base,
                               .sources = p->sources,
                               .batches = &p->batches,
                               .arity = p->arity,
                               .pairs = aoei_method_pairs(p->method, p->o),
                               .longest = longest,
                               .step = &p->step};
    const int code = p->state->create ? p->state->create(&p->run, err) : AOE_OK;
    return !code && p->state->load ? p->state->load(&p->run, err) : code;
}

static void free_files(pair_task *p) {
    for (size_t i = 0; p->files && i < p->o->n_data; i++)
        aoei_examples_free(&p->files[i]);
    aoei_free(p->files);
    p->files = NULL;
}

static int load(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    pair_task *p = task->self;
    const size_t n = p->o->n_data;
    task->ibn_threshold = (double)NAN;
    p->sources = aoei_calloc(n, sizeof *p->sources);
    p->losses = aoei_calloc(n, sizeof *p->losses);
    p->files = aoei_calloc(n, sizeof *p->files);
    int code = p->sources && p->losses && p->files ? AOE_OK : aoei_fail_nomem(err, n * sizeof *p->files);
    if (!code && p->has_teacher)
        code = open_teacher(p, t, err);
    if (!code)
        code = load_sources(p, t, err);
    if (!code && t->base->settings.subtract_empty_prompt && !p->method->subtracts_empty_prompt)
        code = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model subtracts the embedding of its empty prompt, which only options.method promptbert-sup "
            "trains; choose this method or another model",
            t->o->model);
    if (!code)
        code = create_state(p, t, err);
    if (!code)
        code = aoei_matryoshka_check_model(p->o, t->base, &t->ctx->log, err);
    if (!code)
        code = aoei_layer_loss_check_model(p->o, t->base, err);
    if (!code && p->o->method == AOE_METHOD_ANGLE && p->o->objective.w_angle > 0 &&
        aoei_vector_dims(&t->base->config) % 2)
        code = aoei_fail(err, AOE_EARG,
                         "%s: the angle loss requires an even embedding size, not %zu; set options.w_angle to 0",
                         t->o->model, aoei_vector_dims(&t->base->config));
    if (!code)
        code = aoei_batches_create(&p->batches, p->sources, n, p->o->batch_size, t->o->seed, err);
    if (code)
        return code;
    task->examples = p->batches.examples;
    task->steps_per_epoch = (p->batches.n + p->o->accumulate - 1) / p->o->accumulate;
    return AOE_OK;
}

static int prepare(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    pair_task *p = task->self;
    int code = aoei_teacher_embed(&p->teacher, t->ctx, t->o, p->files, p->o->n_data, err);
    if (!code && p->method->maps_vectors && aoei_training_layers_of(&t->base->config)->head_rows && !t->resumed)
        code = aoei_teacher_map_fit(t->base, t->o, &p->teacher, p->files, p->o->n_data, err);
    free_files(p);
    return code;
}

static json_t *real_or_null(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

/* Returns a JSON object with the properties of a training file that affect the trained model. The path of the file is
 * not included. Returns NULL if out of memory. */
static json_t *describe_source(const pair_task *p, size_t number) {
    static const char *const kinds[] = {[AOE_EXAMPLES_PAIRS] = "pairs",
                                        [AOE_EXAMPLES_POSITIVES] = "positives",
                                        [AOE_EXAMPLES_TRIPLETS] = "triplets",
                                        [AOE_EXAMPLES_TEXTS] = "texts"};
    const aoe_train_data *o = &p->o->data[number];
    const aoei_source *s = &p->sources[number];
    const aoei_file_loss *file_loss = &p->losses[number];
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)s->data.fingerprint);
    json_t *r = json_object();
    int bad = json_object_set_new(r, "form", json_string(kinds[s->data.kind]));
    bad |= json_object_set_new(r, "examples", json_integer((json_int_t)s->data.n));
    bad |= json_object_set_new(r, "weight", json_real(s->weight));
    bad |= json_object_set_new(r, "prompt", o->prompt ? json_string(o->prompt) : json_null());
    bad |= json_object_set_new(r, "doc_prompt", o->doc_prompt ? json_string(o->doc_prompt) : json_null());
    bad |= json_object_set_new(r, "ibn_threshold", real_or_null(file_loss->threshold));
    if (aoei_method_has_classes(p->method, p->o))
        bad |= json_object_set_new(r, "class_examples", aoei_class_counts_json(&s->data));
    if (p->method->scales_labels)
        bad |= json_object_set_new(r, "label_max", json_real(file_loss->label_scale));
    bad |= json_object_set_new(r, "fingerprint", json_string(fingerprint));
    if (!bad)
        return r;
    json_decref(r);
    return NULL;
}

/* Returns the names of the teachers: a string if there is one, an array if there are several, and null if there is
 * none. Returns NULL if out of memory. */
static json_t *teacher_names(const pair_task *p) {
    json_t *list = json_array();
    for (size_t i = 0; i < p->teacher.n && list; i++) {
        char *name = aoei_hub_model_name(p->teacher.model[i].dir);
        if (!name || json_array_append_new(list, aoei_name_json(name))) {
            json_decref(list);
            list = NULL;
        }
        aoei_free(name);
    }
    if (!list || json_array_size(list) > 1)
        return list;
    json_t *single = json_array_size(list) ? json_incref(json_array_get(list, 0)) : json_null();
    json_decref(list);
    return single;
}

/* Adds the options of the teachers, and a fingerprint of their embeddings, to the record r (aoei_trainer.settings).
 * Returns a nonzero value if out of memory. */
static int describe_teacher(const pair_task *p, json_t *r) {
    const aoe_train_options *o = p->o;
    const int given = p->has_teacher, term = given && teacher_weight(p) > 0;
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)p->teacher.fingerprint);
    int bad = json_object_set_new(r, "teacher", teacher_names(p));
    bad |= json_object_set_new(r, "w_teacher", json_real(given ? teacher_weight(p) : 0));
    bad |= json_object_set_new(r, "distill", term ? json_string(aoei_distill_names[o->distill]) : json_null());
    if (given)
        bad |= json_object_set_new(r, "teacher_cache", o->teacher_cache ? json_true() : json_null());
    bad |= json_object_set_new(r, "teacher_fingerprint", given ? json_string(fingerprint) : json_null());
    if (p->method->maps_vectors)
        bad |= json_object_set_new(r, "teacher_map", json_string(aoei_teacher_map_name(o, p->model)));
    return bad;
}

static int describe(const aoei_task *task, json_t *r) {
    const pair_task *p = task->self;
    const aoe_train_options *o = p->o;
    aoe_train_options defaults;
    char dev_fingerprint[24];
    snprintf(dev_fingerprint, sizeof dev_fingerprint, "%016llx", (unsigned long long)o->dev_fingerprint);
    json_t *names = json_array(), *sources = json_array();
    int bad = 0;
    aoe_train_options_defaults(&defaults);
    for (size_t i = 0; i < o->n_data; i++) {
        bad |= json_array_append_new(names, aoei_name_json(o->data[i].path));
        bad |= json_array_append_new(sources, describe_source(p, i));
    }
    bad |= json_object_set_new(r, "data", names);
    bad |= json_object_set_new(r, "sources", sources);
    bad |= json_object_set_new(r, "pairs", json_integer((json_int_t)task->examples));
    bad |= json_object_set_new(r, "dev", aoei_name_json(o->evaluate ? o->dev_name : NULL));
    bad |= json_object_set_new(r, "dev_fingerprint", o->dev_fingerprint ? json_string(dev_fingerprint) : json_null());
    bad |= json_object_set_new(r, "method", json_string(p->method->name));
    for (size_t i = AOEI_GROUP_BATCHES; i < AOEI_TRAIN_GROUPS; i++)
        bad = bad || aoei_option_group_record(r, &aoei_train_groups[i], o, &defaults, (int)o->method);
    bad |= p->state->describe && p->state->describe(&p->run, r);
    bad |= aoei_matryoshka_describe(o, r);
    bad |= aoei_layer_loss_describe(o, r);
    bad |= describe_teacher(p, r);
    bad |= aoei_saved_parts_describe(p->method, p->model, r);
    bad |= json_object_set_new(r, "ibn_threshold", real_or_null(task->ibn_threshold));
    return bad;
}

/* Sets *longest to the maximum number of tokens in a text in all files. Sets *tokens to an upper bound of the number of
 * tokens in a batch of n examples. */
static int measure(const pair_task *p, size_t n, size_t *longest, size_t *tokens, aoe_error *err) {
    *longest = *tokens = 0;
    for (size_t i = 0; i < p->o->n_data; i++) {
        const aoei_dataset *d = &p->sources[i].data;
        size_t max_tokens;
        const int code = aoei_dataset_batch_tokens(d, n, &max_tokens, err);
        if (code)
            return code;
        /* If the weight of a file is above 1, or if random texts are added, a batch may contain its longest example
         * several times. */
        if ((p->sources[i].weight > 1 || aoei_method_pairs(p->method, p->o) > 1) &&
            max_tokens < n * d->arity * d->longest)
            max_tokens = n * d->arity * d->longest;
        max_tokens *= p->losses[i].copies;
        *longest = d->longest > *longest ? d->longest : *longest;
        *tokens = max_tokens > *tokens ? max_tokens : *tokens;
    }
    return AOE_OK;
}

/* Allocates the memory for the teacher's vectors of up to n texts, and sets the distillation term of the step. */
static int lay_out_teacher(pair_task *p, size_t n, aoe_error *err) {
    const size_t dims = p->teacher.dims;
    p->teacher_rows = aoei_malloc_array(n, dims * sizeof *p->teacher_rows);
    p->teacher_vectors = aoei_malloc_array(n, sizeof *p->teacher_vectors);
    if (!p->teacher_rows || !p->teacher_vectors)
        return aoei_fail_nomem(err, n * dims * sizeof *p->teacher_rows);
    for (size_t i = 0; i < n; i++)
        p->teacher_vectors[i] = p->teacher_rows + i * dims;
    p->step.distill =
        (aoei_distill){.form = p->o->distill, .weight = teacher_weight(p), .dims = dims, .teacher = p->teacher_vectors};
    return AOE_OK;
}

static int check_model(const pair_task *p, const aoei_trainer *t, aoe_error *err) {
    return p->method->check_model ? p->method->check_model(p->o, t->base, aoei_has_dropout(t->o, &t->base->config), err)
                                  : AOE_OK;
}

static int lay_out(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    pair_task *p = task->self;
    int code = check_model(p, t, err);
    if (code)
        return code;
    const size_t factor = aoei_method_pairs(p->method, p->o);
    const size_t pairs = factor * (p->o->batch_size < task->examples ? p->o->batch_size : task->examples);
    aoei_pair_step_options step = {.pairs = pairs,
                                   .arity = task->cross_encoder              ? 1
                                            : p->contrastive || p->arity > 2 ? p->arity
                                                                             : 0,
                                   .type = t->base->type,
                                   .optimizer = aoei_optimizer_of(t->o->optimizer),
                                   .recompute = t->o->recompute,
                                   .chunk_pairs = factor * p->o->cache_chunk < pairs ? factor * p->o->cache_chunk : 0,
                                   .loss = p->method->step_loss,
                                   .teacher_dims = p->has_teacher ? p->teacher.dims : 0,
                                   .shards = &t->shards,
                                   .accumulates = p->o->accumulate > 1,
                                   .prefixes = p->o->n_matryoshka ? p->o->matryoshka : NULL,
                                   .layers = p->o->layers.adaptive || p->o->layers.ese ? &p->o->layers : NULL};
    code = measure(p, pairs, &step.longest, &step.tokens, err);
    if (!code && step.chunk_pairs)
        code = measure(p, step.chunk_pairs, &step.longest, &step.chunk_tokens, err);
    if (p->state->measure)
        p->state->measure(&p->run, &step);
    if (!code)
        code = aoei_pair_step_create(&p->step, t->ctx, &t->base->config, &step, err);
    if (code)
        return code;
    task->params = &p->step.params;
    task->tree = &p->step.tree;
    task->candidates = step.twin ? 2 : 1;
    p->labels = aoei_malloc_array(pairs, sizeof *p->labels);
    p->groups = aoei_malloc_array(p->arity * pairs, sizeof *p->groups);
    if (!p->labels || !p->groups)
        return aoei_fail_nomem(err, pairs * sizeof *p->labels);
    p->run.labels = p->labels;
    if (p->state->lay_out && (code = p->state->lay_out(&p->run, &step, err)))
        return code;
    return p->has_teacher ? lay_out_teacher(p, p->arity * pairs, err) : AOE_OK;
}

/* Copies a batch to the buffer of the step. Sets the labels, groups and teacher embeddings of the batch. The texts of
 * all batches of a step are numbered from 0. text: number of the first text of this batch. Returns the number of the
 * first text of the next batch. */
static size_t fill_batch(pair_task *p, const aoei_planned_batch *batch, size_t text) {
    const aoei_dataset *d = &p->sources[batch->source].data;
    const aoei_file_loss *file_loss = &p->losses[batch->source];
    const aoei_token_lists *l = &d->tokens;
    p->step.arity = d->arity * file_loss->copies;
    aoei_batch_clear(&p->step.buffer);
    for (size_t i = 0; i < batch->n; i++) {
        const size_t pick = batch->first + i;
        for (size_t position = 0; position < p->step.arity; position++) {
            const size_t k = aoei_batches_texts(&p->batches, pick)[position / file_loss->copies],
                         at = p->step.arity * i + position;
            aoei_batch_add_types(&p->step.buffer, l->ids + l->offsets[k], l->types ? l->types + l->offsets[k] : NULL,
                                 aoei_token_count(l, k), (uint32_t)text++);
            aoei_batch_skip(&p->step.buffer, l, k);
            if (p->state->change_text)
                p->state->change_text(&p->run, position % file_loss->copies);
            p->groups[at] = d->groups[k];
            if (p->has_teacher)
                aoei_teacher_read(&p->teacher, batch->source, k, p->teacher_rows + at * p->teacher.dims);
        }
        p->labels[i] = d->labels[p->batches.example[pick]] / file_loss->label_scale;
    }
    return text;
}

/* Logs a warning, once in a run, if the guide has excluded all negatives since the last logged step. r: result of the
 * step. */
static void check_negatives(pair_task *p, const aoei_trainer *t, uint64_t step, const aoe_objective_result *r) {
    p->negatives += r->negatives;
    p->left_out += r->left_out;
    if (!aoei_is_logged_step(t, step + 1))
        return;
    if (p->negatives && p->left_out == p->negatives && !p->guide_warned) {
        p->guide_warned = 1;
        aoei_log_write(&t->ctx->log, AOE_LOG_WARNING,
                       "step %llu: options.teachers leaves out all negatives, so the contrastive loss is 0; lower "
                       "options.guide_margin, raise options.batch_size or choose another guide",
                       (unsigned long long)(step + 1));
    }
    p->negatives = p->left_out = 0;
}

static int gradient(aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err) {
    pair_task *p = task->self;
    const size_t first = step % task->steps_per_epoch * p->o->accumulate, left = p->batches.n - first;
    const size_t n = left < p->o->accumulate ? left : p->o->accumulate;
    const double weight = 1.0 / (double)n;
    size_t text = 0;
    aoei_batches_plan(&p->batches, step / task->steps_per_epoch);
    aoei_matryoshka_choose(&p->step.matryoshka, p->o->n_matryoshka, p->o->matryoshka_per_step, t->o->seed, step);
    aoei_layer_loss_choose(&p->step.layers, t->o->seed, step);
    if (p->batches.unused > p->batches.examples / 100 && !p->warned) {
        p->warned = 1;
        aoei_log_write(
            &t->ctx->log, AOE_LOG_WARNING,
            "%zu of %zu examples are in no batch of an epoch, because their texts occur too often and a batch of "
            "positives or triplets contains no text twice; set options.allow_duplicates to use these examples (equal "
            "texts of a batch are then negatives of each other)",
            p->batches.unused, p->batches.examples);
    }
    if (p->state->begin_step)
        p->state->begin_step(&p->run, step);
    for (size_t i = first; i < first + n; i++) {
        const aoei_planned_batch *batch = &p->batches.batch[i];
        const aoei_file_loss *file_loss = &p->losses[batch->source];
        aoe_objective_result r;
        text = p->state->fill ? p->state->fill(&p->run, batch, step, text) : fill_batch(p, batch, text);
        const int code =
            aoei_pair_step_gradient(&p->step, t->base->settings.pooling, &file_loss->objective,
                                    file_loss->has_labels ? p->labels : NULL, p->groups, drop, weight, &r, err);
        if (code)
            return code;
        aoei_result_add(&result->loss, &r, weight);
        result->tokens += p->step.buffer.batch.n_tokens;
        result->examples += batch->n;
    }
    check_negatives(p, t, step, &result->loss);
    return AOE_OK;
}

static int evaluate(aoei_task *task, aoei_trainer *t, aoe_embedder *embedder, double *score, aoei_task_result *result,
                    aoe_error *err) {
    pair_task *p = task->self;
    (void)t;
    (void)result;
    return p->o->evaluate(p->o->evaluate_user, embedder, score, err);
}

/* As AOEI_OPTIONS, also for the training files. */
#define TRAIN_OPTIONS(o, err)                                                                                          \
    AOEI_OPTIONS(aoe_train_options, o, err);                                                                           \
    aoe_train_data file_;                                                                                              \
    aoe_train_data_defaults(&file_, NULL);                                                                             \
    AOEI_ARRAY(aoe_train_data, o, data, n_data, &file_, err)

int aoe_train(aoe_context *ctx, const aoe_train_options *o, aoe_error *err) {
    const aoei_method *method;
    AOEI_CHECK(err, ctx);
    TRAIN_OPTIONS(o, err);
    const int code = aoei_method_find(&method, o->method, err);
    return code ? code : aoei_train_with_method(ctx, o, method, err);
}

/* Initializes a task with checked options. */
static void create_task(pair_task *p, const aoe_train_options *o, const aoei_method *method) {
    aoe_train_options defaults;
    aoe_train_options_defaults(&defaults);
    if (method->defaults)
        method->defaults(&defaults);
    static const aoei_method_state none;
    *p = (pair_task){.o = o,
                     .method = method,
                     .state = method->state ? method->state : &none,
                     .has_teacher = aoei_method_has_teacher(method, o)};
    p->task = (aoei_task){.self = p,
                          .load = load,
                          .prepare = p->has_teacher ? prepare : NULL,
                          .writes_cache = p->has_teacher && o->teacher_cache,
                          .describe = describe,
                          .lay_out = lay_out,
                          .gradient = gradient,
                          .evaluate = o->evaluate ? evaluate : NULL,
                          .metric = o->evaluate ? o->dev_metric : NULL,
                          .lora = &o->lora,
                          .cross_encoder = method->cross_encoder,
                          .words = method->words,
                          .pooling = defaults.args.model_options.pooling,
                          .head = {.new_classes = aoei_method_scores(method, o), .replace = o->new_head},
                          .embeds = 1};
}

static void destroy_task(pair_task *p) {
    free_files(p);
    aoei_pair_step_destroy(&p->step);
    if (p->run.state)
        p->state->destroy(p->run.state);
    aoei_batches_destroy(&p->batches);
    aoei_teacher_destroy(&p->teacher);
    for (size_t i = 0; p->sources && i < p->o->n_data; i++)
        aoei_dataset_destroy(&p->sources[i].data);
    aoei_free(p->sources);
    aoei_free(p->losses);
    aoei_free(p->labels);
    aoei_free(p->groups);
    aoei_free(p->teacher_rows);
    aoei_free(p->teacher_vectors);
}

int aoei_train_with_method(aoe_context *ctx, const aoe_train_options *o, const aoei_method *method, aoe_error *err) {
    pair_task p;
    int code = check_options(method, o, err);
    if (code)
        return code;
    create_task(&p, o, method);
    code = aoei_train_run(ctx, &o->args, &p.task, err);
    destroy_task(&p);
    return code;
}

int aoe_train_check(const aoe_train_options *o, aoe_error *err) {
    const aoei_method *method;
    TRAIN_OPTIONS(o, err);
    int code = aoei_method_find(&method, o->method, err);
    if (!code)
        code = check_options(method, o, err);
    return code ? code : aoei_training_args_check(&o->args, err);
}

int aoe_train_embed_part(aoe_context *ctx, const aoe_train_options *o, size_t part, size_t parts, aoe_error *err) {
    const aoei_method *method;
    pair_task p;
    aoei_trainer t;
    AOEI_CHECK(err, ctx);
    TRAIN_OPTIONS(o, err);
    int code = aoei_method_find(&method, o->method, err);
    if (!code)
        code = check_options(method, o, err);
    if (code)
        return code;
    if (!aoei_method_has_teacher(method, o) || !o->teacher_cache)
        return aoei_fail(err, AOE_EARG,
                         "%s is not set, so there are no teacher embeddings to compute in parts; set it, or "
                         "train without parts",
                         o->teacher_cache ? "options.teachers" : "options.teacher_cache");
    if (part >= parts || parts > AOEI_MAX_PARTS)
        return aoei_fail(err, AOE_EARG, "part %zu of %zu does not exist; part must be at least 0 and less than parts",
                         part, parts);
    create_task(&p, o, method);
    if (!(code = aoei_trainer_check(&t, ctx, &o->args, &p.task, err))) {
        p.teacher.part = (aoei_part){part, parts};
        code = aoei_teacher_embed(&p.teacher, ctx, &o->args, p.files, o->n_data, err);
        aoei_trainer_destroy(&t);
    }
    destroy_task(&p);
    return code;
}

int aoe_train_check_data(aoe_context *ctx, const aoe_train_options *o, aoe_train_sizes *sizes, aoe_error *err) {
    const aoei_method *method;
    pair_task p;
    aoei_trainer t;
    AOEI_CHECK(err, ctx, sizes);
    AOEI_RESULT(aoe_train_sizes, sizes, err);
    TRAIN_OPTIONS(o, err);
    int code = aoei_method_find(&method, o->method, err);
    if (!code)
        code = check_options(method, o, err);
    if (code)
        return code;
    create_task(&p, o, method);
    if (!(code = aoei_trainer_check(&t, ctx, &o->args, &p.task, err))) {
        code = check_model(&p, &t, err);
        *sizes = (aoe_train_sizes){.texts = p.arity * aoei_method_pairs(method, o)};
        for (size_t i = 0; i < o->n_data; i++)
            sizes->length = p.sources[i].data.longest > sizes->length ? p.sources[i].data.longest : sizes->length;
        aoei_trainer_destroy(&t);
    }
    destroy_task(&p);
    return code;
}
