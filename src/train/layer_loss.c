/* SPDX-License-Identifier: MIT
 * Computes losses on the hidden states of all layers.
 */
#include "train/layer_loss.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/encoder.h"
#include "loss/ese_target.h"
#include "loss/layer_terms.h"
#include "options/rows.h"

#define ESE_TEMPERATURE 1.0 /* temperature of the distributions in the term of ESE */

AOEI_DEFAULTS(aoe_layer_options) {
    *o = (aoe_layer_options){.struct_size = sizeof *o,
                             .per_step = 1,
                             .temperature = 0.3,
                             .w_last = 1,
                             .w_layers = 1,
                             .w_kl = 1,
                             .ese_dims = 128};
}

int aoei_layer_loss_check(const aoe_train_options *o, aoe_error *err) {
    const aoe_layer_options *l = &o->layers;
    if (!l->adaptive && !l->ese)
        return AOE_OK;
    if (l->adaptive && l->ese)
        return aoei_fail(err, AOE_EARG,
                         "options.layers.adaptive and options.layers.ese cannot be combined; choose one of them");
    if (l->ese && o->n_matryoshka)
        return aoei_fail(
            err, AOE_EARG,
            "options.layers.ese already trains truncated embeddings; set options.layers.ese_dims instead of "
            "options.matryoshka");
    if (l->adaptive && !(l->w_last + l->w_layers + l->w_kl > 0))
        return aoei_fail(
            err, AOE_EARG,
            "options.layers.w_last, options.layers.w_layers and options.layers.w_kl are 0; set one of them to a value "
            "above 0");
    return AOE_OK;
}

/* Checks the options of ESE against the model. */
static int check_ese(const aoe_train_options *o, const aoe_model *m, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config), c = o->layers.ese_dims;
    if (m->config.layers < 2)
        return aoei_fail(err, AOE_EARG,
                         "options.layers.ese requires a model with at least 2 layers, but the model has %zu",
                         m->config.layers);
    if (c > dims)
        return aoei_fail(err, AOE_EARG,
                         "options.layers.ese_dims is %zu, but the embeddings have only %zu components; lower it", c,
                         dims);
    if (c % 2 && o->method == AOE_METHOD_ANGLE && o->objective.w_angle > 0)
        return aoei_fail(
            err, AOE_EARG,
            "options.layers.ese_dims is %zu, but the angle loss requires an even size; set options.w_angle to 0", c);
    return AOE_OK;
}

int aoei_layer_loss_check_model(const aoe_train_options *o, const aoe_model *m, aoe_error *err) {
    const aoe_layer_options *l = &o->layers;
    const aoei_encoder_config *c = &m->config;
    const char *option = l->ese ? "options.layers.ese" : "options.layers.adaptive";
    if (!l->adaptive && !l->ese)
        return AOE_OK;
    if (!c->arch->encoder->taps)
        return aoei_fail(err, AOE_EARG, "%s is not supported by architecture '%s'; choose a transformer", option,
                         c->arch->model_type);
    if (!aoei_encoder_has_taps(c, m->settings.pooling))
        return aoei_fail(
            err, AOE_EARG,
            "%s: the pooling of the model uses the hidden states of several layers; set options.pooling to a "
            "pooling of the last hidden state, such as mean or cls",
            option);
    if (aoei_training_layers_of(c)->n_projection)
        return aoei_fail(err, AOE_EARG,
                         "%s: the method computes its loss after a projection, and not from the embeddings; set "
                         "options.no_projection",
                         option);
    if (l->adaptive && l->per_step > c->layers)
        return aoei_fail(err, AOE_EARG,
                         "options.layers.per_step is %zu, but must be at most %zu, the number of layers of the model",
                         l->per_step, c->layers);
    return l->ese ? check_ese(o, m, err) : AOE_OK;
}

int aoei_layer_loss_describe(const aoe_train_options *o, json_t *record) {
    const aoe_layer_options *l = &o->layers;
    int bad = 0;
    if (l->adaptive)
        bad |= json_object_set_new(record, "adaptive_layers",
                                   json_pack("{s:I,s:s,s:f,s:f,s:f,s:f}", "per_step", (json_int_t)l->per_step, "prior",
                                             aoei_layer_prior_names[l->prior], "temperature", l->temperature, "w_last",
                                             l->w_last, "w_layers", l->w_layers, "w_kl", l->w_kl));
    if (l->ese)
        bad |= json_object_set_new(record, "ese", json_pack("{s:I}", "dims", (json_int_t)l->ese_dims));
    return bad;
}

size_t aoei_layer_loss_states(const aoe_layer_options *o, size_t layers) {
    return !o ? 0 : o->ese ? layers - 1 : o->adaptive ? o->per_step : 0;
}

