/* SPDX-License-Identifier: MIT
 * The index of the vectors takes most of the time. While the server creates it, the first connection waits, and a
 * second one reads pg_stat_progress_create_index. If there is no second connection, no progress is reported.
 */
#include "postgres/pg_indexes.h"

#include <poll.h>
#include <stdio.h>

#include "base/error.h"

enum { SQL_BYTES = 1024, POLL_MS = 500 };

/* A statement that runs, and the connection that reads its progress. */
typedef struct observer {
    const aoei_pg *s;
    aoei_pg second;  /* not open: no progress */
    int64_t process; /* id of the server process of `s` */
    aoei_pg_progress_fn progress;
    void *user;
} observer;

/* Reads the progress of the server. Returns 0 if it is unknown. */
static int read_progress(observer *o, uint64_t *done, uint64_t *total) {
    aoei_pg_params p = {.n = 0};
    aoei_pq_result *r;
    aoei_pg_add_number(&p, o->process);
    const int rc =
        aoei_pg_query(&o->second,
                      "SELECT greatest(tuples_done, 0), greatest(tuples_total, 0), greatest(blocks_done, 0), "
                      "greatest(blocks_total, 0) FROM pg_stat_progress_create_index WHERE pid = $1::int",
                      &p, &r, NULL);
    aoei_pg_params_free(&p);
    if (rc)
        return 0;
    const int found = aoei_pq.ntuples(r) == 1;
    if (found) {
        const int column = aoei_pg_value_number(r, 0, 1) > 0 ? 0 : 2; /* tuples or blocks */
        *done = (uint64_t)aoei_pg_value_number(r, 0, column);
        *total = (uint64_t)aoei_pg_value_number(r, 0, column + 1);
    }
    aoei_pq.clear(r);
    return found;
}

static void cancel_statement(const aoei_pg *s) {
    char message[256];
    aoei_pq_cancel *cancel = aoei_pq.getCancel(s->conn);
    if (!cancel)
        return;
    (void)aoei_pq.cancel(cancel, message, sizeof message);
    aoei_pq.freeCancel(cancel);
}

/* Waits for the end of the statement. Returns 1 if the caller cancelled it. */
static int wait_for_end(observer *o) {
    int cancelled = 0;
    uint64_t done = 0, total = 0;
    while (aoei_pq.isBusy(o->s->conn)) {
        struct pollfd p = {.fd = aoei_pq.socket(o->s->conn), .events = POLLIN};
        if (p.fd < 0)
            break;
        const int ready = poll(&p, 1, POLL_MS);
        if (ready > 0 && !aoei_pq.consumeInput(o->s->conn))
            break;
        if (ready || !o->progress || cancelled)
            continue;
        if (o->second.conn)
            (void)read_progress(o, &done, &total);
        if (o->progress(o->user, done, total)) {
            cancelled = 1;
            cancel_statement(o->s);
        }
    }
    return cancelled;
}

/* Runs a statement and reports its progress. */
static int run(observer *o, const char *sql, aoe_error *err) {
    if (!aoei_pq.sendQuery(o->s->conn, sql))
        return aoei_pg_fail(o->s, err);
    const int cancelled = wait_for_end(o);
    int rc = 0;
    aoei_pq_result *r;
    while ((r = aoei_pq.getResult(o->s->conn))) {
        const int code = aoei_pg_result(o->s, r, AOEI_PQ_COMMAND_OK, err);
        if (!code)
            aoei_pq.clear(r);
        rc = code ? code : rc;
    }
    if (cancelled && rc)
        return aoei_fail(err, AOE_ECANCELLED, "%s: the creation of an index was cancelled", o->s->place);
    return rc;
}

/* Connects a second time and finds out the id of the first server process. */
static void start_observer(observer *o, const char *url) {
    aoei_pq_result *r;
    if (aoei_pg_query(o->s, "SELECT pg_backend_pid()", NULL, &r, NULL))
        return;
    o->process = aoei_pg_value_number(r, 0, 0);
    aoei_pq.clear(r);
    if (aoei_pg_open(&o->second, url, NULL))
        aoei_pg_close(&o->second);
}

/* Writes the statement that creates the index of the vectors. Returns 0 if there is none. */
static int vector_index_sql(const aoei_pg_table *t, size_t dims, char sql[SQL_BYTES]) {
    switch (aoei_pg_vector_index_of(t, dims)) {
    case AOEI_PG_HNSW:
        snprintf(sql, SQL_BYTES,
                 "CREATE INDEX IF NOT EXISTS \"%s_hnsw\" ON %s USING hnsw (embedding %s.vector_cosine_ops)", t->stem,
                 t->name, t->vector);
        return 1;
    case AOEI_PG_HNSW_HALVES:
        snprintf(sql, SQL_BYTES,
                 "CREATE INDEX IF NOT EXISTS \"%s_hnsw\" ON %s USING hnsw ((embedding::%s.halfvec(%zu)) "
                 "%s.halfvec_cosine_ops)",
                 t->stem, t->name, t->vector, dims, t->vector);
        return 1;
    default:
        return 0;
    }
}

int aoei_pg_create_indexes(const aoei_pg *s, const aoei_pg_table *t, size_t dims, const char *url,
                           aoei_pg_progress_fn progress, void *user, aoe_error *err) {
    observer o = {.s = s, .progress = progress, .user = user};
    char sql[SQL_BYTES];
    if (progress)
        start_observer(&o, url);
    /* a time limit of the server for usual statements must not end the creation of an index */
    int rc = aoei_pg_run(s, "SET statement_timeout = 0", err);
    snprintf(sql, sizeof sql, "CREATE INDEX IF NOT EXISTS \"%s_words\" ON %s USING gin (words)", t->stem, t->name);
    if (!rc)
        rc = run(&o, sql, err);
    snprintf(sql, sizeof sql, "CREATE INDEX IF NOT EXISTS \"%s_id\" ON %s (id)", t->stem, t->name);
    if (!rc)
        rc = run(&o, sql, err);
    snprintf(sql, sizeof sql, "CREATE INDEX IF NOT EXISTS \"%s_metadata\" ON %s USING gin (metadata jsonb_path_ops)",
             t->stem, t->name);
    if (!rc)
        rc = run(&o, sql, err);
    if (!rc && vector_index_sql(t, dims, sql))
        rc = run(&o, sql, err);
    snprintf(sql, sizeof sql, "ANALYZE %s", t->name);
    if (!rc)
        rc = run(&o, sql, err);
    aoei_pg_close(&o.second);
    return rc;
}
