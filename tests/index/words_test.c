/* SPDX-License-Identifier: MIT
 * Tests the words of passages and queries: the exact words of many compounds, and what an FTS5 table in memory finds
 * with them, so that the rules of unicode61 are part of the test.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "../support/support.h"
#include "base/utf8.h"
#include "index/words.h"

static aoe_text text_of(const char *s) {
    return (aoe_text){s, strlen(s)};
}

/* Returns the words of a passage or query, with their joiners, separated by one space. The caller frees them. */
static char *plain(const char *s, int is_query) {
    aoei_buffer out = {0};
    aoei_words w = {0};
    if (is_query)
        assert_int_equal(aoei_words_query(&w, text_of(s), NULL), 0);
    else
        assert_int_equal(aoei_words_text(&w.text, text_of(s), NULL), 0);
    for (size_t i = 0; is_query && i < w.n; i++) {
        aoei_words_plain(&out, w.text.data + w.word[i].at, w.word[i].len);
        (void)aoei_buffer_append(&out, w.word[i].is_prefix ? "* " : " ", w.word[i].is_prefix ? 2 : 1);
    }
    if (!is_query)
        aoei_words_plain(&out, w.text.data, w.text.len);
    aoei_words_free(&w);
    if (out.len)
        out.data[out.len - 1] = 0;
    char *copy = strdup(out.len ? out.data : "");
    aoei_buffer_free(&out);
    return copy;
}

static void check_words(const char *s, int is_query, const char *want) {
    char *got = plain(s, is_query);
    if (strcmp(got, want) != 0)
        fail_msg("\"%s\": expected \"%s\", found \"%s\"", s, want, got);
    free(got);
}

static void divides_compounds(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"Plain words, and 12 numbers.", "Plain words and 12 numbers"},
        {"1.0.21", "1.0.21 1 0 21"},
        {"x86-64", "x86-64 x86 64"},
        {"snake_case and __init__", "snake_case snake case and init"},
        {"a__b", "a__b a b"},
        {"camelCase HTTPServer parseURL", "camelCase camel Case HTTPServer HTTP Server parseURL parse URL"},
        {"iPhone isOK", "iPhone i Phone isOK"}, /* the parts of isOK would be too short */
        {"std::vector<int>", "std::vector std vector int"},
        {"foo->barBaz.c", "foo->barBaz.c foo barBaz bar Baz c"},
        {"src/index/words.c", "src/index/words.c src index words.c words c"},
        {"../w", "w"},
        {"C++ C# g++ c++17 Q#x a+", "C++ C C# C g++ g c++17 c 17 Q#x Q x a"},
        {"heading# ## x", "heading x"},
        {"a.bc@d-e.org", "a.bc@d-e.org a.bc a bc d-e.org d-e d e org"},
        {"https://x.org/A", "https://x.org/A https x.org x org A"},
        {"end...Next a- -b --where", "end Next a b where"},
        {"AT&T and/or", "AT&T AT T and/or and or"},
        {"l'eau d\xe2\x80\x90x", "l eau d-x d x"},       /* U+2010 */
        {"\xef\xbc\xa1\xef\xbc\xa2\xef\xbc\x91", "AB1"}, /* full width */
        {"co\xc2\xadop", "coop"},                        /* soft hyphen */
        {"a\xee\x80\xae"
         "b \xf3\xb0\x80\x81",
         "a b"}, /* private use */
        {"a\xff"
         "b\xc3",
         "a b"},                                                                /* not UTF-8 */
        {"\xf0\x9f\x98\x80x\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", "x"}, /* emoji */
        {"部署", "部署 署"},
        {"的部署itgc和", "的部 部署 署 itgc 和"},
        {"カタ・カナ", "カタ タ カナ ナ"},
        {"東京タワー", "東京 京タ タワ ワー ー"},
        {"배포를 했다", "배포 포를 를 했다 다"},
        {"한漢", "한 漢"},
        {"हिन्दी", "हिन्दी"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_words(cases[i][0], 0, cases[i][1]);
}

static void queries_have_distinct_words(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {" ?! \"*^", ""},
        {"A a Á", "A Á"}, /* the tokenizer removes accents later */
        {"NEAR(a b) AND \"c\" OR col:x*", "NEAR a b AND c OR col:x col x"},
        {"部署", "部署"},
        {"猫", "猫*"},
        {"猫 itgc的", "猫* itgc 的*"},
        {"배포", "배포"},
        {"1.0.21 21", "1.0.21 1 0 21"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_words(cases[i][0], 1, cases[i][1]);
}

/* Returns n times s. The caller frees it. */
static char *repeat(const char *s, size_t n) {
    const size_t len = strlen(s);
    char *out = malloc(n * len + 1);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * len, s, len);
    out[n * len] = 0;
    return out;
}

