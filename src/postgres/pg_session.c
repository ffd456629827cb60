/* SPDX-License-Identifier: MIT
 * Connecting, errors, statements and values. A connection is created without blocking, because only then libpq reports
 * the SQLSTATE of a failure, which does not depend on the language of the server. Notices of the server are discarded;
 * libpq would print them.
 */
#include "postgres/pg_session.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "postgres/pg_binary.h"

enum { CONNECT_SECONDS = 10 }; /* unless the URL or PGCONNECT_TIMEOUT sets connect_timeout */

/* --------------------------------------------------------------- messages */

/* Copies the message of the server or of libpq to out[size], as one line without the SQLSTATE, which is copied to
 * state[6], or "" if there is none. */
static void read_message(const char *message, char *out, size_t size, char state[6]) {
    state[0] = 0;
    for (const char *p = strstr(message, ":  "); p; p = strstr(p + 1, ":  ")) {
        const size_t n = strspn(p + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        if (n == 5 && p[8] == ':') {
            memcpy(state, p + 3, 5);
            state[5] = 0;
            message = p + 9;
            break;
        }
    }
    message += strspn(message, " \t\r\n");
    const size_t len = strcspn(message, "\r\n");
    snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), message);
}

/* Replaces each occurrence of the password in text[size] by "****", unless the password is a part of usual words. */
static void redact(char *text, size_t size, const char *password) {
    const size_t n = password ? strlen(password) : 0;
    if (n < 3)
        return;
    for (char *p = strstr(text, password); p; p = strstr(p, password)) {
        char rest[1024];
        snprintf(rest, sizeof rest, "****%s", p + n);
        snprintf(p, size - (size_t)(p - text), "%s", rest);
        p += 4;
    }
}

static void redact_all(const aoei_pg *s, char *text, size_t size) {
    redact(text, size, s->password);
    redact(text, size, aoei_pq.pass(s->conn));
}

static int is_state(const char *state, const char *prefix) {
    return strncmp(state, prefix, strlen(prefix)) == 0;
}

/* -------------------------------------------------------------- connecting */

static int is_url(const char *url) {
    return strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0;
}

/* Parses the URL. The caller frees *options with aoei_pq.conninfoFree. */
static int parse_url(aoei_pq_option **options, const char *url, aoe_error *err) {
    *options = NULL;
    if (!is_url(url))
        return aoei_fail(err, AOE_EARG,
                         "the address of a PostgreSQL server must have the form postgresql://USER@HOST:PORT/DATABASE");
    const int rc = aoei_pq_start(err);
    if (rc)
        return rc;
    char *message = NULL;
    *options = aoei_pq.conninfoParse(url, &message);
    if (message) /* it may contain the password */
        aoei_pq.freemem(message);
    if (*options)
        return 0;
    return aoei_fail(err, AOE_EARG,
                     "the URL of the PostgreSQL server is invalid; write postgresql://USER@HOST:PORT/DATABASE?OPTION="
                     "VALUE, with other characters than letters and digits of each part as %%XX");
}

int aoei_pg_check_url(const char *url, aoe_error *err) {
    aoei_pq_option *options;
    const int rc = parse_url(&options, url, err);
    if (options)
        aoei_pq.conninfoFree(options);
    return rc;
}

