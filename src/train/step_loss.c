/* SPDX-License-Identifier: MIT
 * Calls the objectives with the batch of a training step.
 */
#include "train/step_loss.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "loss/classification_objective.h"
#include "loss/contrastive_objective.h"
#include "loss/direction_objective.h"
#include "loss/pair_objective.h"
#include "loss/regression_objective.h"
#include "loss/score_objective.h"
#include "loss/tension_objective.h"
#include "loss/token_objective.h"
#include "loss/view_objective.h"
#include "train/linear_classifier.h"

int aoei_step_loss_compute(const aoei_step_loss *loss, const aoei_loss_batch *b, aoe_objective_result *result,
                           aoe_error *err) {
    const int code = loss->compute(b, result, err);
    return code || !b->distill ? code
                               : aoei_distill_objective(b->distill, &b->examples, b->workspace, b->workspace_bytes,
                                                        b->ctx, result, err);
}

void aoei_result_add(aoe_objective_result *sum, const aoe_objective_result *r, double weight) {
    sum->total += r->total * weight;
    sum->cosine += r->cosine * weight;
    sum->ibn += r->ibn * weight;
    sum->angle += r->angle * weight;
    sum->contrastive += r->contrastive * weight;
    sum->regression += r->regression * weight;
    sum->classification += r->classification * weight;
    sum->teacher += r->teacher * weight;
    sum->layers += r->layers * weight;
    sum->detection += r->detection * weight;
    sum->vectors += r->vectors * weight;
    sum->similarities += r->similarities * weight;
    sum->ordered_pairs += r->ordered_pairs;
    sum->positive_pairs += r->positive_pairs;
    sum->negatives += r->negatives;
    sum->left_out += r->left_out;
}

void aoei_result_set_counts(aoe_objective_result *to, const aoe_objective_result *from) {
    to->ordered_pairs = from->ordered_pairs;
    to->positive_pairs = from->positive_pairs;
    to->negatives = from->negatives;
    to->left_out = from->left_out;
}

/* ---------------------------------------------------------------- labels */

static size_t labels_workspace(const aoei_loss_shape *s) {
    const size_t pairs = aoei_pair_objective_workspace(s->examples, s->dims),
                 others = s->arity > 1 ? aoei_contrastive_objective_workspace(s->examples, s->dims, s->arity) : 1;
    return !pairs || !others ? 0 : pairs > others ? pairs : others;
}

static int labels_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const aoei_example_batch *e = &b->examples;
    if (!b->label)
        return aoei_contrastive_objective(b->o, e, b->workspace, b->workspace_bytes, b->ctx, result, err);
    const aoei_pair_batch pairs = {.B = e->B,
                                   .D = e->D,
                                   .stride = 2 * e->D,
                                   .x = e->v,
                                   .y = e->v + e->D,
                                   .grad_x = e->grad,
                                   .grad_y = e->grad + e->D,
                                   .label = b->label,
                                   .group = b->group};
    return aoei_pair_objective(b->o, &pairs, b->workspace, b->workspace_bytes, b->ctx, result, err);
}

const aoei_step_loss aoei_loss_of_labels = {.workspace = labels_workspace, .compute = labels_loss};

/* ------------------------------------------------------------ regression */

static size_t regression_workspace(const aoei_loss_shape *s) {
    return aoei_regression_objective_workspace(s->examples, s->dims);
}

static int regression_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    return aoei_regression_objective(b->label, &b->examples, b->workspace, b->workspace_bytes, b->ctx, result, err);
}

const aoei_step_loss aoei_loss_of_regression = {.workspace = regression_workspace, .compute = regression_loss};

/* --------------------------------------------------------------- classes */

/* The arrays of the classification loss, and the part of the workspace that the objective uses. */
typedef struct head_memory {
    float *host;            /* [cells] weights of the classifier, followed by its biases */
    double *values, *grads; /* [cells] the same in float64; their gradients */
    void *workspace;        /* [workspace_bytes] */
    size_t workspace_bytes;
} head_memory;

/* Allocates the arrays of *m in the arena. objective: size of the workspace of the objective in bytes; 0: the size
 * overflows.
 */
static void lay_out_head(head_memory *m, aoei_arena *a, const aoei_loss_shape *s, size_t objective) {
    const size_t cells = s->head_rows * (s->head_cols + 1) + 1;
    m->host = aoei_arena_take_array(a, cells, sizeof *m->host);
    m->values = aoei_arena_take_array(a, cells, sizeof *m->values);
    m->grads = aoei_arena_take_array(a, cells, sizeof *m->grads);
    m->workspace_bytes = objective;
    if (!m->workspace_bytes)
        a->overflow = 1;
    m->workspace = aoei_arena_take_array(a, m->workspace_bytes, 1);
}

static size_t workspace_with_head(const aoei_loss_shape *s, size_t objective) {
    aoei_arena a;
    head_memory m;
    aoei_arena_measure(&a);
    lay_out_head(&m, &a, s, objective);
    return a.overflow ? 0 : a.used;
}

