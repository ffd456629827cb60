/* SPDX-License-Identifier: MIT
 * covers: postgres/pg_candidates postgres/pg_dense postgres/pg_lexical postgres/pg_hits
 * Tests the statements of a search and how their rows become hits, without a server (support/fake_pq.h).
 * tests/peers/test_postgres.py compares the results of a real server with those of the local index.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "aoe_postgres.h"
#include "base/alloc.h"
#include "postgres/pg_dense.h"
#include "postgres/pg_hits.h"

#define URL "postgresql://reader:s3cret-word@db.example.org/notes"

static const char *const extension[] = {"public", "0.6.2"}, *const yes[] = {"1", "1"},
                         *const settings[] = {"format", "2",        "dims",  "2",    "model",    "some-model",
                                              "state",  "complete", "words", "4000", "passages", "400"};

#define TABLE                                                                                                          \
    {.pattern = "pg_extension", .columns = 2, .rows = 1, .value = extension},                                          \
        {.pattern = "to_regclass", .columns = 2, .rows = 1, .value = yes},                                             \
        {.pattern = "SELECT key, value", .columns = 2, .rows = 6, .value = settings}, {                                \
        .pattern = "SELECT EXISTS", .columns = 1, .rows = 1, .value = yes                                              \
    }

static aoe_postgres *open_table(const fake_pq_answer *answers) {
    aoe_postgres *p;
    aoe_error err = {0};
    fake_pq_start(answers);
    assert_int_equal(aoe_postgres_open(&p, URL, NULL, &err), 0);
    return p;
}

static void finds_words(void **state) {
    (void)state;
    static const char *const counts[] = {"3", "161", "0"},
                             /* both passages have the same id */
        *const rows[] = {"0000000000bb", "b.md", "1", "4000000000000000", "7", "1",
                         "0000000000bb", "a.md", "0", "3ff0000000000000", "3", "1"},
                             *const texts[] = {"3", NULL, NULL, "",      "second", NULL,
                                               "7", "7",  "9",  "A > B", "first",  NULL},
                             *const fields[] = {"7", "year", "2020", "7", "tag", "x", "3", "tag", "y"};
    static const fake_pq_answer answers[] = {
        TABLE,
        {.pattern = "SELECT count(*) FROM (SELECT FROM", .columns = 1, .rows = 3, .value = counts},
        {.pattern = "AS MATERIALIZED", .columns = 6, .rows = 2, .value = rows},
        {.pattern = "heading, passage", .columns = 6, .rows = 2, .value = texts},
        {.pattern = "jsonb_each", .columns = 3, .rows = 3, .value = fields},
        {.pattern = NULL}};
    aoe_postgres *p = open_table(answers);
    aoe_index_search_options o;
    aoe_index_hits hits = {.struct_size = sizeof hits};
    int n;
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_LEXICAL;
    o.k = 7;
    o.where = "tag = 'x'";
    assert_string_equal(aoe_postgres_model(p), "some-model");
    assert_int_equal(aoe_postgres_dims(p), 2);
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("Renew the & 'certificate"), &o, &hits, NULL), 0);
    assert_int_equal(hits.n, 2);
    const aoe_index_hit *h = &hits.hit[0];
    assert_string_equal(h->id, "0000000000bb");
    assert_string_equal(h->name, "b.md");
    assert_string_equal(h->heading, "A > B");
    assert_string_equal(h->text.data, "first");
    assert_int_equal(h->text.len, 5);
    assert_true(h->score == 2 && h->bm25 == 2 && isnan(h->cosine));
    assert_int_equal(h->lexical_rank, 1);
    assert_int_equal(h->dense_rank, 0);
    assert_int_equal(h->line, 7);
    assert_int_equal(h->last_line, 9);
    assert_null(h->path);
    assert_int_equal(h->n_fields, 2);
    assert_string_equal(h->field[1].key, "tag");
    assert_string_equal(h->field[1].value.data, "x");
    assert_string_equal(hits.hit[1].id, "0000000000bb");
    assert_string_equal(hits.hit[1].name, "a.md");
    assert_string_equal(hits.hit[1].text.data, "second");
    assert_int_equal(hits.hit[1].line, 0);
    assert_int_equal(hits.hit[1].n_fields, 1);
    assert_string_equal(hits.hit[1].field[0].value.data, "y");
    /* "the" occurs in more than two fifths of the passages, and "certificate" in none */
    assert_int_equal(hits.n_terms, 1);
    assert_string_equal(hits.term[0], "Renew");
    assert_int_equal(hits.stems, 0);
    assert_memory_equal(fake_pq_parameter("AS MATERIALIZED", 4, &n), "('renew')", 9);
    assert_int_equal(n, 9);
    assert_string_equal(fake_pq_parameter("AS MATERIALIZED", 5, &n), "7");
    assert_string_equal(fake_pq_parameter("AS MATERIALIZED", 7, &n), "x");
    assert_string_equal(fake_pq_parameter("SELECT count(*) FROM (SELECT FROM", 1, &n), "161");
    const char *sql = fake_pq_statements();
    assert_non_null(strstr(sql, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    assert_null(strstr(sql, "enew"));
    assert_null(strstr(sql, "ertificate"));
    aoe_index_hits_free(&hits);
    aoe_postgres_close(p);
    assert_int_equal(fake_pq_live(), 0);
}

static void plans_of_dense_search(void **state) {
    (void)state;
    static const char *const rows[] = {
        "0000000000bb", "b.md", "1", "3fe0000000000000", "9", "0", "foreign id", "c", "0", "0", "1", "0"};
    static const fake_pq_answer answers[] = {{.pattern = "<=>", .columns = 6, .rows = 2, .value = rows},
                                             {.pattern = NULL}};
    static const struct {
        int version;
        size_t dims, k;
        const char *where, *plan, *order;
    } cases[] = {
        {602, 2, 10, NULL, "SET LOCAL hnsw.ef_search = 200",
         "ORDER BY embedding OPERATOR(public.<=>) $1::public.vector LIMIT $3::bigint"},
        {602, 2, 300, NULL, "SET LOCAL hnsw.ef_search = 600", "LIMIT $3::bigint"},
        {602, 2, 1000, NULL, "SET LOCAL hnsw.ef_search = 1000", "LIMIT $3::bigint"},
        {602, 2, 1001, NULL, "SET LOCAL enable_indexscan = off", "ORDER BY d, name, position LIMIT $2::bigint"},
        {404, 2, 10, NULL, "SET LOCAL enable_indexscan = off", "FROM \"aoe_passages\") AS x"},
        {602, 2, 10, "year = 2020", "SET LOCAL enable_indexscan = off", "to_jsonb($4::numeric)"},
        {700, 3000, 10, NULL, "SET LOCAL hnsw.ef_search = 200",
         "ORDER BY embedding::public.halfvec(3000) OPERATOR(public.<=>) $1::public.vector::public.halfvec(3000) LIMIT"},
    };
    float vector[3000] = {1, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_pg s;
        aoei_pg_table t;
        aoei_pg_candidates list = {.n = 0};
        const aoei_index_settings of_table = {.dims = cases[i].dims};
        fake_pq_start(answers);
        assert_int_equal(aoei_pg_open(&s, URL, NULL), 0);
        assert_int_equal(aoei_pg_table_name(&t, NULL, NULL), 0);
        strcpy(t.vector, "public");
        t.version = cases[i].version;
        aoei_where *where;
        assert_int_equal(aoei_where_create(&where, cases[i].where, NULL, 0, NULL), 0);
        const aoei_pg_search q = {&s, &t, &of_table, where, cases[i].k};
        assert_int_equal(aoei_pg_dense(&q, vector, &list, NULL), 0);
        assert_int_equal(list.n, 1);
        assert_string_equal(list.item[0].name, "b.md");
        assert_true(list.item[0].score == 0.5);
        assert_int_equal(list.item[0].number, 9);
        assert_non_null(strstr(fake_pq_statements(), cases[i].plan));
        assert_non_null(strstr(fake_pq_statements(), cases[i].order));
        aoei_pg_candidates_free(&list);
        aoei_where_free(where);
        aoei_pg_close(&s);
        assert_int_equal(fake_pq_live(), 0);
    }
}

static void add(aoei_pg_candidates *list, const char *id, const char *name, int64_t position, double score) {
    assert_int_equal(aoei_grow((void **)&list->item, &list->capacity, list->n, sizeof *list->item), 0);
    list->item[list->n] = (aoei_pg_candidate){.name = name, .position = position, .score = score};
    strcpy(list->item[list->n++].id, id);
}

static void fuses_lists(void **state) {
    (void)state;
    aoei_pg_candidates dense = {.n = 0}, lexical = {.n = 0};
    aoei_pg_words words = {.n_found = 2};
    aoe_index_search_options o;
    aoei_pg_found *found;
    size_t n;
    add(&dense, "00000000000a", "a", 0, 0.9);
    add(&dense, "00000000000b", "a", 1, 0.8);
    add(&lexical, "00000000000c", "0", 5, 7);
    add(&lexical, "00000000000b", "a", 1, 6);
    aoe_index_search_options_defaults(&o);
    o.dense_weight = o.lexical_weight = 1;
    assert_int_equal(aoei_pg_combine(&o, &dense, &lexical, &words, &found, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_string_equal(found[0].candidate->id, "00000000000b");
    assert_true(fabs(found[0].found.ranked.score - 2.0 / 62) < 1e-12);
    assert_int_equal(found[0].found.dense_rank, 2);
    assert_int_equal(found[0].found.lexical_rank, 2);
    assert_true(found[0].found.cosine == 0.8 && found[0].found.bm25 == 6);
    /* equal scores: by name */
    assert_string_equal(found[1].candidate->id, "00000000000c");
    assert_string_equal(found[2].candidate->id, "00000000000a");
    aoei_free(found);
    lexical.item[0].words = 2; /* an exact match */
    assert_int_equal(aoei_pg_combine(&o, &dense, &lexical, &words, &found, &n, NULL), 0);
    assert_string_equal(found[0].candidate->id, "00000000000c");
    assert_true(fabs(found[0].found.ranked.score - 2.0 / 61) < 1e-12);
    aoei_free(found);
    o.mode = AOE_INDEX_DENSE;
    o.min_score = 0.85;
    assert_int_equal(aoei_pg_combine(&o, &dense, &lexical, &words, &found, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(found[0].candidate->id, "00000000000a");
    aoei_free(found);
    aoei_pg_candidates_free(&dense);
    aoei_pg_candidates_free(&lexical);
}

static void reports_errors(void **state) {
    (void)state;
    static const char *const no[] = {"0", "0"}, *const one[] = {"1", "0"}, *const keys[] = {"lang", "year"};
    static const fake_pq_answer no_table[] = {{.pattern = "pg_extension", .columns = 2, .rows = 1, .value = extension},
                                              {.pattern = "to_regclass", .columns = 2, .rows = 1, .value = no},
                                              {.pattern = NULL}};
    static const fake_pq_answer other_table[] = {
        {.pattern = "pg_extension", .columns = 2, .rows = 1, .value = extension},
        {.pattern = "to_regclass", .columns = 2, .rows = 1, .value = one},
        {.pattern = NULL}};
    static const fake_pq_answer unknown_key[] = {
        {.pattern = "SELECT EXISTS", .columns = 1, .rows = 1, .value = no},
        {.pattern = "jsonb_object_keys", .columns = 1, .rows = 2, .value = keys},
        TABLE,
        {.pattern = NULL}};
    aoe_postgres *p;
    aoe_error err = {0};
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_index_search_options o;
    fake_pq_start(no_table);
    assert_int_equal(aoe_postgres_open(&p, URL, NULL, &err), AOE_ENOENT);
    assert_null(p);
    assert_non_null(strstr(err.message, "there is no table aoe_passages"));
    fake_pq_start(other_table);
    assert_int_equal(aoe_postgres_open(&p, URL, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "was not created by aoe"));
    p = open_table(unknown_key);
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_DENSE;
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("x"), &o, &hits, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "needs an embedder of the model 'some-model'"));
    o.mode = AOE_INDEX_HYBRID;
    o.where = "yaer = 2020";
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("x"), &o, &hits, &err), AOE_EARG);
    assert_string_equal(err.message,
                        "condition: no document has the key \"yaer\" (character 1); the keys of this table "
                        "are lang, year");
    o.where = NULL;
    assert_int_equal(aoe_postgres_search(p, aoe_text_of(" \n"), &o, &hits, &err), AOE_EARG);
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("\xff"), &o, &hits, &err), AOE_EARG);
    o.k = 0;
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("x"), &o, &hits, &err), AOE_EARG);
    o.k = 1;
    fake_pq_break_at("SELECT count");
    assert_int_equal(aoe_postgres_search(p, aoe_text_of("x"), &o, &hits, &err), AOE_EIO);
    assert_non_null(strstr(err.message, "the connection was lost"));
    assert_null(strstr(err.message, "s3cret-word"));
    assert_int_equal(hits.n, 0);
    aoe_postgres_close(p);
    assert_int_equal(fake_pq_live(), 0);
}

static void warn(void *user, aoe_log_level level, const char *message) {
    assert_int_equal(level, AOE_LOG_WARNING);
    assert_non_null(strstr(message, "passages may be missing"));
    ++*(int *)user;
}

static void warns_about_incomplete_tables(void **state) {
    (void)state;
    static const char *const writing[] = {"format", "2", "dims", "2", "state", "writing"};
    static const fake_pq_answer answers[] = {
        {.pattern = "SELECT key, value", .columns = 2, .rows = 3, .value = writing}, TABLE, {.pattern = NULL}};
    aoe_postgres *p;
    aoe_postgres_options o;
    int warnings = 0;
    aoe_postgres_options_defaults(&o);
    o.log = warn;
    o.log_user = &warnings;
    fake_pq_start(answers);
    assert_int_equal(aoe_postgres_open(&p, URL, &o, NULL), 0);
    assert_int_equal(warnings, 1);
    aoe_postgres_close(p);
    assert_int_equal(fake_pq_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_words),
        cmocka_unit_test(plans_of_dense_search),
        cmocka_unit_test(fuses_lists),
        cmocka_unit_test(reports_errors),
        cmocka_unit_test(warns_about_incomplete_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
