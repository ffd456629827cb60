/* SPDX-License-Identifier: MIT
 * FTS5 calls an auxiliary function (SQL: aoe_postings) for the first passage that contains a word. The function
 * iterates over all passages with this word (xQueryPhrase), which takes about 50 ns per passage, and stops at a word
 * that is too common. Each word is a statement of its own, so that the numbers of words and phrases cannot differ.
 */
#include "index/lexical.h"

#include <math.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

typedef struct posting {
    uint32_t passage;
    uint32_t occurrences;
} posting;

/* The postings of one word. */
typedef struct postings {
    posting *p; /* [n], owned */
    size_t n, capacity;
    size_t most;   /* the iteration stops after this number */
    size_t end;    /* ids of passages are below this number */
    int is_common; /* 1: there are more than `most` */
    int failed;    /* an SQLite error code, or 0 */
} postings;

typedef struct search {
    aoei_lexical *l;
    aoei_db *d;
    const aoei_lengths *lengths;
    const uint64_t *allowed;
    postings postings;
    uint32_t *touched; /* [n_touched] allowed passages with a score, owned */
    size_t n_touched, capacity;
    aoe_error *err;
} search;

static const char type_name[] = "aoe-postings"; /* type of the pointer that is bound to parameter 2 */

/* ---------------------------------------------------------------- postings */

static int add_posting(const Fts5ExtensionApi *api, Fts5Context *fts, void *user) {
    postings *p = user;
    if (p->n == p->most) {
        p->is_common = 1;
        return SQLITE_DONE;
    }
    const sqlite3_int64 id = api->xRowid(fts);
    if (id < 0 || (uint64_t)id >= p->end)
        return SQLITE_CORRUPT_VTAB;
    if (aoei_grow((void **)&p->p, &p->capacity, p->n, sizeof *p->p))
        return SQLITE_NOMEM;
    Fts5PhraseIter it;
    int column, offset;
    uint32_t occurrences = 0;
    int code = api->xPhraseFirst(fts, 0, &it, &column, &offset);
    for (; code == SQLITE_OK && column >= 0; api->xPhraseNext(fts, &it, &column, &offset))
        occurrences++;
    p->p[p->n++] = (posting){(uint32_t)id, occurrences};
    return code;
}

static void read_postings(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *context, int n,
                          sqlite3_value **value) {
    postings *p = n == 1 ? sqlite3_value_pointer(value[0], type_name) : NULL;
    if (!p) {
        sqlite3_result_error(context, "aoe_postings is called without its argument", -1);
        return;
    }
    p->failed = api->xQueryPhrase(fts, 0, p, add_posting);
    sqlite3_result_int(context, 1);
}

int aoei_lexical_register(aoei_db *d, aoe_error *err) {
    fts5_api *api;
    const int code = aoei_find_fts5(d->db, &api, err);
    if (code)
        return code;
    if (api->xCreateFunction(api, "aoe_postings", NULL, read_postings, NULL) != SQLITE_OK)
        return aoei_fail_nomem(err, 0);
    return aoei_lengths_register(d, err);
}

/* Reads the postings of a word, at most `most`. */
static int find_word(search *s, const aoei_word *word, size_t most) {
    sqlite3_stmt *stmt;
    aoei_buffer term = {0};
    postings *p = &s->postings;
    p->n = 0;
    p->most = most;
    p->end = s->lengths->n;
    p->is_common = 0;
    p->failed = SQLITE_OK;
    aoei_words_quote(&term, &s->l->words, word);
    int code = term.failed
                   ? aoei_fail_nomem(s->err, term.len)
                   : aoei_db_prepare(s->d, "SELECT aoe_postings(words, ?2) FROM words WHERE words MATCH ?1 LIMIT 1",
                                     &stmt, s->err);
    if (!code) {
        aoei_bind_text(stmt, 1, (aoe_text){term.data, term.len});
        (void)sqlite3_bind_pointer(stmt, 2, p, type_name, NULL);
        code = aoei_db_step(s->d, stmt, s->err);
        code = code < 0 ? code : 0;
        aoei_db_reset(stmt);
        if (!code && p->failed)
            code = aoei_db_fail(s->d, p->failed, s->err);
    }
    aoei_buffer_free(&term);
    return code;
}

/* ------------------------------------------------------------------ scores */

static int is_allowed(const search *s, uint32_t passage) {
    return !s->allowed || (s->allowed[passage / 64] >> passage % 64 & 1);
}

