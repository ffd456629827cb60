/* SPDX-License-Identifier: MIT
 * Copies an index to a table. The writer reads the documents, positions and hashes of the table, goes through the
 * passages of the index in their order, and copies those whose hash differs. Passages are identified by document and
 * position, because two passages can have the same id. Each batch is one transaction, so a writer that was stopped at
 * any point has copied whole batches, and the next one finds them unchanged. Passages of the table that the index does
 * not contain are removed at the end.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "aoe_postgres.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "index/index.h"
#include "postgres/pg_indexes.h"
#include "postgres/pg_known.h"
#include "postgres/pg_rows.h"
#include "postgres/pg_table.h"

enum {
    DEFAULT_BATCH = 1000,   /* passages per transaction */
    BATCH_BYTES = 32 << 20, /* a batch also ends at this size */
    COPY_BYTES = 1 << 20,   /* bytes per call of PQputCopyData */
    REMOVE_BATCH = 10000,   /* passages that one statement removes */
    SQL_BYTES = 512,
    LOCK_TRIES = 25,      /* attempts to lock the table */
    LOCK_PAUSE_MS = 200,  /* milliseconds between two attempts */
    LOCK_CLASS = 0x616f65 /* first number of the advisory lock: "aoe" */
};

typedef struct writer {
    aoei_pg pg;
    aoei_pg_table table;
    const aoe_index *index; /* borrowed */
    const aoe_postgres_write_options *o;
    aoe_postgres_write_result *result;
    aoei_pg_known known;
    aoei_pg_lexer *lexer; /* owned */
    aoei_buffer rows;     /* data of COPY */
    size_t n_rows;        /* rows of the batch */
    int64_t *changed;     /* [n_changed] numbers of the rows of the table that the batch replaces, owned */
    size_t n_changed, capacity;
    char *name;      /* name of the last document, owned; NULL: none */
    size_t position; /* position of the next passage of this document */
    uint64_t total;  /* passages of the index */
} writer;

/* ---------------------------------------------------------------- progress */

static int report(const writer *w, aoe_postgres_phase phase, uint64_t done, uint64_t total) {
    const aoe_postgres_progress p = {.struct_size = sizeof p, .phase = phase, .done = done, .total = total};
    return w->o->progress ? w->o->progress(w->o->user, &p) : 0;
}

static int report_copying(const writer *w, aoe_error *err) {
    const aoe_postgres_write_result *r = w->result;
    if (!report(w, AOE_POSTGRES_COPYING, r->added + r->changed + r->unchanged, w->total))
        return 0;
    return aoei_fail(err, AOE_ECANCELLED, "%s: cancelled; the passages that were copied are kept", w->pg.place);
}

static int report_indexing(void *user, uint64_t done, uint64_t total) {
    return report(user, AOE_POSTGRES_INDEXING, done, total);
}

/* ----------------------------------------------------------------- batches */

/* Sends the buffered rows with COPY. A transaction is open. */
static int copy_rows(const writer *w, aoe_error *err) {
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "COPY %s (" AOEI_PG_COLUMNS ") FROM STDIN (FORMAT binary)", w->table.name);
    aoei_pq_result *r = aoei_pq.exec(w->pg.conn, sql);
    int rc = aoei_pg_result(&w->pg, r, AOEI_PQ_COPY_IN, err);
    if (rc)
        return rc;
    aoei_pq.clear(r);
    for (size_t at = 0; at < w->rows.len && !rc; at += COPY_BYTES) {
        const size_t left = w->rows.len - at;
        if (aoei_pq.putCopyData(w->pg.conn, w->rows.data + at, (int)(left < COPY_BYTES ? left : COPY_BYTES)) != 1)
            rc = aoei_pg_fail(&w->pg, err);
    }
    if (!rc && aoei_pq.putCopyEnd(w->pg.conn, NULL) != 1)
        rc = aoei_pg_fail(&w->pg, err);
    while ((r = aoei_pq.getResult(w->pg.conn))) {
        const int end = rc ? 0 : aoei_pg_result(&w->pg, r, AOEI_PQ_COMMAND_OK, err);
        if (!end)
            aoei_pq.clear(r);
        rc = rc ? rc : end;
    }
    return rc;
}

/* Removes rows of the table. */
static int remove_rows(const writer *w, const int64_t *numbers, size_t n, aoe_error *err) {
    char sql[SQL_BYTES];
    aoei_pg_params p = {.n = 0};
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE number = ANY ($1::bigint[])", w->table.name);
    aoei_pg_add_numbers(&p, numbers, n);
    const int rc = aoei_pg_query(&w->pg, sql, &p, NULL, err);
    aoei_pg_params_free(&p);
    return rc;
}

