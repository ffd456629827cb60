/* SPDX-License-Identifier: MIT
 * Only the passages that a search returns are read: one statement for a passage and one for its metadata. All texts of
 * a result are in the chunks of one object, aoe_index_hits.memory.
 */
#include "index/hits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text_store.h"
#include "index/where_sql.h"

void aoei_passage_id(const char *name, size_t position, char id[AOEI_ID_DIGITS + 1]) {
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%zu", position);
    const uint64_t h = aoei_hash(aoei_hash(AOEI_HASH_START, name, strlen(name) + 1), digits, (size_t)n);
    (void)snprintf(id, AOEI_ID_DIGITS + 1, "%012llx", (unsigned long long)((h ^ h >> 48) & UINT64_C(0xffffffffffff)));
}

char *aoei_hits_copy(aoei_hits_memory *m, const char *s, size_t len) {
    char *out = aoei_chunks_take(&m->chunks, len + 1);
    if (!out)
        return NULL;
    if (len)
        memcpy(out, s, len);
    out[len] = 0;
    return out;
}

static char *copy_column(aoei_hits_memory *m, sqlite3_stmt *s, int i) {
    const aoe_text text = aoei_column_text(s, i);
    return aoei_hits_copy(m, text.data, text.len);
}

static const char passage_sql[] =
    "SELECT p.heading, p.text, p.line, p.last_line, " AOEI_SQL_PATH
    " FROM passages p JOIN documents d ON d.id = p.document " AOEI_SQL_FILES " WHERE p.id = ?1";
static const char fields_sql[] = "SELECT key, coalesce(text, value) FROM fields WHERE document = ?1 ORDER BY rowid";

/* Reads the passage of a hit. */
static int read_passage(aoei_hits_memory *m, aoei_db *d, int64_t passage, aoe_index_hit *hit, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, passage_sql, &s, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(s, 1, passage);
    code = aoei_db_step(d, s, err);
    if (code <= 0)
        return code ? code : aoei_db_damaged(d, "a passage is missing", err);
    const aoe_text text = aoei_column_text(s, 1);
    hit->heading = copy_column(m, s, 0);
    hit->text = (aoe_text){aoei_hits_copy(m, text.data, text.len), text.len};
    hit->line = (size_t)sqlite3_column_int64(s, 2);
    hit->last_line = (size_t)sqlite3_column_int64(s, 3);
    const int has_path = sqlite3_column_type(s, 4) != SQLITE_NULL;
    hit->path = has_path ? copy_column(m, s, 4) : NULL;
    aoei_db_reset(s);
    return hit->heading && hit->text.data && (hit->path || !has_path) ? 0 : aoei_fail_nomem(err, text.len);
}

/* Appends the metadata of a document. */
static int read_fields(aoei_hits_memory *m, aoei_db *d, int64_t document, size_t *n, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, fields_sql, &s, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(s, 1, document);
    *n = 0;
    while ((code = aoei_db_step(d, s, err)) > 0) {
        const aoe_text value = aoei_column_text(s, 1);
        const char *key = copy_column(m, s, 0), *data = aoei_hits_copy(m, value.data, value.len);
        if (!key || !data || aoei_grow((void **)&m->field, &m->capacity, m->n_fields, sizeof *m->field)) {
            aoei_db_reset(s);
            return aoei_fail_nomem(err, value.len);
        }
        m->field[m->n_fields++] = (aoe_index_field){key, {data, value.len}};
        (*n)++;
    }
    return code;
}