static const char *option(const aoei_pq_option *options, const char *keyword) {
    for (; options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val;
    return NULL;
}

static double connect_seconds(const aoei_pq_option *options) {
    const char *text = option(options, "connect_timeout");
    if (!text)
        text = getenv("PGCONNECT_TIMEOUT");
    const long seconds = text ? strtol(text, NULL, 10) : CONNECT_SECONDS;
    return seconds > 0 ? (double)seconds : 1e9;
}

/* Waits until the connection is made or has failed. Returns 0 after a timeout. */
static int wait_for_connection(const aoei_pg *s, double seconds) {
    const double end = aoei_now() + seconds;
    int state = AOEI_PQ_POLLING_WRITING;
    while (state != AOEI_PQ_POLLING_OK && state != AOEI_PQ_POLLING_FAILED) {
        struct pollfd p = {.fd = aoei_pq.socket(s->conn),
                           .events = state == AOEI_PQ_POLLING_READING ? POLLIN : POLLOUT};
        const double left = end - aoei_now();
        if (left <= 0)
            return 0;
        const int ready = p.fd < 0 ? 1 : poll(&p, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);
        if (ready > 0)
            state = aoei_pq.connectPoll(s->conn);
        else if (ready < 0 && errno != EINTR)
            return 0;
    }
    return 1;
}

static void set_place(aoei_pg *s) {
    const char *host = aoei_pq.host(s->conn), *port = aoei_pq.port(s->conn), *db = aoei_pq.db(s->conn);
    snprintf(s->place, sizeof s->place, "PostgreSQL at %s%s%s, database %s", host && *host ? host : "the local socket",
             port && *port ? ":" : "", port ? port : "", db ? db : "");
    redact_all(s, s->place, sizeof s->place);
}

static int fail_to_connect(const aoei_pg *s, int in_time, aoe_error *err) {
    char text[512], state[6];
    const char *user = aoei_pq.user(s->conn);
    if (!in_time)
        return aoei_fail(err, AOE_EIO, "%s does not answer; check host and port, or set connect_timeout in the URL",
                         s->place);
    read_message(aoei_pq.errorMessage(s->conn), text, sizeof text, state);
    redact_all(s, text, sizeof text);
    if (aoei_pq.connectionNeedsPassword(s->conn))
        return aoei_fail(err, AOE_EIO,
                         "%s asks for the password of user %s; set PGPASSWORD or add a line to ~/.pgpass (mode 0600)",
                         s->place, user);
    if (is_state(state, "28P01"))
        return aoei_fail(err, AOE_EIO, "%s rejects the password of user %s; correct PGPASSWORD or ~/.pgpass", s->place,
                         user);
    if (is_state(state, "3D000"))
        return aoei_fail(err, AOE_ENOENT, "%s: there is no such database; create it (createdb NAME) or correct the URL",
                         s->place);
    return aoei_fail(err, AOE_EIO,
                     "%s: no connection: %s; check user, host and port and the TLS options of the URL, and that the "
                     "server runs",
                     s->place, text);
}

static void discard_notice(void *user, const char *message) {
    (void)user;
    (void)message;
}

int aoei_pg_open(aoei_pg *s, const char *url, aoe_error *err) {
    *s = (aoei_pg){.conn = NULL};
    aoei_pq_option *options;
    const int rc = parse_url(&options, url, err);
    if (rc)
        return rc;
    const double seconds = connect_seconds(options);
    const char *password = option(options, "password");
    if (password)
        s->password = aoei_strdup(password);
    const int no_memory = password && !s->password;
    aoei_pq.conninfoFree(options);
    if (no_memory)
        return aoei_fail_nomem(err, 0);
    const char *const keywords[] = {"fallback_application_name", "dbname", "client_encoding", NULL};
    const char *const values[] = {"aoe", url, "UTF8", NULL};
    s->conn = aoei_pq.connectStartParams(keywords, values, 1);
    if (!s->conn)
        return aoei_fail_nomem(err, 0);
    aoei_pq.setErrorVerbosity(s->conn, AOEI_PQ_ERRORS_VERBOSE);
    aoei_pq.setNoticeProcessor(s->conn, discard_notice, NULL);
    const int in_time = aoei_pq.status(s->conn) == AOEI_PQ_CONNECTION_BAD || wait_for_connection(s, seconds);
    set_place(s);
    if (!in_time || aoei_pq.status(s->conn) != AOEI_PQ_CONNECTION_OK)
        return fail_to_connect(s, in_time, err);
    return 0;
}

void aoei_pg_close(aoei_pg *s) {
    if (s->conn)
        aoei_pq.finish(s->conn);
    aoei_free(s->password);
    *s = (aoei_pg){.conn = NULL};
}

/* -------------------------------------------------------------- statements */

int aoei_pg_fail(const aoei_pg *s, aoe_error *err) {
    char text[512], state[6];
    read_message(aoei_pq.errorMessage(s->conn), text, sizeof text, state);
    redact_all(s, text, sizeof text);
    if (aoei_pq.status(s->conn) != AOEI_PQ_CONNECTION_OK)
        return aoei_fail(err, AOE_EIO, "%s: the connection was lost: %s; run the command again", s->place,
                         *text ? text : "no reason is known");
    return aoei_fail(err, AOE_EIO, "%s: %s; run the command again", s->place, *text ? text : "unknown error");
}

/* Fails with the error of a result. */
static int fail_result(const aoei_pg *s, const aoei_pq_result *r, aoe_error *err) {
    const char *state = aoei_pq.resultErrorField(r, AOEI_PQ_DIAG_SQLSTATE);
    const char *message = aoei_pq.resultErrorField(r, AOEI_PQ_DIAG_MESSAGE);
    if (!state || !message || aoei_pq.status(s->conn) != AOEI_PQ_CONNECTION_OK)
        return aoei_pg_fail(s, err);
    char text[512];
    snprintf(text, sizeof text, "%s", message);
    redact_all(s, text, sizeof text);
    const char *user = aoei_pq.user(s->conn);
    if (is_state(state, "25006"))
        return aoei_fail(err, AOE_EIO, "%s is read-only: %s; connect to the primary server, or as another user",
                         s->place, text);
    if (is_state(state, "42501"))
        return aoei_fail(err, AOE_EIO, "%s: user %s lacks a right: %s; grant it, or use another user or schema",
                         s->place, user, text);
    if (is_state(state, "53100"))
        return aoei_fail(err, AOE_ENOSPC,
                         "%s: the disk of the server is full: %s; free space and run the command again", s->place,
                         text);
    if (is_state(state, "42P01") || is_state(state, "3F000"))
        return aoei_fail(err, AOE_ENOENT, "%s: %s; check the name of the table", s->place, text);
    if (is_state(state, "57014"))
        return aoei_fail(err, AOE_ECANCELLED, "%s: %s; raise statement_timeout of the server", s->place, text);
    return aoei_fail(err, AOE_EIO, "%s: %s (SQLSTATE %s); see the log of the server", s->place, text, state);
}

int aoei_pg_result(const aoei_pg *s, aoei_pq_result *r, int want, aoe_error *err) {
    if (!r)
        return aoei_pg_fail(s, err);
    if (aoei_pq.resultStatus(r) == want)
        return 0;
    const int rc = fail_result(s, r, err);
    aoei_pq.clear(r);
    return rc;
}

int aoei_pg_run(const aoei_pg *s, const char *sql, aoe_error *err) {
    aoei_pq_result *r = aoei_pq.exec(s->conn, sql);
    const int is_rows = r && aoei_pq.resultStatus(r) == AOEI_PQ_TUPLES_OK;
    const int rc = aoei_pg_result(s, r, is_rows ? AOEI_PQ_TUPLES_OK : AOEI_PQ_COMMAND_OK, err);
    if (!rc)
        aoei_pq.clear(r);
    return rc;
}

/* Fills value[n] with pointers to the values. */
static void value_pointers(const aoei_pg_params *p, const char **value) {
    for (size_t i = 0; i < p->n; i++)
        value[i] = p->data.data + p->at[i];
}

int aoei_pg_query(const aoei_pg *s, const char *sql, const aoei_pg_params *p, aoei_pq_result **r, aoe_error *err) {
    const size_t n = p ? p->n : 0;
    if (r)
        *r = NULL;
    if (n > 65535)
        return aoei_fail(err, AOE_EARG, "the condition has %zu values; at most 65535 are possible", n);
    const char **value = aoei_malloc_array(n + 1, sizeof *value);
    if (!value || (p && (p->failed || p->data.failed))) {
        aoei_free(value);
        return aoei_fail_nomem(err, 0);
    }
    if (p)
        value_pointers(p, value);
    aoei_pq_result *result =
        aoei_pq.execParams(s->conn, sql, (int)n, NULL, n ? value : NULL, n ? p->length : NULL, n ? p->format : NULL, 0);
    aoei_free(value);
    const int is_command = result && aoei_pq.resultStatus(result) == AOEI_PQ_COMMAND_OK;
    const int rc = aoei_pg_result(s, result, is_command ? AOEI_PQ_COMMAND_OK : AOEI_PQ_TUPLES_OK, err);
    if (rc)
        return rc;
    if (r)
        *r = result;
    else
        aoei_pq.clear(result);
    return 0;
}

void aoei_pg_rollback(const aoei_pg *s) {
    if (s->conn)
        aoei_pq.clear(aoei_pq.exec(s->conn, "ROLLBACK"));
}

/* -------------------------------------------------------------- parameters */

/* Begins a parameter. Returns its number, or 0 if memory runs out. */
static size_t begin(aoei_pg_params *p, int format) {
    if (p->failed || aoei_grow((void **)&p->at, &p->capacity[0], p->n, sizeof *p->at) ||
        aoei_grow((void **)&p->length, &p->capacity[1], p->n, sizeof *p->length) ||
        aoei_grow((void **)&p->format, &p->capacity[2], p->n, sizeof *p->format)) {
        p->failed = 1;
        return 0;
    }
    p->at[p->n] = p->data.len;
    p->format[p->n] = format;
    return p->n + 1;
}

/* Ends the parameter that was begun last. The NUL after each value ends values in text format. */
static size_t end(aoei_pg_params *p, size_t number) {
    if (!number)
        return 0;
    const size_t len = p->data.len - p->at[p->n];
    aoei_buffer_putc(&p->data, 0);
    if (p->data.failed || len > INT_MAX) {
        p->failed = 1;
        return 0;
    }
    p->length[p->n] = (int)len;
    return ++p->n;
}

size_t aoei_pg_add_text(aoei_pg_params *p, const char *value, size_t len) {
    const size_t number = begin(p, 0);
    if (number)
        aoei_buffer_append(&p->data, value, len);
    return end(p, number);
}

size_t aoei_pg_add_number(aoei_pg_params *p, int64_t value) {
    const size_t number = begin(p, 0);
    if (number)
        aoei_buffer_printf(&p->data, "%lld", (long long)value);
    return end(p, number);
}

size_t aoei_pg_add_vector(aoei_pg_params *p, const float *x, size_t dims) {
    const size_t number = begin(p, 1);
    if (number)
        aoei_pg_put_vector(&p->data, x, dims);
    return end(p, number);
}

size_t aoei_pg_add_doubles(aoei_pg_params *p, const double *x, size_t n) {
    const size_t number = begin(p, 1);
    if (number)
        aoei_pg_put_array(&p->data, AOEI_PG_FLOAT8, n);
    for (size_t i = 0; number && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        aoei_pg_put32(&p->data, 8);
        aoei_pg_put64(&p->data, bits);
    }
    return end(p, number);
}

size_t aoei_pg_add_numbers(aoei_pg_params *p, const int64_t *x, size_t n) {
    const size_t number = begin(p, 1);
    if (number)
        aoei_pg_put_array(&p->data, AOEI_PG_INT8, n);
    for (size_t i = 0; number && i < n; i++) {
        aoei_pg_put32(&p->data, 8);
        aoei_pg_put64(&p->data, (uint64_t)x[i]);
    }
    return end(p, number);
}

size_t aoei_pg_add_texts(aoei_pg_params *p, const aoe_text *texts, size_t n) {
    const size_t number = begin(p, 1);
    if (number)
        aoei_pg_put_array(&p->data, AOEI_PG_TEXT, n);
    for (size_t i = 0; number && i < n; i++) {
        aoei_pg_put32(&p->data, (uint32_t)texts[i].len);
        aoei_buffer_append(&p->data, texts[i].data, texts[i].len);
    }
    return end(p, number);
}

void aoei_pg_params_free(aoei_pg_params *p) {
    aoei_buffer_free(&p->data);
    aoei_free(p->at);
    aoei_free(p->length);
    aoei_free(p->format);
    *p = (aoei_pg_params){.n = 0};
}

/* ------------------------------------------------------------------ values */

aoe_text aoei_pg_value(const aoei_pq_result *r, int row, int column) {
    return (aoe_text){aoei_pq.getvalue(r, row, column), (size_t)aoei_pq.getlength(r, row, column)};
}

int64_t aoei_pg_value_number(const aoei_pq_result *r, int row, int column) {
    return strtoll(aoei_pq.getvalue(r, row, column), NULL, 10);
}

double aoei_pg_value_double(const aoei_pq_result *r, int row, int column) {
    const char *text = aoei_pq.getvalue(r, row, column); /* 16 hexadecimal digits */
    if (aoei_pq.getisnull(r, row, column) || aoei_pq.getlength(r, row, column) != 16)
        return (double)NAN;
    const uint64_t bits = strtoull(text, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
