/* SPDX-License-Identifier: MIT
 * Connections and results are small allocated objects; their state is that of the whole process.
 */
#include "fake_pq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MAX_STATEMENTS = 64, MAX_PARAMETERS = 32, FATAL_ERROR = 7 };

struct pg_conn {
    int is_open;
};

struct pg_result {
    int status;
    const fake_pq_answer *answer; /* NULL: no rows */
};

struct pg_cancel {
    int unused;
};

typedef struct statement {
    char *sql;
    size_t n;
    char *value[MAX_PARAMETERS];
    int length[MAX_PARAMETERS];
} statement;

static const fake_pq_answer *answers;
static statement sent[MAX_STATEMENTS];
static size_t n_sent;
static char text[65536];
static char *copied;
static size_t n_copied;
static int live, is_broken, pending, copying_out;
static const char *refused_state, *refused_message, *break_pattern;
static int refused_password;
static char error[1024];

static void forget(void) {
    for (size_t i = 0; i < n_sent; i++) {
        free(sent[i].sql);
        for (size_t k = 0; k < sent[i].n; k++)
            free(sent[i].value[k]);
    }
    free(copied);
    memset(sent, 0, sizeof sent);
    copied = NULL;
    n_copied = n_sent = 0;
}

static int contains(const char *sql, const char *pattern) {
    return strstr(sql, pattern) != NULL;
}

/* ------------------------------------------------------------- connection */

static aoei_pq_option options[] = {{.keyword = "password"}, {.keyword = "connect_timeout"}, {.keyword = NULL}};
static char password[64];

static aoei_pq_option *conninfo_parse(const char *url, char **message) {
    const char *user = strstr(url, "//"), *at = strchr(url, '@'), *colon = user ? strchr(user, ':') : NULL;
    *message = NULL;
    if (contains(url, "%%"))
        return NULL;
    options[0].val = NULL;
    if (colon && at && colon < at) {
        snprintf(password, sizeof password, "%.*s", (int)(at - colon - 1), colon + 1);
        options[0].val = password;
    }
    return options;
}

static void conninfo_free(aoei_pq_option *o) {
    assert_ptr_equal(o, options);
}

static aoei_pq_conn *connect_start(const char *const *keywords, const char *const *values, int expand) {
    assert_string_equal(keywords[1], "dbname");
    assert_non_null(values[1]);
    assert_int_equal(expand, 1);
    aoei_pq_conn *c = calloc(1, sizeof *c);
    assert_non_null(c);
    live++;
    c->is_open = 1;
    is_broken = 0;
    return c;
}

static int connect_poll(aoei_pq_conn *c) {
    assert_int_equal(c->is_open, 1);
    if (!refused_state)
        return AOEI_PQ_POLLING_OK;
    is_broken = 1;
    snprintf(error, sizeof error, *refused_state ? "FATAL:  %s: %s\nLOCATION:  x\n" : "%s%s\n", refused_state,
             refused_message);
    return AOEI_PQ_POLLING_FAILED;
}

static int no_socket(const aoei_pq_conn *c) {
    (void)c;
    return -1;
}

static int status_of(const aoei_pq_conn *c) {
    (void)c;
    return is_broken ? AOEI_PQ_CONNECTION_BAD : AOEI_PQ_CONNECTION_OK;
}

static char *error_message(const aoei_pq_conn *c) {
    (void)c;
    return error;
}

static int set_verbosity(aoei_pq_conn *c, int verbosity) {
    (void)c;
    return verbosity;
}

static void *set_processor(aoei_pq_conn *c, void (*fn)(void *, const char *), void *user) {
    (void)c;
    assert_non_null(fn);
    return user;
}

static int needs_password(const aoei_pq_conn *c) {
    (void)c;
    return refused_password;
}

static char *host_of(const aoei_pq_conn *c) {
    (void)c;
    return "db.example.org";
}

static char *port_of(const aoei_pq_conn *c) {
    (void)c;
    return "5432";
}

