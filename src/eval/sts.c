/* SPDX-License-Identifier: MIT
 * STS evaluation: cosines of pairs against gold scores. A plan of rows is made
 * first (loading and checking all inputs); a row that holds pairs owns a range of
 * the two arrays of all cosines and golds, and a total is just a longer range.
 * Invariant: rows stand in the order of the report, totals behind their parts.
 */
#include "eval/sts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "data/examples.h"
#include "data/pairs.h"
#include "eval/senteval.h"
#include "model/model.h"

enum { WINDOW = 4096 }; /* pairs embedded at a time: bounds the memory of the vectors */

typedef struct row {
    aoe_sts_row kind;
    char *name;        /* owned */
    aoe_pairs *pairs;  /* owned; NULL: a total */
    size_t begin, end; /* its range of cosine and gold */
    size_t skipped, empty;
} row;

typedef struct plan {
    row *row; /* [n] */
    size_t n, capacity;
    size_t total;          /* pairs of all rows that hold some */
    double *cosine, *gold; /* [total] */
} plan;

/* A text of a window and the place its vector belongs to. */
typedef struct slot {
    aoe_text text;
    size_t index; /* 2 * pair + side */
} slot;

typedef struct window {
    slot *slot;     /* [2 * pairs] sorted: equal texts are neighbours */
    aoe_text *text; /* [2 * pairs] distinct texts, in the order of slot */
    size_t *source; /* [2 * pairs] for each distinct text the index of its first slot */
    size_t *vector; /* [2 * pairs] by index: which distinct text */
    float *vectors; /* [2 * pairs, dims] of the distinct texts */
} window;

static int compare_slots(const void *a, const void *b) {
    const slot *x = a, *y = b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? -1 : 1;
    int order = x->text.len ? memcmp(x->text.data, y->text.data, x->text.len) : 0;
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static aoe_text text_at(const aoe_pairs *p, size_t pair, size_t side) {
    return side ? aoe_pairs_text2(p, pair) : aoe_pairs_text1(p, pair);
}

static int window_create(window *w, size_t pairs, size_t dims, aoe_error *err) {
    size_t n = 2 * pairs, floats;
    *w = (window){0};
    if (aoei_mul_size(n, dims, &floats))
        floats = SIZE_MAX; /* which no allocation serves */
    w->slot = aoei_malloc_array(n, sizeof *w->slot);
    w->text = aoei_malloc_array(n, sizeof *w->text);
    w->source = aoei_malloc_array(n, sizeof *w->source);
    w->vector = aoei_malloc_array(n, sizeof *w->vector);
    w->vectors = aoei_malloc_array(floats, sizeof *w->vectors);
    if (w->slot && w->text && w->source && w->vector && w->vectors)
        return 0;
    aoei_fail_nomem(err, floats);
    return AOE_ENOMEM;
}

static void window_free(window *w) {
    aoei_free(w->slot);
    aoei_free(w->text);
    aoei_free(w->source);
    aoei_free(w->vector);
    aoei_free(w->vectors);
}

/* Distinct texts of the pairs [first, first + n) into w->text; returns how many. */
static size_t gather(window *w, const aoe_pairs *p, size_t first, size_t n) {
    for (size_t i = 0; i < 2 * n; i++)
        w->slot[i] = (slot){text_at(p, first + i / 2, i % 2), i};
    qsort(w->slot, 2 * n, sizeof *w->slot, compare_slots);
    size_t distinct = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        aoe_text t = w->slot[i].text;
        if (i == 0 || t.len != w->text[distinct - 1].len || (t.len && memcmp(t.data, w->text[distinct - 1].data, t.len) != 0)) {
            w->text[distinct] = t;
            w->source[distinct++] = w->slot[i].index;
        }
        w->vector[w->slot[i].index] = distinct - 1;
    }
    return distinct;
}

/* The code goes through apart from the message, which may not be wanted (err NULL). */
static int name_pair(const aoe_pairs *p, size_t pair, size_t side, int rc, aoe_error *err) {
    aoei_error_prefix(err, "%s:%zu: text%zu", aoei_pairs_name(p), aoe_pairs_line(p, pair), side + 1);
    return rc;
}