static size_t classes_objective_workspace(const aoei_loss_shape *s) {
    return aoei_classification_objective_workspace(s->examples, s->dims, s->head_rows ? s->head_rows : 1);
}

static size_t classes_workspace(const aoei_loss_shape *s) {
    return workspace_with_head(s, classes_objective_workspace(s));
}

/* Adds scale * grads[n] to the gradient tensor g. host[n] is a workspace. */
static void add_gradient(const aoei_loss_batch *b, aoei_tensor g, float *host, const double *grads, size_t n) {
    aoei_tensor_read(b->ctx, host, g);
    for (size_t i = 0; i < n; i++)
        host[i] = (float)((double)host[i] + b->scale * grads[i]);
    aoei_tensor_write(b->ctx, g, host);
}

/* Computes an objective with a classifier, and adds the gradients of the classifier. views: 1: objective of views; 0:
 * classification objective. */
static int loss_with_head(const aoei_loss_batch *b, int views, aoe_objective_result *result, aoe_error *err) {
    const aoei_loss_shape shape = {
        .examples = b->examples.B, .dims = b->examples.D, .head_rows = b->head[0].rows, .head_cols = b->head[0].cols};
    const size_t C = shape.head_rows, weights = C * shape.head_cols;
    aoei_arena arena = {.base = b->workspace, .size = b->workspace_bytes};
    head_memory m;
    lay_out_head(&m, &arena, &shape,
                 views ? aoei_view_objective_workspace(shape.examples, shape.dims, C)
                       : classes_objective_workspace(&shape));
    const aoei_classifier c = {.classes = C,
                               .features = b->o->features,
                               .weight = m.values,
                               .bias = m.values + weights,
                               .d_weight = m.grads,
                               .d_bias = m.grads + weights};
    aoei_tensor_read(b->ctx, m.host, b->head[0]);
    aoei_tensor_read(b->ctx, m.host + weights, b->head[1]);
    for (size_t i = 0; i < weights + C; i++)
        m.values[i] = (double)m.host[i];
    const int code = views ? aoei_view_objective(b->o, &c, b->label, &b->examples, m.workspace, m.workspace_bytes,
                                                 b->ctx, result, err)
                           : aoei_classification_objective(&c, b->label, &b->examples, m.workspace, m.workspace_bytes,
                                                           b->ctx, result, err);
    if (code)
        return code;
    add_gradient(b, b->d_head[0], m.host, m.grads, weights);
    add_gradient(b, b->d_head[1], m.host, m.grads + weights, C);
    return AOE_OK;
}

static int classes_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    return loss_with_head(b, 0, result, err);
}

const aoei_step_loss aoei_loss_of_classes = {.workspace = classes_workspace, .compute = classes_loss};

/* -------------------------------------------------------- layered classes */

/* Sets the sizes of the classifier: the projection, followed by the training head with `classes` rows. */
static void shape_layers(aoei_linear_shape *s, const aoei_training_layers *c, size_t classes) {
    *s = (aoei_linear_shape){.n = c->n_projection + 1};
    for (size_t i = 0; i < c->n_projection; i++)
        s->width[i] = c->projection[i].in;
    s->width[c->n_projection] = c->head_cols;
    s->width[s->n] = classes;
}

static size_t layered_classes_workspace(const aoei_loss_shape *s) {
    const size_t objective = classes_objective_workspace(s);
    aoei_linear_classifier c;
    aoei_arena a;
    aoei_arena_measure(&a);
    shape_layers(&c.shape, s->training, s->head_rows);
    aoei_linear_classifier_layout(&c, &a);
    aoei_arena_take(&a, objective);
    return a.overflow || !objective ? 0 : a.used;
}

/* Sets the weights of the classifier and their gradients. */
static void set_layers(aoei_linear_classifier *c, const aoei_loss_batch *b) {
    for (size_t i = 0; i < b->training->n_projection; i++) {
        const size_t at = AOEI_MODULE_WEIGHTS * i;
        c->weight[i] = b->projection[at];
        c->bias[i] = b->projection[at + AOEI_MODULE_BIAS];
        c->d_weight[i] = b->d_projection[at];
        c->d_bias[i] = b->d_projection[at + AOEI_MODULE_BIAS];
    }
    c->weight[b->training->n_projection] = b->head[0];
    c->bias[b->training->n_projection] = b->head[1];
    c->d_weight[b->training->n_projection] = b->d_head[0];
    c->d_bias[b->training->n_projection] = b->d_head[1];
}

