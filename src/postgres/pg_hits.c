/* SPDX-License-Identifier: MIT
 * The lists of both halves are fused by the code of the local index, which identifies passages by numbers: here, their
 * numbers in the order of document names and positions. Two statements read the passages and their metadata.
 */
#include "postgres/pg_hits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/hits.h"

/* ------------------------------------------------------------------ fusion */

/* All passages of both lists, without repetitions. */
typedef struct pool {
    const aoei_pg_candidate **item; /* [n], in the order of names and positions */
    aoei_located *place;            /* [n] */
    aoei_ranked *ranked;            /* [n_dense + n_lexical] both lists */
    aoei_found *found;              /* [n_dense + n_lexical] */
    size_t n;
} pool;

static int compare_places(const void *a, const void *b) {
    const aoei_pg_candidate *x = *(const aoei_pg_candidate *const *)a, *y = *(const aoei_pg_candidate *const *)b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static int fill_pool(pool *p, const aoei_pg_candidates *dense, const aoei_pg_candidates *lexical, aoe_error *err) {
    const size_t all = dense->n + lexical->n;
    p->item = aoei_calloc(all + 1, sizeof *p->item);
    p->place = aoei_calloc(all + 1, sizeof *p->place);
    p->ranked = aoei_calloc(all + 1, sizeof *p->ranked);
    p->found = aoei_calloc(all + 1, sizeof *p->found);
    if (!p->item || !p->place || !p->ranked || !p->found)
        return aoei_fail_nomem(err, all * sizeof *p->found);
    for (size_t i = 0; i < dense->n; i++)
        p->item[i] = &dense->item[i];
    for (size_t i = 0; i < lexical->n; i++)
        p->item[dense->n + i] = &lexical->item[i];
    if (all)
        qsort(p->item, all, sizeof *p->item, compare_places);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || compare_places(&p->item[p->n - 1], &p->item[i]) != 0)
            p->item[p->n++] = p->item[i];
    for (size_t i = 0; i < p->n; i++)
        p->place[i].name = p->item[i]->name;
    return 0;
}

static void free_pool(pool *p) {
    aoei_free(p->item);
    aoei_free(p->place);
    aoei_free(p->ranked);
    aoei_free(p->found);
}

/* Writes a list with numbers instead of names. */
static void rank(const pool *p, const aoei_pg_candidates *list, aoei_ranked *ranked) {
    for (size_t i = 0; i < list->n; i++) {
        const aoei_pg_candidate *c = &list->item[i];
        const aoei_pg_candidate **at = bsearch(&c, p->item, p->n, sizeof *p->item, compare_places);
        const size_t number = (size_t)(at - p->item);
        ranked[i] =
            (aoei_ranked){.passage = (int64_t)number, .score = c->score, .words = c->words, .place = &p->place[number]};
    }
}

static size_t fuse(const aoe_index_search_options *o, pool *p, const aoei_pg_candidates *dense,
                   const aoei_pg_candidates *lexical, const aoei_pg_words *of_query) {
    aoei_ranked *words = p->ranked + dense->n;
    rank(p, dense, p->ranked);
    rank(p, lexical, words);
    if (o->mode == AOE_INDEX_HYBRID)
        return aoei_fuse(p->found, (aoei_fusion_list){.best = p->ranked, .n = dense->n, .weight = o->dense_weight},
                         (aoei_fusion_list){.best = words,
                                            .n = lexical->n,
                                            .weight = o->lexical_weight,
                                            .words = of_query->n_found,
                                            .names = of_query->n_names});
    if (o->mode == AOE_INDEX_DENSE)
        aoei_found_dense(p->found, p->ranked, dense->n);
    else
        aoei_found_lexical(p->found, words, lexical->n);
    return o->mode == AOE_INDEX_DENSE ? dense->n : lexical->n;
}

