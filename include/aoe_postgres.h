/* SPDX-License-Identifier: MIT
 *
 * aoe_postgres.h: copies an index (aoe_index.h) to a PostgreSQL server with the extension pgvector, and searches it
 * there. docs/postgres.md describes the tables and how other programs query them.
 *
 * The client library of PostgreSQL, libpq.so.5, is loaded when the first function of this header needs it. A server is
 * given by an URL, postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE. The options are those of libpq, such as
 * sslmode=verify-full. Parts that are missing have the values of the environment variables PGHOST, PGPORT, PGUSER ...
 * The password is read from the URL, the environment variable PGPASSWORD or the file ~/.pgpass, in this order; messages
 * never contain it.
 *
 * This example copies an index and searches the copy:
 *
 *     aoe_postgres *p;
 *     aoe_index_hits hits = {.struct_size = sizeof hits};
 *     const char *url = "postgresql://me@db.example.org/notes";
 *     if (aoe_postgres_write(url, index, NULL, NULL, &err) || aoe_postgres_open(&p, url, NULL, &err) ||
 *         aoe_postgres_set_embedder(p, embedder, NULL, &err) ||
 *         aoe_postgres_search(p, aoe_text_of("renew the certificate"), NULL, &hits, &err))
 *         ...
 *     aoe_index_hits_free(&hits);
 *     aoe_postgres_close(p);
 */
#ifndef AOE_POSTGRES_H
#define AOE_POSTGRES_H

#include "aoe_index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------- write */

typedef enum aoe_postgres_phase {
    AOE_POSTGRES_COPYING, /* the passages are compared with those of the server, and the changed ones are copied */
    AOE_POSTGRES_INDEXING /* the server creates the indexes of the table, after the first copy */
} aoe_postgres_phase;

typedef struct aoe_postgres_progress {
    size_t struct_size; /* set by the library */
    aoe_postgres_phase phase;
    uint64_t done, total; /* COPYING: passages; INDEXING: units of work of the server, 0 if it reports none */
} aoe_postgres_progress;

typedef struct aoe_postgres_write_options {
    size_t struct_size;    /* set by aoe_postgres_write_options_defaults */
    const char *table;     /* TABLE or SCHEMA.TABLE; NULL (default): aoe_passages. The schema must exist */
    int replace;           /* 1: a table with the passages of another index, or with the layout of another version of
                              aoe, is dropped first; default 0: an error */
    size_t batch_passages; /* passages per transaction; default 1000 */
    int (*progress)(void *user, const aoe_postgres_progress *p); /* NULL: none. Returns 0 to continue; otherwise the
                                                                    function stops with AOE_ECANCELLED, and the
                                                                    transactions so far are kept */
    void *user;
} aoe_postgres_write_options;

AOE_OPTIONS(aoe_postgres_write_options);

/* How the server finds similar vectors. */
typedef enum aoe_postgres_index {
    AOE_POSTGRES_NO_INDEX,   /* every search reads all vectors, because pgvector cannot index this number of dims */
    AOE_POSTGRES_HNSW,       /* HNSW index on the vectors; at most 2000 dims */
    AOE_POSTGRES_HNSW_HALVES /* HNSW index on vectors with 16 bits per component; at most 4000 dims, pgvector 0.7 */
} aoe_postgres_index;

typedef struct aoe_postgres_write_result {
    size_t struct_size; /* set by the caller */
    size_t passages;    /* passages in the table */
    size_t added, changed, removed, unchanged;
    aoe_postgres_index vector_index;
} aoe_postgres_write_result;

/* Makes the table on the server equal to the last commit of the index: creates the tables and the extension pgvector if
 * they do not exist, copies passages that are new or changed, and removes those that the index no longer has. Each
 * batch is one transaction. If the function stops early, the next call continues where it stopped. One program at a
 * time can write to a table; meanwhile, searches find both old and new passages. Errors: AOE_EARG (invalid URL or
 * name), AOE_EUNSUPPORTED (no pgvector; more than 16000 dims; the table has the layout of another version of aoe),
 * AOE_EEXIST (another program writes to the table; or the table contains the passages of another index), AOE_EFORMAT
 * (the table was not created by aoe), AOE_ENOENT (no such database), AOE_ENOSPC, AOE_ECANCELLED, AOE_EIO. */
AOE_API int aoe_postgres_write(const char *url, aoe_index *index, const aoe_postgres_write_options *AOE_NULLABLE o,
                               aoe_postgres_write_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* Checks, before a long computation, that aoe_postgres_write can begin: connects to the server and creates the
 * extension pgvector if it does not exist. table: see aoe_postgres_write_options. Errors: see aoe_postgres_write.
 */
AOE_API int aoe_postgres_check(const char *url, const char *AOE_NULLABLE table, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- search */

/* A connection to a table of passages. One thread at a time may use it. */
typedef struct aoe_postgres aoe_postgres;

typedef struct aoe_postgres_options {
    size_t struct_size; /* set by aoe_postgres_options_defaults */
    const char *table;  /* see aoe_postgres_write_options */
    aoe_log_fn log;     /* receives warnings, for example that the table is incomplete; NULL (default): none */
    void *log_user;     /* argument of log */
} aoe_postgres_options;

AOE_OPTIONS(aoe_postgres_options);

/* Connects to a server. Until aoe_postgres_set_embedder, only AOE_INDEX_LEXICAL is possible. Errors: see
 * aoe_postgres_write; AOE_ENOENT (no such table). */
AOE_API int aoe_postgres_open(aoe_postgres **p, const char *url, const aoe_postgres_options *AOE_NULLABLE o,
                              aoe_error *AOE_NULLABLE err);
AOE_API void aoe_postgres_close(aoe_postgres *AOE_NULLABLE p);
/* Name of the model that computed the vectors, "" if unknown; owned by p. */
AOE_API const char *aoe_postgres_model(const aoe_postgres *p);
/* Number of components of the vectors. Returns 0 if p is NULL. */
AOE_API size_t aoe_postgres_dims(const aoe_postgres *p);
/* Sets the embedder of queries, which p borrows. model: its name, for messages. Errors: AOE_EMISMATCH (not the model of
 * the table, or another prompt, pooling or number of components). */
AOE_API int aoe_postgres_set_embedder(aoe_postgres *p, aoe_embedder *embedder, const char *AOE_NULLABLE model,
                                      aoe_error *AOE_NULLABLE err);
/* Searches as aoe_index_search does, with these differences: The dense half uses the HNSW index, which is not exact,
 * unless there is a condition. hit->path is NULL, and conditions cannot contain the keys path and modified. Passages
 * whose vector is 0 are found only by their words. Errors: see aoe_index_search; AOE_EIO (the connection was lost). */
AOE_API int aoe_postgres_search(aoe_postgres *p, aoe_text query, const aoe_index_search_options *AOE_NULLABLE o,
                                aoe_index_hits *hits, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
