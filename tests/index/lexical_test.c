/* SPDX-License-Identifier: MIT
 * Tests search by words: scores against the formula of BM25 in this file, filters before the choice of the best
 * passages, words that are too common, and the order of equal scores.
 * covers: index/lengths index/locate index/ranked
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/index_db.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "base/random.h"
#include "index/lexical.h"

/* A database that is open for searches. */
typedef struct fixture {
    aoei_db db;
    aoei_lengths *lengths;
    aoei_locator locator;
} fixture;

static void open_fixture(fixture *f, int stem) {
    *f = (fixture){0};
    test_index_open(&f->db, stem);
    assert_int_equal(aoei_lexical_register(&f->db, NULL), 0);
    aoei_locator_init(&f->locator, &f->db);
}

static void close_fixture(fixture *f) {
    aoei_lengths_free(f->lengths);
    aoei_locator_destroy(&f->locator);
    aoei_db_close(&f->db);
}

static void search(fixture *f, aoei_lexical *l, const char *query, const uint64_t *allowed, size_t k) {
    aoe_error err = {0};
    *l = (aoei_lexical){0};
    if (!f->lengths)
        assert_int_equal(aoei_lengths_read(&f->lengths, &f->db, NULL), 0);
    if (aoei_lexical_search(l, &f->db, f->lengths, aoe_text_of(query), allowed, k, &f->locator, &err))
        fail_msg("%s: %s", query, err.message);
}

/* Checks that the names of the documents found, separated by spaces, are `want`. */
static void check_names(fixture *f, const char *query, size_t k, const char *want) {
    aoei_lexical l;
    aoei_buffer names = {0};
    search(f, &l, query, NULL, k);
    for (size_t i = 0; i < l.n_best; i++)
        (void)aoei_buffer_printf(&names, "%s%s", i ? " " : "", l.best[i].place->name);
    if (strcmp(names.len ? names.data : "", want) != 0)
        fail_msg("%s: expected \"%s\", found \"%s\"", query, want, names.len ? names.data : "");
    aoei_buffer_free(&names);
    aoei_lexical_free(&l);
}

/* ------------------------------------------------- random words, and BM25 */

enum { PASSAGES = 3000, WORDS = 40, LONGEST = 30 };

static unsigned char counts[PASSAGES][WORDS]; /* occurrences of each word */
static unsigned total[PASSAGES];              /* words of each passage */

/* Word i is more frequent than word i + 1. Word 0 is in about every second passage. */
static void add_random(fixture *f) {
    aoei_rng rng;
    aoei_rng_init(&rng, 7, 0, 0);
    memset(counts, 0, sizeof counts);
    memset(total, 0, sizeof total);
    assert_int_equal(aoei_db_run(&f->db, "BEGIN", NULL), 0);
    for (int p = 0; p < PASSAGES; p++) {
        char name[16];
        aoei_buffer text = {0};
        const size_t n = 1 + aoei_rng_below(&rng, LONGEST);
        for (size_t i = 0; i < n; i++) {
            size_t w = 0;
            while (w + 1 < WORDS && aoei_rng_below(&rng, 100) >= 8)
                w++;
            counts[p][w]++;
            total[p]++;
            (void)aoei_buffer_printf(&text, "w%zu ", w);
        }
        (void)snprintf(name, sizeof name, "p%04d", p);
        test_index_add_text(&f->db, name, text.data);
        aoei_buffer_free(&text);
    }
    assert_int_equal(aoei_db_run(&f->db, "COMMIT", NULL), 0);
}

/* The score of passage p, as lexical.h defines it. */
static double bm25(int p, const size_t *words, size_t n) {
    double sum = 0, average = 0;
    for (int i = 0; i < PASSAGES; i++)
        average += total[i];
    average /= PASSAGES;
    for (size_t i = 0; i < n; i++) {
        double found = 0;
        for (int j = 0; j < PASSAGES; j++)
            found += counts[j][words[i]] > 0;
        const double f = counts[p][words[i]], idf = log(1 + (PASSAGES - found + 0.5) / (found + 0.5));
        if (found <= AOEI_COMMON_SHARE * PASSAGES)
            sum += idf * f * 2.2 / (f + 1.2 * (1 - 0.75 + 0.75 * total[p] / average));
    }
    return sum;
}

/* Compares the result with the scores of all passages: the scores agree, and no passage that is better is missing. */
static void check_result(const aoei_lexical *l, const size_t *words, size_t n, size_t k, const uint64_t *allowed) {
    double score[PASSAGES];
    size_t positive = 0;
    for (int p = 0; p < PASSAGES; p++) {
        const int is_allowed = !allowed || (allowed[(p + 1) / 64] >> (p + 1) % 64 & 1);
        score[p] = is_allowed ? bm25(p, words, n) : 0;
        positive += score[p] > 0;
    }
    assert_int_equal(l->n_best, k < positive ? k : positive);
    for (size_t i = 0; i < l->n_best; i++) {
        const int p = (int)l->best[i].passage - 1;
        if (fabs(l->best[i].score - score[p]) > 1e-12 * score[p])
            fail_msg("passage %d: expected %.17g, found %.17g", p, score[p], l->best[i].score);
        assert_true(i == 0 || l->best[i].score <= l->best[i - 1].score);
        score[p] = 0;
    }
    for (int p = 0; l->n_best && p < PASSAGES; p++)
        if (score[p] > l->best[l->n_best - 1].score * (1 + 1e-12))
            fail_msg("passage %d with score %g is missing", p, score[p]);
}

