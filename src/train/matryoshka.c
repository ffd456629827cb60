/* SPDX-License-Identifier: MIT
 * Computes the loss of a batch for its truncated vectors.
 */
#include "train/matryoshka.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

int aoei_matryoshka_check(const aoe_train_options *o, aoe_error *err) {
    if (o->n_matryoshka > AOE_MAX_PREFIXES || (o->n_matryoshka && !o->matryoshka))
        return aoei_fail(err, AOE_EARG, "options.matryoshka has %zu sizes; give at most %d", o->n_matryoshka,
                         AOE_MAX_PREFIXES);
    if (o->matryoshka_per_step > o->n_matryoshka)
        return aoei_fail(err, AOE_EARG, "options.matryoshka_per_step is %zu, but options.matryoshka has %zu sizes",
                         o->matryoshka_per_step, o->n_matryoshka);
    for (size_t i = 0; i < o->n_matryoshka; i++) {
        const aoe_prefix p = o->matryoshka[i];
        if (!p.dims || !(p.weight > 0 && isfinite(p.weight)))
            return aoei_fail(err, AOE_EARG,
                             "options.matryoshka: size %zu with weight %g is invalid; both must be above 0", p.dims,
                             p.weight);
        for (size_t k = 0; k < i; k++)
            if (o->matryoshka[k].dims == p.dims)
                return aoei_fail(err, AOE_EARG, "options.matryoshka: size %zu is listed twice", p.dims);
    }
    return AOE_OK;
}

int aoei_matryoshka_check_model(const aoe_train_options *o, const aoe_model *m, const aoei_log *log, aoe_error *err) {
    const size_t dims = aoei_vector_dims(&m->config);
    const int has_angle = o->method == AOE_METHOD_ANGLE && o->objective.w_angle > 0;
    size_t highest = 0;
    if (o->n_matryoshka && aoei_training_layers_of(&m->config)->n_projection)
        return aoei_fail(
            err, AOE_EARG,
            "options.matryoshka: the method computes its loss after a projection, and not from the embeddings; set "
            "options.no_projection");
    for (size_t i = 0; i < o->n_matryoshka; i++) {
        const size_t d = o->matryoshka[i].dims;
        if (d > dims)
            return aoei_fail(err, AOE_EARG,
                             "options.matryoshka: size %zu is above %zu, the number of components of an embedding", d,
                             dims);
        if (has_angle && d % 2)
            return aoei_fail(
                err, AOE_EARG,
                "options.matryoshka: the angle loss requires even sizes, not %zu; set options.w_angle to 0", d);
        highest = d > highest ? d : highest;
    }
    if (highest && highest < dims)
        aoei_log_write(
            log, AOE_LOG_WARNING,
            "options.matryoshka: the embeddings have %zu components, but the largest size is %zu; the loss does not "
            "train the other components",
            dims, highest);
    return AOE_OK;
}

int aoei_matryoshka_describe(const aoe_train_options *o, json_t *record) {
    if (!o->n_matryoshka)
        return 0;
    json_t *list = json_array();
    int bad = 0;
    for (size_t i = 0; i < o->n_matryoshka; i++)
        bad |= json_array_append_new(
            list, json_pack("{s:I,s:f}", "dims", (json_int_t)o->matryoshka[i].dims, "weight", o->matryoshka[i].weight));
    bad |= json_object_set_new(record, "matryoshka", list);
    return bad | json_object_set_new(record, "matryoshka_per_step", json_integer((json_int_t)o->matryoshka_per_step));
}

int aoei_matryoshka_create(aoei_matryoshka *p, size_t vectors, size_t dims, size_t head_rows, size_t head_cols,
                           aoe_error *err) {
    memset(p, 0, sizeof *p);
    p->vectors = aoei_malloc_array(vectors, dims * sizeof *p->vectors);
    p->grad = aoei_malloc_array(vectors, dims * sizeof *p->grad);
    p->sum = aoei_malloc_array(vectors, dims * sizeof *p->sum);
    p->head = aoei_malloc_array(head_rows + 1, (head_cols + 1) * sizeof *p->head);
    p->d_head = aoei_malloc_array(head_rows + 1, (head_cols + 1) * sizeof *p->d_head);
    if (p->vectors && p->grad && p->sum && p->head && p->d_head)
        return AOE_OK;
    aoei_matryoshka_destroy(p);
    return aoei_fail(err, AOE_ENOMEM,
                     "out of memory for the truncated embeddings of a batch of %zu vectors; lower options.batch_size",
                     vectors);
}

