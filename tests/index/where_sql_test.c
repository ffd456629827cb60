/* SPDX-License-Identifier: MIT
 * Tests the comparisons of conditions in a database, built-in keys, unknown keys, and the bitmaps of passages and rows.
 * covers: index/allowed index/ranges
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/index_db.h"
#include "../support/model_dir.h"
#include "../support/support.h"
#include "index/allowed.h"
#include "index/where_sql.h"

static void run(aoei_db *d, const char *sql) {
    aoe_error err = {0};
    if (aoei_db_run(d, sql, &err))
        fail_msg("%s: %s", sql, err.message);
}

/* Documents 1 to 5. Document 2 has no passages, and document 5 no metadata. */
static void add_documents(aoei_db *d) {
    static const char *const three[] = {"a", "b", "c"}, *const one[] = {"d"}, *const two[] = {"e", "f"};
    static const char *const first[] = {"year=2019", "lang=en", "tag=a", "tag=b", "name=own", NULL},
                             *const second[] = {"year=2020", "lang=de", "code=007", NULL},
                             *const third[] = {"year=2020.5", "lang=50%", "tag=b", NULL},
                             *const fourth[] = {"year=unknown", "lang=\xc3\xa9n", "tag=", NULL};
    test_index_add(d, "docs/a.md", three, 3, first);
    test_index_add(d, "docs/empty.txt", NULL, 0, second);
    test_index_add(d, "B.MD", one, 1, third);
    test_index_add(d, "table.tsv:12", two, 2, fourth);
    test_index_add(d, "'; DROP TABLE documents; --", one, 1, NULL);
    run(d, "INSERT INTO sources VALUES (7, '/home/u/docs', 0, NULL, NULL, NULL), (8, '/t/table.tsv', 1, NULL, NULL, "
           "NULL)");
    run(d, "INSERT INTO files VALUES (1, 7, 'a.md', 0, 1767225600000000000, 0, 0, 0, 0), (2, 8, '/t/table.tsv', 0, "
           "1700000000000000000, 0, 0, 0, 0)");
    run(d, "UPDATE documents SET file = 1 WHERE id = 1; UPDATE documents SET file = 2 WHERE id = 4");
}

static void compares_values(void **state) {
    (void)state;
    static const struct {
        const char *where;
        unsigned want; /* bit i: document i */
    } cases[] = {
        {"year = 2020", 1 << 2},
        {"year = '2020'", 1 << 2},
        {"year = 2.02e3", 1 << 2},
        {"year > 2019", 1 << 2 | 1 << 3},
        {"year >= 2019", 1 << 1 | 1 << 2 | 1 << 3},
        {"year < 2020.5", 1 << 1 | 1 << 2},
        {"year <= 2020.5", 1 << 1 | 1 << 2 | 1 << 3},
        {"year != 2020", 1 << 1 | 1 << 3 | 1 << 4},
        {"year in (2019, 'unknown')", 1 << 1 | 1 << 4},
        {"year < 'v'", 1 << 4}, /* texts are compared with texts */
        {"year > 'a'", 1 << 4},
        {"year <= 'unknown'", 1 << 4},
        {"year like '2020%'", 1 << 2 | 1 << 3},
        {"code = '007'", 1 << 2},
        {"code = 7", 0},
        {"lang = 'en'", 1 << 1},
        {"lang like 'E_'", 1 << 1},
        {"lang like '%\\%'", 1 << 3},
        {"lang like '%\\'", 0},
        {"lang >= 'en'", 1 << 1 | 1 << 4},
        {"lang = '\xc3\xa9n'", 1 << 4},
        {"tag = 'a'", 1 << 1},
        {"tag = ''", 1 << 4},
        {"tag != 'a'", 1 << 3 | 1 << 4},
        {"exists tag", 1 << 1 | 1 << 3 | 1 << 4},
        {"exists tag and not tag = 'b'", 1 << 4},
        {"name = 'docs/a.md'", 1 << 1},
        {"name like 'docs/%'", 1 << 1 | 1 << 2},
        {"name in ('B.MD', \"'; DROP TABLE documents; --\")", 1 << 3 | 1 << 5},
        {"`name` = 'own'", 1 << 1},
        {"exists `name`", 1 << 1},
        {"path = '/home/u/docs/a.md'", 1 << 1},
        {"path like '/t/%'", 1 << 4},
        {"exists path", 1 << 1 | 1 << 4},
        {"path != '/t/table.tsv'", 1 << 1},
        {"ext = 'md'", 1 << 1 | 1 << 3},
        {"ext in ('tsv', 'txt')", 1 << 2 | 1 << 4},
        {"ext like 't%'", 1 << 2 | 1 << 4},
        {"ext > 'md' and ext <= 'txt'", 1 << 2 | 1 << 4},
        {"exists ext", 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4},
        {"modified >= '2026-01-01'", 1 << 1},
        {"modified = '2023-11-14T22:13:20Z'", 1 << 4},
        {"modified < 2026", 1 << 4},
    };
    aoei_db d;
    test_index_open(&d, 0);
    add_documents(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_where *w;
        aoe_error err = {0};
        uint64_t bits = 0;
        if (aoei_where_parse(&w, cases[i].where, &err) || aoei_where_documents(w, &d, &bits, 6, &err))
            fail_msg("%s: %s", cases[i].where, err.message);
        bits &= 0x3e; /* there is no document 0 */
        if (bits != cases[i].want)
            fail_msg("%s: expected %#x, found %#llx", cases[i].where, cases[i].want, (unsigned long long)bits);
        aoei_where_free(w);
    }
    aoei_db_close(&d);
}

