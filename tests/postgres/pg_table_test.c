/* SPDX-License-Identifier: MIT
 * Tests names of tables, the search for pgvector, and the settings of a table without a server (support/fake_pq.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "postgres/pg_table.h"

#define URL "postgresql://reader@db.example.org/notes"

static void checks_names(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",    ".",   "a.",  ".a",   "a.b.c",
        "1a",  "a b", "a;b", "a\"b", "\xc3\xa4",
        "a-b", "a.1", "a'",  "$a",   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    aoei_pg_table t;
    aoe_error err = {0};
    assert_int_equal(aoei_pg_table_name(&t, NULL, NULL), 0);
    assert_string_equal(t.name, "\"aoe_passages\"");
    assert_string_equal(t.settings, "\"aoe_passages_settings\"");
    assert_int_equal(aoei_pg_table_name(&t, "My_schema.Table_2", NULL), 0);
    assert_string_equal(t.plain, "My_schema.Table_2");
    assert_string_equal(t.name, "\"My_schema\".\"Table_2\"");
    assert_string_equal(t.settings, "\"My_schema\".\"Table_2_settings\"");
    assert_string_equal(t.stem, "Table_2");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(aoei_pg_table_name(&t, wrong[i], &err), AOE_EARG);
        assert_non_null(strstr(err.message, "write TABLE or SCHEMA.TABLE"));
    }
}

static void connect(aoei_pg *s, aoei_pg_table *t, const fake_pq_answer *answers) {
    fake_pq_start(answers);
    assert_int_equal(aoei_pg_open(s, URL, NULL), 0);
    assert_int_equal(aoei_pg_table_name(t, NULL, NULL), 0);
}

static void finds_pgvector(void **state) {
    (void)state;
    static const char *const found[] = {"\"my ext\"", "0.6.2"};
    static const fake_pq_answer installed[] = {{.pattern = "pg_extension", .columns = 2, .rows = 1, .value = found},
                                               {.pattern = NULL}};
    static const fake_pq_answer missing[] = {{.pattern = NULL}};
    static const fake_pq_answer available[] = {
        {.pattern = "pg_available", .columns = 0, .rows = 1},
        {.pattern = "CREATE EXTENSION", .state = "42501", .message = "permission denied to create extension"},
        {.pattern = NULL}};
    aoei_pg s;
    aoei_pg_table t;
    aoe_error err = {0};
    connect(&s, &t, installed);
    assert_int_equal(aoei_pg_find_vector(&s, &t, 0, NULL), 0);
    assert_string_equal(t.vector, "\"my ext\"");
    assert_int_equal(t.version, 602);
    aoei_pg_close(&s);
    connect(&s, &t, missing);
    assert_int_equal(aoei_pg_find_vector(&s, &t, 1, &err), AOE_EUNSUPPORTED);
    assert_string_equal(err.message,
                        "PostgreSQL at db.example.org:5432, database notes has no pgvector; install the package "
                        "postgresql-15-pgvector on the machine of the server (Debian or apt.postgresql.org), and run "
                        "CREATE EXTENSION vector in the database");
    aoei_pg_close(&s);
    for (int create = 0; create < 2; create++) {
        connect(&s, &t, available);
        assert_int_equal(aoei_pg_find_vector(&s, &t, create, &err), AOE_EUNSUPPORTED);
        assert_non_null(strstr(err.message, "run CREATE EXTENSION vector in the database as its owner"));
        assert_int_equal(strstr(fake_pq_statements(), "CREATE EXTENSION") != NULL, create);
        aoei_pg_close(&s);
    }
    assert_int_equal(fake_pq_live(), 0);
}

static void chooses_indexes(void **state) {
    (void)state;
    static const struct {
        int version;
        size_t dims;
        aoei_pg_vector_index want;
    } cases[] = {{404, 384, AOEI_PG_NO_INDEX},     {500, 384, AOEI_PG_HNSW},     {602, 2000, AOEI_PG_HNSW},
                 {602, 2001, AOEI_PG_NO_INDEX},    {700, 2000, AOEI_PG_HNSW},    {700, 2001, AOEI_PG_HNSW_HALVES},
                 {800, 4000, AOEI_PG_HNSW_HALVES}, {800, 4001, AOEI_PG_NO_INDEX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const aoei_pg_table t = {.version = cases[i].version};
        assert_int_equal(aoei_pg_vector_index_of(&t, cases[i].dims), cases[i].want);
    }
}

static void creates_tables(void **state) {
    (void)state;
    static const fake_pq_answer none[] = {{.pattern = NULL}};
    float probe[] = {1, -2};
    const aoei_index_settings settings = {
        .id = 77, .dims = 2, .model = "model'; --", .query_prompt = "query: ", .query_probe = probe, .created = "2026"};
    const aoei_index_settings large = {.dims = 16001};
    aoei_pg s;
    aoei_pg_table t;
    aoe_error err = {0};
    int n;
    connect(&s, &t, none);
    snprintf(t.vector, sizeof t.vector, "public");
    assert_int_equal(aoei_pg_table_create(&s, &t, &large, &err), AOE_EUNSUPPORTED);
    assert_int_equal(aoei_pg_table_create(&s, &t, &settings, NULL), 0);
    const char *sql = fake_pq_statements();
    assert_non_null(strstr(sql, "BEGIN; CREATE TABLE \"aoe_passages\" (number bigint"));
    assert_non_null(strstr(sql, "embedding public.vector(2) NOT NULL"));
    assert_non_null(strstr(sql, "CREATE TABLE \"aoe_passages_settings\""));
    assert_non_null(strstr(sql, "number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id text"));
    assert_non_null(strstr(sql, "COMMIT"));
    assert_null(strstr(sql, "model'"));
    const char *values = fake_pq_parameter("INSERT INTO \"aoe_passages_settings\"", 1, &n);
    int found = 0;
    for (int i = 0; i + 16 <= n; i++)
        found |= memcmp(values + i, "3f800000c0000000", 16) == 0;
    assert_int_equal(found, 1);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

static void reads_settings(void **state) {
    (void)state;
    static const char *const rows[] = {"format",         "2",   "index", "77",      "dims",        "2",
                                       "model",          "m",   "stem",  "1",       "query_probe", "3f800000c0000000",
                                       "document_probe", "3f8", "state", "writing", "passages",    "12",
                                       "words",          "340"};
    static const char *const other[] = {"format", "9"}, *const damaged[] = {"format", "2", "dims", "0"};
    static const fake_pq_answer good[] = {{.pattern = "SELECT key", .columns = 2, .rows = 10, .value = rows},
                                          {.pattern = NULL}};
    static const fake_pq_answer bad[] = {{.pattern = "SELECT key", .columns = 2, .rows = 1, .value = other},
                                         {.pattern = NULL}};
    static const fake_pq_answer no_dims[] = {{.pattern = "SELECT key", .columns = 2, .rows = 2, .value = damaged},
                                             {.pattern = NULL}};
    static const fake_pq_answer none[] = {{.pattern = NULL}};
    aoei_pg s;
    aoei_pg_table t;
    aoei_pg_state last;
    aoei_index_settings settings;
    connect(&s, &t, good);
    assert_int_equal(aoei_pg_settings_read(&s, &t, &settings, NULL), 0);
    assert_int_equal(settings.id, 77);
    assert_int_equal(settings.dims, 2);
    assert_int_equal(settings.stem, 1);
    assert_string_equal(settings.model, "m");
    assert_string_equal(settings.pooling, "");
    assert_true(settings.query_probe[0] == 1 && settings.query_probe[1] == -2);
    assert_null(settings.document_probe);
    aoei_index_settings_free(&settings);
    assert_int_equal(aoei_pg_state_read(&s, &t, &last, NULL), 0);
    assert_int_equal(last.is_complete, 0);
    assert_int_equal(last.passages, 12);
    assert_int_equal(last.words, 340);
    aoei_pg_close(&s);
    connect(&s, &t, bad);
    assert_int_equal(aoei_pg_settings_read(&s, &t, &settings, NULL), AOE_EUNSUPPORTED);
    aoei_index_settings_free(&settings);
    aoei_pg_close(&s);
    connect(&s, &t, no_dims);
    assert_int_equal(aoei_pg_settings_read(&s, &t, &settings, NULL), AOE_EFORMAT);
    aoei_index_settings_free(&settings);
    aoei_pg_close(&s);
    connect(&s, &t, none);
    assert_int_equal(aoei_pg_settings_read(&s, &t, &settings, NULL), AOE_EFORMAT);
    aoei_index_settings_free(&settings);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_names),   cmocka_unit_test(finds_pgvector), cmocka_unit_test(chooses_indexes),
        cmocka_unit_test(creates_tables), cmocka_unit_test(reads_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
