/* SPDX-License-Identifier: MIT
 * Tests the cache of embeddings: what was stored is found, other settings and texts are not, and the memory has a
 * limit, beyond which the least recently used embeddings are removed.
 */
#include "serve/cache.h"

#include <stdio.h>

#include "../support/support.h"

enum { D = 8 };

static const aoe_text settings = {"a", 1}, other = {"b", 1};

static void put(aoei_cache *c, const char *text, float first) {
    const float v[D] = {first, 1, 2};
    aoei_cache_put(c, settings, aoe_text_of(text), v, D, &(aoei_cached){.tokens = 7, .truncated = 1});
}

static int get(aoei_cache *c, aoe_text s, const char *text, float first) {
    float v[D];
    aoei_cached found = {0, 0};
    if (!aoei_cache_get(c, s, aoe_text_of(text), v, D, &found))
        return 0;
    assert_float_equal(v[0], first, 0);
    assert_float_equal(v[2], 2, 0);
    assert_int_equal(found.tokens, 7);
    assert_int_equal(found.truncated, 1);
    return 1;
}

static void test_find(void **state) {
    (void)state;
    aoei_cache *c;
    float v[D];
    aoei_cached found;
    assert_int_equal(aoei_cache_create(&c, 1 << 16, NULL), 0);
    put(c, "text", 3);
    put(c, "text", 4); /* the first one is kept */
    put(c, "", 5);
    assert_true(get(c, settings, "text", 3));
    assert_true(get(c, settings, "", 5));
    assert_false(get(c, other, "text", 3));
    assert_false(get(c, settings, "texts", 3));
    assert_false(aoei_cache_get(c, settings, aoe_text_of("text"), v, D - 1, &found));
    aoei_cache_destroy(c);
}

static void test_limit(void **state) {
    (void)state;
    enum { N = 2000, LIMIT = 20000 };
    aoei_cache *c;
    char text[32];
    size_t known = 0;
    assert_int_equal(aoei_cache_create(&c, LIMIT, NULL), 0);
    put(c, "kept", 9);
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "text %d", i);
        put(c, text, (float)i);
        assert_true(aoei_cache_bytes(c) <= LIMIT);
        assert_true(get(c, settings, "kept", 9)); /* because it is used */
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "text %d", i);
        const int is_found = get(c, settings, text, (float)i);
        assert_true(i >= N / 2 || !is_found);
        known += (size_t)is_found;
    }
    assert_in_range(known, 50, 500);
    aoei_cache_destroy(c);
    aoei_cache_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
