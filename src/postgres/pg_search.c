/* SPDX-License-Identifier: MIT
 * Connections for searching, and search. All statements of a search run in one read-only transaction, so that they see
 * the same passages.
 */
#include <string.h>

#include "aoe_postgres.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "index/model_check.h"
#include "index/search_check.h"
#include "postgres/pg_dense.h"
#include "postgres/pg_hits.h"
#include "postgres/pg_lexical.h"
#include "postgres/pg_where.h"

struct aoe_postgres {
    aoei_pg pg;
    aoei_pg_table table;
    aoei_index_settings settings;
    aoei_pg_lexer *lexer;   /* owned */
    aoe_embedder *embedder; /* borrowed; NULL: only lexical search */
};

/* State of a search. */
typedef struct search {
    aoei_pg_search q;
    const aoe_index_search_options *o;
    aoei_pg_candidates dense, lexical;
    aoei_pg_words words;
    float *vector;        /* [dims] embedding of the query, owned; NULL: no search by meaning */
    aoei_pg_found *found; /* owned */
    size_t n_found;
} search;

/* -------------------------------------------------------------- connection */

/* Checks that a write of the table has ended. */
static int warn_if_incomplete(const aoe_postgres *p, const aoei_log *log, aoe_error *err) {
    aoei_pg_state state;
    const int rc = aoei_pg_state_read(&p->pg, &p->table, &state, err);
    if (!rc && !state.is_complete)
        aoei_log_write(log, AOE_LOG_WARNING,
                       "the table %s is being written, or its last write was interrupted; passages may be missing",
                       p->table.plain);
    return rc;
}

/* Connects and reads the settings. */
static int connect(aoe_postgres *p, const char *url, const aoe_postgres_options *o, aoe_error *err) {
    const aoei_log log = {o->log, o->log_user};
    int exists = 0;
    int rc = aoei_pg_table_name(&p->table, o->table, err);
    if (!rc)
        rc = aoei_pg_open(&p->pg, url, err);
    if (!rc)
        rc = aoei_pg_find_vector(&p->pg, &p->table, 0, err);
    if (!rc)
        rc = aoei_pg_table_exists(&p->pg, &p->table, &exists, err);
    if (!rc && !exists)
        rc = aoei_fail(err, AOE_ENOENT, "%s: there is no table %s; write an index to it first", p->pg.place,
                       p->table.plain);
    if (!rc)
        rc = aoei_pg_settings_read(&p->pg, &p->table, &p->settings, err);
    if (!rc)
        rc = aoei_pg_lexer_create(&p->lexer, p->settings.stem, err);
    return rc ? rc : warn_if_incomplete(p, &log, err);
}

int aoe_postgres_open(aoe_postgres **p, const char *url, const aoe_postgres_options *o, aoe_error *err) {
    if (p)
        *p = NULL;
    AOEI_CHECK(err, p, url);
    AOEI_OPTIONS(aoe_postgres_options, o, err);
    aoe_postgres *new = aoei_calloc(1, sizeof *new);
    if (!new)
        return aoei_fail_nomem(err, sizeof *new);
    const int rc = connect(new, url, o, err);
    if (rc)
        aoe_postgres_close(new);
    else
        *p = new;
    return rc;
}

void aoe_postgres_close(aoe_postgres *p) {
    if (!p)
        return;
    aoei_pg_close(&p->pg);
    aoei_pg_lexer_free(p->lexer);
    aoei_index_settings_free(&p->settings);
    aoei_free(p);
}

const char *aoe_postgres_model(const aoe_postgres *p) {
    return p ? p->settings.model : NULL;
}

size_t aoe_postgres_dims(const aoe_postgres *p) {
    return p ? p->settings.dims : 0;
}

int aoe_postgres_set_embedder(aoe_postgres *p, aoe_embedder *embedder, const char *model, aoe_error *err) {
    AOEI_CHECK(err, p, embedder);
    const int rc = aoei_model_check(&p->settings, p->table.plain, embedder, model, err);
    if (!rc)
        p->embedder = embedder;
    return rc;
}