/* cosine[n] of all pairs; every distinct text of a window is embedded once. */
static int compute_cosines(const aoei_sts_encoder *e, const aoe_pairs *p, double *cosine, aoe_error *err) {
    window w;
    size_t n = aoe_pairs_count(p);
    int rc = window_create(&w, n < WINDOW ? n : WINDOW, e->dims, err);
    for (size_t first = 0; !rc && first < n; first += WINDOW) {
        size_t count = n - first < WINDOW ? n - first : WINDOW, failed = (size_t)-1;
        size_t distinct = gather(&w, p, first, count);
        rc = e->embed(e->user, w.text, distinct, w.vectors, &failed, err);
        if (rc && failed < distinct)
            rc = name_pair(p, first + w.source[failed] / 2, w.source[failed] % 2, rc, err);
        for (size_t i = 0; !rc && i < count; i++)
            cosine[first + i] =
                aoe_cosine(w.vectors + w.vector[2 * i] * e->dims, w.vectors + w.vector[2 * i + 1] * e->dims, e->dims);
    }
    window_free(&w);
    return rc;
}

static size_t count_empty(const aoe_pairs *p) {
    size_t empty = 0;
    for (size_t i = 0; i < 2 * aoe_pairs_count(p); i++)
        empty += (size_t)aoei_text_is_empty(text_at(p, i / 2, i % 2));
    return empty;
}

/* An encoder whose empty text has tokens (specials) has some for every text; others are asked text by text. */
static int check_tokens(const aoei_sts_encoder *e, const aoe_pairs *p, aoe_error *err) {
    size_t tokens = 1;
    int rc = e->count_tokens ? e->count_tokens(e->user, aoe_text_of(""), &tokens, err) : 0;
    if (rc || tokens)
        return rc;
    for (size_t i = 0; i < 2 * aoe_pairs_count(p); i++) {
        rc = e->count_tokens(e->user, text_at(p, i / 2, i % 2), &tokens, err);
        if (rc)
            return name_pair(p, i / 2, i % 2, rc, err);
        if (!tokens)
            return aoei_fail(err, AOE_EFORMAT, "%s:%zu: text%zu has no token; correct or remove the row", aoei_pairs_name(p),
                             aoe_pairs_line(p, i / 2), i % 2 + 1);
    }
    return 0;
}

/* Appends a row, taking pairs over (on failure too). name: of it, copied; after_slash: NULL or a second part. */
static int add_row(plan *l, aoe_sts_row kind, const char *name, const char *after_slash, aoe_pairs *pairs, aoe_error *err) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s%s%s", name, after_slash ? "/" : "", after_slash ? after_slash : "");
    if (b.failed || aoei_grow((void **)&l->row, &l->capacity, l->n, sizeof *l->row)) {
        aoei_buffer_free(&b);
        aoe_pairs_free(pairs);
        aoei_fail_nomem(err, sizeof *l->row);
        return AOE_ENOMEM;
    }
    size_t n = pairs ? aoe_pairs_count(pairs) : 0;
    l->row[l->n++] = (row){.kind = kind, .name = b.data, .pairs = pairs, .begin = l->total, .end = l->total + n};
    l->total += n;
    return 0;
}

/* A total over the rows from `first` that hold pairs. */
static int add_total(plan *l, aoe_sts_row kind, const char *name, size_t first, aoe_error *err) {
    int rc = add_row(l, kind, name, NULL, NULL, err);
    if (rc)
        return rc;
    row *total = &l->row[l->n - 1];
    total->begin = l->row[first].begin;
    for (size_t i = first; i + 1 < l->n; i++) {
        total->empty += l->row[i].pairs ? l->row[i].empty : 0;
        /* what a folder's total counts beyond its subsets (gold files without input) is in no subset's row */
        total->skipped += l->row[i].kind == AOE_STS_SUBSET && kind == AOE_STS_ALL ? 0 : l->row[i].skipped;
    }
    return 0;
}