static char *database_of(const aoei_pq_conn *c) {
    (void)c;
    return "notes";
}

static char *user_of(const aoei_pq_conn *c) {
    (void)c;
    return "reader";
}

static char *password_of(const aoei_pq_conn *c) {
    (void)c;
    return password;
}

static int version_of(const aoei_pq_conn *c) {
    (void)c;
    return 150018;
}

static void finish(aoei_pq_conn *c) {
    free(c);
    live--;
}

/* ------------------------------------------------------------- statements */

static aoei_pq_result *answer(const char *sql) {
    aoei_pq_result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    live++;
    if (break_pattern && contains(sql, break_pattern)) {
        is_broken = 1;
        snprintf(error, sizeof error, "server closed the connection unexpectedly\n");
        r->status = FATAL_ERROR;
        return r;
    }
    for (const fake_pq_answer *a = answers; a && a->pattern; a++)
        if (contains(sql, a->pattern)) {
            r->answer = a;
            r->status = a->state ? FATAL_ERROR : contains(sql, "TO STDOUT") ? AOEI_PQ_COPY_OUT : AOEI_PQ_TUPLES_OK;
            return r;
        }
    r->status = contains(sql, "FROM STDIN")      ? AOEI_PQ_COPY_IN
                : contains(sql, "TO STDOUT")     ? AOEI_PQ_COPY_OUT
                : strncmp(sql, "SELECT", 6) == 0 ? AOEI_PQ_TUPLES_OK
                                                 : AOEI_PQ_COMMAND_OK;
    return r;
}

static aoei_pq_result *exec_params(aoei_pq_conn *c, const char *sql, int n, const unsigned *types,
                                   const char *const *values, const int *lengths, const int *formats, int format) {
    assert_int_equal(c->is_open, 1);
    assert_null(types);
    assert_int_equal(format, 0);
    assert_in_range(n, 0, MAX_PARAMETERS);
    assert_true(n_sent < MAX_STATEMENTS);
    statement *s = &sent[n_sent++];
    s->sql = strdup(sql);
    s->n = (size_t)n;
    for (int i = 0; i < n; i++) {
        assert_in_range(formats[i], 0, 1);
        s->length[i] = lengths[i];
        s->value[i] = malloc((size_t)lengths[i] + 1);
        memcpy(s->value[i], values[i], (size_t)lengths[i]);
        s->value[i][lengths[i]] = 0;
    }
    aoei_pq_result *r = answer(sql);
    copying_out = r->status == AOEI_PQ_COPY_OUT;
    return r;
}

static aoei_pq_result *exec(aoei_pq_conn *c, const char *sql) {
    return exec_params(c, sql, 0, NULL, NULL, NULL, NULL, 0);
}

static int send_query(aoei_pq_conn *c, const char *sql) {
    pending = 1;
    aoei_pq_result *r = exec(c, sql);
    live--;
    free(r);
    return 1;
}

static int succeed(aoei_pq_conn *c) {
    return c->is_open;
}

static int is_busy(aoei_pq_conn *c) {
    (void)c;
    return 0;
}

/* Returns the result of a statement sent with send_query, or of the end of COPY. */
static aoei_pq_result *get_result(aoei_pq_conn *c) {
    (void)c;
    if (!pending)
        return NULL;
    pending = 0;
    aoei_pq_result *r = calloc(1, sizeof *r);
    live++;
    r->status = AOEI_PQ_COMMAND_OK;
    return r;
}

static int result_status(const aoei_pq_result *r) {
    return r->status;
}

static char *error_field(const aoei_pq_result *r, int field) {
    if (!r->answer || !r->answer->state)
        return NULL;
    return (char *)(field == AOEI_PQ_DIAG_SQLSTATE ? r->answer->state : r->answer->message);
}

static int count_rows(const aoei_pq_result *r) {
    return r->answer ? (int)r->answer->rows : 0;
}