int aoei_layer_loss_create(aoei_layer_loss *p, const aoe_layer_options *o, size_t layers, size_t texts, size_t dims,
                           size_t head_rows, size_t head_cols, aoe_error *err) {
    *p = (aoei_layer_loss){.o = *o, .layers = layers, .max = aoei_layer_loss_states(o, layers), .stride = texts * dims};
    const size_t bytes = o->ese ? aoei_ese_target_workspace(texts, dims, o->ese_dims) : 1, n = p->max * texts;
    p->state = aoei_malloc_array(layers, sizeof *p->state);
    p->vectors = aoei_malloc_array(n, dims * sizeof *p->vectors);
    p->grad = aoei_malloc_array(n, dims * sizeof *p->grad);
    p->part = aoei_malloc_array(texts, dims * sizeof *p->part);
    p->sum = aoei_malloc_array(texts, dims * sizeof *p->sum);
    p->student = aoei_malloc_array(texts, dims * sizeof *p->student);
    p->target = aoei_malloc_array(texts, dims * sizeof *p->target);
    p->term_grad = aoei_malloc_array(texts, dims * sizeof *p->term_grad);
    p->row = aoei_malloc_array(texts, sizeof *p->row);
    p->workspace = bytes ? aoei_aligned(bytes) : NULL;
    int code = p->state && p->vectors && p->grad && p->part && p->sum && p->student && p->target && p->term_grad &&
                       p->row && p->workspace
                   ? AOE_OK
                   : aoei_fail(err, AOE_ENOMEM,
                               "out of memory for the hidden states of %zu texts; lower options.batch_size", texts);
    if (!code && o->ese)
        code = aoei_matryoshka_create(&p->prefix, texts, dims, head_rows, head_cols, err);
    if (code)
        aoei_layer_loss_destroy(p);
    return code;
}

void aoei_layer_loss_destroy(aoei_layer_loss *p) {
    aoei_free(p->state);
    aoei_free(p->vectors);
    aoei_free(p->grad);
    aoei_free(p->part);
    aoei_free(p->sum);
    aoei_free(p->student);
    aoei_free(p->target);
    aoei_free(p->term_grad);
    aoei_free(p->row);
    aoei_aligned_free(p->workspace);
    aoei_matryoshka_destroy(&p->prefix);
    memset(p, 0, sizeof *p);
}

void aoei_layer_loss_choose(aoei_layer_loss *p, uint64_t seed, uint64_t step) {
    p->seed = seed;
    p->step = step;
    p->n_states = 0;
    if (p->o.ese)
        for (size_t i = 0; i + 1 < p->layers; i++)
            p->state[p->n_states++] = i;
    if (!p->o.adaptive)
        return;
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_LAYERS, (uint32_t)step);
    size_t left = p->o.per_step;
    for (size_t i = 0; i < p->layers; i++) /* selection sampling (Knuth, algorithm S): all sets are equally probable */
        if (aoei_rng_below(&r, (uint32_t)(p->layers - i)) < left) {
            p->state[p->n_states++] = i;
            left--;
        }
}

/* The loss of the method and its batch. */
typedef struct base {
    aoei_layer_loss *p;
    aoei_matryoshka *m;
    const aoe_prefix *prefix;
    const aoei_step_loss *loss;
    const aoei_loss_batch *b;
    aoe_objective_result *result;
} base;

static size_t cells(const base *s) {
    return s->b->examples.arity * s->b->examples.B * s->b->examples.D;
}

/* Adds weight times the loss of the vectors v to the result, and weight times its gradient to p->sum. m, prefix: sizes
 * of the truncated vectors from which the loss is computed; prefix is NULL for whole vectors. The distillation term is
 * excluded if `with_teacher` is 0. */
static int add_loss(const base *s, const float *v, aoei_matryoshka *m, const aoe_prefix *prefix, double weight,
                    int with_teacher, aoe_error *err) {
    aoei_loss_batch part = *s->b;
    aoe_objective_result r;
    if (!(weight > 0))
        return AOE_OK;
    part.examples.v = v;
    part.examples.grad = s->p->part;
    part.scale *= weight;
    part.distill = with_teacher ? part.distill : NULL;
    const int code = prefix ? aoei_matryoshka_compute(m, prefix, s->loss, &part, &r, err)
                            : aoei_step_loss_compute(s->loss, &part, &r, err);
    if (code)
        return code;
    aoei_result_add(s->result, &r, weight);
    aoei_result_set_counts(s->result, &r);
    for (size_t i = 0; i < cells(s); i++)
        s->p->sum[i] += weight * (double)s->p->part[i];
    return AOE_OK;
}

static void clear_sum(const base *s) {
    memset(s->p->sum, 0, cells(s) * sizeof *s->p->sum);
}

/* Rounds p->sum to grad. */
static void store_sum(const base *s, float *grad) {
    for (size_t i = 0; i < cells(s); i++)
        grad[i] = (float)s->p->sum[i];
}

/* ------------------------------------------------------- adaptive layers */

static double prior_weight(aoe_layer_prior prior, size_t i) {
    return prior == AOE_LAYER_PRIOR_LOG      ? 1 / (1 + log(1 + (double)i))
           : prior == AOE_LAYER_PRIOR_LINEAR ? 1 / (1 + (double)i)
                                             : 1;
}

