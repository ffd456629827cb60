/* SPDX-License-Identifier: MIT
 * covers: index/compact index/extents index/embed_texts
 * Tests compaction, verification and repair: a compacted index has the same contents, a reader keeps its commit during
 * a compaction, every flipped byte of a vector file is found and repaired, and an index does not grow without bound.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "index/embed_texts.h"
#include "index/index_write.h"
#include "index/place.h"
#include "index/reader.h"

static aoe_index_stats stats_of(aoe_index *index) {
    aoe_index_stats stats = {.struct_size = sizeof stats};
    check(aoe_index_get_stats(index, &stats, &err));
    return stats;
}

static void add(aoe_index *index, uint32_t i, uint32_t version) {
    char name[16];
    snprintf(name, sizeof name, "d%03u", i);
    check(tiny_index_add(index, name, tiny_index_text(i, version), &err));
}

/* Returns the path of an index with n documents, of which every third was replaced and every fifth removed. */
static char *new_index(uint32_t n, int store) {
    char *path = tiny_index_path(), name[16];
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.store = store;
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    for (uint32_t i = 0; i < n; i++)
        add(index, i, 0);
    check(aoe_index_commit(index, &err));
    for (uint32_t i = 0; i < n; i += 3)
        add(index, i, 1);
    for (uint32_t i = 0; i < n; i += 5) {
        snprintf(name, sizeof name, "d%03u", i);
        check(aoe_index_remove(index, &(const char *){name}, 1, NULL, &err));
    }
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
    return path;
}

static void test_compact(void **state) {
    (void)state;
    for (int network = 0; network < 2; network++)
        for (int store = AOE_INDEX_F32; store <= AOE_INDEX_INT8; store++) {
            aoei_place_assume_network(network);
            char *path = new_index(30, store), *want = tiny_index_dump_path(path, &err);
            aoe_index *reader = tiny_index_open(path, AOE_INDEX_READ, NULL);
            aoei_reader *r = NULL;
            if (!network) /* a reader keeps its commit */
                check(aoei_reader_begin(&r, reader, &err));
            const size_t rows = r ? r->view->rows : 0;
            aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
            assert_true(stats_of(index).removed_rows > 0);
            check(aoe_index_verify(index, 0, &err));
            check(aoe_index_compact(index, &err));
            assert_int_equal(stats_of(index).removed_rows, 0);
            char *vectors = test_path(path, "vectors-2.codes"), *old = test_path(path, "vectors-1.codes");
            assert_int_equal(access(vectors, F_OK), 0);
            assert_int_equal(access(old, F_OK), -1);
            if (r) {
                float vector[16];
                for (size_t i = 0; i < rows; i++)
                    aoei_view_vector(r->view, i, vector);
                aoei_reader_end(r);
            }
            char *got = tiny_index_dump(reader);
            assert_string_equal(got, want);
            check(aoe_index_verify(index, 0, &err));
            add(index, 1, 9); /* the writer continues with the new files */
            check(aoe_index_commit(index, &err));
            check(aoe_index_verify(reader, 0, &err));
            aoe_index_close(reader);
            aoe_index_close(index);
            check(aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err));
            check(aoe_index_verify(index, 0, &err));
            aoe_index_close(index);
            free(vectors);
            free(old);
            free(got);
            free(want);
            free(path);
        }
    aoei_place_assume_network(0);
}

static void flip(const char *path, off_t at) {
    const int fd = open(path, O_RDWR);
    unsigned char c;
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= 0x40;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* Verifies a damaged index, repairs it, and compares it with the text of the intact index. */
static void verify_and_repair(const char *path, const char *want, int opens) {
    aoe_index *index;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    if (opens) {
        index = tiny_index_open(path, AOE_INDEX_READ, NULL);
        assert_int_equal(aoe_index_verify(index, 0, &err), AOE_EFORMAT);
        assert_message("a checksum of vectors is wrong, among them those of the document d001 (up to 4 damaged "
                       "documents)");
        assert_int_equal(aoe_index_verify(index, 1, &err), AOE_EARG);
        aoe_index_close(index);
        index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        assert_int_equal(aoe_index_compact(index, &err), AOE_EFORMAT);
        assert_message("checksum");
        aoe_index_close(index);
    } else {
        assert_int_equal(aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err), AOE_EFORMAT);
        assert_message("damaged");
    }
    o.repair = 1;
    index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    if (!opens) { /* searches and changes fail until the index is repaired */
        aoei_reader *r;
        assert_int_equal(aoei_reader_begin(&r, index, &err), AOE_EFORMAT);
        assert_message("repair it first");
        assert_int_equal(tiny_index_add(index, "new", "a", &err), AOE_EFORMAT);
    }
    check(aoe_index_verify(index, 1, &err));
    check(aoe_index_verify(index, 1, &err)); /* nothing to do */
    char *got = tiny_index_dump(index);
    assert_string_equal(got, want);
    add(index, 2, 5);
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
    index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    check(aoe_index_verify(index, 0, &err));
    aoe_index_close(index);
    free(got);
}

