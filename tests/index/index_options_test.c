/* SPDX-License-Identifier: MIT
 * Tests the defaults of the options of an index.
 */
#include <math.h>

#include "../support/support.h"
#include "aoe_index.h"

static void test_defaults(void **state) {
    (void)state;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    assert_int_equal(o.struct_size, sizeof o);
    assert_int_equal(o.passage_tokens, AOE_AUTO);
    assert_int_equal(o.store, AOE_AUTO);
    assert_null(o.model);
    assert_true(o.wait == 3);
    aoe_index_search_options s;
    aoe_index_search_options_defaults(&s);
    assert_int_equal(s.struct_size, sizeof s);
    assert_int_equal(s.k, 10);
    assert_int_equal(s.mode, AOE_INDEX_HYBRID);
    assert_true(isnan(s.min_score) && s.dense_weight == 1 && s.lexical_weight == 0.8);
    aoe_index_update_options u;
    aoe_index_update_options_defaults(&u);
    assert_int_equal(u.struct_size, sizeof u);
    assert_true(u.commit_seconds == 30 && u.budget == 0 && !u.progress);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
