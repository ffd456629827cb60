/* SPDX-License-Identifier: MIT
 * Trains a normalizing flow with the recipe of BERT-flow (Li et al. 2020).
 */
#include "create/flow_fit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

#define LN2          0.69314718055994530942
#define BETA1        0.9
#define BETA2        0.999
#define EPSILON      1e-6
#define WEIGHT_DECAY 0.01
#define MAX_NORM     1.0 /* maximum norm of the gradient of a step */

enum { BLOCK = 4096 /* number of parameters that one task updates */ };

/* The state of the training. */
typedef struct fit {
    aoei_flow *f;                   /* borrowed */
    const aoei_flow_data *data;     /* borrowed */
    const aoei_flow_fit_options *o; /* borrowed */
    aoei_pool *pool;                /* borrowed */
    size_t *order;                  /* [examples] order of the examples in the epoch, owned */
    size_t *text;                   /* [texts] indices of the texts of a batch, owned */
    double *moment1, *moment2;      /* [parameters] moments of the optimizer, owned */
    double clip;                    /* factor of the gradient in the current step */
} fit;

static size_t text_count(const aoei_flow_data *data) {
    return data->first[data->examples];
}

/* Sets s->text to the texts of the examples [first, end) in the order of the epoch, and returns their number. */
static size_t collect(const fit *s, size_t first, size_t end) {
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        for (size_t k = s->data->first[s->order[i]]; k < s->data->first[s->order[i] + 1]; k++)
            s->text[n++] = k;
    return n;
}

/* Copies the vectors of n texts to x [n, D]. */
static void read_vectors(const fit *s, double *x, const size_t *text, size_t n) {
    const size_t D = s->f->shape.dims;
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < D; k++)
            x[r * D + k] = (double)s->data->vectors[text[r] * D + k];
}

/* Sets the order of the examples in an epoch, a function of the seed and the epoch. */
static void shuffle(const fit *s, size_t epoch) {
    aoei_rng r;
    for (size_t i = 0; i < s->data->examples; i++)
        s->order[i] = i;
    aoei_rng_init(&r, s->o->seed, AOEI_STREAM_FLOW, UINT32_MAX - (uint32_t)epoch);
    aoei_rng_shuffle(&r, s->order, s->data->examples);
}

/* Returns the smaller number. */
static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* --------------------------------------------------------------- training */

/* Initializes the parameters from the first batch. */
static int initialize(const fit *s, aoe_error *err) {
    const size_t D = s->f->shape.dims, n = collect(s, 0, least(s->o->batch_size, s->data->examples));
    double *x = aoei_malloc_array(n, D * sizeof *x),
           *workspace = aoei_malloc_array(2 * n, s->f->shape.width * sizeof *x);
    int equal = 1, rc = x && workspace ? 0 : aoei_fail_nomem(err, n * D * sizeof *x);
    if (!rc) {
        read_vectors(s, x, s->text, n);
        for (size_t r = 1; r < n && equal; r++)
            equal = !memcmp(x, x + r * D, D * sizeof *x);
        if (equal)
            rc = aoei_fail(err, AOE_EFORMAT,
                           "the embeddings of all %zu texts of the first batch are equal; give different texts", n);
        else
            aoei_flow_init(s->f, x, n, workspace, s->o->seed);
    }
    aoei_free(workspace);
    aoei_free(x);
    return rc;
}

/* Computes the gradient of the loss of a batch with `n` texts and `examples` examples, and returns the loss. */
static double differentiate(const fit *s, size_t n, size_t examples) {
    const aoei_flow *f = s->f;
    const size_t D = f->shape.dims;
    const double logdet = aoei_flow_logdet(f), weight = 1 / (double)examples, gradient = weight / ((double)D * LN2);
    double loss = 0;
    memset(f->grad, 0, f->parameters * sizeof *f->grad);
    for (size_t first = 0; first < n; first += f->max_rows) {
        const size_t rows = least(n - first, f->max_rows);
        read_vectors(s, f->input, s->text + first, rows);
        aoei_flow_forward(f, s->pool, rows);
        for (size_t r = 0; r < rows; r++)
            loss += weight * aoei_flow_bits(f->output + r * D, D, logdet);
        for (size_t k = 0; k < rows * D; k++)
            f->output[k] *= gradient;
        aoei_flow_backward(f, s->pool, rows);
    }
    aoei_flow_logdet_backward(f, -gradient * (double)n);
    return loss;
}

