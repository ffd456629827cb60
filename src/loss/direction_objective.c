/* SPDX-License-Identifier: MIT
 * In-batch negatives in several directions. Every direction is a block of an InfoNCE loss (info_nce.h), whose anchors
 * and candidates are queries or documents:
 *
 *     direction                 anchor of example i    candidates
 *     query to document         query i                all documents
 *     query to query            query i                the queries of other examples
 *     document to query         positive i             all queries
 *     document to document      positive i             the documents of other examples; with a guide only the positives
 */
#include "loss/direction_objective.h"

#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "loss/example_sweep.h"
#include "loss/info_nce.h"
#include "loss/objective.h"

enum { QUERY, POSITIVE };

/* State of one call of aoei_direction_objective. The arrays are in the workspace. */
typedef struct state {
    const aoei_direction_options *o; /* options; borrowed */
    aoei_sweep sweep;
    aoei_info_nce loss;
    aoei_unit_rows queries;   /* [B, D] unit vectors of the queries */
    aoei_unit_rows documents; /* [(arity - 1) B, D] unit vectors of all positives, followed by those of all negatives */
    aoei_unit_rows guide_queries, guide_documents; /* the same for the vectors of the guide; no rows if there is no
                                                      guide */
    double *threshold;                             /* [B] threshold of each example; not used without a guide */
    double *guide_vector;                          /* [guide dims] a vector of the guide in float64 */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64 / arity, so sizes such as 4 arity B cannot
 * overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t arity, size_t guide_dims) {
    const size_t guided = guide_dims ? B : 0;
    *p = (state){0};
    aoei_sweep_lay_out(&p->sweep, a, B, arity, D);
    aoei_unit_rows_lay_out(&p->queries, a, B, D);
    aoei_unit_rows_lay_out(&p->documents, a, (arity - 1) * B, D);
    aoei_unit_rows_lay_out(&p->guide_queries, a, guided, guide_dims);
    aoei_unit_rows_lay_out(&p->guide_documents, a, (arity - 1) * guided, guide_dims);
    p->threshold = aoei_arena_take_array(a, guided, sizeof *p->threshold);
    p->guide_vector = aoei_arena_take_array(a, guide_dims, sizeof *p->guide_vector);
    aoei_info_nce_lay_out(&p->loss, a, B, (arity - 1) * B, AOEI_NCE_MAX_BLOCKS);
}

size_t aoei_direction_objective_workspace(size_t B, size_t D, size_t arity, size_t guide_dims) {
    aoei_arena a;
    state p;
    if (arity < 2 || B > SIZE_MAX / 64 / arity)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, arity, guide_dims);
    return a.overflow ? 0 : a.used;
}

static int check(const aoei_direction_options *o, const aoei_example_batch *b, aoe_error *err) {
    const unsigned same_kind = AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT;
    if (!(o->directions & AOE_QUERY_TO_DOCUMENT) || o->directions & ~(unsigned)AOE_ALL_DIRECTIONS)
        return aoei_fail(err, AOE_EARG,
                         "options.directions is %u; combine AOE_QUERY_TO_DOCUMENT with any of the other directions",
                         o->directions);
    if (!o->joint && o->directions & same_kind)
        return aoei_fail(
            err, AOE_EARG,
            "options.directions: the directions query-to-query and document-to-document have no positive pair of "
            "their own; set options.joint, so that all directions share one softmax");
    if (!(o->weight >= 0 && isfinite(o->weight) && o->tau > 0 && isfinite(o->tau)))
        return aoei_fail(
            err, AOE_EARG,
            "the weight %g must be finite and at least 0, and the temperature %g must be finite and above 0", o->weight,
            o->tau);
    if (b->B == 0 || b->D == 0 || b->arity < 2)
        return aoei_fail(
            err, AOE_EARG,
            "the batch has %zu examples of %zu vectors with %zu components; examples must have at least 2 vectors",
            b->B, b->arity, b->D);
    return 0;
}

/* Processes example i in the sweep that reads the vectors: stores the unit vectors of its texts. */
static void store_example(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D, B = p->sweep.e.n;
    (void)g;
    aoei_unit_rows_set(&p->queries, i, v);
    for (size_t a = POSITIVE; a < p->sweep.e.arity; a++)
        aoei_unit_rows_set(&p->documents, (a - POSITIVE) * B + i, v + a * D);
}

/* Adds the gradients of the loss with respect to the vectors of example i to g. */
static void example_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, B = p->sweep.e.n;
    (void)v;
    aoei_unit_rows_grad(&p->queries, i, 1.0, g);
    for (size_t a = POSITIVE; a < p->sweep.e.arity; a++)
        aoei_unit_rows_grad(&p->documents, (a - POSITIVE) * B + i, 1.0, g + a * D);
}

/* Returns the dot product of row i of a and row j of b. */
static double product(const aoei_unit_rows *a, size_t i, const aoei_unit_rows *b, size_t j) {
    double sum = 0;
    for (size_t k = 0; k < a->D; k++) {
        const size_t panel = k / AOEI_PANEL_F64, column = k % AOEI_PANEL_F64;
        sum += a->z[(panel * a->N + i) * AOEI_PANEL_F64 + column] * b->z[(panel * b->N + j) * AOEI_PANEL_F64 + column];
    }
    return sum;
}

