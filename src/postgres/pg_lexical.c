/* SPDX-License-Identifier: MIT
 * Two statements: the first counts the passages of each word, the second computes the scores.
 *
 * The occurrences f of a lexeme are found with ts_rank, which is much faster than expanding a tsvector. With weights of
 * 1, ts_rank of a single lexeme is (1 + 1/4 + 1/9 + ... + 1/f^2) / (pi^2 / 6), which is close to 1 - (6 / pi^2) /
 * (f + 1/2), so f is the nearest integer to (6 / pi^2) / (1 - ts_rank) - 1/2. Words that match several lexemes (a
 * single Chinese or Japanese character) have the sum of their values, from which f is estimated.
 */
#include "postgres/pg_lexical.h"

#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/lexical.h"
#include "postgres/pg_where.h"

#define RANK "ts_rank('{1,1,1,1}'::float4[], t.words, u.q)::float8"
/* Occurrences of the word u in passage t. u.kind is 0 for words that are one lexeme. */
#define OCCURRENCES                                                                                                    \
    "CASE WHEN u.kind = 0 THEN round(1 / (1.6449340668482264 * (1 - " RANK ")) - 0.5) "                                \
    "WHEN t.words @@ u.q THEN greatest(1, round(1.6449340668482264 * " RANK ")) ELSE 0 END"

/* A word of the query that the second statement uses. */
typedef struct term {
    aoe_text lexemes; /* type tsquery; in search.text */
    size_t at, len;   /* bytes in search.text */
    size_t word;      /* index in aoei_pg_words.words */
    double kind;      /* 0: one lexeme; 1: several lexemes or a prefix */
    double idf;       /* 0: the word is ignored */
} term;

typedef struct search {
    const aoei_pg_search *q;
    aoei_pg_words *w;
    term *term; /* [n], owned */
    size_t n;
    aoei_buffer text;   /* all lexemes, owned */
    aoe_text *lexemes;  /* [n] parameter, owned */
    double *idf, *kind; /* [n] parameters, owned */
    double passages;    /* N */
    double average;     /* words per passage */
    aoe_error *err;
} search;

/* Finds the lexemes of each word. */
static int find_lexemes(search *s, aoei_pg_lexer *lexer) {
    const aoei_words *w = &s->w->words;
    s->term = aoei_calloc(w->n + 1, sizeof *s->term);
    s->lexemes = aoei_calloc(w->n + 1, sizeof *s->lexemes);
    s->idf = aoei_calloc(w->n + 1, sizeof *s->idf);
    s->kind = aoei_calloc(w->n + 1, sizeof *s->kind);
    s->w->found = aoei_calloc(w->n + 1, sizeof *s->w->found);
    if (!s->term || !s->lexemes || !s->idf || !s->kind || !s->w->found)
        return aoei_fail_nomem(s->err, w->n * sizeof *s->term);
    for (size_t i = 0; i < w->n; i++) {
        const aoei_word *x = &w->word[i];
        const size_t at = s->text.len;
        size_t lexemes;
        const int rc =
            aoei_pg_tsquery(lexer, (aoe_text){w->text.data + x->at, x->len}, x->is_prefix, &s->text, &lexemes, s->err);
        if (rc)
            return rc;
        if (lexemes)
            s->term[s->n++] =
                (term){.at = at, .len = s->text.len - at, .word = i, .kind = x->is_prefix || lexemes > 1 ? 1 : 0};
    }
    for (size_t i = 0; i < s->n; i++)
        s->term[i].lexemes = (aoe_text){s->text.data + s->term[i].at, s->term[i].len};
    return 0;
}

/* Reads the numbers of passages and words. If no write has ended yet, they are counted. */
static int read_totals(search *s) {
    const aoei_pg_search *q = s->q;
    aoei_pg_state state;
    int rc = aoei_pg_state_read(q->pg, q->table, &state, s->err);
    if (!rc && !state.passages)
        rc = aoei_pg_state_count(q->pg, q->table, &state, s->err);
    if (rc)
        return rc;
    s->passages = (double)state.passages;
    s->average = state.words && state.passages ? (double)state.words / (double)state.passages : 1;
    return 0;
}

/* Counts the passages that contain each word, up to most + 1. */
static int count_passages(search *s, int64_t most) {
    aoei_pg_params p = {.n = 0};
    aoei_buffer sql = {0};
    aoei_pq_result *r = NULL;
    for (size_t i = 0; i < s->n; i++)
        s->lexemes[i] = s->term[i].lexemes;
    aoei_pg_add_texts(&p, s->lexemes, s->n);
    aoei_pg_add_number(&p, most + 1);
    aoei_buffer_printf(&sql,
                       "SELECT (SELECT count(*) FROM (SELECT FROM %s AS t WHERE t.words @@ u.q LIMIT $2::bigint) AS x) "
                       "FROM unnest($1::text[]::tsquery[]) WITH ORDINALITY AS u(q, i) ORDER BY u.i",
                       s->q->table->name);
    const int rc = sql.failed ? aoei_fail_nomem(s->err, 0) : aoei_pg_query(s->q->pg, sql.data, &p, &r, s->err);
    for (size_t i = 0; !rc && i < s->n && (int)i < aoei_pq.ntuples(r); i++) {
        const int64_t n = aoei_pg_value_number(r, (int)i, 0);
        const double found = (double)n;
        const int used = n > 0 && n <= most;
        s->term[i].idf = used ? log1p((s->passages - found + 0.5) / (found + 0.5)) : 0;
        s->w->found[s->term[i].word] = used ? (size_t)n : 0;
    }
    aoei_pq.clear(r);
    aoei_pg_params_free(&p);
    aoei_buffer_free(&sql);
    return rc;
}

