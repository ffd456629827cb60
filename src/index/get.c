/* SPDX-License-Identifier: MIT
 * Reads passages of a document by its name and lines, or a passage by its id.
 */
#include <math.h>
#include <string.h>

#include "aoe_index.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/closest.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "base/text_store.h"
#include "index/hits.h"
#include "index/reader.h"
#include "index/where_sql.h"

/* A name is suggested among the first MAX_NAMES documents. */
enum { MAX_NAMES = 100000 };

/* Passages that were found. */
typedef struct list {
    aoei_found *found; /* [n], owned */
    size_t n, capacity;
} list;

static int add(list *l, int64_t passage, aoei_locator *locator, aoe_error *err) {
    if (aoei_grow((void **)&l->found, &l->capacity, l->n, sizeof *l->found))
        return aoei_fail_nomem(err, l->n * sizeof *l->found);
    aoei_found *x = &l->found[l->n++];
    *x = (aoei_found){.ranked = {.passage = passage, .score = NAN}, .cosine = NAN, .bm25 = NAN};
    return aoei_locate_passage(locator, passage, &x->ranked.place, err);
}

/* Adds the passages of a document that contain one of the lines from `line` on; line: 0: all passages. */
static int add_lines(list *l, aoei_locator *locator, int64_t document, size_t line, size_t count, aoe_error *err) {
    sqlite3_stmt *s;
    int code =
        aoei_db_prepare(locator->db,
                        "SELECT p.id, p.line, p.last_line FROM documents d JOIN passages p ON p.id >= "
                        "d.first_passage AND p.id < d.first_passage + d.n_passages WHERE d.id = ?1 ORDER BY p.id",
                        &s, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(s, 1, document);
    while ((code = aoei_db_step(locator->db, s, err)) > 0) {
        const size_t first = (size_t)sqlite3_column_int64(s, 1), last = (size_t)sqlite3_column_int64(s, 2);
        if (line && (last < line || (first > line && first - line >= count)))
            continue;
        code = add(l, sqlite3_column_int64(s, 0), locator, err);
        if (code) {
            aoei_db_reset(s);
            return code;
        }
    }
    return code;
}

/* Sets *document to the id of a document; 0 if there is none. */
static int find_document(aoei_db *d, const char *sql, const char *name, int64_t *document, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, sql, &s, err);
    *document = 0;
    if (code)
        return code;
    aoei_bind_string(s, 1, name);
    code = aoei_db_step(d, s, err);
    if (code > 0) {
        *document = sqlite3_column_int64(s, 0);
        aoei_db_reset(s);
    }
    return code < 0 ? code : 0;
}

static int is_id(const char *s) {
    return strlen(s) == AOEI_ID_DIGITS && strspn(s, "0123456789abcdef") == AOEI_ID_DIGITS;
}

/* Adds the passages with an id, in the order of the names of their documents. The ids are not stored, so the ids of all
 * passages are computed. */
static int add_id(list *l, aoei_locator *locator, const char *id, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(
        locator->db, "SELECT name, first_passage, n_passages FROM documents WHERE n_passages > 0 ORDER BY name", &s,
        err);
    if (code)
        return code;
    while ((code = aoei_db_step(locator->db, s, err)) > 0) {
        const char *name = aoei_column_text(s, 0).data;
        const sqlite3_int64 first = sqlite3_column_int64(s, 1), n = sqlite3_column_int64(s, 2);
        if (first < 0 || first > INT64_MAX - (int64_t)UINT32_MAX || n > (int64_t)UINT32_MAX) {
            aoei_db_reset(s);
            return aoei_db_damaged(locator->db, "a document has passages that do not exist", err);
        }
        for (sqlite3_int64 i = 0; i < n; i++) {
            char found[AOEI_ID_DIGITS + 1];
            aoei_passage_id(name, (size_t)i, found);
            if (strcmp(found, id) == 0 && (code = add(l, first + i, locator, err)) != 0) {
                aoei_db_reset(s);
                return code;
            }
        }
    }
    return code;
}

/* Names of documents. */
typedef struct names {
    aoei_chunks text;
    const char **name, **last; /* [n] names, and their parts after the last slash; the arrays are owned */
    size_t n, capacity;
} names;

