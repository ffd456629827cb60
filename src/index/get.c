/* SPDX-License-Identifier: MIT
 * Reads passages of a document by its name and lines, or a passage by its id.
 */
#include <math.h>
#include <string.h>

#include "aoe_index.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "index/hits.h"
#include "index/reader.h"
#include "index/where_sql.h"

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

/* Adds the passage with an id. The ids are not stored, so the ids of all passages are computed. */
static int add_id(list *l, aoei_locator *locator, const char *id, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(locator->db,
                               "SELECT name, first_passage, n_passages FROM documents WHERE n_passages > 0", &s, err);
    if (code)
        return code;
    while ((code = aoei_db_step(locator->db, s, err)) > 0) {
        const char *name = aoei_column_text(s, 0).data;
        const sqlite3_int64 n = sqlite3_column_int64(s, 2);
        for (sqlite3_int64 i = 0; i < n; i++) {
            char found[AOEI_ID_DIGITS + 1];
            aoei_passage_id(name, (size_t)i, found);
            if (strcmp(found, id) != 0)
                continue;
            const int64_t passage = sqlite3_column_int64(s, 1) + i;
            aoei_db_reset(s);
            return add(l, passage, locator, err);
        }
    }
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
    return aoei_fail(err, AOE_ENOENT, "%s: the index contains no document or passage with this name or id", name);
}

int aoe_index_get(aoe_index *index, const char *name_or_id, size_t line, size_t count, aoe_index_hits *hits,
                  aoe_error *err) {
    AOEI_CHECK(err, index, name_or_id, hits);
    AOEI_RESULT(aoe_index_hits, hits, err);
    aoei_reader *r;
    int code = aoei_reader_begin(&r, index, err);
    if (code)
        return code;
    list l = {0};
    aoei_locator locator;
    aoei_locator_init(&locator, &r->db);
    code = find(&l, &locator, name_or_id, line, count ? count : 1, err);
    if (!code)
        code = aoei_hits_load(hits, &r->db, l.found, l.n, NULL, err);
    aoei_free(l.found);
    aoei_locator_destroy(&locator);
    aoei_reader_end(r);
    return code;
}