static void test_flipped_byte(void **state) {
    (void)state;
    static const char *const files[] = {"vectors-1.codes", "vectors-1.signs", "vectors-1.values"};
    for (int i = 0; i < 3; i++) {
        char *path = new_index(6, AOE_INDEX_F32), *want = tiny_index_dump_path(path, &err);
        char *file = test_path(path, files[i]);
        flip(file, 64 + 100 + 3 * i);
        verify_and_repair(path, want, 1);
        free(file);
        free(want);
        free(path);
    }
}

static void record(void *user, aoe_log_level level, const char *message) {
    (void)level;
    snprintf(user, 256, "%s", message);
}

/* A damaged vector that was given is computed by the model, with a message, and can be given again. */
static void test_given_vector(void **state) {
    (void)state;
    char *path = tiny_index_path(), *file = test_path(path, "vectors-1.values"), message[256] = "";
    float *v = calloc(aoe_embedder_dims(tiny_index_embedder), sizeof *v);
    v[3] = 1;
    const aoe_index_document d = {
        .struct_size = sizeof d, .name = "d", .text = aoe_text_of("a b c"), .vector = v, .kind = AOE_INDEX_TEXT};
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(aoe_index_add(index, &d, 1, &err));
    check(aoe_index_commit(index, &err));
    char *want = tiny_index_dump(index);
    aoe_index_close(index);
    flip(file, 64 + 14);
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.repair = 1;
    o.log = record;
    o.log_user = message;
    index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    check(aoe_index_verify(index, 1, &err));
    assert_non_null(strstr(message, "the damaged vectors of 1 document had been given"));
    char *got = tiny_index_dump(index);
    assert_string_not_equal(got, want);
    free(got);
    check(aoe_index_add(index, &d, 1, &err));
    check(aoe_index_commit(index, &err));
    got = tiny_index_dump(index);
    assert_string_equal(got, want);
    check(aoe_index_verify(index, 0, &err));
    aoe_index_close(index);
    free(got);
    free(want);
    free(v);
    free(file);
    free(path);
}