int aoei_pg_combine(const aoe_index_search_options *o, const aoei_pg_candidates *dense,
                    const aoei_pg_candidates *lexical, const aoei_pg_words *words, aoei_pg_found **found, size_t *n,
                    aoe_error *err) {
    pool p = {.n = 0};
    *found = NULL;
    *n = 0;
    int rc = fill_pool(&p, dense, lexical, err);
    if (!rc) {
        size_t count = fuse(o, &p, dense, lexical, words);
        count = count < o->k ? count : o->k;
        while (count && p.found[count - 1].ranked.score < o->min_score)
            count--;
        *found = aoei_calloc(count + 1, sizeof **found);
        if (!*found)
            rc = aoei_fail_nomem(err, count * sizeof **found);
        for (size_t i = 0; !rc && i < count; i++)
            (*found)[i] = (aoei_pg_found){p.item[p.found[i].ranked.passage], p.found[i]};
        *n = rc ? 0 : count;
    }
    free_pool(&p);
    return rc;
}

/* ---------------------------------------------------------------- passages */

/* The row of a hit. */
typedef struct hit_row {
    int64_t number;
    aoe_index_hit *hit; /* borrowed */
} hit_row;

/* A result that is being filled. */
typedef struct loader {
    const aoei_pg_search *q;
    aoei_hits_memory *m;
    aoe_index_hit *hit; /* [n], owned by m */
    size_t n;
    int64_t *numbers; /* [n] rows of the hits, in their order; a parameter, owned */
    hit_row *rows;    /* [n] the same in the order of the numbers, owned */
    aoe_error *err;
} loader;