static aoei_ranges *last_ranges;

static int read_ranges(void *user, aoei_db *d, const aoei_ranges **ranges, aoe_error *err) {
    (void)user;
    aoei_ranges_free(last_ranges);
    const int code = aoei_ranges_read(&last_ranges, d, err);
    *ranges = last_ranges;
    return code;
}

static int tear_down(void **state) {
    aoei_ranges_free(last_ranges);
    return test_dir_tear_down(state);
}

/* Evaluates a condition without patterns of paths. */
static int allow(aoei_allowed *a, aoei_db *d, const char *where, size_t n_rows, aoe_error *err) {
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.where = where;
    return aoei_allowed_create(a, d, &o, n_rows, read_ranges, NULL, err);
}

static void names_similar_keys(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"yaer = 5",
         "no document has the key \"yaer\" (character 1); the keys of this index are code, lang, name, tag, "
         "year, and those of all documents: name, path, ext, modified; did you mean \"year\"?"},
        {"year = 5 or zzz = 1", "no document has the key \"zzz\" (character 13); the keys of this index are code"},
        {"`path` = '/x'", "no document has the key \"path\" (character 1)"},
        {"pth = 'x'", "did you mean \"path\"?"},
        {"not exists langs", "did you mean \"lang\"?"},
    };
    aoei_db d;
    test_index_open(&d, 0);
    add_documents(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_allowed a;
        aoe_error err = {0};
        assert_int_equal(allow(&a, &d, cases[i][0], 8, &err), AOE_EARG);
        test_message(err.message, cases[i][1]);
        aoei_allowed_free(&a);
    }
    run(&d, "DELETE FROM fields");
    aoei_allowed a;
    aoe_error err = {0};
    assert_int_equal(allow(&a, &d, "year = 5", 8, &err), AOE_EARG);
    test_message(err.message, "this index has no metadata, only name, path, ext and modified");
    aoei_allowed_free(&a);
    aoei_db_close(&d);
}

static void sets_bits_of_passages_and_rows(void **state) {
    (void)state;
    aoei_db d;
    aoei_allowed a;
    test_index_open(&d, 0);
    add_documents(&d);
    assert_int_equal(allow(&a, &d, "year <= 2020.5", 7, NULL), 0); /* documents 1, 2
                                                                                                       and 3 */
    assert_int_equal(a.n_passages, 8);
    assert_true(a.passages[0] == 0x1e && a.rows[0] == 0x0f); /* passages 1 to 4, rows 0 to 3 */
    aoei_allowed_free(&a);
    assert_int_equal(allow(&a, &d, "not exists lang", 7, NULL), 0); /* document 5 */
    assert_true(a.passages[0] == 0x80 && a.rows[0] == 0x40);
    aoei_allowed_free(&a);
    assert_int_equal(allow(&a, &d, "year = 1", 7, NULL), 0);
    assert_true(a.passages[0] == 0 && a.rows[0] == 0);
    aoei_allowed_free(&a);
    assert_int_equal(allow(&a, &d, " ", 7, NULL), 0);
    assert_true(!a.passages && !a.rows);
    aoei_allowed_free(&a);
    aoei_db_close(&d);
}