static void test_truncated_file(void **state) {
    (void)state;
    static const struct {
        const char *file;
        off_t bytes; /* new size; -1: the file is removed; -2: a byte of the header is flipped */
    } cases[] = {{"vectors-1.codes", 200}, {"vectors-1.values", 64}, {"vectors-1.signs", 3},
                 {"vectors-1.values", -1}, {"vectors-1.codes", -2},  {"vectors-1.signs", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = new_index(6, AOE_INDEX_BF16), *want = tiny_index_dump_path(path, &err);
        char *file = test_path(path, cases[i].file);
        if (cases[i].bytes == -1)
            assert_int_equal(unlink(file), 0);
        else if (cases[i].bytes == -2)
            flip(file, 9);
        else
            assert_int_equal(truncate(file, cases[i].bytes), 0);
        verify_and_repair(path, want, 0);
        free(file);
        free(want);
        free(path);
    }
}

/* Changes the database of an index with SQL. */
static void change(const char *path, const char *sql) {
    char *name = test_path(path, "index.db");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(name);
}

static void test_damaged_tables(void **state) {
    (void)state;
    static const struct {
        const char *sql, *message;
    } cases[] = {
        {"UPDATE passages SET text = 'x' WHERE id = 2", "a text differs from its hash"},
        {"UPDATE passages SET row = row + 1 WHERE id = 2", "the passages do not belong to the document"},
        {"UPDATE documents SET n_passages = 1000000 WHERE id = 2", "the passages do not belong to the document"},
        {"UPDATE documents SET first_row = -5 WHERE id = 2", "the passages do not belong to the document"},
        {"DELETE FROM passages WHERE id = 2", "the passages do not belong to the document"},
        {"DELETE FROM extents", "list of checksums does not match"},
        {"UPDATE extents SET n = 100000", "list of checksums does not match"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = new_index(6, AOE_AUTO);
        change(path, cases[i].sql);
        aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
        assert_int_equal(aoe_index_verify(index, 0, &err), AOE_EFORMAT);
        assert_message(cases[i].message);
        aoe_index_close(index);
        free(path);
    }
}

/* A damaged word index is found, also by a reader, and built again. */
static void test_damaged_words(void **state) {
    (void)state;
    static const char *const changes[] = {
        "DELETE FROM words_data WHERE id > 10",
        "DELETE FROM words_docsize",
        "UPDATE words_data SET block = substr(block, 1, length(block) - 40) || zeroblob(40) WHERE id > 10",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *path = new_index(6, AOE_AUTO), *want = tiny_index_dump_path(path, &err);
        change(path, changes[i]);
        aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
        assert_int_equal(aoe_index_verify(index, 0, &err), AOE_EFORMAT);
        assert_message("the word index");
        assert_message("repair the index");
        aoe_index_close(index);
        index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        check(aoe_index_verify(index, 1, &err));
        check(aoe_index_verify(index, 0, &err));
        char *got = tiny_index_dump(index);
        assert_string_equal(got, want);
        aoe_index_close(index);
        free(got);
        free(want);
        free(path);
    }
}

static uint64_t size_of(const char *path) {
    aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    const aoe_index_stats stats = stats_of(index);
    aoe_index_close(index);
    return stats.database_bytes + stats.vector_bytes;
}

/* After many rounds in which all documents change, the index is less than twice as large as a new one. */
static void test_growth(void **state) {
    (void)state;
    enum { DOCUMENTS = TEST_SANITIZED ? 100 : 300, ROUNDS = TEST_SANITIZED ? 8 : 30 };
    char *path = tiny_index_path(), *fresh = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < DOCUMENTS; i++)
            add(index, i, round);
        check(aoe_index_commit(index, &err));
    }
    check(aoe_index_verify(index, 0, &err));
    aoe_index_close(index);
    index = tiny_index_open(fresh, AOE_INDEX_WRITE, NULL);
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        add(index, i, ROUNDS - 1);
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
    const double ratio = (double)size_of(path) / (double)size_of(fresh);
    if (!(ratio < 2))
        fail_msg("the index is %.2f times as large as a new one: %llu and %llu bytes", ratio,
                 (unsigned long long)size_of(path), (unsigned long long)size_of(fresh));
    char *got = tiny_index_dump_path(path, &err), *want = tiny_index_dump_path(fresh, &err);
    assert_string_equal(got, want);
    free(got);
    free(want);
    free(path);
    free(fresh);
}

