/* SPDX-License-Identifier: MIT
 * Adds the linear map to the teacher embeddings, and computes the loss of method distill, with or without the map.
 */
#include "train/teacher_map.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/random.h"
#include "loss/vector_objective.h"
#include "model/extra_layers.h"
#include "nn/elementwise.h"
#include "nn/linear.h"
#include "options/rows.h"
#include "train/step_loss.h"

#define NOISE 0.02 /* standard deviation of the random values of the start weights */

/* ------------------------------------------------------------------ layers */

/* Sets the start weights of the map, [rows, cols]. teacher_map_fit.h replaces those of a map that is dropped if there
 * are enough texts. */
static void initialize(float *w, size_t rows, size_t cols, uint64_t seed) {
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEACHER_MAP, 0);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            w[i * cols + k] = (float)((i == k ? 1 : 0) + NOISE * aoei_rng_normal(&r));
}

static int add_map(const aoe_train_options *o, aoe_model *m, size_t dims, int kept, aoe_error *err) {
    const size_t cols = aoei_vector_dims(&m->config);
    float *weight = aoei_malloc_array(dims, cols * sizeof *weight), *bias = aoei_calloc(dims, sizeof *bias);
    int code = weight && bias ? AOE_OK : aoei_fail_nomem(err, dims * cols * sizeof *weight);
    if (!code) {
        initialize(weight, dims, cols, o->args.seed);
        code = kept ? aoei_model_add_dense(m, dims, 0, weight, bias, o->args.seed, err)
                    : aoei_model_add_linear_head(m, dims, cols, weight, bias, err);
    }
    aoei_free(weight);
    aoei_free(bias);
    return code;
}

/* Returns 1 if the last module of the model is a linear layer with `dims` outputs: the map of an earlier run, or of the
 * resumed run. */
static int has_map(const aoei_encoder_config *c, size_t dims) {
    const aoei_module *last = c->modules.n ? &c->modules.list[c->modules.n - 1] : NULL;
    return last && last->kind == AOEI_MODULE_DENSE && last->activation == AOEI_DENSE_IDENTITY &&
           last->residual == AOEI_RESIDUAL_NONE && last->out == dims;
}

int aoei_teacher_map_add(const aoe_train_options *o, aoe_model *m, size_t dims, aoe_error *err) {
    const size_t own = aoei_vector_dims(&m->config);
    const int compares = o->objective.w_vectors > 0; /* 1: the embeddings are compared with the teacher embeddings */
    const aoe_teacher_map map = o->teacher_map != AOE_TEACHER_MAP_AUTO ? o->teacher_map
                                : own != dims || o->n_matryoshka       ? AOE_TEACHER_MAP_DROPPED
                                                                       : AOE_TEACHER_MAP_NONE;
    if (map == AOE_TEACHER_MAP_KEPT && has_map(&m->config, dims))
        return AOE_OK;
    if (map == AOE_TEACHER_MAP_KEPT && m->config.modules.n)
        return aoei_fail(
            err, AOE_EARG,
            "%s: options.teacher_map kept adds a dense layer with %zu outputs, but the model already has other modules "
            "after the pooling; set it to dropped",
            o->args.model, dims);
    if (map == AOE_TEACHER_MAP_NONE && compares && own != dims)
        return aoei_fail(
            err, AOE_EARG,
            "options.teacher_map is none, but the student embeddings have %zu components and the teacher embeddings "
            "%zu; set it to dropped or kept, or options.w_vectors to 0",
            own, dims);
    if (map == AOE_TEACHER_MAP_NONE || (map == AOE_TEACHER_MAP_DROPPED && !compares))
        return AOE_OK;
    return add_map(o, m, dims, map == AOE_TEACHER_MAP_KEPT, err);
}

const char *aoei_teacher_map_name(const aoe_train_options *o, const aoe_model *m) {
    return aoei_teacher_map_names[aoei_training_layers_of(&m->config)->head_rows ? AOE_TEACHER_MAP_DROPPED
                                  : o->teacher_map == AOE_TEACHER_MAP_KEPT       ? AOE_TEACHER_MAP_KEPT
                                                                                 : AOE_TEACHER_MAP_NONE];
}

/* -------------------------------------------------------------------- loss */

/* The arrays of the loss, and the part of the workspace that the objective uses. */
typedef struct map_memory {
    float *mapped, *d_mapped; /* [texts, rows of the map] outputs of the map and their gradients */
    void *workspace;          /* [workspace_bytes] */
    size_t workspace_bytes;
} map_memory;

/* Allocates the arrays of *m in the arena. rows: number of rows in the map; 0: there is no map. */
static void lay_out(map_memory *m, aoei_arena *a, size_t texts, size_t dims, size_t rows, size_t teacher_dims) {
    m->mapped = aoei_arena_take_array(a, texts, rows * sizeof *m->mapped);
    m->d_mapped = aoei_arena_take_array(a, texts, rows * sizeof *m->d_mapped);
    m->workspace_bytes = aoei_vector_objective_workspace(texts, dims, teacher_dims);
    if (!m->workspace_bytes)
        a->overflow = 1;
    m->workspace = aoei_arena_take_array(a, m->workspace_bytes, 1);
}

static size_t vectors_workspace(const aoei_loss_shape *s) {
    aoei_arena a;
    map_memory m;
    aoei_arena_measure(&a);
    lay_out(&m, &a, s->examples, s->dims, s->head_rows, s->teacher_dims);
    return a.overflow ? 0 : a.used;
}

/* Adds the gradients that the map receives to the gradients of the vectors and, multiplied by b->scale, to those of the
 * map.
 * x: vectors of the batch; dy: gradients of the outputs of the map, which are overwritten. */
static void map_backward(const aoei_loss_batch *b, aoei_tensor x, aoei_tensor dy) {
    const aoei_linear_grads of_vectors = {.dx = aoei_tensor_wrap(b->examples.grad, x.rows, x.cols), .accumulate = 1},
                            of_map = {.dw = b->d_head[0], .db = b->d_head[1]};
    aoei_linear_backward(b->ctx, &of_vectors, dy, x, b->head[0]);
    aoei_scale(b->ctx, dy, b->scale);
    aoei_linear_backward(b->ctx, &of_map, dy, x, b->head[0]);
}

static int vectors_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const size_t B = b->examples.B, D = b->examples.D, rows = b->head[0].rows;
    aoei_targets t = {.dims = b->teacher_dims, .teacher = b->teacher};
    aoei_arena arena = {.base = b->workspace, .size = b->workspace_bytes};
    map_memory m;
    lay_out(&m, &arena, B, D, rows, t.dims);
    const aoei_example_batch mapped = {.B = B, .D = rows, .arity = 1, .v = m.mapped, .grad = m.d_mapped};
    const aoei_tensor x = aoei_tensor_wrap(b->examples.v, B, D), y = aoei_tensor_wrap(m.mapped, B, rows);
    if (rows && b->o->w_vectors > 0) {
        aoei_linear_forward(b->ctx, y, x, b->head[0], b->head[1], NULL);
        t.mapped = &mapped;
    }
    const int code = aoei_vector_objective(b->o, &t, &b->examples, m.workspace, m.workspace_bytes, b->ctx, result, err);
    if (!code && t.mapped)
        map_backward(b, x, aoei_tensor_wrap(m.d_mapped, B, rows));
    return code;
}

const aoei_step_loss aoei_loss_of_vectors = {.workspace = vectors_workspace, .compute = vectors_loss};
