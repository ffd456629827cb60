/* SPDX-License-Identifier: MIT
 * Compares the outputs of a model with golden cases, which are the outputs of a reference implementation. A directory
 * of golden cases contains these files:
 * - config.json and model.safetensors: a small model.
 * - cases.json: texts and pairs as lists of token ids, the expected losses, and the trace. The trace is the list of the
 *   losses and gradient norms of ten AdamW steps.
 * - expected.safetensors: the hidden states of every layer, the embeddings of every pooling mode, and the gradients of
 *   every parameter for each loss.
 * - adapter/ (optional): LoRA adapters of the model. In this case, expected.safetensors also contains the last hidden
 *   states and the gradients of the model with these adapters.
 * No tokenizer is needed. In int8, which does not support training, only the embeddings are compared.
 */
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "bench/verify_model.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "nn/batch.h"
#include "nn/optimizer.h"
#include "nn/pooling.h"
#include "train/pair_step.h"
#include "model/open.h"
#include "modeldir/layout.h"

#include <stdio.h>
#include <string.h>

/* Maximum relative errors. They depend on the data type of the GEMMs and on the architecture. */
typedef struct tolerances {
    /* hidden: for hidden states and embeddings; trace_loss and trace_norm: for losses and gradient norms in the
     * trace */
    double hidden, loss, gradient, trace_loss, trace_norm;
    size_t steps; /* maximum number of steps of the trace that are compared */
} tolerances;

/* allowed: tolerances by data type; allowed_int8: tolerances in int8, for post-norm and pre-norm architectures;
 * allowed_pre_norm_bf16: tolerances of pre-norm architectures in bf16. In pre-norm
 * architectures, the residual stream is never normalized, so the ten steps of the trace amplify rounding errors 10 to
 * 80 times. Therefore only the first step is compared in bf16. */
static const tolerances allowed[] = {
    [AOEI_F32] = {2e-6, 1e-6, 1e-5, 1e-5, 1e-4, SIZE_MAX}, [AOEI_BF16] = {1e-2, 1e-2, 5e-2, 1e-2, 3e-2, SIZE_MAX}};
static const tolerances allowed_pre_norm_bf16 = {2e-2, 3e-2, 5e-2, 3e-2, 5e-2, 1};
static const tolerances allowed_int8[] = {{.hidden = 5e-2}, {.hidden = 1e-1}};

/* Texts as lists of token ids. */
typedef struct id_texts {
    size_t n;        /* number of texts */
    int32_t *ids;    /* [offsets[n]] token ids of all texts, one text after the other; owned */
    size_t *offsets; /* [n + 1] offsets in `ids`: the ids of text i are ids[offsets[i], offsets[i + 1]); owned */
    size_t longest;  /* number of tokens in the longest text */
} id_texts;

typedef struct golden {
    const char *name;           /* first part of the names of the checks (aoei_check.group); borrowed */
    const char *dir;            /* directory of the golden cases; borrowed */
    json_t *cases;              /* parsed cases.json, owned */
    char *cases_path;           /* path of cases.json, owned */
    aoei_safetensors *expected; /* expected.safetensors, owned */
    aoe_model *model;           /* model in this directory, owned */
    aoei_pair_step step;        /* parameters, activations and batch of a training step; owned */
    /* values of the keys "texts" and "pairs" in cases.json; owned. The two texts of pair i are texts 2i and 2i + 1 of
     * `pairs`. B is the number of pairs. */
    id_texts texts, pairs;
    double *graded, *binary; /* [B] graded and binary labels, owned */
    uint32_t *groups;        /* [2B] for each text of `pairs`, the index of the first text with equal ids; owned */
    float *host;             /* workspace for the largest tensor that is compared, owned */
    aoe_pooling pooling;     /* pooling mode with which losses and gradients are computed */
} golden;

static const tolerances *tolerance(const golden *g) {
    if (g->model->dtype == AOE_DTYPE_INT8)
        return &allowed_int8[g->model->config.pre_norm != 0];
    return g->model->type == AOEI_BF16 && g->model->config.pre_norm ? &allowed_pre_norm_bf16 : &allowed[g->model->type];
}

