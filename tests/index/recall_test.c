/* SPDX-License-Identifier: MIT
 * Tests the measurement of the fast scan.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "../support/tiny_model.h"

static void test_recall(void **state) {
    (void)state;
    char *path = tiny_index_path(), name[16];
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    double recall = 0, again = 0;
    check(aoe_index_recall(index, 3, 5, &recall, &err)); /* an empty index */
    assert_true(recall == 1);
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "d%u", i);
        check(tiny_index_add(index, name, tiny_text(i), &err));
    }
    check(aoe_index_commit(index, &err));
    /* 40 candidates for each of the 4 best of 200 rows: nearly all rows are candidates */
    check(aoe_index_recall(index, 3, 20, &recall, &err));
    assert_true(recall > 0.8 && recall <= 1);
    check(aoe_index_recall(index, 3, 20, &again, &err));
    assert_true(recall >= again && recall <= again);
    check(aoe_index_recall(index, 1000, 3, &recall, &err)); /* all rows */
    assert_true(recall == 1);
    assert_int_equal(aoe_index_recall(index, 0, 5, &recall, &err), AOE_EARG);
    aoe_index_close(index);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recall)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