AOEI_DEFAULTS(aoe_postgres_options) {
    *o = (aoe_postgres_options){.struct_size = sizeof *o};
}

/* ------------------------------------------------------------------ search */

static int check_options(const aoe_postgres *p, const aoe_index_search_options *o, aoe_error *err) {
    const int rc = aoei_search_check_options(o, err);
    if (rc || o->mode != AOE_INDEX_DENSE || p->embedder)
        return rc;
    return aoei_fail(err, AOE_EARG,
                     "search by meaning needs an embedder of the model '%s'; call aoe_postgres_set_embedder",
                     p->settings.model);
}

/* Finds the best passages by meaning. */
static int search_dense(search *s, aoe_embedder *embedder, aoe_text query, aoe_error *err) {
    const size_t dims = s->q.settings->dims;
    s->vector = aoei_malloc_array(dims, sizeof *s->vector);
    if (!s->vector)
        return aoei_fail_nomem(err, dims * sizeof *s->vector);
    const int rc = aoe_embed_queries(embedder, &query, 1, s->vector, NULL, err);
    return rc ? rc : aoei_pg_dense(&s->q, s->vector, &s->dense, err);
}

/* Runs the search in a transaction. */
static int run(aoe_postgres *p, search *s, aoe_text query, aoe_index_hits *hits, aoe_error *err) {
    const aoe_index_mode mode = s->o->mode;
    int rc = aoei_pg_run(&p->pg, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    if (!rc && s->q.where)
        rc = aoei_pg_where_check(&p->pg, &p->table, s->q.where, err);
    if (!rc && mode != AOE_INDEX_LEXICAL && p->embedder)
        rc = search_dense(s, p->embedder, query, err);
    if (!rc && mode != AOE_INDEX_DENSE)
        rc = aoei_pg_lexical(&s->q, p->lexer, query, &s->words, &s->lexical, err);
    if (!rc)
        rc = aoei_pg_combine(s->o, &s->dense, &s->lexical, &s->words, &s->found, &s->n_found, err);
    const aoei_pg_words *words = mode == AOE_INDEX_DENSE ? NULL : &s->words;
    if (!rc)
        rc = aoei_pg_hits_load(hits, &s->q, s->found, s->n_found, s->vector, words, err);
    aoei_pg_rollback(&p->pg);
    return rc;
}

int aoe_postgres_search(aoe_postgres *p, aoe_text query, const aoe_index_search_options *o, aoe_index_hits *hits,
                        aoe_error *err) {
    AOEI_CHECK(err, p, hits);
    AOEI_OPTIONS(aoe_index_search_options, o, err);
    const aoe_index_hits empty = {.struct_size = sizeof empty};
    int rc = aoei_struct_check(hits, &aoei_layout_aoe_index_hits, __func__, err);
    if (rc)
        return rc;
    aoei_struct_write(hits, &empty, &aoei_layout_aoe_index_hits);
    rc = check_options(p, o, err);
    if (!rc)
        rc = aoei_search_check_query(query, 0, 1, err);
    if (rc)
        return rc;
    const size_t depth = o->k > AOEI_FUSION_DEPTH || o->mode != AOE_INDEX_HYBRID ? o->k : AOEI_FUSION_DEPTH;
    aoei_where *where;
    rc = aoei_where_create(&where, o->where, o->path, o->n_paths, err);
    if (rc)
        return rc;
    search s = {.q = {&p->pg, &p->table, &p->settings, where, depth}, .o = o};
    aoe_index_hits full = empty;
    rc = run(p, &s, query, &full, err);
    if (!rc)
        aoei_struct_write(hits, &full, &aoei_layout_aoe_index_hits);
    aoei_pg_candidates_free(&s.dense);
    aoei_pg_candidates_free(&s.lexical);
    aoei_pg_words_free(&s.words);
    aoei_free(s.vector);
    aoei_free(s.found);
    aoei_where_free(where);
    return rc;
}