static int add_table(plan *l, const char *path, const char *name, const aoe_table_options *o, aoe_error *err) {
    aoe_table_options lenient = o ? *o : (aoe_table_options){0};
    lenient.allow_empty = 1;
    aoe_pairs *pairs;
    int rc = aoe_pairs_load(&pairs, path, &lenient, err);
    if (!rc)
        rc = add_row(l, AOE_STS_FILE, name, NULL, pairs, err);
    if (rc)
        return rc;
    l->row[l->n - 1].skipped = aoe_pairs_skipped(pairs) + aoe_pairs_dropped(pairs);
    l->row[l->n - 1].empty = count_empty(pairs);
    return 0;
}

static int add_folder(plan *l, const char *path, const char *name, const aoe_table_options *o, aoe_error *err) {
    aoei_senteval s;
    size_t first = l->n;
    int rc = aoei_senteval_load(&s, path, o && o->skip_bad_rows, err);
    for (size_t i = 0; !rc && i < s.n; i++) {
        aoei_senteval_subset *subset = &s.subset[i];
        aoe_pairs *pairs = subset->pairs;
        subset->pairs = NULL; /* moves to the row */
        rc = add_row(l, AOE_STS_SUBSET, name, subset->name, pairs, err);
        if (rc)
            break;
        l->row[l->n - 1].skipped = subset->unscored + subset->bad;
        l->row[l->n - 1].empty = count_empty(pairs);
    }
    if (!rc)
        rc = add_total(l, AOE_STS_FOLDER, name, first, err);
    if (!rc)
        l->row[l->n - 1].skipped += s.without_input;
    aoei_senteval_free(&s);
    return rc;
}

static int add_path(plan *l, const char *given, const aoe_table_options *o, aoe_error *err) {
    char *path = aoei_strdup(given);
    if (!path)
        return aoei_fail_nomem(err, strlen(given));
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    int rc = aoei_is_dir(path) ? add_folder(l, path, name, o, err) : add_table(l, path, name, o, err);
    aoei_free(path);
    return rc;
}

static void plan_free(plan *l) {
    for (size_t i = 0; i < l->n; i++) {
        aoei_free(l->row[i].name);
        aoe_pairs_free(l->row[i].pairs);
    }
    aoei_free(l->row);
    aoei_free(l->cosine);
    aoei_free(l->gold);
}

static int make_arrays(plan *l, aoe_error *err) {
    l->cosine = aoei_malloc_array(l->total, sizeof *l->cosine);
    l->gold = aoei_malloc_array(l->total, sizeof *l->gold);
    if (l->cosine && l->gold)
        return 0;
    aoei_fail_nomem(err, l->total * sizeof *l->gold);
    return AOE_ENOMEM;
}

/* Reads and checks everything. */
static int make_plan(plan *l, const aoei_sts_encoder *e, const char *const *paths, size_t n_paths, const aoe_table_options *o,
                     aoe_error *err) {
    int rc = n_paths ? 0 : aoei_fail(err, AOE_EARG, "nothing to evaluate; give tables or SentEval folders");
    for (size_t i = 0; !rc && i < n_paths; i++)
        rc = add_path(l, paths[i], o, err);
    if (!rc && n_paths > 1)
        rc = add_total(l, AOE_STS_ALL, "all", 0, err);
    for (size_t i = 0; !rc && i < l->n; i++)
        if (l->row[i].pairs)
            rc = check_tokens(e, l->row[i].pairs, err);
    return rc ? rc : make_arrays(l, err);
}

/* Varying sides have a rank correlation: where there is none, memory ran out. */
static int score(const plan *l, const row *r, aoe_sts_result *result, aoe_error *err) {
    const double *cosine = l->cosine + r->begin, *gold = l->gold + r->begin;
    size_t n = r->end - r->begin;
    *result = (aoe_sts_result){.row = r->kind,
                               .name = r->name,
                               .pairs = n,
                               .skipped = r->skipped,
                               .empty = r->empty,
                               .spearman = aoe_spearman(cosine, gold, n),
                               .pearson = aoe_pearson(cosine, gold, n)};
    if (isnan(result->spearman) && !isnan(result->pearson))
        return aoei_fail_nomem(err, n * sizeof *cosine);
    return 0;
}