/* Returns a number from the database of an index. */
static int64_t number(const char *path, const char *sql) {
    char *name = test_path(path, "index.db");
    sqlite3 *db;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(name, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(name);
    return value;
}

static void assert_ids_without_gaps(const char *path) {
    static const char *const equal[] = {
        "SELECT coalesce(max(id), 0) = count(*) AND coalesce(min(id), 1) = 1 FROM passages",
        "SELECT coalesce(max(id), 0) = count(*) AND coalesce(min(id), 1) = 1 FROM documents",
        "SELECT coalesce(max(id), 0) = count(*) AND coalesce(min(id), 1) = 1 FROM words_docsize",
        "SELECT count(*) = 0 FROM fields WHERE document NOT IN (SELECT id FROM documents)"};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (number(path, equal[i]) != 1)
            fail_msg("not true: %s", equal[i]);
}

/* Adds a document with metadata. */
static void add_field(aoe_index *index, const char *name, const char *text, const char *value) {
    const aoe_index_field field = {"colour", aoe_text_of(value)};
    const aoe_index_document d = {
        .struct_size = sizeof d, .name = name, .text = aoe_text_of(text), .field = &field, .n_fields = 1};
    check(aoe_index_add(index, &d, 1, &err));
}

/* Searches by words, and returns the names of the hits. */
static const char *names_of(aoe_index *index, const char *query, const char *where) {
    static char names[256];
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_LEXICAL;
    o.where = where;
    aoe_index_hits hits = {.struct_size = sizeof hits};
    check(aoe_index_search(index, aoe_text_of(query), &o, &hits, &err));
    names[0] = 0;
    for (size_t i = 0; i < hits.n; i++) {
        strncat(names, hits.hit[i].name, sizeof names - strlen(names) - 1);
        strncat(names, " ", sizeof names - strlen(names) - 1);
    }
    aoe_index_hits_free(&hits);
    return names;
}

/* The largest id, and so the memory of a search, does not grow with the number of changes. */
static void test_ids_do_not_grow(void **state) {
    (void)state;
    enum { DOCUMENTS = 10, ROUNDS = 180 };
    char *path = tiny_index_path(), name[16];
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < DOCUMENTS; i++)
            add(index, i, round);
        snprintf(name, sizeof name, "empty%u", (unsigned)round); /* documents without passages also have ids */
        check(tiny_index_add(index, name, "", &err));
        if (round) {
            snprintf(name, sizeof name, "empty%u", (unsigned)round - 1);
            check(aoe_index_remove(index, &(const char *){name}, 1, NULL, &err));
        }
        check(aoe_index_commit(index, &err));
        aoei_reader *r;
        const aoei_lengths *lengths;
        const aoei_ranges *ranges;
        check(aoei_reader_begin(&r, index, &err));
        check(aoei_view_lengths(r->view, &r->db, &lengths, &err));
        check(aoei_view_ranges(r->view, &r->db, &ranges, &err));
        assert_true(lengths->n <= 2 * lengths->passages + 1001);
        assert_true(ranges->n <= 2 * lengths->passages + 1001);
        aoei_reader_end(r);
    }
    check(aoe_index_compact(index, &err));
    assert_ids_without_gaps(path);
    check(aoe_index_verify(index, 0, &err));
    aoe_index_close(index);
    free(path);
}

/* A commit also compacts an index whose ids have large gaps, such as one of an earlier version of aoe. Documents keep
 * their passages, words and metadata. */
static void test_ids_with_gaps(void **state) {
    (void)state;
    static const char *const changes[] = {
        "UPDATE documents SET id = id + 5000; UPDATE passages SET document = document + 5000; UPDATE fields SET "
        "document = document + 5000",
        "UPDATE documents SET first_passage = first_passage + 5000; UPDATE passages SET id = id + 5000; INSERT INTO "
        "words (words) VALUES ('delete-all'); INSERT INTO words (rowid, w) VALUES (5001, 'old')"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *path = tiny_index_path();
        aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        add_field(index, "a", "x y z", "red");
        add_field(index, "b", "u v w a b c d e f g h i j k l m n o p q r s t u v w x y z", "blue");
        add_field(index, "c", "x k", "blue");
        check(aoe_index_commit(index, &err));
        char *want = tiny_index_dump(index);
        assert_string_equal(names_of(index, "x", NULL), "c a b ");
        assert_string_equal(names_of(index, "x", "colour = 'blue'"), "c b ");
        aoe_index_close(index);
        change(path, changes[i]);
        index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        check(tiny_index_add(index, "d", "h", &err));
        check(aoe_index_remove(index, &(const char *){"d"}, 1, NULL, &err));
        check(aoe_index_commit(index, &err));
        assert_ids_without_gaps(path);
        assert_string_equal(names_of(index, "x", NULL), "c a b ");
        assert_string_equal(names_of(index, "x", "colour = 'blue'"), "c b ");
        char *got = tiny_index_dump(index);
        assert_string_equal(got, want);
        check(aoe_index_verify(index, 0, &err));
        aoe_index_close(index);
        free(got);
        free(want);
        free(path);
    }
}

