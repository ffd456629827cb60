/* SPDX-License-Identifier: MIT
 * Tests that the verification of the word index accepts sound indexes, also after changes, and finds any damage: each
 * flipped bit of its pages, missing rows of its tables, and words of other texts.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/hash.h"
#include "index/lengths.h"
#include "index/word_check.h"

/* Returns the path of an index with 12 documents, of which some were changed and removed. */
static char *new_index(int stem) {
    char *path = tiny_index_path(), name[16];
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.stem = stem;
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    for (uint32_t version = 0; version < 3; version++) {
        for (uint32_t i = 0; i < 12; i += version + 1) {
            snprintf(name, sizeof name, "d%u", i);
            check(tiny_index_add(index, name, tiny_index_text(i, version), &err));
        }
        check(tiny_index_add(index, "cjk", "部署服务器 std::vector Überläufe running 1.0.21", &err));
        check(aoe_index_commit(index, &err));
    }
    check(aoe_index_remove(index, (const char *[]){"d1", "d2"}, 2, NULL, &err));
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
    return path;
}

/* Returns what the verification says about an index; NULL: nothing. */
static const char *damage_of(const char *path, int stem) {
    char *name = test_path(path, "index.db");
    aoei_db d;
    const char *damage;
    check(aoei_db_open(&d, name, AOEI_DB_READ, 0, &err));
    check(aoei_lengths_register(&d, &err));
    check(aoei_db_run(&d, "BEGIN", &err));
    check(aoei_word_check(&d, stem, &damage, &err));
    aoei_db_close(&d);
    free(name);
    return damage;
}

static sqlite3 *open_database(const char *path) {
    char *name = test_path(path, "index.db");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    free(name);
    return db;
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void accepts_sound_indexes(void **state) {
    (void)state;
    for (int stem = 0; stem < 2; stem++) {
        char *path = new_index(stem);
        assert_null(damage_of(path, stem));
        assert_non_null(damage_of(path, !stem));
        sqlite3 *db = open_database(path);
        run(db, "INSERT INTO words (words) VALUES ('optimize')");
        sqlite3_close(db);
        assert_null(damage_of(path, stem));
        free(path);
    }
}

static void finds_differences(void **state) {
    (void)state;
    static const char *const changes[] = {
        "DELETE FROM words_data WHERE id > 10",
        "DELETE FROM words_docsize WHERE id = (SELECT max(id) FROM passages)",
        "UPDATE words_docsize SET sz = x'01' WHERE id = (SELECT max(id) FROM passages)",
        "INSERT INTO words (rowid, w) VALUES (1000, 'more')",
        "INSERT INTO words (words, rowid, w) SELECT 'delete', max(id), text FROM passages",
        "INSERT INTO words (words, rank) VALUES ('pgsz', 64); INSERT INTO words (words) VALUES ('optimize'); DELETE "
        "FROM words_idx WHERE pgno = (SELECT max(pgno) FROM words_idx)",
        "INSERT INTO words (words) VALUES ('delete-all')",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *path = new_index(0);
        sqlite3 *db = open_database(path);
        run(db, changes[i]);
        sqlite3_close(db);
        if (!damage_of(path, 0))
            fail_msg("not found: %s", changes[i]);
        free(path);
    }
}

/* A repair also works if FTS5 cannot open the word index. */
static void repairs_unreadable_words(void **state) {
    (void)state;
    static const char *const changes[] = {
        "DELETE FROM words_data WHERE id = 10",
        "UPDATE words_data SET block = x'ffffffffffffffffffff' WHERE id = 10",
        "DELETE FROM words_data",
        "DELETE FROM words_config",
        "UPDATE words_config SET v = 9",
    };
    char *sound = new_index(0), *want = tiny_index_dump_path(sound, &err);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *path = new_index(0);
        sqlite3 *db = open_database(path);
        run(db, changes[i]);
        sqlite3_close(db);
        aoe_index *index;
        aoe_index_options o;
        aoe_index_options_defaults(&o);
        o.repair = 1;
        check(aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, &o, &err));
        assert_int_equal(aoe_index_verify(index, 0, &err), AOE_EFORMAT);
        if (aoe_index_verify(index, 1, &err))
            fail_msg("%s: %s", changes[i], err.message);
        aoe_index_close(index);
        assert_null(damage_of(path, 0));
        char *got = tiny_index_dump_path(path, &err);
        assert_string_equal(got, want);
        free(got);
        free(path);
    }
    free(want);
    free(sound);
}

/* Returns a hash of the answers for all words of the texts. */
static uint64_t answers(const char *path) {
    aoe_index *index;
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_LEXICAL;
    o.k = 50;
    check(aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, &err));
    uint64_t h = AOEI_HASH_START;
    char text[8192];
    size_t n = 0;
    for (uint32_t i = 0; i < 12; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", tiny_index_text(i, 0));
    for (char *rest = text, *word; (word = strtok_r(rest, " .\n", &rest));) {
        aoe_index_hits hits = {.struct_size = sizeof hits};
        check(aoe_index_search(index, aoe_text_of(word), &o, &hits, &err));
        for (size_t i = 0; i < hits.n; i++) {
            h = aoei_hash(h, hits.hit[i].name, strlen(hits.hit[i].name));
            h = aoei_hash(h, &hits.hit[i].score, sizeof hits.hit[i].score);
        }
        aoe_index_hits_free(&hits);
    }
    aoe_index_close(index);
    return h;
}

/* Inverts a bit of a page of the word index. */
static void flip(sqlite3 *db, sqlite3_int64 page, int at) {
    unsigned char c;
    sqlite3_blob *blob;
    assert_int_equal(sqlite3_blob_open(db, "main", "words_data", "block", page, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_read(blob, &c, 1, at), SQLITE_OK);
    c ^= (unsigned char)(1 << at % 8);
    assert_int_equal(sqlite3_blob_write(blob, &c, 1, at), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
}

/* Inverts one bit of each byte of a page of the word index, one after the other. A few bits, such as the mark of a
 * removal in an entry that also has positions, have no meaning. */
static void finds_flipped_bits(void **state) {
    (void)state;
    char *path = new_index(0);
    sqlite3 *db = open_database(path);
    run(db, "INSERT INTO words (words) VALUES ('optimize'); PRAGMA synchronous = OFF");
    sqlite3_stmt *pages;
    size_t n = 0, checked = 0;
    const uint64_t want = answers(path);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, length(block) FROM words_data WHERE id > 10", -1, &pages, NULL),
                     SQLITE_OK);
    sqlite3_int64 id = 0;
    int bytes = 0;
    while (sqlite3_step(pages) == SQLITE_ROW)
        if (sqlite3_column_int(pages, 1) > bytes) {
            id = sqlite3_column_int64(pages, 0);
            bytes = sqlite3_column_int(pages, 1);
        }
    sqlite3_finalize(pages);
    assert_true(bytes > 500);
    for (int at = 0; at < bytes; at += TEST_SANITIZED ? 7 : 1) {
        flip(db, id, at);
        if (damage_of(path, 0))
            n++;
        else if (answers(path) != want)
            fail_msg("byte %d of %d: the answers differ", at, bytes);
        flip(db, id, at);
        checked++;
    }
    assert_true(n > checked * 9 / 10);
    sqlite3_close(db);
    assert_null(damage_of(path, 0));
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_sound_indexes),
        cmocka_unit_test(finds_differences),
        cmocka_unit_test(repairs_unreadable_words),
        cmocka_unit_test(finds_flipped_bits),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
