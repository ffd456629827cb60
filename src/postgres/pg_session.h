/* SPDX-License-Identifier: MIT
 * A connection to a PostgreSQL server: statements with bound parameters, COPY, and errors of the server as errors of
 * aoe. Messages name the server and the database, but never the password or the URL, because an URL may contain the
 * password. A connection is used by one thread at a time.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "postgres/libpq.h"

/* A connection. A zeroed struct is not open. */
typedef struct aoei_pg {
    aoei_pq_conn *conn; /* owned */
    char place[256];    /* "PostgreSQL at HOST:PORT, database NAME", for messages */
    char *password;     /* password in the URL, owned; NULL: none */
} aoei_pg;

/* Parameters of a statement, $1, $2, ... Texts are sent as text, and vectors and arrays in binary format. A zeroed
 * struct has none. After a failed addition, `failed` is 1, and aoei_pg_query fails. */
typedef struct aoei_pg_params {
    aoei_buffer data; /* the values, owned */
    size_t *at;       /* [n] offset of each value in `data`, owned */
    int *length;      /* [n] bytes of each value, owned */
    int *format;      /* [n] 0: text, 1: binary; owned */
    size_t n, capacity[3];
    int failed;
} aoei_pg_params;

/* Checks an URL without connecting. Errors: AOE_EARG. The message contains no part of the URL. */
int aoei_pg_check_url(const char *url, aoe_error *err);
/* Connects to the server. Errors: AOE_EARG (invalid URL), AOE_EIO (libpq is missing; no connection; wrong password),
 * AOE_ENOENT (no such database), AOE_ENOMEM. The caller calls aoei_pg_close, also after a failure. */
int aoei_pg_open(aoei_pg *s, const char *url, aoe_error *err);
void aoei_pg_close(aoei_pg *s); /* ends an open transaction without its changes */

/* Add a parameter and return its number, counted from 1. */
size_t aoei_pg_add_text(aoei_pg_params *p, const char *value, size_t len);
size_t aoei_pg_add_number(aoei_pg_params *p, int64_t value);
size_t aoei_pg_add_vector(aoei_pg_params *p, const float *x, size_t dims);    /* type vector */
size_t aoei_pg_add_doubles(aoei_pg_params *p, const double *x, size_t n);     /* type float8[] */
size_t aoei_pg_add_numbers(aoei_pg_params *p, const int64_t *x, size_t n);    /* type bigint[] */
size_t aoei_pg_add_texts(aoei_pg_params *p, const aoe_text *texts, size_t n); /* type text[] */
void aoei_pg_params_free(aoei_pg_params *p);

/* Runs statements without parameters and results. */
int aoei_pg_run(const aoei_pg *s, const char *sql, aoe_error *err);
/* Runs a statement. p: NULL: no parameters. The caller frees *r with aoei_pq.clear; r: NULL: the result is not used. */
int aoei_pg_query(const aoei_pg *s, const char *sql, const aoei_pg_params *p, aoei_pq_result **r, aoe_error *err);
/* Undoes the current transaction, if there is one. */
void aoei_pg_rollback(const aoei_pg *s);
/* Converts the error of a result to an error and frees the result. r: NULL: the connection has no result. Returns 0 if
 * the result has the status `want`, and does not free it. */
int aoei_pg_result(const aoei_pg *s, aoei_pq_result *r, int want, aoe_error *err);
/* Fails with the error of the connection. */
int aoei_pg_fail(const aoei_pg *s, aoe_error *err);

/* Return a value of a result. Texts are borrowed from the result. */
aoe_text aoei_pg_value(const aoei_pq_result *r, int row, int column);
int64_t aoei_pg_value_number(const aoei_pq_result *r, int row, int column);
/* A value of type float8 that the statement returns as AOEI_PG_DOUBLE(VALUE), which is exact and does not depend on the
 * locale. NaN for NULL. */
#define AOEI_PG_DOUBLE(value) "encode(float8send(" value "), 'hex')"
double aoei_pg_value_double(const aoei_pq_result *r, int row, int column);