static int compare_rows(const void *a, const void *b) {
    const hit_row *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static aoe_index_hit *find_hit(const loader *l, int64_t number) {
    const hit_row key = {.number = number}, *row = bsearch(&key, l->rows, l->n, sizeof key, compare_rows);
    return row ? row->hit : NULL;
}

static const char *copy(const loader *l, aoe_text text) {
    return aoei_hits_copy(l->m, text.data, text.len);
}

/* Writes what the lists contain. */
static int begin_hits(loader *l, const aoei_pg_found *found) {
    for (size_t i = 0; i < l->n; i++) {
        const aoei_pg_candidate *c = found[i].candidate;
        const aoei_found *f = &found[i].found;
        l->hit[i] = (aoe_index_hit){.struct_size = sizeof *l->hit,
                                    .id = aoei_hits_copy(l->m, c->id, AOEI_PG_ID_BYTES),
                                    .name = aoei_hits_copy(l->m, c->name, strlen(c->name)),
                                    .score = f->ranked.score,
                                    .dense_rank = f->dense_rank,
                                    .lexical_rank = f->lexical_rank,
                                    .cosine = f->cosine,
                                    .bm25 = f->bm25};
        if (!l->hit[i].id || !l->hit[i].name)
            return aoei_fail_nomem(l->err, strlen(c->name));
        l->numbers[i] = c->number;
        l->rows[i] = (hit_row){c->number, &l->hit[i]};
    }
    if (l->n)
        qsort(l->rows, l->n, sizeof *l->rows, compare_rows);
    return 0;
}

/* Runs a statement, whose first parameter is the array of numbers. vector: second parameter, or NULL. */
static int query(const loader *l, const aoei_buffer *sql, const float *vector, aoei_pq_result **r) {
    aoei_pg_params p = {.n = 0};
    if (sql->failed)
        return aoei_fail_nomem(l->err, sql->len);
    aoei_pg_add_numbers(&p, l->numbers, l->n);
    if (vector)
        aoei_pg_add_vector(&p, vector, l->q->settings->dims);
    const int rc = aoei_pg_query(l->q->pg, sql->data, &p, r, l->err);
    aoei_pg_params_free(&p);
    return rc;
}

static int read_passage(const loader *l, const aoei_pq_result *r, int row) {
    aoe_index_hit *hit = find_hit(l, aoei_pg_value_number(r, row, 0));
    if (!hit)
        return 0;
    const aoe_text text = aoei_pg_value(r, row, 4);
    hit->line = (size_t)aoei_pg_value_number(r, row, 1); /* 0 if the value is NULL */
    hit->last_line = (size_t)aoei_pg_value_number(r, row, 2);
    hit->heading = copy(l, aoei_pg_value(r, row, 3));
    hit->text = (aoe_text){copy(l, text), text.len};
    if (isnan(hit->cosine))
        hit->cosine = aoei_pg_value_double(r, row, 5);
    return hit->heading && hit->text.data ? 0 : aoei_fail_nomem(l->err, text.len);
}

/* Reads the passages, and cosines that are not known. */
static int read_passages(const loader *l, const float *vector) {
    const aoei_pg_table *t = l->q->table;
    aoei_pq_result *r = NULL;
    aoei_buffer sql = {0};
    aoei_buffer_printf(&sql, "SELECT number, line, last_line, heading, passage, ");
    if (vector)
        aoei_buffer_printf(&sql, AOEI_PG_DOUBLE("1 - (embedding OPERATOR(%s.<=>) $2::%s.vector)"), t->vector,
                           t->vector);
    else
        aoei_buffer_printf(&sql, "NULL");
    aoei_buffer_printf(&sql, " FROM %s WHERE number = ANY ($1::bigint[])", t->name);
    int rc = query(l, &sql, vector, &r);
    for (int row = 0; !rc && row < aoei_pq.ntuples(r); row++)
        rc = read_passage(l, r, row);
    aoei_pq.clear(r);
    aoei_buffer_free(&sql);
    for (size_t i = 0; !rc && i < l->n; i++)
        if (!l->hit[i].heading)
            rc = aoei_fail(l->err, AOE_EIO, "%s: the passage %s was removed during the search; search again",
                           l->q->pg->place, l->hit[i].id);
    return rc;
}

/* Reads the metadata. All fields of a hit are adjacent, in the order of the hits. */
static int read_fields(const loader *l) {
    aoei_pq_result *r = NULL;
    aoei_buffer sql = {0};
    aoei_buffer_printf(
        &sql,
        "SELECT t.number, m.key, e.v #>> '{}' FROM unnest($1::bigint[]) WITH ORDINALITY AS i(number, n) JOIN %s AS t "
        "ON t.number = i.number, LATERAL jsonb_each(t.metadata) WITH ORDINALITY AS m(key, value, n), LATERAL "
        "jsonb_array_elements(CASE jsonb_typeof(m.value) WHEN 'array' THEN m.value ELSE "
        "jsonb_build_array(m.value) END) WITH ORDINALITY AS e(v, n) ORDER BY i.n, m.n, e.n",
        l->q->table->name);
    int rc = query(l, &sql, NULL, &r);
    for (int row = 0; !rc && row < aoei_pq.ntuples(r); row++) {
        aoe_index_hit *hit = find_hit(l, aoei_pg_value_number(r, row, 0));
        const aoe_text value = aoei_pg_value(r, row, 2);
        const aoe_index_field field = {copy(l, aoei_pg_value(r, row, 1)), {copy(l, value), value.len}};
        if (!field.key || !field.value.data ||
            aoei_grow((void **)&l->m->field, &l->m->capacity, l->m->n_fields, sizeof field)) {
            rc = aoei_fail_nomem(l->err, value.len);
            break;
        }
        l->m->field[l->m->n_fields++] = field;
        if (hit)
            hit->n_fields++;
    }
    aoei_pq.clear(r);
    aoei_buffer_free(&sql);
    return rc;
}

int aoei_pg_hits_load(aoe_index_hits *hits, const aoei_pg_search *q, const aoei_pg_found *found, size_t n,
                      const float *vector, const aoei_pg_words *words, aoe_error *err) {
    loader l = {.q = q, .n = n, .err = err};
    size_t n_terms = 0;
    int rc = aoei_hits_memory_create(&l.m, n, err);
    if (rc)
        return rc;
    l.hit = l.m->hit;
    l.numbers = aoei_calloc(n + 1, sizeof *l.numbers);
    l.rows = aoei_calloc(n + 1, sizeof *l.rows);
    rc = l.numbers && l.rows ? begin_hits(&l, found) : aoei_fail_nomem(err, n * sizeof *l.rows);
    if (!rc && n)
        rc = read_passages(&l, vector);
    if (!rc && n)
        rc = read_fields(&l);
    if (!rc && words)
        rc = aoei_hits_terms(l.m, &words->words, words->found, &n_terms, err);
    aoei_free(l.numbers);
    aoei_free(l.rows);
    if (rc)
        aoei_hits_memory_destroy(l.m);
    else
        aoei_hits_finish(hits, l.m, n, n_terms);
    return rc;
}