static int read_hit(aoei_hits_memory *m, aoei_db *d, const aoei_found *x, aoe_index_hit *hit, aoe_error *err) {
    const aoei_located *place = x->ranked.place;
    char id[AOEI_ID_DIGITS + 1];
    aoei_passage_id(place->name, (size_t)(x->ranked.passage - place->first_passage), id);
    *hit = (aoe_index_hit){.struct_size = sizeof *hit,
                           .id = aoei_hits_copy(m, id, AOEI_ID_DIGITS),
                           .name = aoei_hits_copy(m, place->name, strlen(place->name)),
                           .score = x->ranked.score,
                           .dense_rank = x->dense_rank,
                           .lexical_rank = x->lexical_rank,
                           .cosine = x->cosine,
                           .bm25 = x->bm25};
    if (!hit->id || !hit->name)
        return aoei_fail_nomem(err, strlen(place->name));
    const int code = read_passage(m, d, x->ranked.passage, hit, err);
    return code ? code : read_fields(m, d, place->document, &hit->n_fields, err);
}

int aoei_hits_terms(aoei_hits_memory *m, const aoei_words *words, const size_t *found, size_t *n, aoe_error *err) {
    aoei_buffer plain = {0};
    int code = 0;
    *n = 0;
    m->term = aoei_calloc(words->n + 1, sizeof *m->term);
    if (!m->term)
        return aoei_fail_nomem(err, words->n * sizeof *m->term);
    for (size_t i = 0; i < words->n && found && !code; i++) {
        const aoei_word *w = &words->word[i];
        if (!found[i])
            continue;
        aoei_buffer_clear(&plain);
        aoei_words_plain(&plain, words->text.data + w->at, w->len);
        m->term[*n] = plain.failed ? NULL : aoei_hits_copy(m, plain.data, plain.len);
        code = m->term[*n] ? 0 : aoei_fail_nomem(err, w->len);
        (*n)++;
    }
    aoei_buffer_free(&plain);
    return code;
}

int aoei_hits_memory_create(aoei_hits_memory **m, size_t n, aoe_error *err) {
    *m = aoei_calloc(1, sizeof **m);
    if (!*m)
        return aoei_fail_nomem(err, sizeof **m);
    (*m)->hit = aoei_calloc(n + 1, sizeof *(*m)->hit);
    if ((*m)->hit)
        return 0;
    aoei_free(*m);
    *m = NULL;
    return aoei_fail_nomem(err, (n + 1) * sizeof(aoe_index_hit));
}

void aoei_hits_memory_destroy(aoei_hits_memory *m) {
    aoei_chunks_free(&m->chunks);
    aoei_free(m->hit);
    aoei_free(m->field);
    aoei_free(m->term);
    aoei_free(m);
}

void aoei_hits_finish(aoe_index_hits *hits, aoei_hits_memory *m, size_t n, size_t n_terms) {
    for (size_t i = 0, at = 0; i < n; at += m->hit[i++].n_fields)
        m->hit[i].field = m->hit[i].n_fields ? m->field + at : NULL;
    hits->n = n;
    hits->hit = n ? m->hit : NULL;
    hits->term = n_terms ? m->term : NULL;
    hits->n_terms = n_terms;
    hits->memory = m;
}

int aoei_hits_load(aoe_index_hits *hits, aoei_db *d, const aoei_found *found, size_t n, const aoei_lexical *words,
                   aoe_error *err) {
    size_t n_terms = 0;
    aoei_hits_memory *m;
    int code = aoei_hits_memory_create(&m, n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = read_hit(m, d, &found[i], &m->hit[i], err);
    if (!code && words)
        code = aoei_hits_terms(m, &words->words, words->found, &n_terms, err);
    if (!code)
        aoei_hits_finish(hits, m, n, n_terms);
    else if (m)
        aoei_hits_memory_destroy(m);
    return code;
}

void aoe_index_hits_free(aoe_index_hits *hits) {
    if (!hits || !hits->memory)
        return;
    aoei_hits_memory_destroy(hits->memory);
    hits->memory = NULL;
    hits->n = 0;
    hits->hit = NULL;
    if (hits->struct_size > offsetof(aoe_index_hits, term))
        hits->term = NULL;
    if (hits->struct_size > offsetof(aoe_index_hits, n_terms))
        hits->n_terms = 0;
}