static void golden_free(golden *g) {
    aoei_pair_step_destroy(&g->step);
    aoe_model_close(g->model);
    aoei_safetensors_close(g->expected);
    json_decref(g->cases);
    aoei_free(g->cases_path);
    id_texts *const lists[] = {&g->texts, &g->pairs};
    for (int i = 0; i < 2; i++) {
        aoei_free(lists[i]->ids);
        aoei_free(lists[i]->offsets);
    }
    aoei_free(g->graded);
    aoei_free(g->binary);
    aoei_free(g->groups);
    aoei_free(g->host);
    memset(g, 0, sizeof *g);
}

static int bad_cases(const golden *g, const char *what, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is missing or malformed; download or generate the file again",
                     g->cases_path, what);
}

/* Appends one text, given as a JSON list of token ids. */
static int add_ids(id_texts *t, const json_t *list, size_t vocab) {
    const size_t n = json_array_size(list), at = t->offsets[t->n];
    int32_t *grown = aoei_realloc_array(t->ids, at + n + 1, sizeof *grown);
    if (!grown)
        return AOE_ENOMEM;
    t->ids = grown;
    for (size_t i = 0; i < n; i++) {
        const json_int_t id = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)) || id < 0 || (size_t)id >= vocab)
            return AOE_EFORMAT;
        t->ids[at + i] = (int32_t)id;
    }
    t->offsets[++t->n] = at + n;
    if (n > t->longest)
        t->longest = n;
    return n ? AOE_OK : AOE_EFORMAT;
}

/* Reads the value of the key "texts" or "pairs" in cases.json. lists: number of lists of token ids per entry, 1 for
 * "texts" and 2 for "pairs". */
static int read_texts(golden *g, id_texts *t, const char *key, size_t lists, aoe_error *err) {
    const json_t *array = json_object_get(g->cases, key);
    const size_t n = json_array_size(array);
    t->offsets = aoei_calloc(n * lists + 1, sizeof *t->offsets);
    if (!t->offsets)
        return aoei_fail_nomem(err, n * sizeof *t->offsets);
    int code = n ? AOE_OK : AOE_EFORMAT;
    for (size_t i = 0; i < n && !code; i++) {
        const json_t *entry = json_array_get(array, i);
        for (size_t k = 0; k < lists && !code; k++)
            code = add_ids(t, lists == 1 ? entry : json_array_get(entry, k), g->model->config.vocab);
    }
    if (code == AOE_ENOMEM)
        return aoei_fail_nomem(err, 0);
    return code ? bad_cases(g, key, err) : AOE_OK;
}

static int read_labels(golden *g, double **out, const char *key, aoe_error *err) {
    const json_t *array = json_object_get(g->cases, key);
    const size_t B = g->pairs.n / 2;
    *out = aoei_calloc(B, sizeof **out);
    if (!*out)
        return aoei_fail_nomem(err, B * sizeof **out);
    if (json_array_size(array) != B)
        return bad_cases(g, key, err);
    for (size_t i = 0; i < B; i++) {
        if (!json_is_number(json_array_get(array, i)))
            return bad_cases(g, key, err);
        (*out)[i] = json_number_value(json_array_get(array, i));
    }
    return AOE_OK;
}

/* Sets g->groups. */
static int find_groups(golden *g, aoe_error *err) {
    const id_texts *t = &g->pairs;
    g->groups = aoei_calloc(t->n, sizeof *g->groups);
    if (!g->groups)
        return aoei_fail_nomem(err, t->n * sizeof *g->groups);
    for (size_t i = 0; i < t->n; i++) {
        const size_t n = t->offsets[i + 1] - t->offsets[i];
        size_t k = 0;
        while (k < i && (t->offsets[k + 1] - t->offsets[k] != n ||
                         memcmp(t->ids + t->offsets[k], t->ids + t->offsets[i], n * sizeof *t->ids) != 0))
            k++;
        g->groups[i] = (uint32_t)k;
    }
    return AOE_OK;
}