static void computes_bm25(void **state) {
    (void)state;
    static const size_t queries[][3] = {{30, 31, 39}, {35, 35, 35}, {2, 20, 25}, {0, 1, 35}};
    static const size_t numbers[] = {3, 1, 3, 3};
    fixture f;
    open_fixture(&f, 0);
    add_random(&f);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        for (size_t k = 1; k < 2000; k *= 10) {
            char query[64];
            aoei_lexical l;
            (void)snprintf(query, sizeof query, "w%zu w%zu W%zu", queries[i][0], queries[i][1], queries[i][2]);
            search(&f, &l, query, NULL, k);
            check_result(&l, queries[i], numbers[i], k, NULL);
            aoei_lexical_free(&l);
        }
    close_fixture(&f);
}

/* Three of 3,000 passages are allowed. They are found although thousands of others match better, and their scores do
 * not change. */
static void filters_before_it_selects(void **state) {
    (void)state;
    static const size_t words[] = {20, 21};
    fixture f;
    open_fixture(&f, 0);
    add_random(&f);
    uint64_t allowed[PASSAGES / 64 + 1] = {0};
    int n = 0;
    for (int p = PASSAGES - 1; p >= 0 && n < 3; p--)
        if (bm25(p, words, 2) > 0 && p % 7 == 0) {
            allowed[(p + 1) / 64] |= UINT64_C(1) << (p + 1) % 64;
            n++;
        }
    aoei_lexical l;
    search(&f, &l, "w20 w21", allowed, 10);
    assert_int_equal(l.n_best, 3);
    check_result(&l, words, 2, 10, allowed);
    aoei_lexical_free(&l);
    memset(allowed, 0, sizeof allowed);
    search(&f, &l, "w20 w21", allowed, 10);
    assert_int_equal(l.n_best, 0);
    aoei_lexical_free(&l);
    close_fixture(&f);
}

static void ignores_common_words(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 0);
    for (int i = 0; i < 300; i++) {
        char name[16], text[64];
        (void)snprintf(name, sizeof name, "d%03d", i);
        (void)snprintf(text, sizeof text, "the%s%s", i < 121 ? " often" : "", i < 120 ? " seldom" : "");
        test_index_add_text(&f.db, name, i == 299 ? "the rare one" : text);
    }
    aoei_lexical l;
    search(&f, &l, "the rare", NULL, 500); /* `the` is in all passages */
    assert_int_equal(l.n_best, 1);
    assert_true(l.found[0] == 0 && l.found[1] == 1);
    aoei_lexical_free(&l);
    search(&f, &l, "the", NULL, 500); /* no other word */
    assert_int_equal(l.n_best, 300);
    aoei_lexical_free(&l);
    search(&f, &l, "the unknown", NULL, 500); /* no other word that occurs */
    assert_int_equal(l.n_best, 300);
    assert_true(l.found[0] == 300 && l.found[1] == 0);
    aoei_lexical_free(&l);
    search(&f, &l, "often rare", NULL, 500); /* 121 of 300 are more than two fifths */
    assert_int_equal(l.n_best, 1);
    aoei_lexical_free(&l);
    search(&f, &l, "seldom rare", NULL, 500); /* 120 are not */
    assert_int_equal(l.n_best, 121);
    aoei_lexical_free(&l);
    close_fixture(&f);
}

static void finds_all_words_in_small_indexes(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 0);
    check_names(&f, "x", 10, "");
    aoei_lengths_free(f.lengths);
    f.lengths = NULL;
    test_index_add_text(&f.db, "b", "the deployment of the server");
    test_index_add_text(&f.db, "a", "the server");
    test_index_add_text(&f.db, "c", "我们今天部署新版本");
    check_names(&f, "the", 10, "b a");
    check_names(&f, "server", 10, "a b");
    check_names(&f, "deployment server", 10, "b a");
    check_names(&f, "部署", 10, "c");
    check_names(&f, "今", 10, "c");
    check_names(&f, "\xf0\x9f\x9a\x80 \"", 10, "");
    check_names(&f, "unknown", 10, "");
    close_fixture(&f);
}