/* Writes the batch in one transaction. */
static int flush(writer *w, aoe_error *err) {
    if (w->n_rows == 0)
        return report_copying(w, err);
    aoei_pg_rows_end(&w->rows);
    int rc = w->rows.failed ? aoei_fail_nomem(err, w->rows.len) : aoei_pg_run(&w->pg, "BEGIN", err);
    if (!rc && w->n_changed)
        rc = remove_rows(w, w->changed, w->n_changed, err);
    if (!rc)
        rc = copy_rows(w, err);
    if (!rc)
        rc = aoei_pg_run(&w->pg, "COMMIT", err);
    if (rc) {
        aoei_pg_rollback(&w->pg);
        return rc;
    }
    w->result->added += w->n_rows - w->n_changed;
    w->result->changed += w->n_changed;
    w->n_rows = w->n_changed = 0;
    aoei_buffer_clear(&w->rows);
    return report_copying(w, err);
}

/* Sets the position of a passage in its document. */
static int find_position(writer *w, const char *name, aoei_pg_passage *p, aoe_error *err) {
    if (!w->name || strcmp(w->name, name) != 0) {
        aoei_free(w->name);
        w->position = 0;
        w->name = aoei_strdup(name);
        if (!w->name)
            return aoei_fail_nomem(err, strlen(name) + 1);
    }
    p->position = w->position++;
    return 0;
}

/* Adds a row to the batch. old: the row of the table that it replaces, or NULL. */
static int add_row(writer *w, const aoei_pg_passage *p, uint64_t hash, const aoei_pg_row_state *old, aoe_error *err) {
    if (w->n_rows == 0)
        aoei_pg_rows_begin(&w->rows);
    int rc = aoei_pg_row(&w->rows, p, hash, w->lexer, err);
    if (!rc && old) {
        if (aoei_grow((void **)&w->changed, &w->capacity, w->n_changed, sizeof *w->changed))
            rc = aoei_fail_nomem(err, (w->n_changed + 1) * sizeof *w->changed);
        else
            w->changed[w->n_changed++] = old->number;
    }
    if (rc)
        return rc;
    w->n_rows++;
    return w->n_rows >= w->o->batch_passages || w->rows.len >= BATCH_BYTES ? flush(w, err) : 0;
}

/* Compares a passage of the index with the table. */
static int write_passage(void *user, const aoe_index_hit *hit, const float *vector, aoe_error *err) {
    writer *w = user;
    aoei_pg_passage p = {.hit = hit, .vector = vector, .dims = w->index->settings.dims};
    int rc = find_position(w, hit->name, &p, err);
    if (rc)
        return rc;
    const uint64_t hash = aoei_pg_row_hash(&p);
    aoei_pg_row_state *old = aoei_pg_known_find(&w->known, hit->name, p.position);
    if (!old || old->hash != hash)
        rc = add_row(w, &p, hash, old, err);
    else if (++w->result->unchanged % 10000 == 0)
        rc = report_copying(w, err);
    if (old)
        old->is_seen = 1;
    return rc;
}

/* Removes the rows that the index does not contain. */
static int remove_unseen(writer *w, aoe_error *err) {
    int64_t *numbers = aoei_malloc_array(REMOVE_BATCH, sizeof *numbers);
    size_t n = 0;
    int rc = numbers ? 0 : aoei_fail_nomem(err, REMOVE_BATCH * sizeof *numbers);
    for (size_t i = 0; !rc && i < w->known.n; i++) {
        if (!w->known.row[i].is_seen)
            numbers[n++] = w->known.row[i].number;
        if (n && (n == REMOVE_BATCH || i + 1 == w->known.n)) {
            rc = remove_rows(w, numbers, n, err);
            w->result->removed += rc ? 0 : n;
            n = 0;
        }
    }
    aoei_free(numbers);
    return rc;
}

/* ------------------------------------------------------------------- table */

/* Locks the table, unless another connection has locked it. *locked: 1: it is locked until the connection ends. */
static int try_lock(const writer *w, int *locked, aoe_error *err) {
    aoei_pg_params p = {.n = 0};
    aoei_pq_result *r;
    aoei_pg_add_number(&p, LOCK_CLASS);
    aoei_pg_add_text(&p, w->table.name, strlen(w->table.name));
    const int rc = aoei_pg_query(&w->pg, "SELECT pg_try_advisory_lock($1::int, hashtext($2::text))::int", &p, &r, err);
    aoei_pg_params_free(&p);
    *locked = !rc && aoei_pg_value_number(r, 0, 0) == 1;
    if (!rc)
        aoei_pq.clear(r);
    return rc;
}

/* Locks the table against other writers. If a writer was killed, its server process still holds the lock until it
 * notices this, which takes up to a second. */
static int lock_table(const writer *w, aoe_error *err) {
    const struct timespec pause = {.tv_nsec = 1000000 * LOCK_PAUSE_MS};
    int locked = 0;
    int rc = aoei_pq.serverVersion(w->pg.conn) < 140000
                 ? 0
                 : aoei_pg_run(&w->pg, "SET client_connection_check_interval = 1000", err);
    for (int i = 0; !rc && !locked && i < LOCK_TRIES; i++) {
        if (i)
            nanosleep(&pause, NULL);
        rc = try_lock(w, &locked, err);
    }
    if (rc || locked)
        return rc;
    return aoei_fail(err, AOE_EEXIST, "%s: another program writes to the table %s; wait until it has finished",
                     w->pg.place, w->table.plain);
}