static int open_inputs(golden *g, const aoei_verify *v, aoe_error *err) {
    aoe_model_options options;
    aoe_model_options_defaults(&options);
    options.dtype = v->dtype;
    int code = v->dtype == AOE_DTYPE_INT8 ? aoe_model_open(&g->model, v->ctx, g->dir, &options, err)
                                          : aoei_model_open_trainable(&g->model, v->ctx, g->dir, &options, err);
    if (code)
        return code;
    g->cases_path = aoei_path_join(g->dir, "cases.json");
    char *expected = aoei_path_join(g->dir, "expected.safetensors");
    code = g->cases_path && expected ? aoei_json_load(&g->cases, g->cases_path, err) : aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_safetensors_open(&g->expected, expected, err);
    aoei_free(expected);
    const char *pooling = NULL;
    if (!code)
        code = aoei_json_string(g->cases, "pooling", &pooling, NULL, g->cases_path, err);
    if (!code)
        code = pooling ? aoe_pooling_parse(&g->pooling, pooling, err) : bad_cases(g, "pooling", err);
    return code;
}

/* Checks that the model supports texts of `longest` tokens. */
static int check_length(const golden *g, size_t longest, aoe_error *err) {
    const size_t positions = g->model->config.arch->max_length(&g->model->config);
    if (longest > positions)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: a text has %zu tokens, but the model has only %zu positions; download or generate the file again",
            g->cases_path, longest, positions);
    return AOE_OK;
}

static int lay_out(golden *g, const aoei_verify *v, aoe_error *err) {
    const size_t n_texts = g->texts.offsets[g->texts.n], n_pairs = g->pairs.offsets[g->pairs.n];
    const size_t tokens = n_texts > n_pairs ? n_texts : n_pairs;
    const size_t longest = g->texts.longest > g->pairs.longest ? g->texts.longest : g->pairs.longest;
    const size_t rows = g->texts.n > g->pairs.n ? g->texts.n : g->pairs.n;
    const int rc = check_length(g, longest, err);
    if (rc)
        return rc;
    const aoei_pair_step_options step = {
        .pairs = (rows + 1) / 2, .tokens = tokens, .longest = longest, .type = g->model->type};
    int code = aoei_pair_step_create(&g->step, v->ctx, &g->model->config, &step, err);
    if (code)
        return code;
    for (size_t s = 0; s < g->step.params.n_slots; s++)
        /* the reference implementation applies weight decay to all parameters, including biases and norms */
        g->step.params.segments[s].decay = 1;
    aoei_params_load(v->ctx, &g->step.params, g->model->weights);
    g->host = aoei_malloc_array(g->step.params.count + tokens * g->model->config.hidden, sizeof *g->host);
    return g->host ? AOE_OK : aoei_fail_nomem(err, g->step.params.count * sizeof *g->host);
}

/* Replaces the texts in the batch of the training step by the texts of *t. */
static void fill(golden *g, const id_texts *t) {
    aoei_batch_clear(&g->step.buffer);
    for (size_t i = 0; i < t->n; i++)
        aoei_batch_add(&g->step.buffer, t->ids + t->offsets[i], t->offsets[i + 1] - t->offsets[i], (uint32_t)i);
}

/* Compares n computed values `got` with the elements [first, first + n) of the tensor `name` of expected.safetensors.
 * Fails if the tensor is missing or does not have `total` elements. */
static int compare_part(const golden *g, aoei_check *c, const char *name, const float *got, size_t n, size_t first,
                        size_t total, aoe_error *err) {
    const aoei_st_tensor *t = aoei_safetensors_find(g->expected, name);
    if (!t || t->dtype != AOEI_ST_F32 || aoei_st_elements(t) != total)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s/expected.safetensors: there is no F32 tensor \"%s\" with %zu values; download or generate the "
            "file again",
            g->dir, name, total);
    float *want = aoei_malloc_array(total, sizeof *want);
    if (!want)
        return aoei_fail_nomem(err, total * sizeof *want);
    aoei_st_to_float(want, t);
    aoei_check_floats(c, got, want + first, n);
    aoei_free(want);
    return AOE_OK;
}