/* A search that updates a large index does not compact it before the answer, but the next other commit does. */
static void test_compaction_waits(void **state) {
    (void)state;
    enum { LIVE = 10050, REMOVED = LIVE / 2 + 100, D = 16 };
    char *path = tiny_index_path(), name[24];
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    const float vector[D] = {1};
    for (uint32_t i = 0; i < LIVE + REMOVED; i++) {
        snprintf(name, sizeof name, "%s/%u", i < LIVE ? "live" : "removed", (unsigned)i);
        const aoe_index_document d = {
            .struct_size = sizeof d, .name = name, .text = aoe_text_of("x"), .vector = vector};
        check(aoei_write_document(index, &d, 0, &err));
    }
    check(aoe_index_commit(index, &err));
    check(aoe_index_remove(index, &(const char *){"removed/"}, 1, NULL, &err));
    check(aoei_write_commit_in_search(index, 1, &err));
    assert_int_equal(stats_of(index).removed_rows, REMOVED);
    assert_int_equal(number(path, "SELECT max(id) FROM passages"), LIVE);
    check(tiny_index_add(index, "last", "x", &err));
    check(aoe_index_commit(index, &err));
    assert_int_equal(stats_of(index).removed_rows, 0);
    aoe_index_close(index);
    free(path);
}

static void test_embed_texts(void **state) {
    (void)state;
    enum { D = 16 };
    const aoe_text texts[] = {aoe_text_of(" "), aoe_text_of("a b"), aoe_text_of(""), aoe_text_of("c")};
    float got[4 * D], want[2 * D];
    size_t tokens = 0, failed;
    check(aoei_embed_texts(tiny_index_embedder, texts, 4, got, &tokens, &failed, &err));
    check(aoe_embed_documents(tiny_index_embedder, &(const aoe_text[]){texts[1], texts[3]}[0], 2, want, NULL, &err));
    assert_memory_equal(got + D, want, D * sizeof(float));
    assert_memory_equal(got + 3 * D, want + D, D * sizeof(float));
    for (int i = 0; i < D; i++)
        assert_true(got[i] == 0 && got[2 * D + i] == 0);
    assert_true(tokens > 0 && failed == SIZE_MAX);
    const aoe_text bad[] = {aoe_text_of("a"), aoe_text_of(""), aoe_text_of("b")};
    check(aoei_embed_texts(tiny_index_embedder, bad, 0, got, &tokens, &failed, &err));
    check(aoei_embed_texts(tiny_index_embedder, bad, 3, got, &tokens, &failed, &err));
}

typedef struct copies {
    float vector[2][64]; /* of the documents "a" and "copy" */
    size_t dims, n;
} copies;

static int read_copy(void *user, const aoe_index_hit *p, const float *vector, aoe_error *e) {
    copies *c = user;
    (void)e;
    assert_true(c->n < 2 && c->dims <= 64);
    memcpy(c->vector[strcmp(p->name, "copy") == 0], vector, c->dims * sizeof *vector);
    c->n++;
    return 0;
}

/* A damaged vector is not copied for another passage with the same text: the copy would have a correct checksum. */
static void test_reuse_of_damaged_vector(void **state) {
    (void)state;
    char *path = tiny_index_path(), *values = test_path(path, "vectors-1.values");
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "a", "x y z", &err));
    check(aoe_index_commit(index, &err));
    copies good = {.dims = stats_of(index).dims}, got = {.dims = good.dims};
    check(aoe_index_each(index, read_copy, &good, &err));
    aoe_index_close(index);
    flip(values, 64 + 1);
    index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "copy", "x y z", &err));
    check(aoe_index_commit(index, &err));
    check(aoe_index_each(index, read_copy, &got, &err));
    assert_int_equal(got.n, 2);
    assert_memory_not_equal(got.vector[0], good.vector[0], good.dims * sizeof(float));
    assert_memory_equal(got.vector[1], good.vector[0], good.dims * sizeof(float));
    assert_int_equal(aoe_index_verify(index, 0, &err), AOE_EFORMAT);
    check(aoe_index_verify(index, 1, &err));
    aoe_index_close(index);
    free(values);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compact),
                                       cmocka_unit_test(test_flipped_byte),
                                       cmocka_unit_test(test_given_vector),
                                       cmocka_unit_test(test_truncated_file),
                                       cmocka_unit_test(test_damaged_tables),
                                       cmocka_unit_test(test_damaged_words),
                                       cmocka_unit_test(test_growth),
                                       cmocka_unit_test(test_embed_texts),
                                       cmocka_unit_test(test_reuse_of_damaged_vector),
                                       cmocka_unit_test(test_ids_do_not_grow),
                                       cmocka_unit_test(test_ids_with_gaps),
                                       cmocka_unit_test(test_compaction_waits)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