void aoei_matryoshka_destroy(aoei_matryoshka *p) {
    aoei_free(p->vectors);
    aoei_free(p->grad);
    aoei_free(p->sum);
    aoei_free(p->head);
    aoei_free(p->d_head);
    memset(p, 0, sizeof *p);
}

void aoei_matryoshka_choose(aoei_matryoshka *p, size_t n, size_t per_step, uint64_t seed, uint64_t step) {
    size_t order[AOE_MAX_PREFIXES];
    unsigned char chosen[AOE_MAX_PREFIXES] = {0};
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_MATRYOSHKA, (uint32_t)step);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (per_step && per_step < n)
        aoei_rng_shuffle(&r, order, n);
    else
        per_step = n;
    for (size_t i = 0; i < per_step; i++)
        chosen[order[i]] = 1;
    p->n_sizes = 0;
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            p->sizes[p->n_sizes++] = i;
}

/* Copies the columns of the first d components between a matrix with D columns per feature and a matrix with d columns
 * per feature. whole: [rows, features D]; part: [rows, features d]. to_whole: 1: copies from `part` to `whole`, whose
 * other columns do not change; 0: copies from `whole` to `part`. */
static void copy_columns(const aoe_context *ctx, aoei_tensor whole, aoei_tensor part, size_t D, size_t d,
                         int to_whole) {
    for (size_t k = 0; k < whole.cols / D; k++) {
        const aoei_tensor w = aoei_tensor_cols(whole, k * D, d), v = aoei_tensor_cols(part, k * d, d);
        aoei_tensor_copy(ctx, to_whole ? w : v, to_whole ? v : w);
    }
}

/* Computes the loss of the vectors truncated to size d, and adds weight times its gradient to p->sum. */
static int size_loss(aoei_matryoshka *p, aoe_prefix prefix, const aoei_step_loss *loss, const aoei_loss_batch *b,
                     aoe_objective_result *result, aoe_error *err) {
    const size_t D = b->examples.D, d = prefix.dims, n = b->examples.arity * b->examples.B;
    /* a head that is not a layer on the vectors, such as a learned scale, is the same for all sizes */
    const size_t rows = b->head[0].cols >= D ? b->head[0].rows : 0, cols = b->head[0].cols / D * d;
    aoei_loss_batch part = *b;
    aoei_distill distill;
    for (size_t i = 0; i < n; i++)
        memcpy(p->vectors + i * d, b->examples.v + i * D, d * sizeof *p->vectors);
    part.examples.D = d;
    part.examples.v = p->vectors;
    part.examples.grad = p->grad;
    part.scale = prefix.weight * b->scale;
    if (b->distill) {
        distill = *b->distill;
        distill.dims = distill.form == AOE_DISTILL_KL ? d : distill.dims; /* the teacher embeddings are truncated in the
                                                                             same way */
        part.distill = &distill;
    }
    if (rows) {
        part.head[0] = aoei_tensor_wrap(p->head, rows, cols);
        part.d_head[0] = aoei_tensor_wrap(p->d_head, rows, cols);
        copy_columns(b->ctx, b->head[0], part.head[0], D, d, 0);
        copy_columns(b->ctx, b->d_head[0], part.d_head[0], D, d, 0);
    }
    const int code = aoei_step_loss_compute(loss, &part, result, err);
    if (code)
        return code;
    if (rows)
        copy_columns(b->ctx, b->d_head[0], part.d_head[0], D, d, 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            p->sum[i * D + k] += prefix.weight * (double)p->grad[i * d + k];
    return AOE_OK;
}

int aoei_matryoshka_compute(aoei_matryoshka *p, const aoe_prefix *prefix, const aoei_step_loss *loss,
                            const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const size_t cells = b->examples.arity * b->examples.B * b->examples.D;
    *result = (aoe_objective_result){0};
    memset(p->sum, 0, cells * sizeof *p->sum);
    for (size_t i = 0; i < p->n_sizes; i++) {
        const aoe_prefix size = prefix[p->sizes[i]];
        aoe_objective_result r;
        const int code = size_loss(p, size, loss, b, &r, err);
        if (code) {
            aoei_error_prefix(err, "the first %zu components", size.dims);
            return code;
        }
        aoei_result_add(result, &r, size.weight);
        aoei_result_set_counts(result, &r);
    }
    for (size_t i = 0; i < cells; i++)
        b->examples.grad[i] = (float)p->sum[i];
    return AOE_OK;
}
