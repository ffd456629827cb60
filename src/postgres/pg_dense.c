/* SPDX-License-Identifier: MIT
 * The inner statement has the only form in which pgvector uses its index: ORDER BY distance LIMIT number. The outer one
 * orders equal distances by name and position. With 16-bit vectors in the index, the inner statement finds more
 * passages, which the outer one orders by their exact distances. The distance of a vector that is 0 is not a number;
 * such a passage is not found.
 */
#include "postgres/pg_dense.h"

#include <stdio.h>

#include "base/error.h"
#include "postgres/pg_where.h"

int aoei_pg_dense_uses_index(const aoei_pg_search *q) {
    return !q->where && q->k <= AOEI_PG_EF_MOST &&
           aoei_pg_vector_index_of(q->table, q->settings->dims) != AOEI_PG_NO_INDEX;
}

/* Returns the number of vectors that HNSW keeps during a search for k passages. */
static size_t search_width(size_t k) {
    return 2 * k < AOEI_PG_EF_LEAST ? AOEI_PG_EF_LEAST : 2 * k < AOEI_PG_EF_MOST ? 2 * k : AOEI_PG_EF_MOST;
}

/* Chooses how the server searches, for the current transaction. */
static int choose_plan(const aoei_pg_search *q, aoe_error *err) {
    char sql[64];
    if (aoei_pg_dense_uses_index(q))
        snprintf(sql, sizeof sql, "SET LOCAL hnsw.ef_search = %zu", search_width(q->k));
    else
        snprintf(sql, sizeof sql, "SET LOCAL enable_indexscan = off");
    return aoei_pg_run(q->pg, sql, err);
}

/* Writes the statement. vector, k, width: numbers of parameters. */
static int write_sql(const aoei_pg_search *q, aoei_buffer *sql, aoei_pg_params *p, size_t vector, size_t k,
                     size_t width, aoe_error *err) {
    const aoei_pg_table *t = q->table;
    const int uses_index = aoei_pg_dense_uses_index(q);
    const int halves = aoei_pg_vector_index_of(t, q->settings->dims) == AOEI_PG_HNSW_HALVES;
    aoei_buffer_printf(
        sql,
        "SELECT id, name, position, " AOEI_PG_DOUBLE("1 - d") ", number, 0 FROM (SELECT id, name, position, number, "
                                                              "embedding OPERATOR(%s.<=>) $%zu::%s.vector AS d FROM %s",
        t->vector, vector, t->vector, t->name);
    if (q->where) {
        aoei_buffer_printf(sql, " WHERE ");
        const int rc = aoei_pg_where(q->where, sql, p, err);
        if (rc)
            return rc;
    }
    if (uses_index && halves)
        aoei_buffer_printf(
            sql,
            " ORDER BY embedding::%s.halfvec(%zu) OPERATOR(%s.<=>) $%zu::%s.vector::%s.halfvec(%zu) LIMIT "
            "$%zu::bigint",
            t->vector, q->settings->dims, t->vector, vector, t->vector, t->vector, q->settings->dims, width);
    else if (uses_index)
        aoei_buffer_printf(sql, " ORDER BY embedding OPERATOR(%s.<=>) $%zu::%s.vector LIMIT $%zu::bigint", t->vector,
                           vector, t->vector, width);
    aoei_buffer_printf(sql, ") AS x WHERE d <> 'NaN'::float8 ORDER BY d, name, position LIMIT $%zu::bigint", k);
    return sql->failed ? aoei_fail_nomem(err, sql->len) : 0;
}

int aoei_pg_dense(const aoei_pg_search *q, const float *vector, aoei_pg_candidates *list, aoe_error *err) {
    aoei_buffer sql = {0};
    aoei_pg_params p = {.n = 0};
    aoei_pq_result *r = NULL;
    const size_t x = aoei_pg_add_vector(&p, vector, q->settings->dims);
    const size_t k = aoei_pg_add_number(&p, (int64_t)q->k);
    const size_t width = aoei_pg_dense_uses_index(q) ? aoei_pg_add_number(&p, (int64_t)search_width(q->k)) : 0;
    int rc = choose_plan(q, err);
    if (!rc)
        rc = write_sql(q, &sql, &p, x, k, width, err);
    if (!rc)
        rc = aoei_pg_query(q->pg, sql.data, &p, &r, err);
    if (!rc)
        rc = aoei_pg_candidates_read(list, r, err);
    aoei_pg_params_free(&p);
    aoei_buffer_free(&sql);
    return rc;
}