static void limits_long_words(void **state) {
    (void)state;
    char *cut = repeat("x", AOEI_WORD_MAX), *exact = repeat("ab-", 21), *word = repeat("x", 1000),
         *compound = repeat("ab-", 100);
    check_words(word, 0, cut);
    check_words(cut, 0, cut);
    exact[62] = 0; /* without the last hyphen: 62 characters, written whole and in parts */
    char *got = plain(exact, 0);
    assert_memory_equal(got, exact, 62);
    free(got);
    got = plain(compound, 0); /* only the parts */
    assert_memory_equal(got, "ab ab ab", 8);
    assert_null(strchr(got, '-'));
    free(got);
    check_words("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", 0, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9");
    free(cut);
    free(exact);
    free(word);
    free(compound);

    /* every character of a very long run is used, and a query has a limited number of words */
    char *run = repeat("a.", 5000);
    got = plain(run, 0);
    size_t words = 1;
    for (const char *c = got; *c; c++)
        words += *c == ' ';
    assert_int_equal(words, 5000);
    free(got);
    free(run);
    aoei_buffer many = {0};
    for (int i = 0; i < 1000; i++)
        (void)aoei_buffer_printf(&many, "w%d ", i);
    aoei_words w = {0};
    assert_int_equal(aoei_words_query(&w, (aoe_text){many.data, many.len}, NULL), 0);
    assert_int_equal(w.n, AOEI_QUERY_WORDS);
    aoei_words_free(&w);
    aoei_buffer_free(&many);
}

/* ---------------------------------------------------------------- with FTS5 */

static sqlite3 *open_table(const char *tokenizer) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE words USING fts5(w, content='', tokenize=%Q)", tokenizer);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return db;
}

static void add_passage(sqlite3 *db, const char *passage) {
    aoei_buffer words = {0};
    sqlite3_stmt *insert;
    assert_int_equal(aoei_words_text(&words, text_of(passage), NULL), 0);
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO words(w) VALUES(?1)", -1, &insert, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(insert, 1, words.data, (int)words.len, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    aoei_buffer_free(&words);
}

/* Returns the number of passages that contain a word of the query. */
static size_t count_found(sqlite3 *db, const char *query) {
    aoei_words w = {0};
    aoei_buffer match = {0};
    assert_int_equal(aoei_words_query(&w, text_of(query), NULL), 0);
    for (size_t i = 0; i < w.n; i++) {
        (void)aoei_buffer_append(&match, " OR ", i ? 4 : 0);
        aoei_words_quote(&match, &w, &w.word[i]);
    }
    size_t found = 0;
    if (w.n) {
        sqlite3_stmt *select;
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT rowid FROM words WHERE words MATCH ?1", -1, &select, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_bind_text(select, 1, match.data, (int)match.len, SQLITE_STATIC), SQLITE_OK);
        int code;
        while ((code = sqlite3_step(select)) == SQLITE_ROW)
            found++;
        if (code != SQLITE_DONE)
            fail_msg("\"%s\" (%s): %s", query, match.data, sqlite3_errmsg(db));
        sqlite3_finalize(select);
    }
    aoei_words_free(&w);
    aoei_buffer_free(&match);
    return found;
}