static void compares_patterns_of_paths(void **state) {
    (void)state;
    static const struct {
        const char *where, *path[3];
        unsigned passages; /* bit i: passage i; the documents have the passages 1-3, none, 4, 5-6 and 7 */
    } cases[] = {
        {NULL, {"docs/"}, 0x0e},
        {NULL, {"docs"}, 0x0e},
        {NULL, {"doc"}, 0},
        {NULL, {"docs/a.md"}, 0x0e},
        {NULL, {"a.md"}, 0x0e}, /* the path of the file in the indexed folder */
        {NULL, {"*.md"}, 0x1e}, /* without regard to small and capital letters */
        {NULL, {"b.??"}, 0x10},
        {NULL, {"/home/u/docs"}, 0x0e},
        {NULL, {"/t/table.tsv", "B.MD"}, 0x70},
        {NULL, {"!docs/"}, 0xf0},
        {NULL, {"!/t/", "!docs/*"}, 0x90}, /* a document without a file is not excluded */
        {NULL, {"*.md", "!docs/"}, 0x10},
        {"year <= 2020.5", {"*.md", "!docs/"}, 0x10},
        {"year = 2019 or year = 2020.5", {"docs/", "table*"}, 0x0e},
    };
    aoei_db d;
    test_index_open(&d, 0);
    add_documents(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_allowed a;
        aoe_index_search_options o;
        aoe_index_search_options_defaults(&o);
        o.where = cases[i].where;
        o.path = cases[i].path;
        while (o.n_paths < 3 && cases[i].path[o.n_paths])
            o.n_paths++;
        assert_int_equal(aoei_allowed_create(&a, &d, &o, 7, read_ranges, NULL, NULL), 0);
        if (a.passages[0] != cases[i].passages || a.rows[0] != cases[i].passages >> 1)
            fail_msg("case %zu: passages %x", i, (unsigned)a.passages[0]);
        aoei_allowed_free(&a);
    }
    aoei_db_close(&d);
}

/* Few and many documents are looked up in different ways. */
static void finds_few_and_many_documents(void **state) {
    (void)state;
    enum { DOCUMENTS = 1000 };
    aoei_db d;
    test_index_open(&d, 0);
    run(&d, "BEGIN");
    for (int i = 0; i < DOCUMENTS; i++) {
        static const char *const two[] = {"x", "y"};
        char name[32], field[32];
        (void)snprintf(name, sizeof name, "d%d", i);
        (void)snprintf(field, sizeof field, "n=%d", i);
        const char *const fields[] = {field, NULL};
        test_index_add(&d, name, two, 2, fields);
    }
    run(&d, "COMMIT");
    static const int limits[] = {0, 1, 62, 63, 500, 1000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char where[32];
        aoei_allowed a;
        (void)snprintf(where, sizeof where, "n < %d", limits[i]);
        assert_int_equal(allow(&a, &d, where, 2 * DOCUMENTS, NULL), 0);
        for (int row = 0; row < 2 * DOCUMENTS; row++) {
            const int want = row < 2 * limits[i], passage = row + 1;
            assert_int_equal(a.rows[row / 64] >> row % 64 & 1, want);
            assert_int_equal(a.passages[passage / 64] >> passage % 64 & 1, want);
        }
        aoei_allowed_free(&a);
    }
    aoei_db_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares_values),
        cmocka_unit_test(names_similar_keys),
        cmocka_unit_test(sets_bits_of_passages_and_rows),
        cmocka_unit_test(compares_patterns_of_paths),
        cmocka_unit_test(finds_few_and_many_documents),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, tear_down);
}
