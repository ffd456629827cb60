/* SPDX-License-Identifier: MIT
 * covers: postgres/pg_indexes
 * Tests the statements with which an index is copied, and failures at each of them, without a server
 * (support/fake_pq.h). tests/peers/test_postgres.py copies indexes to a real server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "aoe_postgres.h"
#include "index/index.h"

#define URL "postgresql://writer:s3cret-word@db.example.org/notes"

static const char *const extension[] = {"public", "0.6.2"}, *const yes[] = {"1", "1"}, *const no[] = {"0", "0"};
static const char *const known[] = {"0000deadbeef", "77", "0", "1", "gone.txt", "foreign", "5", "0", "2", "x"};

#define EXTENSION                                                                                                      \
    { .pattern = "pg_extension", .columns = 2, .rows = 1, .value = extension }
#define LOCK(answer)                                                                                                   \
    { .pattern = "pg_try_advisory_lock", .columns = 1, .rows = 1, .value = answer }
#define EXISTS(answer)                                                                                                 \
    { .pattern = "to_regclass", .columns = 2, .rows = 1, .value = answer }
#define KNOWN                                                                                                          \
    { .pattern = "COPY (SELECT id, number", .columns = 5, .rows = 2, .value = known }
#define PROCESS                                                                                                        \
    { .pattern = "pg_backend_pid", .columns = 1, .rows = 1, .value = yes }
#define END                                                                                                            \
    { .pattern = NULL }

/* Returns an index with two documents that is open for reading. */
static aoe_index *open_index(void) {
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    assert_int_equal(tiny_index_add(index, "a.txt", "the first text", NULL), 0);
    assert_int_equal(tiny_index_add(index, "b.txt", "the second text", NULL), 0);
    assert_int_equal(aoe_index_commit(index, NULL), 0);
    aoe_index_close(index);
    index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    free(path);
    return index;
}

static int count(void *user, const aoe_postgres_progress *p) {
    int *calls = user;
    assert_int_equal(p->struct_size, sizeof *p);
    if (p->phase == AOE_POSTGRES_COPYING)
        assert_int_equal(p->total, 2);
    return ++calls[0] == calls[1];
}

/* Checks that the strings occur in this order. */
static void in_order(const char *text, const char *const *want) {
    for (; *want; want++) {
        text = strstr(text, *want);
        if (!text)
            fail_msg("missing or in the wrong order: %s", *want);
    }
}

static void copies_an_index(void **state) {
    (void)state;
    static const fake_pq_answer answers[] = {EXTENSION, LOCK(yes), EXISTS(no), KNOWN, PROCESS, END};
    static const char *const want[] = {"BEGIN; CREATE TABLE \"s\".\"t\"",
                                       "INSERT INTO \"s\".\"t_settings\"",
                                       "COMMIT",
                                       "COPY (SELECT id, number, position, hash, name FROM \"s\".\"t\"",
                                       "BEGIN",
                                       "COPY \"s\".\"t\" (id, name, position, ext, line, last_line, heading, passage, "
                                       "metadata, hash, words, n_words, embedding) FROM STDIN (FORMAT binary)",
                                       "COMMIT",
                                       "DELETE FROM \"s\".\"t\" WHERE number = ANY ($1::bigint[])",
                                       "SET statement_timeout = 0",
                                       "CREATE INDEX IF NOT EXISTS \"t_words\" ON \"s\".\"t\" USING gin (words)",
                                       "CREATE INDEX IF NOT EXISTS \"t_id\" ON \"s\".\"t\" (id)",
                                       "\"t_metadata\"",
                                       "CREATE INDEX IF NOT EXISTS \"t_hnsw\" ON \"s\".\"t\" USING hnsw (embedding "
                                       "public.vector_cosine_ops)",
                                       "ANALYZE \"s\".\"t\"",
                                       "'complete'",
                                       NULL};
    aoe_index *index = open_index();
    aoe_postgres_write_options o;
    aoe_postgres_write_result r = {.struct_size = sizeof r};
    int calls[2] = {0, -1}, n;
    size_t bytes;
    fake_pq_start(answers);
    aoe_postgres_write_options_defaults(&o);
    o.table = "s.t";
    o.progress = count;
    o.user = calls;
    assert_int_equal(aoe_postgres_write(URL, index, &o, &r, NULL), 0);
    in_order(fake_pq_statements(), want);
    assert_int_equal(r.added, 2);
    assert_int_equal(r.passages, 2);
    assert_int_equal(r.changed + r.unchanged, 0);
    assert_int_equal(r.removed, 1); /* the row that the index does not contain, not the row of another program */
    assert_int_equal(r.vector_index, AOE_POSTGRES_HNSW);
    assert_true(calls[0] > 0);
    const char *data = fake_pq_copied(&bytes);
    assert_memory_equal(data, "PGCOPY\n\377\r\n\0", 11);
    assert_memory_equal(data + bytes - 2, "\xff\xff", 2);
    assert_memory_equal(fake_pq_parameter("DELETE", 0, &n) + 24, "\0\0\0\0\0\0\0\x4d", 8);
    assert_int_equal(n, 32);
    assert_int_equal(fake_pq_live(), 0);
    aoe_index_close(index);
}

