/* SPDX-License-Identifier: MIT
 * Implements the sum of the gradients of shards. The nodes are the digits of a binary counter: after a shard has been
 * added, two nodes of equal size whose union is an aligned range are replaced by their sum.
 */
#include "train/gradient_tree.h"

#include "nn/elementwise.h"

#include <string.h>

/* Returns 1 if the node b follows the node a, and both together are an aligned range. */
static int are_siblings(const aoei_gradient_range *a, const aoei_gradient_range *b) {
    return a->size == b->size && a->first % (2 * a->size) == 0 && b->first == a->first + a->size;
}

size_t aoei_gradient_tree_ranges(aoei_gradient_range *range, size_t begin, size_t end) {
    size_t n = 0;
    for (size_t s = begin; s < end; s++) {
        range[n++] = (aoei_gradient_range){.first = s, .size = 1};
        for (; n > 1 && are_siblings(&range[n - 2], &range[n - 1]); n--)
            range[n - 2].size *= 2;
    }
    return n;
}

size_t aoei_gradient_tree_buffers(size_t begin, size_t end, int keeps_leaves) {
    aoei_gradient_range range[AOEI_MAX_NODES];
    size_t most = 0;
    if (keeps_leaves)
        return end - begin;
    for (size_t s = begin; s < end; s++) {
        const size_t held = aoei_gradient_tree_ranges(range, begin, s) + 1;
        most = held > most ? held : most;
    }
    return most;
}

void aoei_gradient_tree_layout(aoei_gradient_tree *t, aoei_params *p, const aoei_shards *shards, int keeps_leaves,
                               aoei_arena *arena) {
    *t = (aoei_gradient_tree){.begin = shards->begin, .end = shards->end, .keeps_leaves = keeps_leaves, .params = p};
    if (!aoei_shards_are_several(shards))
        return;
    t->buffers = aoei_gradient_tree_buffers(t->begin, t->end, keeps_leaves);
    t->free = aoei_arena_take_array(arena, t->buffers, sizeof *t->free);
    t->leaf = aoei_arena_take_array(arena, t->end - t->begin, sizeof *t->leaf);
    if (t->leaf)
        memset(t->leaf, 0, (t->end - t->begin) * sizeof *t->leaf);
    for (size_t i = 0; i < t->buffers; i++) {
        const aoei_tensor buffer = i ? aoei_tensor_take(arena, 1, p->count) : p->grad;
        if (t->free)
            t->free[t->n_free++] = buffer;
    }
    t->next = t->begin;
}

void aoei_gradient_tree_bind(aoei_gradient_tree *t, const aoe_context *ctx, size_t shard) {
    aoei_tensor *leaf = &t->leaf[shard - t->begin];
    if (!leaf->data) {
        *leaf = t->free[--t->n_free];
        aoei_tensor_zero(ctx, *leaf);
    }
    aoei_params_bind_grad(t->params, *leaf);
}

/* Adds the gradient of the next shard to the nodes. */
static void add_next(aoei_gradient_tree *t, const aoe_context *ctx) {
    aoei_gradient_tree_bind(t, ctx, t->next); /* a shard without examples has a gradient of zero */
    aoei_tensor *leaf = &t->leaf[t->next - t->begin];
    t->range[t->nodes] = (aoei_gradient_range){.first = t->next, .size = 1};
    t->sum[t->nodes++] = *leaf;
    *leaf = (aoei_tensor){0};
    t->next++;
    for (size_t n = t->nodes; n > 1 && are_siblings(&t->range[n - 2], &t->range[n - 1]); n = --t->nodes) {
        aoei_add(ctx, t->sum[n - 2], t->sum[n - 2], t->sum[n - 1]);
        t->range[n - 2].size *= 2;
        t->free[t->n_free++] = t->sum[n - 1];
    }
}

void aoei_gradient_tree_done(aoei_gradient_tree *t, const aoe_context *ctx, size_t shard) {
    if (!t->keeps_leaves && shard == t->next)
        add_next(t, ctx);
}

void aoei_gradient_tree_close(aoei_gradient_tree *t, const aoe_context *ctx) {
    while (t->next < t->end)
        add_next(t, ctx);
    aoei_params_bind_grad(t->params, t->sum[0]);
}

void aoei_gradient_tree_reset(aoei_gradient_tree *t) {
    for (size_t i = 0; i < t->end - t->begin; i++)
        if (t->leaf[i].data) {
            t->free[t->n_free++] = t->leaf[i];
            t->leaf[i] = (aoei_tensor){0};
        }
    while (t->nodes)
        t->free[t->n_free++] = t->sum[--t->nodes];
    t->next = t->begin;
}

/* The nodes that aoei_gradient_tree_total has not used yet. */
typedef struct cursor {
    float *const *value;
    const aoei_gradient_range *range;
    size_t length;
} cursor;

/* Returns the sum of the shards [first, first + size). */
static float *sum_of(cursor *c, size_t first, size_t size) {
    if (c->range->first == first && c->range->size == size) {
        c->range++;
        return *c->value++;
    }
    float *a = sum_of(c, first, size / 2);
    const float *b = sum_of(c, first + size / 2, size / 2);
    for (size_t i = 0; i < c->length; i++)
        a[i] += b[i];
    return a;
}

const float *aoei_gradient_tree_total(float *const *value, const aoei_gradient_range *range, size_t n, size_t length) {
    cursor c = {.value = value, .range = range, .length = length};
    return sum_of(&c, 0, n);
}
