/* SPDX-License-Identifier: MIT
 * Tests the parameter set, which stores all trained weights in one flat tensor. A slot is the range of elements of one
 * weight. Slots must not overlap, and the padding between slots must stay zero. Weight decay applies to all weights
 * except biases and normalization weights. Loading weights must be exact. In bf16, every linear weight has a packed
 * copy, which must always equal the weight.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "encoder/slots.h"
#include "nn/gemm.h"
#include "nn/optimizer.h"

typedef struct set {
    aoe_context *ctx;
    aoei_encoder_config c;
    aoei_arena arena;
    aoei_params p;
} set;

static void set_create(set *s, const tiny_model *shape, aoei_dtype type) {
    aoei_arena plan;
    s->ctx = tiny_context(2);
    tiny_config(&s->c, shape);
    aoei_arena_measure(&plan);
    assert_int_equal(aoei_params_layout(&s->p, s->ctx, &s->c, &(aoei_params_options){.type = type}, &plan, NULL), 0);
    assert_int_equal(aoei_arena_create(&s->arena, plan.used, NULL), 0);
    memset(s->arena.base, 0xff, s->arena.size);
    assert_int_equal(aoei_params_layout(&s->p, s->ctx, &s->c, &(aoei_params_options){.type = type}, &s->arena, NULL),
                     0);
    assert_int_equal(s->arena.used, plan.used);
}

static void set_destroy(set *s) {
    aoei_arena_destroy(&s->arena);
    aoe_context_destroy(s->ctx);
}

/* Returns the offset, in elements, of `view` in the tensor `flat`. */
static size_t offset(aoei_tensor view, aoei_tensor flat) {
    return (size_t)(aoei_f32(view) - aoei_f32(flat));
}

/* Returns an array with one number per element of the flat tensor: the index of the element's slot plus 1, or 0 for
 * padding. The caller frees the array. */
static uint32_t *owners(const set *s) {
    uint32_t *owner = calloc(s->p.count, sizeof *owner);
    assert_non_null(owner);
    for (size_t i = 0; i < s->p.n_slots; i++) {
        const aoei_tensor t = s->p.values[i];
        if (!t.data)
            continue;
        const size_t at = offset(t, s->p.value);
        assert_int_equal(at % 16, 0);
        assert_true(t.ld == t.cols && at + t.rows * t.cols <= s->p.count);
        for (size_t k = 0; k < t.rows * t.cols; k++) {
            assert_int_equal(owner[at + k], 0);
            owner[at + k] = (uint32_t)i + 1;
        }
        assert_int_equal(offset(s->p.grads[i], s->p.grad), at);
    }
    return owner;
}

static void check_layout(const tiny_model *shape) {
    set s;
    set_create(&s, shape, AOEI_F32);
    uint32_t *owner = owners(&s);
    size_t owned = 0, segment = 0;
    for (size_t i = 0; i < s.p.count; i++) {
        owned += owner[i] > 0;
        while (s.p.segments[segment].end <= i)
            segment++;
        const aoei_optimizer_segment *g = &s.p.segments[segment];
        aoei_slot d;
        assert_true(segment < s.p.n_slots && g->begin <= i && !g->weight);
        if (!owner[i])
            continue;
        aoei_slot_describe(&s.c, owner[i] - 1, &d);
        assert_int_equal(segment, owner[i] - 1);
        assert_int_equal(g->decay, !d.vector);
        assert_int_equal(!g->decay, strstr(d.name, ".bias") != NULL || strstr(d.name, "LayerNorm") != NULL);
    }
    assert_int_equal(owned, aoei_parameter_count(&s.c));
    assert_int_equal(s.p.segments[0].begin, 0);
    assert_int_equal(s.p.segments[s.p.n_slots - 1].end, s.p.count);
    for (size_t i = 1; i < s.p.n_slots; i++)
        assert_int_equal(s.p.segments[i].begin, s.p.segments[i - 1].end);
    assert_int_equal(s.p.packed_bytes, 0);
    assert_int_equal(s.p.values[AOEI_W_TOKEN_TYPE].data == NULL, shape->types == 0);
    free(owner);
    set_destroy(&s);
}

static void test_layout(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    check_layout(&shape);
    shape.types = 0;
    shape.hidden = 15;
    shape.heads = 3;
    shape.intermediate = 7;
    check_layout(&shape);
}

static void test_load(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 18;
    set s, source;
    set_create(&s, &shape, AOEI_F32);
    set_create(&source, &shape, AOEI_F32);
    tiny_fill(source.ctx, &source.p, &source.c, 4);
    aoei_params_load(s.ctx, &s.p, source.p.values);
    uint32_t *owner = owners(&s);
    for (size_t i = 0; i < s.p.count; i++) {
        if (owner[i])
            assert_memory_equal(&aoei_f32(s.p.value)[i], &aoei_f32(source.p.value)[i], sizeof(float));
        else
            assert_true(aoei_f32(s.p.value)[i] == 0);
        assert_true(aoei_f32(s.p.grad)[i] == 0 && aoei_f32(s.p.m)[i] == 0 && aoei_f32(s.p.v)[i] == 0);
    }
    free(owner);
    set_destroy(&s);
    set_destroy(&source);
}

