/* SPDX-License-Identifier: MIT
 * Compares stems with those of SQLite FTS5, for words that are combinations of beginnings and suffixes, and checks a
 * few words whose stems are known.
 */
#include "base/stem.h"

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "../support/support.h"

enum { WORD = 80 };

/* Writes the stem of a word to out. */
static void stem(const char *word, char out[WORD]) {
    uint32_t point[WORD];
    const size_t len = strlen(word);
    assert_true(len < WORD);
    for (size_t i = 0; i < len; i++)
        point[i] = (unsigned char)word[i];
    const size_t n = aoei_stem(point, len);
    assert_true(n <= len);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)point[i];
    out[n] = 0;
}

static void test_known(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"caresses", "caress"},
        {"ponies", "poni"},
        {"cats", "cat"},
        {"agreed", "agre"},
        {"feed", "feed"},
        {"plastered", "plaster"},
        {"bled", "bled"},
        {"hopping", "hop"},
        {"hoping", "hope"},
        {"falling", "fall"},
        {"happy", "happi"},
        {"sky", "sky"},
        {"relational", "relat"},
        {"goodness", "good"},
        {"certificates", "certif"},
        {"adoption", "adopt"},
        {"rate", "rate"},
        {"controlling", "control"},
        {"is", "is"},
        {"s", "s"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[WORD];
        stem(cases[i][0], found);
        assert_string_equal(found, cases[i][1]);
    }
}

static void execute(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message))
        fail_msg("%s: %s", sql, message);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return s;
}

static void insert(sqlite3 *db, sqlite3_stmt *s, const char *word) {
    assert_int_equal(sqlite3_bind_text(s, 1, word, -1, SQLITE_TRANSIENT), SQLITE_OK);
    if (sqlite3_step(s) != SQLITE_DONE)
        fail_msg("%s", sqlite3_errmsg(db));
    (void)sqlite3_reset(s);
}

/* Inserts the words "beginning, suffix, suffix". */
static void insert_words(sqlite3 *db) {
    static const char *const beginnings[] = {"b",    "s",   "y",    "by",    "tr",   "hop",  "hopp", "sky",
                                             "fall", "ros", "ceas", "ident", "prob", "toy",  "abl",  "conform",
                                             "agr",  "ion", "roll", "contr", "hiss", "fizz", "ay",   "sensib"};
    static const char *const suffixes[] = {
        "",      "s",     "es",    "ies",     "ss",      "sses",    "eed",   "ed",    "ing",     "at",
        "bl",    "iz",    "y",     "i",       "e",       "l",       "ll",    "t",     "ational", "tional",
        "enci",  "anci",  "izer",  "logi",    "bli",     "alli",    "entli", "eli",   "ousli",   "ization",
        "ation", "ator",  "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti",  "icate",
        "ative", "alize", "iciti", "ical",    "ful",     "ness",    "al",    "ance",  "ence",    "er",
        "ic",    "able",  "ible",  "ant",     "ement",   "ment",    "ent",   "ion",   "ou",      "ism",
        "ate",   "iti",   "ous",   "ive",     "ize",     "x",       "w"};
    const size_t n = sizeof suffixes / sizeof *suffixes;
    sqlite3_stmt *s = prepare(db, "INSERT INTO words(word) VALUES (?1)");
    for (size_t b = 0; b < sizeof beginnings / sizeof *beginnings; b++)
        for (size_t i = 0; i < n * n; i++) {
            char word[WORD];
            snprintf(word, sizeof word, "%s%s%s", beginnings[b], suffixes[i / n], suffixes[i % n]);
            insert(db, s, word);
        }
    char longest[66] = {0};
    memset(longest, 'a', 64);
    memcpy(longest + 60, "tion", 4);
    insert(db, s, longest);
    memset(longest, 'a', 65);
    memcpy(longest + 61, "tion", 4);
    insert(db, s, longest);
    (void)sqlite3_finalize(s);
}

static void test_equal_to_fts5(void **state) {
    (void)state;
    sqlite3 *db;
    size_t n = 0;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    execute(db, "CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'porter unicode61 remove_diacritics 2')");
    execute(db, "CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)");
    execute(db, "BEGIN");
    insert_words(db);
    execute(db, "COMMIT");
    sqlite3_stmt *s = prepare(db, "SELECT word, term FROM stems JOIN words ON words.rowid = stems.doc");
    for (; sqlite3_step(s) == SQLITE_ROW; n++) {
        char found[WORD];
        const char *word = (const char *)sqlite3_column_text(s, 0), *expected = (const char *)sqlite3_column_text(s, 1);
        stem(word, found);
        if (strcmp(found, expected) != 0)
            fail_msg("the stem of \"%s\" is \"%s\"; FTS5 finds \"%s\"", word, found, expected);
    }
    assert_true(n > 100000);
    (void)sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_equal_to_fts5)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