/* Compares n computed values `got` with the tensor `name` of expected.safetensors, which must have n elements. */
static int compare(const golden *g, aoei_check *c, const char *name, const float *got, size_t n, aoe_error *err) {
    return compare_part(g, c, name, got, n, 0, n, err);
}

/* Checks the hidden states of all layers and texts. */
static int check_hidden(golden *g, aoei_verify *v, aoe_error *err) {
    const aoei_encoder_config *c = &g->model->config;
    const aoei_batch *b = &g->step.buffer.batch;
    aoei_check check;
    int code = AOE_OK;
    for (size_t l = 0; l <= c->layers && !code; l++) {
        char line[32];
        snprintf(line, sizeof line, "hidden.%zu", l);
        aoei_check_begin(&check, g->name, line, tolerance(g)->hidden);
        const aoei_tensor hidden = aoei_encoder_hidden(&g->step.state, c, l, b->n_tokens);
        for (size_t i = 0; i < b->n_texts && !code; i++) {
            char name[64];
            const size_t n = b->offsets[i + 1] - b->offsets[i];
            snprintf(name, sizeof name, "hidden.%zu.%zu", i, l);
            aoei_tensor_read(v->ctx, g->host, aoei_tensor_rows(hidden, b->offsets[i], n));
            code = compare(g, &check, name, g->host, n * c->hidden, err);
        }
        if (!code)
            aoei_check_end(v, &check);
    }
    return code;
}

/* Returns the name of a pooling in the names of golden tensors, which are those of the AnglE paper. */
static const char *golden_pooling(aoe_pooling p) {
    return p == AOE_POOLING_LAST_AVG ? "last-avg" : p == AOE_POOLING_LAST_MAX ? "last-max" : aoe_pooling_name(p);
}

/* Checks the embeddings of all pooling modes, except the modes that only recurrent attention networks (RAN) have. */
static int check_pooled(golden *g, aoei_verify *v, aoe_error *err) {
    const aoei_encoder_config *c = &g->model->config;
    const aoei_batch *b = &g->step.buffer.batch;
    const aoei_tensor out = aoei_tensor_cols(aoei_tensor_rows(g->step.pooled, 0, b->n_texts), 0, c->hidden);
    int code = AOE_OK;
    for (int p = AOE_POOLING_AUTO + 1; p < AOE_POOLING_CELL_LAST && !code; p++) {
        aoei_check check;
        char line[48];
        snprintf(line, sizeof line, "pooled.0.%s", golden_pooling((aoe_pooling)p));
        if (!aoei_safetensors_find(g->expected, line)) /* the reference implementation did not have this pooling mode
                                                          when the golden cases were generated */
            continue;
        snprintf(line, sizeof line, "pooled.%s", aoe_pooling_name((aoe_pooling)p));
        aoei_check_begin(&check, g->name, line, tolerance(g)->hidden);
        aoei_pool_forward(v->ctx, out, (aoe_pooling)p, aoei_encoder_hidden(&g->step.state, c, 0, b->n_tokens),
                          aoei_encoder_hidden(&g->step.state, c, c->layers, b->n_tokens), b);
        for (size_t i = 0; i < b->n_texts && !code; i++) {
            char name[80];
            snprintf(name, sizeof name, "pooled.%zu.%s", i, golden_pooling((aoe_pooling)p));
            aoei_tensor_read(v->ctx, g->host, aoei_tensor_rows(out, i, 1));
            code = compare(g, &check, name, g->host, c->hidden, err);
        }
        if (!code)
            aoei_check_end(v, &check);
    }
    return code;
}

/* Checks the last hidden states of a causal model whose attention is made bidirectional in all layers. Does nothing if
 * the model is not causal or if the golden cases do not contain these hidden states. */
