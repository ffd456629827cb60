/* SPDX-License-Identifier: MIT
 * Computes the losses of ConSERT from the objectives of pairs and of classes. The vectors of pairs with classes are
 * copied to float64, so that the gradients of both objectives are added in float64 and rounded once.
 */
#include "loss/view_objective.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "loss/pair_objective.h"

enum { VIEWS = 2, VECTORS = 4 /* vectors of a text pair */ };

/* Arrays in the workspace. The arrays of vectors and gradients are used for pairs with classes only. */
typedef struct state {
    double *ones;           /* [B] labels with which all pairs of views are positive */
    double *v, *grad;       /* [4 B, D] vectors of the batch and their gradients */
    double *plain, *dplain; /* [2 B, D] vectors of the first views, and the gradients of the classification loss */
    void *workspace;        /* [workspace_bytes] workspace of the objectives */
    size_t workspace_bytes;
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64, so sizes such as 4 B cannot overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t classes) {
    const size_t of_pairs = aoei_pair_objective_workspace(B, D),
                 of_classes = classes ? aoei_classification_objective_workspace(B, D, classes) : 1;
    size_t cells = 0;
    *p = (state){0};
    if (aoei_mul_size(classes ? VECTORS * B : 0, D, &cells) || !of_pairs || !of_classes)
        a->overflow = 1;
    p->ones = aoei_arena_take_array(a, B, sizeof *p->ones);
    p->v = aoei_arena_take_array(a, cells, sizeof *p->v);
    p->grad = aoei_arena_take_array(a, cells, sizeof *p->grad);
    p->plain = aoei_arena_take_array(a, cells / VIEWS, sizeof *p->plain);
    p->dplain = aoei_arena_take_array(a, cells / VIEWS, sizeof *p->dplain);
    p->workspace_bytes = of_pairs > of_classes ? of_pairs : of_classes;
    p->workspace = aoei_arena_take_array(a, p->workspace_bytes, 1);
}

size_t aoei_view_objective_workspace(size_t B, size_t D, size_t classes) {
    aoei_arena a;
    state p;
    if (B > SIZE_MAX / 64)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, classes);
    return a.overflow ? 0 : a.used;
}

/* Computes the in-batch negatives loss of pairs of views. The fields B, D, stride, vectors and gradients of *pairs are
 * set. */
static int compare(const state *p, const aoe_objective_options *o, aoei_pair_batch pairs, const aoe_context *ctx,
                   aoe_objective_result *result, aoe_error *err) {
    aoe_objective_options only_ibn = *o;
    only_ibn.w_cosine = only_ibn.w_angle = 0;
    only_ibn.ibn_threshold = 1;
    pairs.label = p->ones;
    return aoei_pair_objective(&only_ibn, &pairs, p->workspace, p->workspace_bytes, ctx, result, err);
}

static int texts(const state *p, const aoe_objective_options *o, const aoei_example_batch *b, const aoe_context *ctx,
                 aoe_objective_result *result, aoe_error *err) {
    const size_t D = b->D;
    const aoei_pair_batch pairs = {.B = b->B,
                                   .D = D,
                                   .stride = VIEWS * D,
                                   .x = b->v,
                                   .y = b->v ? b->v + D : NULL,
                                   .grad_x = b->grad,
                                   .grad_y = b->grad ? b->grad + D : NULL,
                                   .x64 = b->v64,
                                   .y64 = b->v64 ? b->v64 + D : NULL,
                                   .grad_x64 = b->grad64,
                                   .grad_y64 = b->grad64 ? b->grad64 + D : NULL};
    return compare(p, o, pairs, ctx, result, err);
}

/* Copies the vectors of the batch to p->v, and those of the first views to p->plain. */
static void copy_vectors(const state *p, const aoei_example_batch *b) {
    const size_t D = b->D;
    for (size_t i = 0; i < VECTORS * b->B * D; i++)
        p->v[i] = b->v64 ? b->v64[i] : (double)b->v[i];
    for (size_t i = 0; i < VIEWS * b->B; i++)
        memcpy(p->plain + i * D, p->v + VIEWS * i * D, D * sizeof *p->v);
}

/* Writes the sum of the gradients of all terms to the gradients of the batch. */
static void store_gradients(const state *p, const aoei_example_batch *b) {
    const size_t D = b->D;
    for (size_t i = 0; i < VIEWS * b->B; i++)
        for (size_t k = 0; k < D; k++)
            p->grad[VIEWS * i * D + k] += p->dplain[i * D + k];
    for (size_t i = 0; i < VECTORS * b->B * D; i++)
        if (b->v64)
            b->grad64[i] = p->grad[i];
        else
            b->grad[i] = (float)p->grad[i];
}

static int pairs(const state *p, const aoe_objective_options *o, const aoei_classifier *c, const double *label,
                 const aoei_example_batch *b, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const size_t D = b->D;
    const int with_grad = b->v64 ? b->grad64 != NULL : b->grad != NULL;
    const aoei_example_batch plain = {
        .B = b->B, .D = D, .arity = 2, .v64 = p->plain, .grad64 = with_grad ? p->dplain : NULL};
    copy_vectors(p, b);
    int code = aoei_classification_objective(c, label, &plain, p->workspace, p->workspace_bytes, ctx, result, err);
    for (size_t side = 0; side < 2 && !code; side++) {
        const size_t x = VIEWS * side * D, y = x + D;
        const aoei_pair_batch views = {.B = b->B,
                                       .D = D,
                                       .stride = VECTORS * D,
                                       .x64 = p->v + x,
                                       .y64 = p->v + y,
                                       .grad_x64 = with_grad ? p->grad + x : NULL,
                                       .grad_y64 = with_grad ? p->grad + y : NULL};
        aoe_objective_result r;
        code = compare(p, o, views, ctx, &r, err);
        if (code)
            break;
        result->ibn += r.ibn;
        result->total += r.total;
        result->positive_pairs += r.positive_pairs;
    }
    if (!code && with_grad)
        store_gradients(p, b);
    return code;
}

int aoei_view_objective(const aoe_objective_options *o, const aoei_classifier *c, const double *label,
                        const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                        const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const size_t vectors = c ? VECTORS : VIEWS, classes = c ? c->classes : 0;
    state p;
    *result = (aoe_objective_result){0};
    if (batch->arity != vectors)
        return aoei_fail(err, AOE_EARG, "an example has %zu vectors, but the loss of views needs %zu", batch->arity,
                         vectors);
    const size_t need = aoei_view_objective_workspace(batch->B, batch->D, classes);
    if (need == 0 || workspace_bytes < need)
        return aoei_fail(err, AOE_EARG,
                         "a workspace of %zu bytes is too small for %zu examples of vectors with %zu components",
                         workspace_bytes, batch->B, batch->D);
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    lay_out(&p, &arena, batch->B, batch->D, classes);
    for (size_t i = 0; i < batch->B; i++)
        p.ones[i] = 1;
    return c ? pairs(&p, o, c, label, batch, ctx, result, err) : texts(&p, o, batch, ctx, result, err);
}