static void finds_words_in_fts5(void **state) {
    (void)state;
    static const struct {
        const char *passage, *query;
        size_t found;
    } cases[] = {
        {"我们今天部署新版本。", "部署", 1},
        {"我们今天部署新版本。", "署部", 0},
        {"我们今天部署新版本。", "今", 1},
        {"我们今天部署新版本。", "本", 1}, /* the last character of a run */
        {"我们今天部署新版本。", "中", 0},
        {"审计的itgc控制", "itgc", 1},
        {"审计的itgc控制", "ITGC", 1},
        {"新しいサーバーを起動する", "サーバー", 1},
        {"サーバーを배포를", "배포", 1},
        {"서비스를 배포했다", "배포", 1},
        {"Version 1.0.21 is out", "1.0.21", 1},
        {"Version 1.0.21 is out", "21", 1},
        {"the snake_case rule", "snake_case", 1},
        {"the snake_case rule", "case", 1},
        {"the snake_case rule", "SNAKE", 1},
        {"snakes in a case", "snake_case", 1}, /* its part "case" */
        {"snakes in a box", "snake_case", 0},
        {"call getUserName()", "username", 0},
        {"call getUserName()", "user", 1},
        {"call getUserName()", "GETUSERNAME", 1},
        {"runs on x86-64 only", "x86-64", 1},
        {"runs on x86-64 only", "x86", 1},
        {"written in C++", "C++", 1},
        {"write to a.b@c.org now", "a.b@c.org", 1},
        {"a std::vector of foo->bar", "foo->bar", 1},
        {"a std::vector of foo->bar", "vector", 1},
        {"see src/index/words.c", "words.c", 1},
        {"caf\xc3\xa9 cre\xcc\x80me", "cafe creme", 1},
        {"caf\xc3\xa9", "CAFE\xcc\x81", 1},
        {"Быстрая лиса", "ЛИСА", 1},
        {"Έλληνες", "ελληνεσ", 0}, /* unicode61 does not know the final sigma */
        {"हिन्दी में", "हिन्दी", 1},
        {"हिन्दी में", "हि", 0}, /* a vowel sign does not divide a word */
        {"ship it \xf0\x9f\x9a\x80 today", "\xf0\x9f\x9a\x80 today", 1},
        {"ship it \xf0\x9f\x9a\x80 today", "\xf0\x9f\x9a\x80", 0},
        {"a AND b", "AND", 1},
        {"a b", "NEAR(x y) NOT \"a", 1},
        {"a b", "w:a", 1},
        {"a b", "\"\"\"*^-+(){}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sqlite3 *db = open_table("unicode61 remove_diacritics 2");
        add_passage(db, "unrelated");
        add_passage(db, cases[i].passage);
        const size_t found = count_found(db, cases[i].query);
        if (found != cases[i].found)
            fail_msg("\"%s\" in \"%s\": expected %zu, found %zu", cases[i].query, cases[i].passage, cases[i].found,
                     found);
        sqlite3_close(db);
    }
}

static void stems_words(void **state) {
    (void)state;
    sqlite3 *db = open_table("porter unicode61 remove_diacritics 2");
    add_passage(db, "deploying run_tests 部署");
    assert_int_equal(count_found(db, "deployed"), 1);
    assert_int_equal(count_found(db, "run_tests"), 1);
    assert_int_equal(count_found(db, "test"), 1);
    assert_int_equal(count_found(db, "部署"), 1);
    assert_int_equal(count_found(db, "destroyed"), 0);
    sqlite3_close(db);
}

static void marks_parts(void **state) {
    (void)state;
    aoei_words w = {0};
    assert_int_equal(aoei_words_query(&w, text_of("aoei_params_pack the fooBar.c them"), NULL), 0);
    size_t names = 0;
    for (size_t i = 0; i < w.n; i++)
        names += !w.word[i].is_part;
    assert_true(w.n >= 9);
    assert_int_equal(names, 4); /* both compounds, the, them */
    assert_int_equal(w.word[0].is_part, 0);
    assert_int_equal(w.word[1].is_part, 1);
    aoei_words_free(&w);
}

/* A query with the maximum number of words is not too long for FTS5. */
static void accepts_long_queries(void **state) {
    (void)state;
    sqlite3 *db = open_table("unicode61 remove_diacritics 2");
    add_passage(db, "w0");
    add_passage(db, "w127");
    add_passage(db, "w128");
    aoei_buffer query = {0};
    for (int i = 0; i < 1000; i++)
        (void)aoei_buffer_printf(&query, "w%d ", i);
    assert_int_equal(count_found(db, query.data), 2);
    aoei_buffer_free(&query);
    sqlite3_close(db);
}

/* Ordinary words are written without the rules of compounds. A soft hyphen inside a word, which is ignored, makes it
 * not ordinary, so that the words of both forms must be equal. */
static void ordinary_words_follow_the_rules(void **state) {
    (void)state;
    static const char characters[] = "aabbcdeezA BX0 19  .,:;-_/+#>&@()\n\t";
    uint32_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[80], divided[240];
        size_t n = 0, m = 0;
        const size_t length = 1 + (seed >> 8) % (sizeof text - 1);
        for (; n < length; n++) {
            seed = seed * 1664525 + 1013904223;
            text[n] = characters[(seed >> 16) % (sizeof characters - 1)];
            if (round % 4 == 0 && text[n] != ' ')
                text[n] = 'w'; /* long words */
            divided[m++] = text[n];
            memcpy(divided + m, "\xc2\xad", 2);
            m += 2;
        }
        aoei_buffer a = {0}, b = {0};
        assert_int_equal(aoei_words_text(&a, (aoe_text){text, n}, NULL), 0);
        assert_int_equal(aoei_words_text(&b, (aoe_text){divided, m}, NULL), 0);
        if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
            fail_msg("\"%.*s\": \"%s\", \"%s\"", (int)n, text, a.data, b.data);
        aoei_buffer_free(&a);
        aoei_buffer_free(&b);
    }
}

static int words_once(void *arg) {
    aoei_words w = {0};
    aoe_error err = {0};
    const int code = aoei_words_query(&w, text_of(arg), &err);
    aoei_words_free(&w);
    return code;
}

static void reports_failed_allocations(void **state) {
    (void)state;
    char query[] = "camelCase 部署 1.0.21";
    assert_true(test_alloc_failures(words_once, query, 0) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides_compounds),
        cmocka_unit_test(queries_have_distinct_words),
        cmocka_unit_test(limits_long_words),
        cmocka_unit_test(finds_words_in_fts5),
        cmocka_unit_test(stems_words),
        cmocka_unit_test(marks_parts),
        cmocka_unit_test(accepts_long_queries),
        cmocka_unit_test(ordinary_words_follow_the_rules),
        cmocka_unit_test(reports_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