static int check_bidirectional(golden *g, aoei_verify *v, aoe_error *err) {
    aoei_encoder_config c = g->model->config;
    const aoei_batch *b = &g->step.buffer.batch;
    aoei_check check;
    int code = AOE_OK;
    if (!c.causal)
        return AOE_OK;
    c.bidirectional_from = 0;
    aoei_check_begin(&check, g->name, "bidirectional", tolerance(g)->hidden);
    const aoei_tensor last = aoei_encoder_forward(v->ctx, &c, g->step.params.values, b, &g->step.state, NULL);
    for (size_t i = 0; i < b->n_texts && !code; i++) {
        char name[64];
        const size_t n = b->offsets[i + 1] - b->offsets[i];
        snprintf(name, sizeof name, "bidirectional.%zu", i);
        if (!aoei_safetensors_find(g->expected, name))
            continue;
        aoei_tensor_read(v->ctx, g->host, aoei_tensor_rows(last, b->offsets[i], n));
        code = compare(g, &check, name, g->host, n * c.hidden, err);
    }
    if (!code && check.compared)
        aoei_check_end(v, &check);
    return code;
}

static const char *const loss_names[] = {"cosine", "angle", "ibn", "ibn-isp"};
enum { COSINE, ANGLE, IBN, IBN_ISP, LOSSES };

/* Returns the options of an objective that is a sum of losses. mask: bits that select the losses, such as 1 << COSINE.
 * The temperatures are the defaults, as in the AnglE paper: 1/20 for cosine and ibn, and 1 for angle. For ibn, pairs
 * with label 1 are positive. */
static aoe_objective_options loss_options(unsigned mask) {
    aoe_objective_options o;
    aoe_objective_options_defaults(&o);
    o.w_cosine = (mask >> COSINE) & 1;
    o.w_angle = (mask >> ANGLE) & 1;
    o.w_ibn = (mask >> IBN | mask >> IBN_ISP) & 1;
    o.isp = (mask >> IBN_ISP) & 1;
    o.ibn_threshold = 1;
    return o;
}

/* Computes the losses that `mask` selects, adds their sum to *loss, and adds their gradients to the gradients of the
 * parameters. */
static int add_gradient(golden *g, unsigned mask, const double *label, double *loss, aoe_error *err) {
    const aoe_objective_options o = loss_options(mask);
    aoe_objective_result r;
    const int code = aoei_pair_step_gradient(&g->step, g->pooling, &o, label, g->groups, NULL, 1.0, &r, err);
    if (!code)
        *loss += r.total;
    return code;
}

/* Writes the name of a gradient in expected.safetensors to `out`. name: name of the loss; slot: the parameter. The name
 * of the gradient of an adapter does not contain ".weight". */
static void gradient_name(char *out, size_t size, const golden *g, const char *name, const aoei_slot *slot) {
    const size_t tail = slot->adapter ? strlen(".weight") : 0;
    snprintf(out, size, "grad.%s.%s%.*s", name, g->model->files.prefix, (int)(strlen(slot->name) - tail), slot->name);
}

/* Checks the value of a loss and its gradients for all parameters. loss: COSINE, ANGLE, IBN or IBN_ISP; name: name of
 * the loss in the golden cases. */
static int check_gradients(golden *g, aoei_verify *v, int loss, const char *name, aoe_error *err) {
    aoei_check value, gradient;
    char line[48];
    double got = 0;
    int code = add_gradient(g, 1U << loss, loss == COSINE || loss == ANGLE ? g->graded : g->binary, &got, err);
    if (code)
        return code;
    snprintf(line, sizeof line, "loss.%s", name);
    aoei_check_begin(&value, g->name, line, tolerance(g)->loss);
    const json_t *want = json_object_get(json_object_get(g->cases, "losses"), name);
    if (!json_is_number(want))
        return bad_cases(g, "losses", err);
    const double expected = json_number_value(want);
    aoei_check_values(&value, &got, &expected, 1);
    snprintf(line, sizeof line, "gradient.%s", name);
    aoei_check_begin(&gradient, g->name, line, tolerance(g)->gradient);
    gradient.joined = g->model->type == AOEI_BF16;
    for (size_t s = 0; s < g->step.params.n_slots && !code; s++) {
        aoei_slot slot;
        char tensor[224];
        aoei_slot_describe(&g->model->config, s, &slot);
        if (slot.absent || slot.frozen)
            continue;
        gradient_name(tensor, sizeof tensor, g, name, &slot);
        aoei_tensor_read(v->ctx, g->host, g->step.params.grads[s]);
        const size_t row = slot.vector ? 1 : slot.cols, n = slot.rows * slot.cols;
        code = compare_part(g, &gradient, tensor, g->host, n, slot.first * row,
                            slot.stored_rows ? slot.stored_rows * row : n, err);
    }
    aoei_tensor_zero(v->ctx, g->step.params.grad);
    if (!code) {
        aoei_check_end(v, &value);
        aoei_check_end(v, &gradient);
    }
    return code;
}