/* Adds the scores of a word to the passages that contain it. */
static int add_scores(search *s) {
    const postings *p = &s->postings;
    const aoei_lengths *lengths = s->lengths;
    const double passages = (double)lengths->passages, found = (double)p->n,
                 idf = log1p((passages - found + 0.5) / (found + 0.5)),
                 average = lengths->total ? (double)lengths->total / passages : 1;
    for (size_t i = 0; i < p->n; i++) {
        const uint32_t id = p->p[i].passage;
        const double f = p->p[i].occurrences,
                     share = 1 - AOEI_BM25_B + AOEI_BM25_B * (double)lengths->words[id] / average;
        if (!is_allowed(s, id))
            continue;
        if (s->l->score[id] == 0) {
            if (aoei_grow((void **)&s->touched, &s->capacity, s->n_touched, sizeof *s->touched))
                return aoei_fail_nomem(s->err, s->n_touched * sizeof *s->touched);
            s->touched[s->n_touched++] = id;
        }
        s->l->matched[id]++;
        s->l->score[id] += idf * f * (AOEI_BM25_K1 + 1) / (f + AOEI_BM25_K1 * share);
    }
    return 0;
}

/* Computes the scores with the words that occur in at most `most` passages. Sets *any to 1 if one of them occurs. */
static int score_words(search *s, size_t most, int *any) {
    const aoei_words *w = &s->l->words;
    *any = 0;
    for (size_t i = 0; i < w->n; i++) {
        int code = find_word(s, &w->word[i], most);
        if (!code && !s->postings.is_common && s->postings.n) {
            s->l->found[i] = s->postings.n;
            s->l->n_found++;
            s->l->n_names += !w->word[i].is_part;
            *any = 1;
            code = add_scores(s);
        }
        if (code)
            return code;
    }
    return 0;
}

/* ---------------------------------------------------------------- the best */

/* Moves the smallest of heap[n] to the root, after heap[i] has changed. */
static void sift_down(double *heap, size_t n, size_t i) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[i] <= heap[child])
            return;
        const double x = heap[i];
        heap[i] = heap[child];
        heap[child] = x;
    }
}

/* Returns the k-th largest score of the touched passages, or 0 if there are fewer. heap: [k] */
static double kth_score(const search *s, double *heap, size_t k) {
    for (size_t i = 0; i < k; i++)
        heap[i] = 0;
    for (size_t i = 0; i < s->n_touched; i++) {
        const double x = s->l->score[s->touched[i]];
        if (x > heap[0]) {
            heap[0] = x;
            sift_down(heap, k, 0);
        }
    }
    return heap[0];
}

/* Stores the k best passages, and orders them. All passages that are equal to the last of them are compared. */
static int select_best(search *s, size_t k, aoei_locator *locator) {
    if (k > s->n_touched)
        k = s->n_touched;
    if (k == 0)
        return 0;
    double *heap = aoei_malloc_array(k, sizeof *heap);
    if (!heap)
        return aoei_fail_nomem(s->err, k * sizeof *heap);
    const double least = kth_score(s, heap, k);
    aoei_free(heap);
    size_t n = 0;
    for (size_t i = 0; i < s->n_touched; i++)
        n += s->l->score[s->touched[i]] >= least;
    aoei_ranked *best = aoei_malloc_array(n, sizeof *best);
    if (!best)
        return aoei_fail_nomem(s->err, n * sizeof *best);
    s->l->best = best;
    n = 0;
    for (size_t i = 0; i < s->n_touched; i++)
        if (s->l->score[s->touched[i]] >= least)
            best[n++] = (aoei_ranked){
                .passage = s->touched[i], .score = s->l->score[s->touched[i]], .words = s->l->matched[s->touched[i]]};
    s->l->n_best = k;
    return aoei_ranked_order(best, n, locator, s->err);
}

int aoei_lexical_search(aoei_lexical *l, aoei_db *d, const aoei_lengths *lengths, aoe_text query,
                        const uint64_t *allowed, size_t k, aoei_locator *locator, aoe_error *err) {
    int any = 0, code = aoei_words_query(&l->words, query, err);
    if (code || l->words.n == 0 || lengths->n == 0)
        return code;
    search s = {.l = l, .d = d, .lengths = lengths, .allowed = allowed, .err = err};
    l->n = lengths->n;
    l->score = aoei_calloc(l->n, sizeof *l->score);
    l->matched = aoei_calloc(l->n, sizeof *l->matched);
    l->found = aoei_calloc(l->words.n, sizeof *l->found);
    if (!l->score || !l->matched || !l->found)
        return aoei_fail_nomem(err, l->n * sizeof *l->score);
    const size_t share = (size_t)((double)lengths->passages * AOEI_COMMON_SHARE);
    code = score_words(&s, share > AOEI_COMMON_LEAST ? share : AOEI_COMMON_LEAST, &any);
    if (!code && !any)
        code = score_words(&s, SIZE_MAX, &any);
    if (!code)
        code = select_best(&s, k, locator);
    aoei_free(s.postings.p);
    aoei_free(s.touched);
    return code;
}

aoei_fusion_list aoei_lexical_list(const aoei_lexical *l, double weight) {
    return (aoei_fusion_list){
        .best = l->best, .n = l->n_best, .weight = weight, .words = l->n_found, .names = l->n_names};
}

void aoei_lexical_free(aoei_lexical *l) {
    aoei_words_free(&l->words);
    aoei_free(l->found);
    aoei_free(l->score);
    aoei_free(l->matched);
    aoei_free(l->best);
    *l = (aoei_lexical){0};
}