/* Updates the parameters of one block with AdamW. */
static void update_task(void *arg, size_t task, size_t worker) {
    const fit *s = arg;
    const aoei_flow *f = s->f;
    (void)worker;
    for (size_t k = task * BLOCK; k < least((task + 1) * BLOCK, f->parameters); k++) {
        const double g = f->grad[k] * s->clip;
        s->moment1[k] = BETA1 * s->moment1[k] + (1 - BETA1) * g;
        s->moment2[k] = BETA2 * s->moment2[k] + (1 - BETA2) * g * g;
        f->value[k] -= s->o->lr * (s->moment1[k] / (sqrt(s->moment2[k]) + EPSILON) + WEIGHT_DECAY * f->value[k]);
    }
}

/* Clips the gradient and updates the parameters. */
static void update(fit *s) {
    double squares = 0;
    for (size_t k = 0; k < s->f->parameters; k++)
        squares += s->f->grad[k] * s->f->grad[k];
    const double norm = sqrt(squares);
    s->clip = norm > MAX_NORM ? MAX_NORM / norm : 1;
    aoei_parallel_for(s->pool, (s->f->parameters + BLOCK - 1) / BLOCK, update_task, s);
    aoei_flow_update(s->f);
}

/* Runs one epoch. *done: number of finished steps, which is updated; total: number of all steps. */
static int run_epoch(fit *s, size_t *done, size_t total, aoe_error *err) {
    for (size_t first = 0; first < s->data->examples; first += s->o->batch_size) {
        const size_t end = first + least(s->o->batch_size, s->data->examples - first);
        const double loss = differentiate(s, collect(s, first, end), end - first);
        if (!isfinite(loss))
            return aoei_fail(err, AOE_ENUMERIC, "the loss of step %zu is not finite; lower options.lr", *done + 1);
        update(s);
        ++*done;
        if (s->o->progress && s->o->progress(s->o->user, *done, total))
            return aoei_fail(err, AOE_ECANCELLED, "cancelled by the caller");
    }
    return 0;
}

/* Returns the mean over all texts of the loss in bits per component. */
static double mean_bits(const fit *s) {
    const aoei_flow *f = s->f;
    const size_t D = f->shape.dims, texts = text_count(s->data);
    const double logdet = aoei_flow_logdet(f);
    double sum = 0;
    for (size_t i = 0; i < texts; i++)
        s->text[i] = i;
    for (size_t first = 0; first < texts; first += f->max_rows) {
        const size_t rows = least(texts - first, f->max_rows);
        read_vectors(s, f->input, s->text + first, rows);
        aoei_flow_forward(f, s->pool, rows);
        for (size_t r = 0; r < rows; r++)
            sum += aoei_flow_bits(f->output + r * D, D, logdet);
    }
    return sum / (double)texts;
}

/* Rounds the parameters to float32. */
static int round_parameters(aoei_flow *f, aoe_error *err) {
    for (size_t k = 0; k < f->parameters; k++) {
        f->value[k] = (double)(float)f->value[k];
        if (!isfinite(f->value[k]))
            return aoei_fail(err, AOE_ENUMERIC, "a parameter of the flow is not finite; lower options.lr");
    }
    aoei_flow_update(f);
    return 0;
}

static int run(fit *s, aoei_flow_fit_result *result, aoe_error *err) {
    const size_t per_epoch = (s->data->examples + s->o->batch_size - 1) / s->o->batch_size;
    shuffle(s, 0);
    int rc = initialize(s, err);
    if (!rc)
        result->bits_start = mean_bits(s);
    for (size_t epoch = 0; epoch < s->o->epochs && !rc; epoch++) {
        shuffle(s, epoch);
        rc = run_epoch(s, &result->steps, s->o->epochs * per_epoch, err);
    }
    if (!rc && !(rc = round_parameters(s->f, err)))
        result->bits = mean_bits(s);
    if (!rc && !isfinite(result->bits))
        rc = aoei_fail(err, AOE_ENUMERIC, "the loss is not finite after the last step; lower options.lr");
    return rc;
}

int aoei_flow_fit(aoei_flow *f, const aoei_flow_data *data, const aoei_flow_fit_options *o, aoei_pool *pool,
                  aoei_flow_fit_result *result, aoe_error *err) {
    fit s = {.f = f, .data = data, .o = o, .pool = pool};
    *result = (aoei_flow_fit_result){0};
    s.order = aoei_malloc_array(data->examples, sizeof *s.order);
    s.text = aoei_malloc_array(text_count(data), sizeof *s.text);
    s.moment1 = aoei_calloc(f->parameters, sizeof *s.moment1);
    s.moment2 = aoei_calloc(f->parameters, sizeof *s.moment2);
    const int rc = s.order && s.text && s.moment1 && s.moment2
                       ? run(&s, result, err)
                       : aoei_fail_nomem(err, f->parameters * sizeof *s.moment1);
    aoei_free(s.order);
    aoei_free(s.text);
    aoei_free(s.moment1);
    aoei_free(s.moment2);
    return rc;
}