static int layered_classes_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const aoei_loss_shape shape = {.examples = b->examples.B, .dims = b->examples.D, .head_rows = b->head[0].rows};
    aoei_arena arena = {.base = b->workspace, .size = b->workspace_bytes};
    aoei_linear_classifier layers;
    shape_layers(&layers.shape, b->training, b->head[0].rows);
    aoei_linear_classifier_layout(&layers, &arena);
    set_layers(&layers, b);
    aoei_linear_classifier_multiply(&layers, b->ctx);
    const aoei_classifier c = {.classes = b->head[0].rows,
                               .features = b->o->features,
                               .weight = layers.s[0],
                               .bias = layers.sum,
                               .d_weight = layers.q[0],
                               .d_bias = layers.d_sum};
    const size_t bytes = classes_objective_workspace(&shape);
    const int code = aoei_classification_objective(&c, b->label, &b->examples, aoei_arena_take(&arena, bytes), bytes,
                                                   b->ctx, result, err);
    if (!code)
        aoei_linear_classifier_gradient(&layers, b->ctx, b->scale);
    return code;
}

const aoei_step_loss aoei_loss_of_layered_classes = {.workspace = layered_classes_workspace,
                                                     .compute = layered_classes_loss};

/* ----------------------------------------------------------------- views */

static size_t views_workspace(const aoei_loss_shape *s) {
    const size_t objective = aoei_view_objective_workspace(s->examples, s->dims, s->head_rows);
    return s->head_rows ? workspace_with_head(s, objective) : objective;
}

static int views_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    if (b->label)
        return loss_with_head(b, 1, result, err);
    return aoei_view_objective(b->o, NULL, NULL, &b->examples, b->workspace, b->workspace_bytes, b->ctx, result, err);
}

const aoei_step_loss aoei_loss_of_views = {.workspace = views_workspace, .compute = views_loss};

/* ------------------------------------------------------------ directions */

static size_t directions_workspace(const aoei_loss_shape *s) {
    return aoei_direction_objective_workspace(s->examples, s->dims, s->arity, s->teacher_dims);
}

/* Computes the loss in the directions of the options. guide: guide, or NULL for none. */
static int directions_loss(const aoei_loss_batch *b, const aoei_guide *guide, aoe_objective_result *result,
                           aoe_error *err) {
    const aoei_direction_options o = {.directions = b->o->directions,
                                      .joint = b->o->joint,
                                      .weight = b->o->w_ibn,
                                      .tau = b->o->tau_ibn,
                                      .guide = guide};
    return aoei_direction_objective(&o, &b->examples, b->workspace, b->workspace_bytes, b->ctx, result, err);
}

static int plain_directions_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    return directions_loss(b, NULL, result, err);
}

static int guided_directions_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const aoei_guide guide = {
        .dims = b->teacher_dims, .vectors = b->teacher, .margin = b->o->guide_margin, .relative = b->o->guide_relative};
    return directions_loss(b, &guide, result, err);
}

static int scaled_directions_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    float weight, grad;
    double d_weight = 0;
    aoei_tensor_read(b->ctx, &weight, b->head[0]);
    const aoei_direction_options o = {.directions = b->o->directions,
                                      .joint = b->o->joint,
                                      .weight = b->o->w_ibn,
                                      .tau = exp(-(double)weight),
                                      .d_log_scale = &d_weight};
    const int code = aoei_direction_objective(&o, &b->examples, b->workspace, b->workspace_bytes, b->ctx, result, err);
    if (!code)
        add_gradient(b, b->d_head[0], &grad, &d_weight, 1);
    return code;
}

const aoei_step_loss aoei_loss_of_scaled_directions = {.workspace = directions_workspace,
                                                       .compute = scaled_directions_loss};
const aoei_step_loss aoei_loss_of_directions = {.workspace = directions_workspace, .compute = plain_directions_loss};
const aoei_step_loss aoei_loss_of_guided_directions = {.workspace = directions_workspace,
                                                       .compute = guided_directions_loss};

/* --------------------------------------------------------------- tension */

static size_t no_workspace(const aoei_loss_shape *s) {
    (void)s;
    return 1;
}

static int tension_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    return aoei_tension_objective(b->label, &b->examples, result, err);
}

const aoei_step_loss aoei_loss_of_tension = {.workspace = no_workspace, .compute = tension_loss};

/* ---------------------------------------------------------------- scores */

static int scores_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    return aoei_score_objective(b->label, &b->examples, result, err);
}

const aoei_step_loss aoei_loss_of_scores = {.workspace = no_workspace, .compute = scores_loss};

/* ---------------------------------------------------------------- tokens */

static size_t tokens_workspace(const aoei_loss_shape *s) {
    return aoei_token_objective_workspace(s->examples, s->tokens, s->dims);
}

static int tokens_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const aoei_token_vectors v = {.texts = b->texts,
                                  .tokens = b->examples.B,
                                  .D = b->examples.D,
                                  .offsets = b->offsets,
                                  .v = b->examples.v,
                                  .grad = b->examples.grad};
    if (b->texts > 1)
        return aoei_token_objective(&v, b->workspace, b->workspace_bytes, b->ctx, result, err);
    memset(b->examples.grad, 0, v.tokens * v.D * sizeof *v.grad);
    *result = (aoe_objective_result){0};
    return AOE_OK;
}

const aoei_step_loss aoei_loss_of_tokens = {.workspace = tokens_workspace, .compute = tokens_loss, .of_tokens = 1};
