/* SPDX-License-Identifier: MIT
 * covers: base/source_tree
 * Tests the search for shared files: its folders, their order, and its end.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/share_files.h"
#include "base/source_tree.h"

typedef struct visits {
    char folder[16][PATH_MAX]; /* [n] folders in the order of the calls */
    size_t n;
    const char *wanted; /* folder that ends the search; NULL: none */
} visits;

static int visit(void *user, const char *folder) {
    visits *v = user;
    assert_true(v->n < 16);
    snprintf(v->folder[v->n++], PATH_MAX, "%s", folder);
    return v->wanted && strcmp(folder, v->wanted) == 0;
}

/* Returns the index of a folder, or v->n if it was not visited. */
static size_t index_of(const visits *v, const char *folder) {
    size_t i = 0;
    while (i < v->n && strcmp(v->folder[i], folder) != 0)
        i++;
    return i;
}

static void visits_folders_in_order(void **state) {
    (void)state;
    visits v = {.wanted = NULL};
    char sources[PATH_MAX];
    setenv("XDG_DATA_DIRS", "relative:/first//:/second", 1);
    assert_int_equal(aoei_share_search("things", "share/things", visit, &v), 0);
    assert_non_null(strstr(v.folder[0], "/../share/aoe/things"));
    const size_t first = index_of(&v, "/first/aoe/things");
    assert_true(first > 0 && first + 1 < v.n);
    assert_string_equal(v.folder[first + 1], "/second/aoe/things");
    assert_int_equal(index_of(&v, "relative/aoe/things"), v.n);
    /* the source tree in which the library was built is the last one */
    assert_true(*aoei_source_tree);
    snprintf(sources, sizeof sources, "%s/build/../share/things", aoei_source_tree);
    assert_string_equal(v.folder[v.n - 1], sources);
}

static void ends_at_the_first_match(void **state) {
    (void)state;
    visits v = {.wanted = "/first/aoe/things"};
    setenv("XDG_DATA_DIRS", "/first:/second", 1);
    assert_int_equal(aoei_share_search("things", "share/things", visit, &v), 1);
    assert_string_equal(v.folder[v.n - 1], "/first/aoe/things");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_folders_in_order),
        cmocka_unit_test(ends_at_the_first_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