static void small_batches(void **state) {
    (void)state;
    static const fake_pq_answer answers[] = {EXTENSION, LOCK(yes), EXISTS(no), PROCESS, END};
    static const char *const want[] = {"FROM STDIN", "COMMIT", "FROM STDIN", "COMMIT", NULL};
    aoe_index *index = open_index();
    aoe_postgres_write_options o;
    fake_pq_start(answers);
    aoe_postgres_write_options_defaults(&o);
    o.batch_passages = 1;
    assert_int_equal(aoe_postgres_write(URL, index, &o, NULL, NULL), 0);
    in_order(fake_pq_statements(), want);
    /* the caller stops after the first batch */
    int calls[2] = {0, 1};
    aoe_error err = {0};
    o.progress = count;
    o.user = calls;
    fake_pq_start(answers);
    assert_int_equal(aoe_postgres_write(URL, index, &o, NULL, &err), AOE_ECANCELLED);
    assert_null(strstr(fake_pq_statements(), "'complete'"));
    o.batch_passages = 0;
    assert_int_equal(aoe_postgres_write(URL, index, &o, NULL, &err), AOE_EARG);
    assert_int_equal(fake_pq_live(), 0);
    aoe_index_close(index);
}

static void refuses_foreign_tables(void **state) {
    (void)state;
    static const char *const other[] = {"format", "2", "index", "5", "dims", "3", "model", "other-model"};
    static const fake_pq_answer locked[] = {EXTENSION, LOCK(no), END};
    static const fake_pq_answer foreign[] = {
        EXTENSION, LOCK(yes), EXISTS(yes), {.pattern = "SELECT key", .columns = 2, .rows = 4, .value = other}, END};
    aoe_index *index = open_index();
    aoe_postgres_write_options o;
    aoe_error err = {0};
    fake_pq_start(locked);
    assert_int_equal(aoe_postgres_write(URL, index, NULL, NULL, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "another program writes to the table aoe_passages"));
    fake_pq_start(foreign);
    assert_int_equal(aoe_postgres_write(URL, index, NULL, NULL, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "other-model"));
    assert_non_null(strstr(err.message, "options.replace"));
    assert_null(strstr(fake_pq_statements(), "DROP"));
    aoe_postgres_write_options_defaults(&o);
    o.replace = 1;
    assert_int_equal(aoe_postgres_write(URL, index, &o, NULL, &err), 0);
    assert_non_null(strstr(fake_pq_statements(), "DROP TABLE \"aoe_passages\""));
    /* a table with the layout of another version */
    static const char *const formats[] = {"1", "3"};
    for (size_t i = 0; i < 2; i++) {
        const char *const old[] = {"format", formats[i], "index", "5", "dims", "3", "model", "other-model"};
        const fake_pq_answer layout[] = {
            EXTENSION, LOCK(yes), EXISTS(yes), {.pattern = "SELECT key", .columns = 2, .rows = 4, .value = old}, END};
        fake_pq_start(layout);
        assert_int_equal(aoe_postgres_write(URL, index, NULL, NULL, &err), AOE_EUNSUPPORTED);
        assert_non_null(strstr(err.message, "the table aoe_passages has the layout of"));
        assert_non_null(
            strstr(err.message, i ? "a newer version of aoe (format 3;" : "an older version of aoe (format 1;"));
        assert_non_null(strstr(err.message, "drop the tables aoe_passages and aoe_passages_settings"));
        assert_null(strstr(fake_pq_statements(), "DROP"));
        assert_int_equal(aoe_postgres_write(URL, index, &o, NULL, &err), 0);
        assert_non_null(strstr(fake_pq_statements(), "DROP TABLE \"aoe_passages\""));
    }
    assert_int_equal(fake_pq_live(), 0);
    aoe_index_close(index);
}