/* Fills the row's range of the arrays; the pairs are not needed any more afterwards. */
static int evaluate(plan *l, row *r, const aoei_sts_encoder *e, aoe_error *err) {
    for (size_t k = r->begin; k < r->end; k++)
        l->gold[k] = aoe_pairs_label(r->pairs, k - r->begin);
    int rc = compute_cosines(e, r->pairs, l->cosine + r->begin, err);
    aoe_pairs_free(r->pairs);
    r->pairs = NULL;
    return rc;
}

int aoei_sts_run(const aoei_sts_encoder *e, const char *const *paths, size_t n_paths, const aoe_table_options *o,
                 aoe_sts_fn report, void *user, aoe_error *err) {
    plan l = {0};
    aoe_sts_result result;
    int rc = make_plan(&l, e, paths, n_paths, o, err);
    for (size_t i = 0; !rc && i < l.n; i++) {
        row *r = &l.row[i];
        if (r->pairs)
            rc = evaluate(&l, r, e, err);
        if (!rc)
            rc = score(&l, r, &result, err);
        result.cosine = l.cosine + r->begin;
        result.gold = l.gold + r->begin;
        if (!rc && report)
            report(user, &result);
    }
    plan_free(&l);
    return rc;
}

int aoei_sts_pairs(const aoei_sts_encoder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err) {
    static char unnamed[] = "";
    row r = {.kind = AOE_STS_FILE, .name = unnamed, .end = aoe_pairs_count(p)};
    r.skipped = aoe_pairs_skipped(p) + aoe_pairs_dropped(p);
    r.empty = count_empty(p);
    plan l = {.total = r.end};
    int rc = make_arrays(&l, err);
    if (!rc)
        rc = check_tokens(e, p, err);
    for (size_t i = 0; !rc && i < r.end; i++)
        l.gold[i] = aoe_pairs_label(p, i);
    if (!rc)
        rc = compute_cosines(e, p, l.cosine, err);
    if (!rc)
        rc = score(&l, &r, result, err);
    if (rc)
        *result = (aoe_sts_result){0};
    plan_free(&l);
    return rc;
}

/* The embedder behind the public functions. */
typedef struct embedder {
    aoe_embedder *e;
    aoe_ids ids; /* scratch of count_tokens */
} embedder;

static int embed(void *user, const aoe_text *texts, size_t n, float *vectors, size_t *failed, aoe_error *err) {
    const embedder *s = user;
    int rc = aoe_embed(s->e, texts, n, vectors, NULL, err);
    *failed = rc ? aoe_embed_failed_text(s->e) : (size_t)-1;
    if (err && rc && *failed != (size_t)-1) { /* "text 7: ", which counts in the window: the caller names file and line */
        const char *what = strstr(err->message, ": ");
        if (what)
            memmove(err->message, what + 2, strlen(what + 2) + 1);
    }
    return rc;
}

static int count_tokens(void *user, aoe_text text, size_t *n, aoe_error *err) {
    embedder *s = user;
    const aoe_model *m = aoe_embedder_model(s->e);
    const aoe_tokenizer *t = aoe_model_tokenizer(m);
    if (!t || m->config.arch->is_static) /* aoe_embed says so before anything is reported; texts may have none */
        return 0;
    aoe_model_info info;
    aoe_model_get_info(m, &info);
    aoe_encode_options o = {.max_length = info.max_length, .prompt = *info.prompt ? info.prompt : NULL};
    int rc = aoe_tokenizer_encode(t, text, &o, &s->ids, err);
    *n = s->ids.n;
    return rc;
}

static aoei_sts_encoder encoder_of(embedder *s) {
    return (aoei_sts_encoder){aoe_model_dims(aoe_embedder_model(s->e)), embed, count_tokens, s};
}

int aoe_eval_sts(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_table_options *o, aoe_sts_fn report,
                 void *user, aoe_error *err) {
    embedder s = {.e = e};
    aoei_sts_encoder encoder = encoder_of(&s);
    int rc = aoei_sts_run(&encoder, paths, n_paths, o, report, user, err);
    aoe_ids_free(&s.ids);
    return rc;
}

int aoe_eval_pairs(aoe_embedder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err) {
    embedder s = {.e = e};
    aoei_sts_encoder encoder = encoder_of(&s);
    int rc = aoei_sts_pairs(&encoder, p, result, err);
    aoe_ids_free(&s.ids);
    return rc;
}
