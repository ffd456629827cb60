/* SPDX-License-Identifier: MIT
 * covers: index/changes index/queue index/encode index/split index/writer
 * Tests that documents are added, replaced and removed, that a failed call changes nothing, that equal texts keep their
 * vectors, and that the contents of an index do not depend on the sequence of changes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/random.h"
#include "index/index_write.h"
#include "index/reader.h"

static aoe_index_stats stats_of(aoe_index *index) {
    aoe_index_stats stats = {.struct_size = sizeof stats};
    check(aoe_index_get_stats(index, &stats, &err));
    return stats;
}

static void test_add_and_reopen(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    const aoe_index_field fields[] = {{"year", aoe_text_of("2020")},
                                      {"price", aoe_text_of("1.50")},
                                      {"code", aoe_text_of("007")},
                                      {"lang", aoe_text_of("en")}};
    const aoe_index_document d[] = {
        {.struct_size = sizeof *d, .name = "a.md", .text = aoe_text_of("# Top\n\na b c\n\n## Sub\n\nd e f\n")},
        {.struct_size = sizeof *d,
         .name = "b",
         .text = aoe_text_of("b c"),
         .title = "T",
         .field = fields,
         .n_fields = 4},
        {.struct_size = sizeof *d, .name = "empty", .text = aoe_text_of("")}};
    check(aoe_index_add(index, d, 3, &err));
    assert_int_equal(stats_of(index).documents, 0); /* not committed */
    check(aoe_index_commit(index, &err));
    aoe_index_stats stats = stats_of(index);
    assert_int_equal(stats.documents, 3);
    assert_true(stats.passages >= 2);
    assert_int_equal(stats.commits, 1);
    assert_int_equal(stats.removed_rows, 0);
    assert_int_equal(stats.created_here, 1);
    char *first = tiny_index_dump(index);
    assert_non_null(strstr(first, "year=2020 integer"));
    assert_non_null(strstr(first, "price=1.50 real"));
    assert_non_null(strstr(first, "code=007 text"));
    assert_non_null(strstr(first, "[T] b c"));
    aoe_index_close(index);
    char *second = tiny_index_dump_path(path, &err);
    assert_non_null(second);
    assert_string_equal(first, second);
    free(first);
    free(second);
    free(path);
}

static void test_replace_and_remove(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "a", "a b c", &err));
    check(tiny_index_add(index, "dir/b", "b c d", &err));
    check(tiny_index_add(index, "dir/c", "c d e", &err));
    check(tiny_index_add(index, "dir0", "d", &err));
    check(aoe_index_commit(index, &err));
    check(tiny_index_add(index, "a", "a b c", &err)); /* equal */
    assert_int_equal(aoei_write_counted(index).unchanged, 1);
    check(aoe_index_commit(index, &err)); /* nothing changed */
    assert_int_equal(stats_of(index).commits, 1);
    check(tiny_index_add(index, "a", "e f", &err));
    assert_int_equal(aoei_write_counted(index).changed, 1);
    check(aoe_index_commit(index, &err));
    assert_int_equal(stats_of(index).removed_rows, 1);
    size_t removed;
    const char *const names[] = {"dir/", "a", "missing"};
    check(aoe_index_remove(index, names, 3, &removed, &err));
    assert_int_equal(removed, 3);
    check(aoe_index_commit(index, &err));
    assert_int_equal(stats_of(index).documents, 1);
    char *dump = tiny_index_dump(index);
    assert_ptr_equal(strstr(dump, "dir0|"), dump);
    free(dump);
    aoe_index_close(index);
    free(path);
}

static void test_failed_add(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "a", "a b", &err));
    float vector[16] = {1, NAN};
    const aoe_index_document d[] = {
        {.struct_size = sizeof *d, .name = "a", .text = aoe_text_of("c d")},
        {.struct_size = sizeof *d, .name = "b", .text = aoe_text_of("x"), .vector = vector}};
    assert_int_equal(aoe_index_add(index, d, 2, &err), AOE_ENUMERIC);
    assert_message("b: component 1");
    const aoe_index_document bad[] = {{.struct_size = sizeof *d, .name = "c", .text = aoe_text_of("c\xff")}};
    assert_int_equal(aoe_index_add(index, bad, 1, &err), AOE_EFORMAT);
    assert_message("not valid UTF-8 at byte 1");
    const aoe_index_document nameless[] = {{.struct_size = sizeof *d, .name = "", .text = aoe_text_of("c")}};
    assert_int_equal(aoe_index_add(index, nameless, 1, &err), AOE_EFORMAT);
    check(aoe_index_commit(index, &err));
    char *dump = tiny_index_dump(index);
    assert_non_null(strstr(dump, "a| 0 1-1 [] a b"));
    assert_null(strstr(dump, "b|"));
    free(dump);
    aoe_index_close(index);
    index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    assert_int_equal(tiny_index_add(index, "x", "x", &err), AOE_EARG);
    assert_message("opened for reading");
    aoe_index_close(index);
    free(path);
}

