/* SPDX-License-Identifier: MIT
 * Tests connections, their errors, and values of results without a server (support/fake_pq.h). No message may contain
 * the password.
 */
#include <math.h>
#include <string.h>

#include "../support/fake_pq.h"
#include "../support/support.h"
#include "postgres/pg_session.h"

#define URL "postgresql://reader:s3cret-word@db.example.org/notes"

static const fake_pq_answer none[] = {{.pattern = NULL}};

static void open_or_fail(aoei_pg *s) {
    aoe_error err = {0};
    assert_int_equal(aoei_pg_open(s, URL, &err), 0);
}

static void checks_urls(void **state) {
    (void)state;
    aoe_error err = {0};
    fake_pq_start(none);
    assert_int_equal(aoei_pg_check_url("postgres://host/db", &err), 0);
    assert_int_equal(aoei_pg_check_url("host=db.example.org password=s3cret-word", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "postgresql://USER@HOST:PORT/DATABASE"));
    assert_null(strstr(err.message, "s3cret-word"));
    assert_int_equal(aoei_pg_check_url("postgresql://me:s3cret-word%%@host/db", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "invalid"));
    assert_null(strstr(err.message, "s3cret-word"));
}

static void reports_refused_connections(void **state) {
    (void)state;
    static const struct {
        const char *state, *message;
        int needs_password, code;
        const char *want;
    } cases[] = {
        {"28P01", "password authentication failed for user \"reader\"", 0, AOE_EIO,
         "PostgreSQL at db.example.org:5432, database notes rejects the password of user reader; correct PGPASSWORD or "
         "~/.pgpass"},
        {"28000", "x", 1, AOE_EIO,
         "PostgreSQL at db.example.org:5432, database notes asks for the password of user reader; set PGPASSWORD or "
         "add a line to ~/.pgpass (mode 0600)"},
        {"3D000", "database \"notes\" does not exist", 0, AOE_ENOENT,
         "PostgreSQL at db.example.org:5432, database notes: there is no such database; create it (createdb NAME) or "
         "correct the URL"},
        {"53300", "sorry, too many clients already", 0, AOE_EIO,
         "PostgreSQL at db.example.org:5432, database notes: no connection: sorry, too many clients already; check "
         "user, host and port and the TLS options of the URL, and that the server runs"},
        {"", "no route for s3cret-word\nsecond line", 0, AOE_EIO,
         "PostgreSQL at db.example.org:5432, database notes: no connection: no route for ****; check user, "
         "host and port and the TLS options of the URL, and that the server runs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_pg s;
        aoe_error err = {0};
        fake_pq_start(none);
        fake_pq_refuse(cases[i].state, cases[i].message, cases[i].needs_password);
        assert_int_equal(aoei_pg_open(&s, URL, &err), cases[i].code);
        assert_string_equal(err.message, cases[i].want);
        aoei_pg_close(&s);
        assert_int_equal(fake_pq_live(), 0);
    }
}

static void reports_failed_statements(void **state) {
    (void)state;
    static const struct {
        const char *state, *message;
        int code;
        const char *want;
    } cases[] = {
        {"25006", "cannot execute INSERT in a read-only transaction", AOE_EIO, "is read-only"},
        {"42501", "permission denied for schema public", AOE_EIO, "user reader lacks a right: permission denied"},
        {"53100", "could not extend file", AOE_ENOSPC, "the disk of the server is full"},
        {"42P01", "relation \"x\" does not exist", AOE_ENOENT, "check the name of the table"},
        {"57014", "canceling statement due to statement timeout", AOE_ECANCELLED, "raise statement_timeout"},
        {"XX000", "value s3cret-word", AOE_EIO, "value **** (SQLSTATE XX000); see the log of the server"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fake_pq_answer answers[] = {{.pattern = "INSERT", .state = cases[i].state, .message = cases[i].message},
                                          {.pattern = NULL}};
        aoei_pg s;
        aoe_error err = {0};
        fake_pq_start(answers);
        open_or_fail(&s);
        assert_int_equal(aoei_pg_run(&s, "INSERT", &err), cases[i].code);
        assert_non_null(strstr(err.message, cases[i].want));
        assert_non_null(strstr(err.message, "db.example.org:5432"));
        aoei_pg_close(&s);
        assert_int_equal(fake_pq_live(), 0);
    }
}

static void reports_lost_connections(void **state) {
    (void)state;
    aoei_pg s;
    aoe_error err = {0};
    fake_pq_start(none);
    open_or_fail(&s);
    fake_pq_break_at("SELECT 2");
    assert_int_equal(aoei_pg_run(&s, "SELECT 1", &err), 0);
    assert_int_equal(aoei_pg_run(&s, "SELECT 2", &err), AOE_EIO);
    assert_non_null(strstr(err.message, "the connection was lost: server closed the connection unexpectedly; run"));
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

static void sends_parameters(void **state) {
    (void)state;
    aoei_pg s;
    aoei_pg_params p = {.n = 0};
    int n;
    const float x[] = {1.0f, -2.0f};
    const double d[] = {0.5};
    const aoe_text texts[] = {{"ab", 2}, {"", 0}};
    const int64_t numbers[] = {-2, 259};
    fake_pq_start(none);
    open_or_fail(&s);
    assert_int_equal(aoei_pg_add_text(&p, "it's; DROP", 10), 1);
    assert_int_equal(aoei_pg_add_number(&p, -7), 2);
    assert_int_equal(aoei_pg_add_vector(&p, x, 2), 3);
    assert_int_equal(aoei_pg_add_doubles(&p, d, 1), 4);
    assert_int_equal(aoei_pg_add_texts(&p, texts, 2), 5);
    assert_int_equal(aoei_pg_add_texts(&p, texts, 0), 6);
    assert_int_equal(aoei_pg_add_numbers(&p, numbers, 2), 7);
    assert_int_equal(aoei_pg_query(&s, "SELECT $1", &p, NULL, NULL), 0);
    assert_string_equal(fake_pq_parameter("SELECT", 0, &n), "it's; DROP");
    assert_string_equal(fake_pq_parameter("SELECT", 1, &n), "-7");
    assert_memory_equal(fake_pq_parameter("SELECT", 2, &n), "\0\2\0\0\x3f\x80\0\0\xc0\0\0\0", 12);
    assert_int_equal(n, 12);
    assert_memory_equal(fake_pq_parameter("SELECT", 3, &n),
                        "\0\0\0\1\0\0\0\0\0\0\2\xbd\0\0\0\1\0\0\0\1\0\0\0\x08\x3f\xe0\0\0\0\0\0\0", 32);
    assert_int_equal(n, 32);
    assert_memory_equal(fake_pq_parameter("SELECT", 4, &n),
                        "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\2ab\0\0\0\0", 30);
    assert_int_equal(n, 30);
    assert_memory_equal(fake_pq_parameter("SELECT", 5, &n), "\0\0\0\0\0\0\0\0\0\0\0\x19", 12);
    assert_memory_equal(fake_pq_parameter("SELECT", 6, &n),
                        "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xfe"
                        "\0\0\0\x08\0\0\0\0\0\0\1\3",
                        44);
    assert_int_equal(n, 44);
    aoei_pg_params_free(&p);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

static void reads_values(void **state) {
    (void)state;
    static const char *const value[] = {"text", "-12", "3fe0000000000000", NULL, "3fe0"};
    static const fake_pq_answer answers[] = {{.pattern = "SELECT", .columns = 5, .rows = 1, .value = value},
                                             {.pattern = NULL}};
    aoei_pg s;
    aoei_pq_result *r;
    fake_pq_start(answers);
    open_or_fail(&s);
    assert_int_equal(aoei_pg_query(&s, "SELECT", NULL, &r, NULL), 0);
    assert_string_equal(aoei_pg_value(r, 0, 0).data, "text");
    assert_int_equal(aoei_pg_value(r, 0, 0).len, 4);
    assert_int_equal(aoei_pg_value_number(r, 0, 1), -12);
    assert_true(aoei_pg_value_double(r, 0, 2) == 0.5);
    assert_true(isnan(aoei_pg_value_double(r, 0, 3)));
    assert_true(isnan(aoei_pg_value_double(r, 0, 4)));
    aoei_pq.clear(r);
    aoei_pg_close(&s);
    assert_int_equal(fake_pq_live(), 0);
}

/* A connection that nobody accepts, with the real libpq. */
static void real_library(void **state) {
    (void)state;
    aoei_pg s;
    aoe_error err = {0};
    fake_pq_start(NULL);
    assert_int_equal(aoei_pg_open(&s, "postgresql://me:s3cret-word@127.0.0.1:1/notes", &err), AOE_EIO);
    assert_null(strstr(err.message, "s3cret-word"));
    assert_true(strstr(err.message, "libpq5") || strstr(err.message, "PostgreSQL at 127.0.0.1:1, database notes"));
    aoei_pg_close(&s);
    assert_true(aoei_pg_check_url("postgresql://me:s3cret-%zz@host/db", &err) < 0);
    assert_null(strstr(err.message, "s3cret"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_urls),      cmocka_unit_test(reports_refused_connections),
        cmocka_unit_test(sends_parameters), cmocka_unit_test(reports_failed_statements),
        cmocka_unit_test(reads_values),     cmocka_unit_test(reports_lost_connections),
        cmocka_unit_test(real_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