static void the_same_index_continues(void **state) {
    (void)state;
    aoe_index *index = open_index();
    char id[32], dims[32];
    snprintf(id, sizeof id, "%llu", (unsigned long long)index->settings.id);
    snprintf(dims, sizeof dims, "%zu", index->settings.dims);
    const char *const own[] = {"format", "2", "index", id, "dims", dims};
    const fake_pq_answer answers[] = {
        EXTENSION, LOCK(yes), EXISTS(yes), {.pattern = "SELECT key", .columns = 2, .rows = 3, .value = own}, END};
    fake_pq_start(answers);
    assert_int_equal(aoe_postgres_write(URL, index, NULL, NULL, NULL), 0);
    const char *sql = fake_pq_statements();
    assert_null(strstr(sql, "CREATE TABLE"));
    assert_non_null(strstr(sql, "SET value = 'writing'"));
    aoe_index_close(index);
}

static void reports_failures(void **state) {
    (void)state;
    static const char *const places[] = {"pg_extension", "pg_try_advisory",   "to_regclass", "CREATE TABLE",
                                         "INSERT INTO",  "COPY (SELECT",      "BEGIN",       "FROM STDIN",
                                         "DELETE",       "statement_timeout", "'complete'"};
    static const fake_pq_answer answers[] = {EXTENSION, LOCK(yes), EXISTS(no), KNOWN, PROCESS, END};
    aoe_index *index = open_index();
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        aoe_error err = {0};
        fake_pq_start(answers);
        fake_pq_break_at(places[i]);
        assert_int_equal(aoe_postgres_write(URL, index, NULL, NULL, &err), AOE_EIO);
        assert_non_null(strstr(err.message, "the connection was lost"));
        assert_null(strstr(err.message, "s3cret-word"));
        assert_int_equal(fake_pq_live(), 0);
    }
    aoe_index_close(index);
}

static void checks_a_server(void **state) {
    (void)state;
    static const fake_pq_answer good[] = {EXTENSION, END}, bad[] = {END};
    aoe_error err = {0};
    fake_pq_start(good);
    assert_int_equal(aoe_postgres_check(URL, NULL, NULL), 0);
    assert_int_equal(aoe_postgres_check(URL, "a;b", &err), AOE_EARG);
    fake_pq_start(bad);
    assert_int_equal(aoe_postgres_check(URL, NULL, &err), AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "has no pgvector"));
    assert_int_equal(fake_pq_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_an_index),        cmocka_unit_test(small_batches),
        cmocka_unit_test(refuses_foreign_tables), cmocka_unit_test(the_same_index_continues),
        cmocka_unit_test(reports_failures),       cmocka_unit_test(checks_a_server),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