/* Checks that an existing table belongs to the index. *drop: 1: it does not, and may be replaced. */
static int check_table(const writer *w, int *drop, aoe_error *err) {
    const aoei_index_settings *now = &w->index->settings;
    aoei_index_settings then;
    int rc = aoei_pg_settings_read(&w->pg, &w->table, &then, err);
    *drop = rc == AOE_EUNSUPPORTED && w->o->replace;
    if (*drop)
        rc = 0;
    else if (!rc && (then.id != now->id || then.dims != now->dims)) {
        *drop = w->o->replace != 0;
        if (!*drop)
            rc = aoei_fail(err, AOE_EEXIST,
                           "%s: the table %s contains the passages of another index (created %s, model '%s', %zu "
                           "components; this one: created %s, model '%s', %zu components); use another table "
                           "(options.table), or replace it (options.replace)",
                           w->pg.place, w->table.plain, then.created, then.model, then.dims, now->created, now->model,
                           now->dims);
    }
    aoei_index_settings_free(&then);
    return rc;
}

/* Creates the table, or marks an existing table as being written. */
static int prepare_table(const writer *w, aoe_error *err) {
    int exists, drop = 0;
    int rc = aoei_pg_table_exists(&w->pg, &w->table, &exists, err);
    if (!rc && exists)
        rc = check_table(w, &drop, err);
    if (!rc && drop)
        rc = aoei_pg_table_drop(&w->pg, &w->table, err);
    if (rc)
        return rc;
    return exists && !drop ? aoei_pg_state_begin(&w->pg, &w->table, err)
                           : aoei_pg_table_create(&w->pg, &w->table, &w->index->settings, err);
}

/* ------------------------------------------------------------------- write */

/* Connects to the server. The caller closes s, also after a failure. */
static int connect(aoei_pg *s, aoei_pg_table *t, const char *url, const char *table, aoe_error *err) {
    int rc = aoei_pg_table_name(t, table, err);
    if (!rc)
        rc = aoei_pg_open(s, url, err);
    return rc ? rc : aoei_pg_find_vector(s, t, 1, err);
}

static int copy_index(writer *w, aoe_index *index, aoe_error *err) {
    aoe_index_stats stats = {.struct_size = sizeof stats};
    int rc = aoe_index_get_stats(index, &stats, err);
    w->total = stats.passages;
    if (!rc)
        rc = aoei_pg_lexer_create(&w->lexer, index->settings.stem, err);
    if (!rc)
        rc = aoei_pg_known_read(&w->known, &w->pg, &w->table, err);
    if (!rc)
        rc = aoe_index_each(index, write_passage, w, err);
    if (!rc)
        rc = flush(w, err);
    return rc ? rc : remove_unseen(w, err);
}

int aoe_postgres_write(const char *url, aoe_index *index, const aoe_postgres_write_options *o,
                       aoe_postgres_write_result *result, aoe_error *err) {
    AOEI_CHECK(err, url, index);
    AOEI_OPTIONS(aoe_postgres_write_options, o, err);
    AOEI_RESULT(aoe_postgres_write_result, result, err);
    if (o->batch_passages == 0)
        return aoei_fail(err, AOE_EARG, "options.batch_passages must be at least 1");
    writer w = {.index = index, .o = o, .result = result};
    int rc = connect(&w.pg, &w.table, url, o->table, err);
    if (!rc)
        rc = lock_table(&w, err);
    if (!rc)
        rc = prepare_table(&w, err);
    if (!rc)
        rc = copy_index(&w, index, err);
    const size_t dims = index->settings.dims;
    if (!rc)
        rc = aoei_pg_create_indexes(&w.pg, &w.table, dims, url, o->progress ? report_indexing : NULL, &w, err);
    if (!rc)
        rc = aoei_pg_state_end(&w.pg, &w.table, err);
    result->passages = result->added + result->changed + result->unchanged;
    result->vector_index = (aoe_postgres_index)aoei_pg_vector_index_of(&w.table, dims);
    aoei_pg_close(&w.pg);
    aoei_pg_known_free(&w.known);
    aoei_pg_lexer_free(w.lexer);
    aoei_buffer_free(&w.rows);
    aoei_free(w.changed);
    aoei_free(w.name);
    return rc;
}

int aoe_postgres_check(const char *url, const char *table, aoe_error *err) {
    aoei_pg s = {.conn = NULL};
    aoei_pg_table t;
    AOEI_CHECK(err, url);
    const int rc = connect(&s, &t, url, table, err);
    aoei_pg_close(&s);
    return rc;
}

AOEI_DEFAULTS(aoe_postgres_write_options) {
    *o = (aoe_postgres_write_options){.struct_size = sizeof *o, .batch_passages = DEFAULT_BATCH};
}
