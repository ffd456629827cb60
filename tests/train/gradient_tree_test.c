/* SPDX-License-Identifier: MIT
 * covers: train/shards
 * The sum of the gradients of shards has the same bits for every number of processes, and is the sum of the recursion
 * in train/gradient_tree.h. Batches are divided into contiguous shards with about equal numbers of tokens.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "train/gradient_tree.h"

enum { MOST = 64, COUNT = 37 };

/* Returns a random float of any sign and of a magnitude between 1e-3 and 1e3, and sometimes -0. */
static float random_value(void) {
    const double x = (double)rand() / RAND_MAX;
    return rand() % 9 == 0 ? -0.0F : (float)((rand() % 2 ? 1 : -1) * pow(10, 6 * x - 3));
}

/* Adds the shards [first, first + size) as the definition says. */
static float sum_of(const float *x, size_t first, size_t size) {
    return size == 1 ? x[first] : sum_of(x, first, size / 2) + sum_of(x, first + size / 2, size / 2);
}

/* A rank of a simulated run, with its own parameters. */
typedef struct process {
    aoei_params params;
    aoei_gradient_tree tree;
    aoei_arena arena;
} process;

static void lay_out(process *p, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_shards *shards,
                    int keeps, aoei_arena *arena) {
    assert_int_equal(aoei_params_layout(&p->params, ctx, c, &(aoei_params_options){0}, arena, NULL), 0);
    aoei_gradient_tree_layout(&p->tree, &p->params, shards, keeps, arena);
}

static void create(process *p, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_shards *shards,
                   int keeps) {
    aoei_arena plan;
    aoei_arena_measure(&plan);
    lay_out(p, ctx, c, shards, keeps, &plan);
    assert_int_equal(aoei_arena_create(&p->arena, plan.used, NULL), 0);
    lay_out(p, ctx, c, shards, keeps, &p->arena);
}

/* Adds the gradients x[COUNT][MOST] of n shards with `ranks` processes. */
static void check_sums(const aoe_context *ctx, const aoei_encoder_config *c, size_t n, size_t ranks, int keeps,
                       float x[COUNT][MOST]) {
    float *value[MOST];
    aoei_gradient_range range[MOST];
    size_t nodes = 0;
    for (size_t r = 0; r < ranks; r++) {
        const aoei_shards shards = {
            .n = n, .begin = aoei_shards_first(n, r, ranks), .end = aoei_shards_first(n, r + 1, ranks)};
        process p;
        create(&p, ctx, c, &shards, keeps);
        for (int step = 0; step < 2; step++) { /* the second step begins with buffers that are not zero */
            for (size_t s = shards.begin; s < shards.end; s++) {
                float *host = calloc(p.params.count, sizeof *host);
                for (size_t i = 0; i < COUNT; i++)
                    host[i] = x[i][s];
                aoei_gradient_tree_bind(&p.tree, ctx, s);
                float *before = malloc(p.params.count * sizeof *before);
                aoei_tensor_read(ctx, before, p.params.grad);
                for (size_t i = 0; i < p.params.count; i++)
                    assert_true(before[i] == 0);
                aoei_tensor_write(ctx, p.params.grad, host);
                free(before);
                free(host);
                aoei_gradient_tree_done(&p.tree, ctx, s);
            }
            aoei_gradient_tree_close(&p.tree, ctx);
            if (step == 0)
                aoei_gradient_tree_reset(&p.tree);
        }
        assert_true(p.tree.nodes > 0 && p.tree.range[0].first == shards.begin);
        for (size_t k = 0; k < p.tree.nodes; k++, nodes++) {
            range[nodes] = p.tree.range[k];
            value[nodes] = malloc(p.params.count * sizeof(float));
            aoei_tensor_read(ctx, value[nodes], p.tree.sum[k]);
        }
        aoei_arena_destroy(&p.arena);
    }
    const float *total = aoei_gradient_tree_total(value, range, n, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const float want = sum_of(x[i], 0, n);
        assert_memory_equal(&total[i], &want, sizeof want);
    }
    for (size_t k = 0; k < nodes; k++)
        free(value[k]);
}

static void sums_do_not_depend_on_processes(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    aoei_encoder_config c;
    static float x[COUNT][MOST];
    aoe_context *ctx = tiny_context(2);
    shape.layers = 1;
    tiny_config(&c, &shape);
    srand(7);
    for (size_t n = 2; n <= MOST; n *= 2) {
        for (size_t i = 0; i < COUNT; i++)
            for (size_t s = 0; s < n; s++)
                x[i][s] = random_value();
        for (size_t ranks = 1; ranks <= n; ranks += n > 16 ? 5 : 1)
            check_sums(ctx, &c, n, ranks, (int)(ranks % 2), x);
    }
    aoe_context_destroy(ctx);
}

static void one_process_per_shard_needs_no_memory(void **state) {
    (void)state;
    assert_int_equal(aoei_gradient_tree_buffers(3, 4, 0), 1);
    assert_int_equal(aoei_gradient_tree_buffers(0, 8, 0), 4); /* one more than log2(8) */
    assert_int_equal(aoei_gradient_tree_buffers(0, 8, 1), 8);
    aoei_gradient_range range[AOEI_MAX_NODES];
    for (size_t n = 1; n <= AOE_MAX_SHARDS; n *= 2)
        for (size_t ranks = 1; ranks <= n; ranks++)
            for (size_t r = 0; r < ranks; r++)
                assert_true(aoei_gradient_tree_ranges(range, aoei_shards_first(n, r, ranks),
                                                      aoei_shards_first(n, r + 1, ranks)) <= AOEI_MAX_NODES);
}

static void batches_are_divided_by_tokens(void **state) {
    (void)state;
    static const uint32_t equal[8] = {5, 5, 5, 5, 5, 5, 5, 5}, uneven[5] = {1, 1, 500, 1, 1}, one[1] = {9};
    size_t first[9];
    aoei_shards_divide(first, 4, equal, 8);
    static const size_t want[5] = {0, 2, 4, 6, 8};
    assert_memory_equal(first, want, sizeof want);
    aoei_shards_divide(first, 8, uneven, 5); /* the long example has its middle in shard 4 */
    static const size_t split[9] = {0, 2, 2, 2, 2, 3, 3, 3, 5};
    assert_memory_equal(first, split, sizeof split);
    aoei_shards_divide(first, 8, one, 1);
    for (size_t s = 0; s <= 8; s++)
        assert_int_equal(first[s], s > 4);
    aoei_shards_divide(first, 8, NULL, 0);
    assert_int_equal(first[8], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_depend_on_processes),
        cmocka_unit_test(one_process_per_shard_needs_no_memory),
        cmocka_unit_test(batches_are_divided_by_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