/* Checks the last hidden states of the texts, computed by the model with adapters. */
static int check_adapted(golden *g, aoei_verify *v, aoe_error *err) {
    const aoei_batch *b = &g->step.buffer.batch;
    aoei_check check;
    int code = AOE_OK;
    fill(g, &g->texts);
    aoei_check_begin(&check, g->name, "lora", tolerance(g)->hidden);
    const aoei_tensor last =
        aoei_encoder_forward(v->ctx, &g->model->config, g->step.params.values, b, &g->step.state, NULL);
    for (size_t i = 0; i < b->n_texts && !code; i++) {
        char name[64];
        const size_t n = b->offsets[i + 1] - b->offsets[i];
        snprintf(name, sizeof name, "lora.%zu", i);
        aoei_tensor_read(v->ctx, g->host, aoei_tensor_rows(last, b->offsets[i], n));
        if (aoei_safetensors_find(g->expected, name))
            code = compare(g, &check, name, g->host, n * g->model->config.hidden, err);
    }
    if (!code)
        aoei_check_end(v, &check);
    return code;
}

/* If DIR/adapter exists, checks the forward pass and the gradients of the angle loss with its adapters. */
static int check_adapters(const golden *whole, aoei_verify *v, aoe_error *err) {
    char *dir = aoei_path_join(whole->dir, "adapter");
    golden g = *whole;
    g.model = NULL;
    g.host = NULL;
    memset(&g.step, 0, sizeof g.step);
    int code = dir ? AOE_OK : aoei_fail_nomem(err, strlen(whole->dir));
    if (!code && aoei_is_adapter_dir(dir)) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = v->dtype;
        o.base = whole->dir;
        code = aoei_model_open_trainable(&g.model, v->ctx, dir, &o, err);
        if (!code)
            code = lay_out(&g, v, err);
        if (!code)
            code = check_adapted(&g, v, err);
        if (!code)
            fill(&g, &g.pairs);
        if (!code)
            code = check_gradients(&g, v, ANGLE, "lora-angle", err);
    }
    aoei_pair_step_destroy(&g.step);
    aoe_model_close(g.model);
    aoei_free(g.host);
    aoei_free(dir);
    return code;
}

/* Checks the loss and the gradient norm of each step of the trace. A step is an AdamW step on the batch of pairs; the
 * loss is cosine + angle + ibn-isp, and weight decay applies to all parameters. */
static int check_trace(golden *g, aoei_verify *v, aoe_error *err) {
    const json_t *adamw = json_object_get(g->cases, "adamw"), *trace = json_object_get(adamw, "trace");
    const json_t *betas = json_object_get(adamw, "betas");
    aoei_optimizer o = {.beta1 = json_number_value(json_array_get(betas, 0)),
                        .beta2 = json_number_value(json_array_get(betas, 1))};
    int code = aoei_json_double(adamw, "lr", &o.lr, g->cases_path, err);
    if (!code)
        code = aoei_json_double(adamw, "eps", &o.eps, g->cases_path, err);
    if (!code)
        code = aoei_json_double(adamw, "weight_decay", &o.weight_decay, g->cases_path, err);
    if (code)
        return code;
    if (json_array_size(trace) == 0)
        return bad_cases(g, "adamw.trace", err);
    aoei_check loss, norm;
    aoei_check_begin(&loss, g->name, "adamw.loss", tolerance(g)->trace_loss);
    aoei_check_begin(&norm, g->name, "adamw.gradient-norm", tolerance(g)->trace_norm);
    for (size_t i = 0; i < json_array_size(trace) && i < tolerance(g)->steps && !code; i++) {
        double total = 0, want = 0, want_norm = 0;
        code = add_gradient(g, 1U << COSINE | 1U << ANGLE, g->graded, &total, err);
        if (!code)
            code = add_gradient(g, 1U << IBN_ISP, g->binary, &total, err);
        if (!code)
            code = aoei_json_double(json_array_get(trace, i), "loss", &want, g->cases_path, err);
        if (!code)
            code = aoei_json_double(json_array_get(trace, i), "grad_norm", &want_norm, g->cases_path, err);
        if (code)
            break;
        o.step = i + 1;
        const double got_norm = aoei_params_update(g->step.ctx, &g->step.params, &o, 0);
        aoei_check_values(&loss, &total, &want, 1);
        aoei_check_values(&norm, &got_norm, &want_norm, 1);
    }
    if (!code) {
        aoei_check_end(v, &loss);
        aoei_check_end(v, &norm);
    }
    return code;
}