/* Tests an optimizer step with zero gradients. It must not change the padding, and it must decay only the weights to
 * which weight decay applies. */
static void test_update(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 18;
    set s;
    set_create(&s, &shape, AOEI_F32);
    aoei_tensor_zero(s.ctx, s.p.value);
    aoei_tensor_zero(s.ctx, s.p.grad);
    aoei_tensor_zero(s.ctx, s.p.m);
    aoei_tensor_zero(s.ctx, s.p.v);
    uint32_t *owner = owners(&s);
    for (size_t i = 0; i < s.p.count; i++)
        if (owner[i])
            aoei_f32(s.p.value)[i] = 2;
    const aoei_optimizer o = {.lr = 0.1,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = 0.5,
                              .grad_scale = 1,
                              .step = 1,
                              .segments = s.p.segments,
                              .n_segments = s.p.n_slots,
                              .n_tasks = s.p.n_tasks};
    aoei_optimizer_step(s.ctx, s.p.value, s.p.grad, s.p.m, s.p.v, &o);
    for (size_t i = 0; i < s.p.count; i++) {
        aoei_slot d = {0};
        if (owner[i])
            aoei_slot_describe(&s.c, owner[i] - 1, &d);
        const double want = !owner[i] ? 0 : d.decay ? 2 - 0.1 * 0.5 * 2 : 2;
        assert_true(fabs((double)aoei_f32(s.p.value)[i] - want) <= 3e-7);
    }
    free(owner);
    set_destroy(&s);
}

/* Asserts that every linear weight has a packed copy that equals a new packing of its values, and that no other weight
 * has one. */
static void check_packed(const set *s) {
    size_t bytes = 0;
    for (size_t i = 0; i < s->p.n_slots; i++) {
        aoei_slot d;
        aoei_slot_describe(&s->c, i, &d);
        const aoei_tensor w = s->p.values[i];
        assert_int_equal(w.packed != NULL, d.linear);
        assert_int_equal(d.linear, i >= AOEI_W_LAYERS && !d.vector && !d.absent);
        assert_ptr_equal(s->p.segments[i].weight, d.linear ? &s->p.values[i] : NULL);
        if (!d.linear)
            continue;
        const size_t size = aoei_weight_packed_size(s->ctx, AOEI_BF16, d.rows, d.cols);
        unsigned char *fresh = aoei_aligned(size);
        aoei_tensor copy = w;
        assert_non_null(fresh);
        assert_int_equal(w.packed_type, AOEI_BF16);
        memset(fresh, 0xff, size);
        aoei_weight_pack(s->ctx, AOEI_BF16, &copy, fresh);
        assert_memory_equal(fresh, w.packed, size);
        aoei_aligned_free(fresh);
        bytes += size;
    }
    assert_int_equal(s->p.packed_bytes, bytes);
}

static void test_packed(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 48;
    shape.intermediate = 72;
    set s, source;
    set_create(&s, &shape, AOEI_BF16);
    set_create(&source, &shape, AOEI_F32);
    tiny_fill(source.ctx, &source.p, &source.c, 4);
    aoei_params_load(s.ctx, &s.p, source.p.values);
    check_packed(&s);
    float *grad = malloc(s.p.count * sizeof *grad);
    assert_non_null(grad);
    for (size_t i = 0; i < s.p.count; i++)
        grad[i] = 0.01f * (float)(i % 13) - 0.05f;
    aoei_tensor_write(s.ctx, s.p.grad, grad);
    const aoei_optimizer o = {.lr = 0.1,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = 0.5,
                              .grad_scale = 1,
                              .step = 1,
                              .segments = s.p.segments,
                              .n_segments = s.p.n_slots,
                              .n_tasks = s.p.n_tasks};
    aoei_optimizer_step(s.ctx, s.p.value, s.p.grad, s.p.m, s.p.v, &o);
    check_packed(&s);
    aoei_tensor_write(s.ctx, s.p.value, grad);
    aoei_params_pack(s.ctx, &s.p);
    check_packed(&s);
    free(grad);
    set_destroy(&s);
    set_destroy(&source);
}

static void test_no_memory(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    aoei_encoder_config c;
    aoei_params p;
    aoei_arena a;
    aoe_error err = {0};
    tiny_config(&c, &shape);
    c.vocab = SIZE_MAX / 128; /* the number of elements fits in a size_t, but the number of bytes does not */
    aoei_arena_measure(&a);
    aoe_context *ctx = tiny_context(1);
    assert_int_equal(aoei_params_layout(&p, ctx, &c, &(aoei_params_options){0}, &a, &err), AOE_ENOMEM);
    assert_int_equal(err.code, AOE_ENOMEM);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout), cmocka_unit_test(test_load),
                                       cmocka_unit_test(test_update), cmocka_unit_test(test_packed),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
