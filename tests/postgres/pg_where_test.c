/* SPDX-License-Identifier: MIT
 * Tests the SQL of conditions and its parameters. No text of a condition may be a part of the SQL; the results are
 * compared with the local index on a real server by tests/peers/test_postgres.py.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "postgres/pg_where.h"

#define ELEMENTS(k)                                                                                                    \
    "EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(metadata -> $" k "::text) WHEN 'array' THEN metadata " \
    "-> $" k "::text ELSE jsonb_build_array(metadata -> $" k "::text) END) AS e(v) WHERE "
#define SMALL(x) "translate(" x ", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') COLLATE \"C\" LIKE "

/* Parses a condition and writes its SQL. */
static int where_sql(const char *text, aoei_buffer *sql, aoei_pg_params *p, aoe_error *err) {
    aoei_where *w;
    int code = aoei_where_parse(&w, text, err);
    if (!code)
        code = aoei_pg_where(w, sql, p, err);
    aoei_where_free(w);
    return code;
}

static void writes_sql(void **state) {
    (void)state;
    static const struct {
        const char *where, *sql;
        const char *parameter[4];
    } cases[] = {
        {"exists year", "(metadata ? $1::text)", {"year"}},
        {"year >= 2020",
         "(" ELEMENTS(
             "1") "CASE jsonb_typeof(e.v) WHEN 'number' THEN (e.v #>> '{}')::numeric >= $2::numeric ELSE false "
                  "END))",
         {"year", "2020"}},
        {"lang < \"x\"",
         "(" ELEMENTS("1") "jsonb_typeof(e.v) = 'string' AND (e.v #>> '{}') COLLATE \"C\" < $2::text))",
         {"lang", "x"}},
        {"lang = 'e''n'",
         "((metadata @> jsonb_build_object($1::text, to_jsonb($2::text)) OR metadata @> jsonb_build_object($1::text, "
         "jsonb_build_array(to_jsonb($2::text)))))",
         {"lang", "e'n"}},
        {"not (`a b` like 'X%' or name = 'n')",
         "(NOT ((" ELEMENTS("1") "jsonb_typeof(e.v) IN ('string', 'number') AND " SMALL(
             "(e.v #>> '{}')") "$2::text) OR "
                               "(name IS NOT NULL AND name COLLATE \"C\" = $3::text))))",
         {"a b", "x%", "n"}},
        {"ext like 'MD\\'", "((ext IS NOT NULL AND false))", {0}},
        {"ext like 'MD\\\\'", "((ext IS NOT NULL AND " SMALL("ext") "$1::text))", {"md\\\\"}},
        {"exists ext and exists `ext`", "(((ext IS NOT NULL) AND metadata ? $1::text))", {"ext"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer sql = {0};
        aoei_pg_params p = {.n = 0};
        assert_int_equal(where_sql(cases[i].where, &sql, &p, NULL), 0);
        assert_string_equal(sql.data, cases[i].sql);
        size_t n = 0;
        while (n < 4 && cases[i].parameter[n])
            n++;
        assert_int_equal(p.n, n);
        for (size_t k = 0; k < n; k++)
            assert_string_equal(p.data.data + p.at[k], cases[i].parameter[k]);
        aoei_buffer_free(&sql);
        aoei_pg_params_free(&p);
    }
}

static void text_never_becomes_sql(void **state) {
    (void)state;
    static const char evil[] = "`k'; DROP TABLE x; --\"` = 'v''); DROP TABLE x; --' or `k'; DROP` > 'DROP' "
                               "or ext like '%DROP%' or exists `$1 DROP` or name in ('DROP', '\\DROP')";
    aoei_buffer sql = {0};
    aoei_pg_params p = {.n = 0};
    assert_int_equal(where_sql(evil, &sql, &p, NULL), 0);
    assert_null(strstr(sql.data, "DROP"));
    assert_null(strstr(sql.data, ";"));
    assert_int_equal(p.n, 8);
    assert_string_equal(p.data.data + p.at[0], "k'; DROP TABLE x; --\"");
    assert_string_equal(p.data.data + p.at[1], "v'); DROP TABLE x; --");
    aoei_buffer_free(&sql);
    aoei_pg_params_free(&p);
}

static void reports_errors(void **state) {
    (void)state;
    aoei_buffer sql = {0};
    aoei_pg_params p = {.n = 0};
    aoe_error err = {0};
    assert_int_equal(where_sql("year >=", &sql, &p, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "condition: "));
    assert_int_equal(where_sql("year = 1 and modified > '2026'", &sql, &p, &err), AOE_EARG);
    assert_string_equal(err.message,
                        "condition: 'modified' at character 14 is not stored on a server; use name, ext or "
                        "metadata (in backticks if the key is modified)");
    /* patterns of paths: a server has only names */
    static const char *const path[] = {"src/", "!/home/a"};
    aoei_where *w;
    assert_int_equal(aoei_where_create(&w, NULL, path, 2, NULL), 0);
    assert_int_equal(aoei_pg_where(w, &sql, &p, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "not stored on a server; give patterns of the names"));
    aoei_where_free(w);
    aoei_buffer_clear(&sql);
    assert_int_equal(aoei_where_create(&w, NULL, path, 1, NULL), 0);
    assert_int_equal(aoei_pg_where(w, &sql, &p, NULL), 0);
    assert_non_null(strstr(sql.data, SMALL("name")));
    assert_string_equal(p.data.data + p.at[p.n - 1], "src/%");
    aoei_where_free(w);
    aoei_buffer_free(&sql);
    aoei_pg_params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_sql),
        cmocka_unit_test(text_never_becomes_sql),
        cmocka_unit_test(reports_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