/* Allocates the activations and the embeddings of inference in the arena. */
static int inference_layout(golden *g, const aoei_verify *v, aoei_arena *arena, aoe_error *err) {
    const aoei_encoder_mode mode = {.type = g->model->type, .int8 = g->model->dtype == AOE_DTYPE_INT8};
    g->step.pooled = aoei_tensor_take(arena, g->texts.n, g->model->config.hidden);
    return aoei_encoder_layout(&g->step.state, v->ctx, &g->model->config, arena, g->texts.offsets[g->texts.n],
                               g->texts.n, g->texts.longest, mode, err);
}

/* Checks the embeddings of a model that was opened for inference. */
static int verify_inference(golden *g, aoei_verify *v, aoe_error *err) {
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = check_length(g, g->texts.longest, err);
    if (!code)
        code = inference_layout(g, v, &plan, err);
    if (!code)
        code = aoei_arena_create(&g->step.arena, plan.used, err);
    if (!code)
        code = inference_layout(g, v, &g->step.arena, err);
    if (!code)
        code = aoei_batch_buffer_create(&g->step.buffer, g->texts.offsets[g->texts.n], g->texts.n, err);
    if (code)
        return code;
    g->host = aoei_malloc_array(g->model->config.hidden, sizeof *g->host);
    if (!g->host)
        return aoei_fail_nomem(err, g->model->config.hidden * sizeof *g->host);
    fill(g, &g->texts);
    aoei_encoder_forward(v->ctx, &g->model->config, g->model->weights, &g->step.buffer.batch, &g->step.state, NULL);
    return check_pooled(g, v, err);
}

/* Checks the hidden states, embeddings, losses, gradients and optimizer steps of a model that was opened for
 * training. */
static int verify_training(golden *g, aoei_verify *v, aoe_error *err) {
    int code = read_texts(g, &g->pairs, "pairs", 2, err);
    if (!code)
        code = read_labels(g, &g->graded, "graded", err);
    if (!code)
        code = read_labels(g, &g->binary, "binary", err);
    if (!code)
        code = find_groups(g, err);
    if (!code)
        code = lay_out(g, v, err);
    if (!code) {
        fill(g, &g->texts);
        aoei_encoder_forward(v->ctx, &g->model->config, g->step.params.values, &g->step.buffer.batch, &g->step.state,
                             NULL);
        code = check_hidden(g, v, err);
    }
    if (!code)
        code = check_pooled(g, v, err);
    if (!code)
        code = check_bidirectional(g, v, err);
    if (!code)
        fill(g, &g->pairs);
    for (int l = 0; l < LOSSES && !code; l++)
        code = check_gradients(g, v, l, loss_names[l], err);
    if (!code)
        code = check_trace(g, v, err);
    return code ? code : check_adapters(g, v, err);
}

int aoei_verify_model(aoei_verify *v, const char *dir, const char *name, aoe_error *err) {
    golden g;
    memset(&g, 0, sizeof g);
    g.name = name;
    g.dir = dir;
    int code = open_inputs(&g, v, err);
    if (!code)
        code = read_texts(&g, &g.texts, "texts", 1, err);
    if (!code)
        code = v->dtype == AOE_DTYPE_INT8 ? verify_inference(&g, v, err) : verify_training(&g, v, err);
    golden_free(&g);
    return code;
}