/* Adds a name. Returns 0, or -1 if out of memory. */
static int add_name(names *x, aoe_text name) {
    size_t capacity = x->capacity;
    char *copy = aoei_chunks_take(&x->text, name.len + 1);
    if (!copy || aoei_grow((void **)&x->name, &capacity, x->n, sizeof *x->name) ||
        aoei_grow((void **)&x->last, &x->capacity, x->n, sizeof *x->last))
        return -1;
    memcpy(copy, name.data, name.len);
    copy[name.len] = 0;
    x->name[x->n] = copy;
    x->last[x->n++] = aoei_path_name(copy);
    return 0;
}

/* Appends a suggestion for a name that no document has, if there is a similar one: the name may be mistyped, or it may
 * be a path whose last part is similar. */
static void suggest(aoei_buffer *advice, aoei_db *d, const char *name) {
    names x = {0};
    sqlite3_stmt *s;
    const char *found = NULL;
    if (!*name || is_id(name) || aoei_db_prepare(d, "SELECT name FROM documents ORDER BY name", &s, NULL))
        return;
    while (x.n < MAX_NAMES && aoei_db_step(d, s, NULL) > 0)
        if (add_name(&x, aoei_column_text(s, 0)))
            break;
    aoei_db_reset(s);
    if (x.n)
        found = aoei_closest(name, x.name, x.n);
    const char *last = x.n && !found && *aoei_path_name(name) ? aoei_closest(aoei_path_name(name), x.last, x.n) : NULL;
    for (size_t i = 0; last && !found; i++)
        found = x.last[i] == last ? x.name[i] : NULL;
    if (found)
        aoei_buffer_printf(advice, "; did you mean \"%s\"?", found);
    aoei_free(x.name);
    aoei_free(x.last);
    aoei_chunks_free(&x.text);
}

/* Fails because there is no document or passage with this name or id. The names are only read for a message. */
static int fail_unknown(aoei_db *d, const char *name, aoe_error *err) {
    aoei_buffer advice = {0};
    if (err)
        suggest(&advice, d, name);
    const int code = aoei_fail(err, AOE_ENOENT, "%s: the index contains no document or passage with this name or id%s",
                               name, advice.len && !advice.failed ? advice.data : "");
    aoei_buffer_free(&advice);
    return code;
}

/* Finds the passages. */
static int find(list *l, aoei_locator *locator, const char *name, size_t line, size_t count, aoe_error *err) {
    static const char by_name[] = "SELECT id FROM documents WHERE name = ?1",
                      by_path[] = "SELECT d.id FROM documents d " AOEI_SQL_FILES " WHERE (" AOEI_SQL_PATH
                                  ") = ?1 ORDER BY d.name LIMIT 1";
    int64_t document;
    int code = find_document(locator->db, by_name, name, &document, err);
    if (!code && !document && name[0] == '/')
        code = find_document(locator->db, by_path, name, &document, err);
    if (code)
        return code;
    if (document)
        code = add_lines(l, locator, document, line, count, err);
    else if (is_id(name))
        code = add_id(l, locator, name, err);
    if (code || l->n)
        return code;
    if (document && line)
        return aoei_fail(err, AOE_ENOENT, "%s: no passage of the index contains line %zu; the document may be shorter",
                         name, line);
    if (document)
        return 0;
    return fail_unknown(locator->db, name, err);
}

/* The arguments of aoe_index_get. */
typedef struct request {
    const char *name;
    size_t line, count;
    aoe_index_hits *hits;
} request;

/* An aoei_read_fn. */
static int read_hits(void *user, aoei_reader *r, aoe_error *err) {
    const request *q = user;
    list l = {0};
    aoei_locator locator;
    aoe_index_hits_free(q->hits);
    aoei_locator_init(&locator, &r->db);
    int code = find(&l, &locator, q->name, q->line, q->count, err);
    if (!code)
        code = aoei_hits_load(q->hits, &r->db, l.found, l.n, NULL, err);
    aoei_free(l.found);
    aoei_locator_destroy(&locator);
    return code;
}

int aoe_index_get(aoe_index *index, const char *name_or_id, size_t line, size_t count, aoe_index_hits *hits,
                  aoe_error *err) {
    AOEI_CHECK(err, index, name_or_id, hits);
    AOEI_RESULT(aoe_index_hits, hits, err);
    request q = {name_or_id, line, count ? count : 1, hits};
    const int code = aoei_reader_run(index, 0, read_hits, &q, err);
    if (code)
        aoe_index_hits_free(hits);
    return code;
}
