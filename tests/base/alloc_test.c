/* SPDX-License-Identifier: MIT
 * covers: base/arena
 * Tests memory allocation: alignment, overflow checks of sizes, the counter of calls, and injected failures of the n-th
 * call. Also tests arenas. An arena without memory only computes the size of a layout. This size must equal the size of
 * the layout in an arena with memory.
 */
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/arena.h"

static void test_checked_sizes(void **state) {
    (void)state;
    size_t out = 7;
    assert_int_equal(aoei_mul_size(6, 7, &out), 0);
    assert_int_equal(out, 42);
    assert_int_equal(aoei_mul_size(SIZE_MAX, 0, &out), 0);
    assert_int_equal(out, 0);
    assert_int_equal(aoei_mul_size(SIZE_MAX, 1, &out), 0);
    assert_true(out == SIZE_MAX);
    out = 7;
    assert_int_equal(aoei_mul_size(SIZE_MAX / 2 + 1, 2, &out), -1);
    assert_int_equal(aoei_add_size(SIZE_MAX, 1, &out), -1);
    assert_int_equal(out, 7);
    assert_int_equal(aoei_add_size(SIZE_MAX - 1, 1, &out), 0);
    assert_true(out == SIZE_MAX);
}

static void test_blocks(void **state) {
    (void)state;
    int64_t live = aoei_alloc_live();
    char *a = aoei_malloc(0), *b = aoei_malloc(0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_int_equal(aoei_alloc_live() - live, 2);
    a = aoei_realloc(a, 100);
    memset(a, 5, 100);
    a = aoei_realloc(a, 0);
    assert_non_null(a);
    assert_int_equal(aoei_alloc_live() - live, 2);
    unsigned char *z = aoei_calloc(33, 3);
    for (size_t i = 0; i < 99; i++)
        assert_int_equal(z[i], 0);
    char *s = aoei_strndup("a\0b", 3), *t = aoei_strdup("text");
    assert_memory_equal(s, "a\0b\0", 4);
    assert_string_equal(t, "text");
    void *list = aoei_realloc_array(NULL, 10, 10);
    assert_int_equal(aoei_alloc_live() - live, 6);
    aoei_free(NULL);
    aoei_free(a);
    aoei_free(b);
    aoei_free(z);
    aoei_free(s);
    aoei_free(t);
    aoei_free(list);
    assert_int_equal(aoei_alloc_live(), live);
}

static void test_impossible_sizes(void **state) {
    (void)state;
    int64_t live = aoei_alloc_live();
    assert_null(aoei_malloc(SIZE_MAX));
    assert_null(aoei_aligned(SIZE_MAX));
    assert_null(aoei_calloc(SIZE_MAX / 2, 3));
    assert_null(aoei_malloc_array(SIZE_MAX / 2, 3));
    char *p = aoei_strdup("kept");
    assert_null(aoei_realloc_array(p, SIZE_MAX / 2, 3));
    assert_null(aoei_realloc(p, SIZE_MAX));
    assert_null(aoei_strndup(p, SIZE_MAX));
    assert_string_equal(p, "kept");
    aoei_free(p);
    assert_int_equal(aoei_alloc_live(), live);
}

static void test_aligned(void **state) {
    (void)state;
    static const size_t sizes[] = {
        0, 1, 63, 64, 65, 4096, ((size_t)2 << 20) - 1, (size_t)2 << 20, ((size_t)5 << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = aoei_aligned(sizes[i]);
        assert_non_null(p);
        size_t align = sizes[i] >= (size_t)2 << 20 ? (size_t)2 << 20 : AOEI_ALIGN;
        assert_int_equal((uintptr_t)p % align, 0);
        if (sizes[i])
            p[0] = p[sizes[i] - 1] = 1;
        aoei_aligned_free(p);
    }
    aoei_aligned_free(NULL);
}

/* Calls every allocation function once and frees the blocks. Returns AOE_ENOMEM if a call failed. */
static int allocate_all(void *arg) {
    (void)arg;
    void *p[6] = {aoei_malloc(1),   aoei_calloc(1, 1), aoei_malloc_array(1, 1),
                  aoei_strdup("x"), aoei_aligned(1),   aoei_aligned((size_t)3 << 20)};
    int failed = 0;
    for (size_t i = 0; i < 6; i++)
        failed += !p[i];
    void *larger = aoei_realloc(p[0], 1000);
    if (larger)
        p[0] = larger;
    else
        failed++;
    for (size_t i = 0; i < 6; i++)
        aoei_free(p[i]);
    assert_true(failed <= 1);
    return failed ? AOE_ENOMEM : 0;
}

static void test_every_allocation_fails_once(void **state) {
    (void)state;
    assert_int_equal(test_alloc_failures(allocate_all, NULL, 0), 7);
    assert_int_equal(test_alloc_failures(allocate_all, NULL, 2), 7);
    aoei_alloc_fail_at(0);
    assert_int_equal(aoei_alloc_count(), 0);
    assert_int_equal(allocate_all(NULL), 0);
    assert_int_equal(aoei_alloc_count(), 7);
}

typedef struct layout {
    float *a;         /* [1000] */
    double *b;        /* [3] */
    unsigned char *c; /* [1] */
    void *none;       /* [0] */
} layout;

/* Allocates the arrays of a layout in an arena. If the arena only measures, the arrays are NULL. */
static layout lay_out(aoei_arena *arena) {
    layout l = {0};
    l.a = aoei_arena_take_array(arena, 1000, sizeof *l.a);
    size_t mark = aoei_arena_mark(arena);
    aoei_arena_take(arena, 10000);
    aoei_arena_reset(arena, mark);
    l.b = aoei_arena_take_array(arena, 3, sizeof *l.b);
    l.c = aoei_arena_take(arena, 1);
    l.none = aoei_arena_take(arena, 0);
    return l;
}

static void test_arena_measures_the_layout(void **state) {
    (void)state;
    aoei_arena plan, arena;
    aoei_arena_measure(&plan);
    layout l = lay_out(&plan);
    assert_null(l.a);
    assert_null(l.c);
    assert_int_equal(plan.overflow, 0);
    assert_int_equal(plan.used, 4032 + 64 + 64);
    assert_int_equal(plan.peak, 4032 + 10048);
    assert_int_equal(aoei_arena_create(&arena, plan.peak, NULL), 0);
    l = lay_out(&arena);
    assert_int_equal(arena.overflow, 0);
    assert_int_equal(arena.used, plan.used);
    assert_int_equal(arena.peak, plan.peak);
    assert_int_equal((uintptr_t)l.a % AOEI_ALIGN, 0);
    assert_int_equal((uintptr_t)l.b % AOEI_ALIGN, 0);
    assert_ptr_equal((unsigned char *)l.a + 4032, l.b);
    assert_ptr_equal((unsigned char *)l.b + 64, l.c);
    assert_non_null(l.none);
    aoei_arena_destroy(&arena);
    aoei_arena_destroy(&plan);
    assert_null(arena.base);
}

static void test_arena_overflow(void **state) {
    (void)state;
    aoei_arena a;
    assert_int_equal(aoei_arena_create(&a, 100, NULL), 0);
    assert_non_null(aoei_arena_take(&a, 64));
    assert_null(aoei_arena_take(&a, 37)); /* 36 bytes are free, but sizes are rounded up to cache lines */
    assert_int_equal(a.overflow, 1);
    assert_int_equal(a.used, 64);
    aoei_arena_destroy(&a);
    aoei_arena_measure(&a);
    assert_null(aoei_arena_take(&a, SIZE_MAX));
    assert_int_equal(a.overflow, 1);
    aoei_arena_measure(&a);
    assert_int_equal(a.overflow, 0);
    aoei_arena_take(&a, SIZE_MAX / 2);
    aoei_arena_take(&a, SIZE_MAX / 2);
    assert_int_equal(a.overflow, 1);
    aoei_arena_measure(&a);
    aoei_arena_take_array(&a, SIZE_MAX / 2, 3);
    assert_int_equal(a.overflow, 1);
    aoei_arena_measure(&a);
    aoei_arena_take_array(&a, SIZE_MAX, 0);
    assert_int_equal(a.overflow, 0);
    aoei_arena_destroy(&a);
}

static int create_arena(void *arg) {
    aoei_arena *a = arg;
    aoe_error err = {0};
    int code = aoei_arena_create(a, 1 << 20, &err);
    assert_int_equal(code, err.code);
    aoei_arena_destroy(a);
    aoei_arena_destroy(a);
    return code;
}

static void test_arena_without_memory(void **state) {
    (void)state;
    aoei_arena a;
    assert_int_equal(test_alloc_failures(create_arena, &a, 0), 1);
    aoe_error err;
    assert_int_equal(aoei_arena_create(&a, SIZE_MAX - 5, &err), AOE_ENOMEM);
    assert_null(aoei_arena_take(&a, 0));
    aoei_arena_destroy(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checked_sizes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_arena_measures_the_layout),
        cmocka_unit_test(test_arena_overflow),
        cmocka_unit_test(test_arena_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