/* Returns the sum over the rows of the dot products of the unit vectors and their gradients. */
static double products_with_gradients(const aoei_unit_rows *r) {
    double sum = 0;
    for (size_t i = 0; i < r->N; i++)
        for (size_t k = 0; k < r->D; k++) {
            const size_t at = (k / AOEI_PANEL_F64 * r->N + i) * AOEI_PANEL_F64 + k % AOEI_PANEL_F64;
            sum += r->z[at] * r->dz[at];
        }
    return sum;
}

/* Returns the derivative of the weighted loss with respect to log(1 / tau), which is the sum over all scores of the
 * score times its derivative. A score is linear in both of its unit vectors, so the dot products of the unit vectors
 * with their gradients contain each score twice. */
static double log_scale_gradient(const state *p) {
    return (products_with_gradients(&p->queries) + products_with_gradients(&p->documents)) / 2;
}

/* Stores the unit vectors of the guide and the threshold of each example. */
static void read_guide(state *p) {
    const aoei_guide *guide = p->o->guide;
    const size_t B = p->sweep.e.n, arity = p->sweep.e.arity;
    for (size_t i = 0; i < B; i++) {
        for (size_t a = QUERY; a < arity; a++) {
            for (size_t k = 0; k < guide->dims; k++)
                p->guide_vector[k] = (double)guide->vectors[arity * i + a][k];
            aoei_unit_rows_set(a == QUERY ? &p->guide_queries : &p->guide_documents,
                               a == QUERY ? i : (a - POSITIVE) * B + i, p->guide_vector);
        }
        const double own = product(&p->guide_queries, i, &p->guide_documents, i);
        p->threshold[i] = own - (guide->relative ? fabs(own) : 1) * guide->margin;
    }
    p->loss.threshold = p->threshold;
}

/* Sets the blocks of the chosen directions, in the order of the table at the start of this file. Returns their
 * number. */
static size_t list_blocks(state *p, aoei_nce_block *block) {
    const size_t B = p->sweep.e.n, documents = (p->sweep.e.arity - 1) * B;
    const struct {
        unsigned direction;
        int from_queries, to_queries, others_only;
        size_t M;
    } rows[] = {{AOE_QUERY_TO_DOCUMENT, 1, 0, 0, documents},
                {AOE_QUERY_TO_QUERY, 1, 1, 1, B},
                {AOE_DOCUMENT_TO_QUERY, 0, 1, 0, B},
                {AOE_DOCUMENT_TO_DOCUMENT, 0, 0, 1, p->o->guide ? B : documents}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!(p->o->directions & rows[i].direction))
            continue;
        block[n++] = (aoei_nce_block){.anchors = rows[i].from_queries ? &p->queries : &p->documents,
                                      .candidates = rows[i].to_queries ? &p->queries : &p->documents,
                                      .M = rows[i].M,
                                      .others_only = rows[i].others_only,
                                      .guide_anchors = !p->o->guide           ? NULL
                                                       : rows[i].from_queries ? &p->guide_queries
                                                                              : &p->guide_documents,
                                      .guide_candidates = !p->o->guide         ? NULL
                                                          : rows[i].to_queries ? &p->guide_queries
                                                                               : &p->guide_documents};
    }
    return n;
}

static double compute_loss(state *p, int with_grad) {
    aoei_nce_block block[AOEI_NCE_MAX_BLOCKS];
    const size_t B = p->sweep.e.n, n = list_blocks(p, block);
    double sum = 0;
    if (p->o->joint)
        return aoei_info_nce_loss(&p->loss, B, block, n, p->o->weight, with_grad);
    for (size_t k = 0; k < n; k++)
        sum += aoei_info_nce_loss(&p->loss, B, &block[k], 1, p->o->weight / (double)n, with_grad);
    return sum / (double)n;
}

static int run(state *p, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const int with_grad = aoei_sweep_has_gradients(&p->sweep);
    const int code = aoei_sweep_read(&p->sweep, ctx, store_example, p, err);
    if (code)
        return code;
    if (p->o->guide)
        read_guide(p);
    result->positive_pairs = p->sweep.e.n;
    result->contrastive = compute_loss(p, with_grad);
    result->total = p->o->weight * result->contrastive;
    result->negatives = p->loss.negatives;
    result->left_out = p->loss.left_out;
    if (with_grad && p->o->d_log_scale)
        *p->o->d_log_scale = log_scale_gradient(p);
    if (!isfinite(result->total))
        return aoei_fail(err, AOE_ENUMERIC, "the loss of the batch is not finite; raise options.tau_ibn");
    return aoei_sweep_write(&p->sweep, ctx, example_gradient, p, err);
}

int aoei_direction_objective(const aoei_direction_options *o, const aoei_example_batch *batch, void *workspace,
                             size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                             aoe_error *err) {
    const size_t dims = o->guide ? o->guide->dims : 0;
    aoe_context serial;
    state p;
    *result = (aoe_objective_result){0};
    int rc = check(o, batch, err);
    if (rc)
        return rc;
    rc = aoei_objective_begin(&ctx, &serial, aoei_direction_objective_workspace(batch->B, batch->D, batch->arity, dims),
                              workspace_bytes, err);
    if (rc)
        return rc;
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    lay_out(&p, &arena, batch->B, batch->D, batch->arity, dims);
    p.o = o;
    p.loss.ctx = ctx;
    p.loss.tau = o->tau;
    p.sweep.e = aoei_example_vectors(batch);
    p.sweep.e.names = &aoei_query_names;
    return run(&p, ctx, result, err);
}
