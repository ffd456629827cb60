/* SPDX-License-Identifier: MIT
 * tags: slow
 * covers: index/search index/get
 * Tests that no contents of the files of an index crash the library: values in the tables are replaced by impossible
 * ones, and bytes of the database and of the vector files are changed at random. Each function must return an error
 * with a message, or succeed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/random.h"

enum { DOCUMENTS = 12, ROUNDS = TEST_SANITIZED ? 60 : 200 };

static aoe_error err;
static size_t failures; /* calls that failed */

/* A function may fail, but then it must say why. */
static int may_fail(int rc) {
    if (rc == 0)
        return 0;
    failures++;
    if (err.code != rc || !err.message[0])
        fail_msg("code %d, but the error is %d '%s'", rc, err.code, err.message);
    return rc;
}

static char *new_index(void) {
    char *path = tiny_index_path(), name[16];
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        const aoe_index_field field = {"n", aoe_text_of(i % 2 ? "1" : "x")};
        snprintf(name, sizeof name, "d%u", i);
        const aoe_index_document d = {.struct_size = sizeof d,
                                      .name = name,
                                      .text = aoe_text_of(tiny_index_text(i, 0)),
                                      .field = &field,
                                      .n_fields = 1};
        assert_int_equal(aoe_index_add(index, &d, 1, &err), 0);
    }
    assert_int_equal(aoe_index_remove(index, &(const char *){"d3"}, 1, NULL, &err), 0);
    assert_int_equal(aoe_index_commit(index, &err), 0);
    aoe_index_close(index);
    return path;
}

static int on_passage(void *user, const aoe_index_hit *p, const float *vector, aoe_error *e) {
    (void)e;
    *(double *)user += (double)vector[0] + (double)p->text.len;
    return 0;
}

static void read_all(aoe_index *index) {
    static const char *const where[] = {NULL, "n = 1", "name like 'd%'"};
    for (int mode = AOE_INDEX_HYBRID; mode <= AOE_INDEX_LEXICAL; mode++)
        for (int k = 0; k < 6; k++) {
            aoe_index_search_options o;
            aoe_index_hits hits = {.struct_size = sizeof hits};
            aoe_index_search_options_defaults(&o);
            o.mode = (aoe_index_mode)mode;
            o.where = where[k % 3];
            o.fast = k / 3;
            may_fail(aoe_index_search(index, aoe_text_of("a the cat"), &o, &hits, &err));
            for (size_t i = 0; i < hits.n; i++)
                assert_true(strlen(hits.hit[i].name) < 1000 && hits.hit[i].text.data);
            aoe_index_hits_free(&hits);
        }
    aoe_index_hits hits = {.struct_size = sizeof hits};
    may_fail(aoe_index_get(index, "d2", 1, 5, &hits, &err));
    aoe_index_hits_free(&hits);
    double sum = 0, recall;
    may_fail(aoe_index_each(index, on_passage, &sum, &err));
    may_fail(aoe_index_recall(index, 3, 5, &recall, &err));
    aoe_index_stats stats = {.struct_size = sizeof stats};
    may_fail(aoe_index_get_stats(index, &stats, &err));
    may_fail(aoe_index_verify(index, 0, &err));
}

static void write_all(aoe_index *index) {
    may_fail(tiny_index_add(index, "d1", "x y z", &err));
    may_fail(tiny_index_add(index, "new", tiny_index_text(2, 0), &err)); /* a text that is in the index */
    may_fail(aoe_index_remove(index, &(const char *){"d2"}, 1, NULL, &err));
    may_fail(aoe_index_commit(index, &err));
    may_fail(aoe_index_remove(index, &(const char *){"d/"}, 1, NULL, &err));
    may_fail(aoe_index_commit(index, &err));
    may_fail(aoe_index_compact(index, &err));
    may_fail(aoe_index_verify(index, 1, &err));
}

/* Uses a changed index in all ways. */
static void use(const char *path) {
    aoe_index *index;
    aoe_index_options o;
    if (may_fail(aoe_index_open(&index, path, AOE_INDEX_READ, tiny_index_embedder, NULL, &err)) == 0)
        read_all(index);
    aoe_index_close(index);
    aoe_index_options_defaults(&o);
    o.repair = 1;
    if (may_fail(aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, &o, &err)) == 0) {
        write_all(index);
        read_all(index);
    }
    aoe_index_close(index);
}

static void test_values(void **state) {
    (void)state;
    static const char *const columns[] = {
        "documents.first_passage",
        "documents.first_row",
        "documents.n_passages",
        "documents.hash",
        "documents.name",
        "documents.title",
        "documents.file",
        "passages.document",
        "passages.row",
        "passages.line",
        "passages.last_line",
        "passages.heading",
        "passages.text",
        "passages.hash",
        "passages.given",
        "passages.id",
        "fields.document",
        "fields.value",
        "fields.key",
        "extents.n",
        "extents.first_row",
        "extents.codes",
        "documents.id",
    };
    static const char *const values[] = {
        "-1",   "0",       "3",      "1000000", "4294967296", "9223372036854775807", "-9223372036854775808",
        "NULL", "x'00ff'", "'text'", "1e300"};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            char table[32], sql[256], *column;
            snprintf(table, sizeof table, "%s", columns[c]);
            column = strchr(table, '.');
            *column++ = 0;
            snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s WHERE rowid = 2 OR (SELECT count(*) FROM %s) = 1", table,
                     column, values[v], table);
            char *path = new_index(), *name = test_path(path, "index.db");
            sqlite3 *db;
            assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
            const int changed = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
            sqlite3_close(db);
            if (changed)
                use(path);
            free(name);
            test_dir_remove(path);
        }
    assert_true(failures > 0);
}

static void test_bytes(void **state) {
    (void)state;
    static const char *const files[] = {"index.db", "index.db", "index.db", "vectors-1.codes", "vectors-1.values"};
    aoei_rng rng;
    aoei_rng_init(&rng, 3, AOEI_STREAM_TEST, 0);
    failures = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char *path = new_index(), *file = test_path(path, files[i % 5]);
        struct stat st;
        assert_int_equal(stat(file, &st), 0);
        const int fd = open(file, O_RDWR);
        for (uint32_t k = aoei_rng_below(&rng, 4) + 1; k > 0; k--) {
            const unsigned char byte = (unsigned char)aoei_rng_below(&rng, 256);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)aoei_rng_below(&rng, (uint32_t)st.st_size)), 1);
        }
        close(fd);
        use(path);
        free(file);
        test_dir_remove(path);
    }
    assert_true(failures > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_bytes)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