static const char *value_at(const aoei_pq_result *r, int row, int column) {
    assert_non_null(r->answer);
    assert_in_range(row, 0, r->answer->rows - 1);
    assert_in_range(column, 0, r->answer->columns - 1);
    return r->answer->value[(size_t)row * r->answer->columns + (size_t)column];
}

static char *get_value(const aoei_pq_result *r, int row, int column) {
    const char *s = value_at(r, row, column);
    return (char *)(s ? s : "");
}

static int get_length(const aoei_pq_result *r, int row, int column) {
    return (int)strlen(get_value(r, row, column));
}

static int get_is_null(const aoei_pq_result *r, int row, int column) {
    return value_at(r, row, column) == NULL;
}

static void clear(aoei_pq_result *r) {
    if (!r)
        return;
    live--;
    free(r);
}

static int put_copy(aoei_pq_conn *c, const char *data, int bytes) {
    (void)c;
    copied = realloc(copied, n_copied + (size_t)bytes + 1);
    assert_non_null(copied);
    memcpy(copied + n_copied, data, (size_t)bytes);
    n_copied += (size_t)bytes;
    return 1;
}

static int end_copy(aoei_pq_conn *c, const char *message) {
    (void)c;
    assert_null(message);
    pending = 1;
    return 1;
}

/* Returns the rows of the answer as lines with tabs. */
static int get_copy(aoei_pq_conn *c, char **line, int async) {
    static size_t row;
    (void)c;
    assert_int_equal(async, 0);
    const fake_pq_answer *a = answers;
    while (a && a->pattern && !contains(sent[n_sent - 1].sql, a->pattern))
        a++;
    if (!copying_out || !a || !a->pattern || row == a->rows) {
        row = 0;
        pending = 1;
        return -1;
    }
    *line = malloc(256);
    size_t n = 0;
    for (size_t i = 0; i < a->columns; i++)
        n += (size_t)snprintf(*line + n, 256 - n, "%s%c", a->value[row * a->columns + i],
                              i + 1 < a->columns ? '\t' : '\n');
    row++;
    return (int)n;
}

static aoei_pq_cancel *get_cancel(aoei_pq_conn *c) {
    (void)c;
    return NULL;
}

static int cancel(aoei_pq_cancel *c, char *message, int bytes) {
    (void)c;
    (void)message;
    return bytes > 0;
}

static void free_cancel(aoei_pq_cancel *c) {
    (void)c;
}

/* ----------------------------------------------------------------- public */

void fake_pq_start(const fake_pq_answer *a) {
    const aoei_pq_functions f = {
        conninfo_parse, conninfo_free, free,          connect_start,  connect_poll, no_socket,   status_of,
        error_message,  set_verbosity, set_processor, needs_password, host_of,      port_of,     database_of,
        user_of,        password_of,   version_of,    finish,         exec,         exec_params, send_query,
        succeed,        is_busy,       get_result,    result_status,  error_field,  count_rows,  get_value,
        get_length,     get_is_null,   clear,         put_copy,       end_copy,     get_copy,    get_cancel,
        cancel,         free_cancel,
    };
    forget();
    answers = a;
    refused_state = break_pattern = NULL;
    refused_password = pending = is_broken = 0;
    *password = *error = 0;
    aoei_pq_replace(a ? &f : NULL);
}

void fake_pq_refuse(const char *state, const char *message, int password_is_missing) {
    refused_state = state;
    refused_message = message;
    refused_password = password_is_missing;
}

void fake_pq_break_at(const char *pattern) {
    break_pattern = pattern;
}

const char *fake_pq_statements(void) {
    *text = 0;
    for (size_t i = 0; i < n_sent; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", sent[i].sql);
    return text;
}

const char *fake_pq_parameter(const char *pattern, size_t i, int *length) {
    for (size_t k = n_sent; k-- > 0;)
        if (contains(sent[k].sql, pattern) && i < sent[k].n) {
            *length = sent[k].length[i];
            return sent[k].value[i];
        }
    return NULL;
}

const char *fake_pq_copied(size_t *length) {
    *length = n_copied;
    return copied;
}

int fake_pq_live(void) {
    return live;
}