/* Removes the words that are ignored. */
static void keep_used_terms(search *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->w->found[s->term[i].word]) {
            s->w->n_names += !s->w->words.word[s->term[i].word].is_part;
            s->term[n++] = s->term[i];
        }
    s->n = s->w->n_found = n;
}

/* Chooses the words. */
static int choose_terms(search *s) {
    const double share = s->passages * AOEI_COMMON_SHARE;
    int any = 0;
    int rc = count_passages(s, share > AOEI_COMMON_LEAST ? (int64_t)share : AOEI_COMMON_LEAST);
    for (size_t i = 0; !rc && i < s->n; i++)
        any |= s->w->found[s->term[i].word] > 0;
    if (!rc && !any)
        rc = count_passages(s, INT32_MAX);
    if (!rc)
        keep_used_terms(s);
    return rc;
}

/* Adds the query that finds passages with any of the words. Returns the number of the parameter. */
static size_t add_any(const search *s, aoei_pg_params *p) {
    aoei_buffer any = {0};
    for (size_t i = 0; i < s->n; i++) {
        aoei_buffer_printf(&any, i ? " | (" : "(");
        aoei_buffer_append(&any, s->term[i].lexemes.data, s->term[i].lexemes.len);
        aoei_buffer_putc(&any, ')');
    }
    p->failed |= any.failed;
    const size_t number = any.failed ? 0 : aoei_pg_add_text(p, any.data, any.len);
    aoei_buffer_free(&any);
    return number;
}

/* Writes the statement that computes the scores. */
static int write_sql(const search *s, aoei_buffer *sql, aoei_pg_params *p) {
    const aoei_pg_search *q = s->q;
    for (size_t i = 0; i < s->n; i++) {
        s->lexemes[i] = s->term[i].lexemes;
        s->idf[i] = s->term[i].idf;
        s->kind[i] = s->term[i].kind;
    }
    const double constants[] = {AOEI_BM25_K1, AOEI_BM25_B, s->average};
    const size_t lexemes = aoei_pg_add_texts(p, s->lexemes, s->n), idf = aoei_pg_add_doubles(p, s->idf, s->n),
                 kind = aoei_pg_add_doubles(p, s->kind, s->n), c = aoei_pg_add_doubles(p, constants, 3),
                 any = add_any(s, p), k = aoei_pg_add_number(p, (int64_t)q->k);
    aoei_buffer_printf(
        sql,
        "WITH u AS MATERIALIZED (SELECT * FROM unnest($%zu::text[]::tsquery[], $%zu::float8[], "
        "$%zu::float8[]) AS u(q, idf, kind)), c AS MATERIALIZED (SELECT ($%zu::float8[])[1] AS k1, "
        "($%zu::float8[])[2] AS b, ($%zu::float8[])[3] AS average) "
        "SELECT id, name, position, " AOEI_PG_DOUBLE(
            "score") ", number, matched FROM (SELECT t.id, t.name, t.position, t.number, y.score, y.matched "
                     "FROM %s AS t, LATERAL (SELECT "
                     "sum(u.idf * o.f * (c.k1 + 1) / (o.f + c.k1 * (1 - c.b + c.b * t.n_words / c.average))) AS score, "
                     "count(*) AS matched FROM u, c, LATERAL (SELECT " OCCURRENCES " AS f) AS o WHERE o.f > 0) AS y "
                     "WHERE t.words @@ $%zu::tsquery",
        lexemes, idf, kind, c, c, c, q->table->name, any);
    if (q->where) {
        aoei_buffer_printf(sql, " AND ");
        const int rc = aoei_pg_where(q->where, sql, p, s->err);
        if (rc)
            return rc;
    }
    aoei_buffer_printf(sql, ") AS x WHERE score > 0 ORDER BY score DESC, name, position LIMIT $%zu::bigint", k);
    return sql->failed ? aoei_fail_nomem(s->err, sql->len) : 0;
}

static int find_best(search *s, aoei_pg_candidates *list) {
    aoei_buffer sql = {0};
    aoei_pg_params p = {.n = 0};
    aoei_pq_result *r = NULL;
    int rc = write_sql(s, &sql, &p);
    if (!rc)
        rc = aoei_pg_query(s->q->pg, sql.data, &p, &r, s->err);
    if (!rc)
        rc = aoei_pg_candidates_read(list, r, s->err);
    aoei_pg_params_free(&p);
    aoei_buffer_free(&sql);
    return rc;
}

int aoei_pg_lexical(const aoei_pg_search *q, aoei_pg_lexer *lexer, aoe_text query, aoei_pg_words *w,
                    aoei_pg_candidates *list, aoe_error *err) {
    search s = {.q = q, .w = w, .err = err};
    int rc = aoei_words_query(&w->words, query, err);
    if (!rc)
        rc = find_lexemes(&s, lexer);
    if (!rc && s.n)
        rc = read_totals(&s);
    if (!rc && s.n)
        rc = choose_terms(&s);
    if (!rc && s.n)
        rc = find_best(&s, list);
    aoei_buffer_free(&s.text);
    aoei_free(s.term);
    aoei_free(s.lexemes);
    aoei_free(s.idf);
    aoei_free(s.kind);
    return rc;
}

void aoei_pg_words_free(aoei_pg_words *w) {
    aoei_words_free(&w->words);
    aoei_free(w->found);
    *w = (aoei_pg_words){.found = NULL};
}