/* Equal scores are ordered by name and position, whatever the order of the additions was. */
static void orders_equal_scores(void **state) {
    (void)state;
    static const char *const names[] = {"c", "a", "B", "d", "ab"}, *const two[] = {"same words", "same words"};
    for (int reverse = 0; reverse < 2; reverse++) {
        fixture f;
        open_fixture(&f, 0);
        for (int i = 0; i < 5; i++)
            test_index_add(&f.db, names[reverse ? 4 - i : i], two, 2, NULL);
        check_names(&f, "same", 4, "B B a a");
        check_names(&f, "words", 100, "B B a a ab ab c c d d");
        aoei_lexical l;
        search(&f, &l, "same", NULL, 3);
        assert_true(l.best[0].passage + 1 == l.best[1].passage && l.best[2].passage == l.best[2].place->first_passage);
        assert_int_equal(l.best[1].place->n, 2);
        aoei_lexical_free(&l);
        /* the same order by rows */
        const aoei_located *x, *y;
        assert_int_equal(aoei_locate_row(&f.locator, 3, &x, NULL), 0);
        assert_int_equal(aoei_locate_row(&f.locator, 9, &y, NULL), 0);
        assert_int_equal(aoei_locate_order(&f.locator, 3, 9), strcmp(x->name, y->name) < 0);
        assert_int_equal(aoei_locate_order(&f.locator, 9, 3), strcmp(x->name, y->name) > 0);
        assert_int_equal(aoei_locate_order(&f.locator, 8, 9), 1);
        assert_int_equal(aoei_locate_row(&f.locator, 10, &x, NULL), AOE_EFORMAT);
        assert_int_equal(aoei_locate_passage(&f.locator, 0, &x, NULL), AOE_EFORMAT);
        close_fixture(&f);
    }
}

static void removes_passages(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 0);
    test_index_add_text(&f.db, "a", "one two");
    test_index_add_text(&f.db, "b", "two three");
    assert_int_equal(aoei_db_run(&f.db,
                                 "INSERT INTO words (words, rowid, w) VALUES ('delete', 1, 'one two ');"
                                 "DELETE FROM passages WHERE id = 1; DELETE FROM documents WHERE id = 1",
                                 NULL),
                     0);
    check_names(&f, "one two", 10, "b");
    assert_int_equal(f.lengths->passages, 1);
    assert_int_equal(f.lengths->total, 2);
    close_fixture(&f);
}

static void finds_stems(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 1);
    test_index_add_text(&f.db, "a", "deploying servers");
    check_names(&f, "deployed", 10, "a");
    close_fixture(&f);
}

/* Opens the database, because an open one keeps memory between the calls. */
static int search_once(void *arg) {
    aoei_db db;
    aoei_lengths *lengths = NULL;
    aoei_lexical l = {0};
    aoei_locator locator = {0};
    aoe_error err = {0};
    int code = aoei_db_open(&db, arg, AOEI_DB_READ, 0, &err);
    if (!code)
        code = aoei_lexical_register(&db, &err);
    if (!code)
        code = aoei_lengths_read(&lengths, &db, &err);
    if (!code) {
        aoei_locator_init(&locator, &db);
        code = aoei_lexical_search(&l, &db, lengths, aoe_text_of("one two"), NULL, 5, &locator, &err);
    }
    if (!code)
        assert_int_equal(l.n_best, 2);
    aoei_lexical_free(&l);
    aoei_locator_destroy(&locator);
    aoei_lengths_free(lengths);
    aoei_db_close(&db);
    return code;
}

static void reports_failures(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 0);
    test_index_add_text(&f.db, "a", "one two");
    test_index_add_text(&f.db, "b", "two three");
    char *path = strdup(f.db.path);
    assert_int_equal(search_once(path), 0);
    for (uint64_t n = 1;; n++) { /* SQLite can do without some of its allocations */
        const int64_t live = aoei_alloc_live();
        aoei_alloc_fail_at(n);
        const int code = search_once(path);
        const uint64_t made = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        if ((code != 0 && code != AOE_ENOMEM) || aoei_alloc_live() != live)
            fail_msg("allocation %llu fails: the code is %d, %lld blocks leaked", (unsigned long long)n, code,
                     (long long)(aoei_alloc_live() - live));
        if (made < n)
            break;
    }
    static const char *const damages[] = {
        "UPDATE words_docsize SET sz = x'8080808080' WHERE id = 1",
        "UPDATE words_docsize SET sz = x'0202' WHERE id = 1",
        "UPDATE words_docsize SET id = -5, sz = x'02' WHERE id = 1",
        "UPDATE words_docsize SET id = 1 << 40 WHERE id = -5",
        "UPDATE words_docsize SET id = 1 WHERE id > 2; DELETE FROM words_docsize WHERE id = 2", /* postings of unknown
                                                                                                   passages */
        "INSERT INTO words_docsize VALUES (2, x'02'); DELETE FROM documents",
    };
    (void)sqlite3_db_config(f.db.db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        assert_int_equal(aoei_db_run(&f.db, damages[i], NULL), 0);
        const int code = search_once(path);
        if (code != AOE_EFORMAT)
            fail_msg("%s: expected AOE_EFORMAT, found %d", damages[i], code);
    }
    free(path);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_bm25),        cmocka_unit_test(filters_before_it_selects),
        cmocka_unit_test(ignores_common_words), cmocka_unit_test(finds_all_words_in_small_indexes),
        cmocka_unit_test(orders_equal_scores),  cmocka_unit_test(removes_passages),
        cmocka_unit_test(finds_stems),          cmocka_unit_test(reports_failures),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