/* A passage whose text is in the index is not embedded again, also if its document is replaced or moved. */
static void test_reuse(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "a", "a b c", &err));
    const size_t tokens = aoei_write_counted(index).tokens;
    assert_true(tokens > 0);
    check(tiny_index_add(index, "b", "a b c", &err));
    check(aoe_index_commit(index, &err));
    check(aoe_index_remove(index, &(const char *){"a"}, 1, NULL, &err));
    check(tiny_index_add(index, "c", "a b c", &err));
    assert_int_equal(aoei_write_counted(index).tokens, tokens);
    assert_int_equal(aoei_write_counted(index).reused, 2);
    /* twice in one call */
    const aoe_index_document d[] = {{.struct_size = sizeof *d, .name = "x", .text = aoe_text_of("d e")},
                                    {.struct_size = sizeof *d, .name = "y", .text = aoe_text_of("d e")}};
    check(aoe_index_add(index, d, 2, &err));
    assert_int_equal(aoei_write_counted(index).reused, 3);
    aoe_index_close(index);
    free(path);
}

/* The vector of a document that the caller gives is used as it is, scaled to unit length. */
static void test_given_vector(void **state) {
    (void)state;
    for (int store = AOE_INDEX_F32; store <= AOE_INDEX_INT8; store++) {
        char *path = tiny_index_path();
        aoe_index_options o;
        aoe_index_options_defaults(&o);
        o.store = store;
        aoe_index_close(tiny_index_open(path, AOE_INDEX_WRITE, &o));
        aoe_index *index;
        check(aoe_index_open(&index, path, AOE_INDEX_WRITE, NULL, &o, &err));
        float vector[16] = {3, 0, 0, -4};
        const aoe_index_document d[] = {
            {.struct_size = sizeof *d, .name = "x", .text = aoe_text_of("any text"), .vector = vector}};
        check(aoe_index_add(index, d, 1, &err));
        check(aoe_index_commit(index, &err));
        assert_int_equal(tiny_index_add(index, "y", "text", &err), AOE_EARG);
        assert_message("without an embedder");
        aoei_reader *r;
        float found[16];
        check(aoei_reader_begin(&r, index, &err));
        aoei_view_vector(r->view, 0, found);
        const double tolerance = store == AOE_INDEX_F32 ? 1e-7 : store == AOE_INDEX_BF16 ? 1.0 / 256 : 1.0 / 127;
        assert_true(fabs((double)found[0] - 0.6) <= tolerance && fabs((double)found[3] + 0.8) <= tolerance);
        aoei_reader_end(r);
        aoe_index_close(index);
        free(path);
    }
}

/* Random additions, replacements, removals, commits and openings give the same contents as a new index with the same
 * documents. */
static void test_any_sequence(void **state) {
    (void)state;
    enum { NAMES = 40, STEPS = 400 };
    char *path = tiny_index_path(), name[16];
    int version[NAMES] = {0}; /* 0: not in the index */
    aoei_rng rng;
    aoei_rng_init(&rng, 7, AOEI_STREAM_TEST, 0);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    for (int i = 0; i < STEPS; i++) {
        const uint32_t k = aoei_rng_below(&rng, NAMES), what = aoei_rng_below(&rng, 20);
        snprintf(name, sizeof name, "d%02u", k);
        if (what < 12) {
            version[k] = 1 + (int)aoei_rng_below(&rng, 5);
            check(tiny_index_add(index, name, tiny_index_text(k, (uint32_t)version[k]), &err));
        } else if (what < 17) {
            size_t removed;
            check(aoe_index_remove(index, &(const char *){name}, 1, &removed, &err));
            assert_int_equal(removed, version[k] > 0);
            version[k] = 0;
        } else if (what < 19) {
            check(aoe_index_commit(index, &err));
        } else {
            check(aoe_index_commit(index, &err));
            aoe_index_close(index);
            index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        }
    }
    check(aoe_index_commit(index, &err));
    char *got = tiny_index_dump(index), *fresh = tiny_index_path();
    aoe_index_close(index);
    index = tiny_index_open(fresh, AOE_INDEX_WRITE, NULL);
    for (uint32_t k = NAMES; k-- > 0;) {
        snprintf(name, sizeof name, "d%02u", k);
        if (version[k])
            check(tiny_index_add(index, name, tiny_index_text(k, (uint32_t)version[k]), &err));
    }
    check(aoe_index_commit(index, &err));
    char *want = tiny_index_dump(index);
    aoe_index_close(index);
    assert_string_equal(got, want);
    assert_true(strlen(want) > 1000);
    free(got);
    free(want);
    free(path);
    free(fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_add_and_reopen), cmocka_unit_test(test_replace_and_remove),
                                       cmocka_unit_test(test_failed_add),     cmocka_unit_test(test_reuse),
                                       cmocka_unit_test(test_given_vector),   cmocka_unit_test(test_any_sequence)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