static int adaptive_layer(const base *s, size_t i, aoe_error *err) {
    aoei_layer_loss *p = s->p;
    const aoei_example_batch *e = &s->b->examples;
    const float *v = aoei_layer_loss_vectors(p, i);
    const double weight = prior_weight(p->o.prior, p->state[i]) * p->o.w_layers / (double)p->n_states;
    clear_sum(s);
    const int code = add_loss(s, v, s->m, s->prefix, weight, 1, err);
    if (code)
        return code;
    for (size_t k = 0; k < cells(s); k++)
        p->student[k] = (double)v[k];
    const aoei_layer_term kl = {.N = e->arity * e->B,
                                .D = e->D,
                                .u = p->student,
                                .t = p->target,
                                .temperature = p->o.temperature,
                                .weight = p->o.w_kl,
                                .grad = p->sum,
                                .row = p->row,
                                .ctx = s->b->ctx};
    if (p->o.w_kl > 0) {
        const double term = aoei_layer_term_compute(&kl);
        s->result->layers += term;
        s->result->total += p->o.w_kl * term;
    }
    store_sum(s, aoei_layer_loss_grad(p, i));
    return AOE_OK;
}

/* ------------------------------------------------------------------- ESE */

/* Adds weight times (the loss of the first c components of v, and the term that compares them with the target of v).
 * state: index of the hidden state. */
static int compressed_loss(const base *s, const float *v, size_t state, double weight, aoe_error *err) {
    aoei_layer_loss *p = s->p;
    const aoei_example_batch *e = &s->b->examples;
    const size_t N = e->arity * e->B, D = e->D, c = p->o.ese_dims;
    const aoe_prefix prefix = {.dims = c, .weight = 1};
    p->prefix.sizes[0] = 0;
    p->prefix.n_sizes = 1;
    int code = add_loss(s, v, &p->prefix, &prefix, weight, 0, err);
    if (code)
        return code;
    for (size_t k = 0; k < N * D; k++)
        p->student[k] = (double)v[k];
    const aoei_ese_target target = {.N = N,
                                    .D = D,
                                    .c = c,
                                    .m = p->student,
                                    .k = p->target,
                                    .seed = p->seed,
                                    .step = p->step,
                                    .layer = (uint32_t)state,
                                    .workspace = p->workspace,
                                    .ctx = s->b->ctx};
    code = aoei_ese_target_compute(&target, err);
    if (code)
        return code;
    for (size_t i = 0; i < N; i++)
        memmove(p->student + i * c, p->student + i * D, c * sizeof *p->student);
    memset(p->term_grad, 0, N * c * sizeof *p->term_grad);
    const aoei_layer_term term = {.N = N,
                                  .D = c,
                                  .u = p->student,
                                  .t = p->target,
                                  .temperature = ESE_TEMPERATURE,
                                  .with_squares = 1,
                                  .weight = weight,
                                  .grad = p->term_grad,
                                  .row = p->row,
                                  .ctx = s->b->ctx};
    const double value = weight * aoei_layer_term_compute(&term);
    s->result->layers += value;
    s->result->total += value;
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < c; k++)
            p->sum[i * D + k] += p->term_grad[i * c + k];
    return AOE_OK;
}

static int ese_layer(const base *s, size_t i, aoe_error *err) {
    aoei_layer_loss *p = s->p;
    const size_t state = p->state[i];
    const double weight = 1 / ((double)(p->layers - 1) * (1 + log(1 + (double)state)));
    clear_sum(s);
    const int code = compressed_loss(s, aoei_layer_loss_vectors(p, i), state, weight, err);
    if (!code)
        store_sum(s, aoei_layer_loss_grad(p, i));
    return code;
}

int aoei_layer_loss_compute(aoei_layer_loss *p, aoei_matryoshka *m, const aoe_prefix *prefix,
                            const aoei_step_loss *loss, const aoei_loss_batch *b, aoe_objective_result *result,
                            aoe_error *err) {
    const base s = {.p = p, .m = m, .prefix = prefix, .loss = loss, .b = b, .result = result};
    const float *last = b->examples.v;
    *result = (aoe_objective_result){0};
    clear_sum(&s);
    int code = add_loss(&s, last, m, prefix, p->o.ese ? 1 : p->o.w_last, 1, err);
    if (!code && p->o.ese)
        code = compressed_loss(&s, last, p->layers, 1, err);
    if (code)
        return code;
    store_sum(&s, b->examples.grad);
    for (size_t k = 0; k < cells(&s) && p->o.adaptive; k++)
        p->target[k] = (double)last[k];
    for (size_t i = 0; i < p->n_states; i++) {
        code = (p->o.ese ? ese_layer : adaptive_layer)(&s, i, err);
        if (code) {
            aoei_error_prefix(err, "hidden state %zu", p->state[i]);
            return code;
        }
    }
    return AOE_OK;
}
