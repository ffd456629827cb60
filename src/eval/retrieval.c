/* SPDX-License-Identifier: MIT
 * Evaluates retrieval: embeds all texts, finds the nearest texts of each query by exact search, and computes the
 * metrics of each ranked list. Lexical and hybrid lists come from a word index in memory (index/word_index.h). If the
 * queries are also texts to search and one model embeds both, the embeddings of the queries are copied from the
 * embeddings of the texts.
 */
#include "eval/retrieval.h"

#include <math.h>
#include <string.h>

#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "eval/retrieval_data.h"
#include "index/fusion.h"
#include "index/word_index.h"
#include "nn/pooling.h"
#include "nn/rows.h"
#include "options/evaluate.h"
#include "stats/ranking.h"

enum {
    EMBED = 4096,
    SEARCH = 1024
}; /* EMBED: number of texts per call of embed; SEARCH: number of queries per search */

/* State of the evaluation of one input. */
typedef struct search {
    const aoe_retrieval_options *o;     /* options; borrowed */
    const aoei_retrieval_data *d;       /* texts, queries and relevant texts; borrowed */
    const aoe_context *ctx;             /* context for computations; borrowed */
    size_t D;                           /* embedding size */
    aoe_similarity_function similarity; /* similarity by which texts are ranked */
    size_t k;                           /* number of nearest texts that the search returns for a query */
    aoei_arena arena;                   /* memory of the tensors below; owned */
    /* texts [texts, D], queries [queries, D]: embeddings of the texts and of the queries. If the similarity is the
     * cosine, they are normalized to length 1; a zero vector stays zero */
    aoei_tensor texts, queries;
    aoei_tensor workspace; /* workspace of aoei_nearest */
    aoei_word_index words; /* words of the texts; owned; empty if options.mode is AOE_RETRIEVAL_DENSE */
    float *host;           /* [EMBED, D] embeddings that one call of embed returns; owned */
    uint8_t *truncated;    /* [EMBED] 1 for each text of one call of embed that was truncated; owned */
    aoe_text *text;        /* [EMBED] texts of one call of embed; owned */
    uint32_t *index; /* [queries] aoei_query.index of each query, for the rows that are copied from `texts`; owned */
    aoei_neighbor *best; /* [SEARCH, k] nearest texts of each query of one search; owned */
    double *gain_of; /* [texts] gain of each text for the current query; 0 for all texts while no query is processed;
                        owned */
    double *gain;    /* [k] gain of each text in the ranked list of the current query; owned */
    double *ideal;   /* [max_relevant] gains of the current query's relevant texts, sorted descending; owned */
} search;

AOEI_DEFAULTS(aoe_retrieval_options) {
    *o = (aoe_retrieval_options){.struct_size = sizeof *o,
                                 .split = "test",
                                 .recall_at = {1, 5, 10},
                                 .n_recall = 3,
                                 .top = 10,
                                 .seed = 42,
                                 .dense_weight = AOEI_DENSE_WEIGHT,
                                 .lexical_weight = AOEI_LEXICAL_WEIGHT};
    aoe_table_options_defaults(&o->table);
}

static int check_options(const aoe_retrieval_options *o, aoe_error *err) {
    int valid = o->n_recall <= AOE_RECALL_MAX;
    for (size_t i = 0; valid && i < o->n_recall; i++)
        valid = o->recall_at[i] > 0;
    if (!valid)
        return aoei_fail(err, AOE_EARG, "options.recall_at: give up to %d numbers of at least 1", AOE_RECALL_MAX);
    if (!(o->dense_weight >= 0) || !(o->lexical_weight >= 0) || !isfinite(o->dense_weight + o->lexical_weight) ||
        o->dense_weight + o->lexical_weight <= 0)
        return aoei_fail(err, AOE_EARG,
                         "options.dense_weight is %g and options.lexical_weight is %g; they must not be negative, and "
                         "one must be positive",
                         o->dense_weight, o->lexical_weight);
    if (o->mode == AOE_RETRIEVAL_LEXICAL && o->similarity != AOE_SIMILARITY_COSINE)
        return aoei_fail(err, AOE_EARG,
                         "options.similarity has no effect in lexical mode, which uses no embeddings; remove it, or "
                         "set options.mode to dense or hybrid");
    const int rc = aoei_option_group_check(&aoei_retrieval_search_rows, o, AOEI_ALL_METHODS, err);
    return rc ? rc : aoei_option_group_check(&aoei_retrieval_metrics_rows, o, AOEI_ALL_METHODS, err);
}

/* Returns the number of nearest texts to search for each query. This is one more than the metrics need, because the
 * query itself may be removed from the list. It is at least the size of the largest group, and at most the number of
 * texts. */
static size_t count_neighbors(const search *s) {
    size_t k = s->o->top;
    for (size_t i = 0; i < s->o->n_recall; i++)
        k = s->o->recall_at[i] > k ? s->o->recall_at[i] : k;
    k = k < s->d->texts.n ? k + 1 : s->d->texts.n;
    if (s->o->mode == AOE_RETRIEVAL_HYBRID && k < AOEI_FUSION_DEPTH)
        k = AOEI_FUSION_DEPTH;
    k = s->d->largest > k ? s->d->largest : k;
    return k < s->d->texts.n ? k : s->d->texts.n;
}

static size_t max_relevant(const aoei_retrieval_data *d) {
    size_t largest = 1;
    for (size_t i = 0; i < d->n_queries; i++)
        largest = d->query[i].n > largest ? d->query[i].n : largest;
    return largest;
}

static void lay_out(search *s) {
    const size_t at_once = s->d->n_queries < SEARCH ? s->d->n_queries : SEARCH;
    if (s->o->mode == AOE_RETRIEVAL_LEXICAL)
        return;
    s->texts = aoei_tensor_take(&s->arena, s->d->texts.n, s->D);
    s->queries = aoei_tensor_take(&s->arena, s->d->n_queries, s->D);
    s->workspace = aoei_workspace_take(&s->arena, aoei_nearest_workspace(s->ctx, at_once, s->d->texts.n, s->D));
}

static int create(search *s, aoe_error *err) {
    size_t found;
    s->k = count_neighbors(s);
    aoei_arena_measure(&s->arena);
    lay_out(s);
    if (s->arena.overflow || aoei_mul_size(SEARCH, s->k, &found))
        return aoei_fail_nomem(err, SIZE_MAX);
    const size_t bytes = s->arena.used;
    const int rc = bytes ? aoei_arena_create(&s->arena, bytes, err) : 0;
    if (rc)
        return rc;
    lay_out(s);
    s->truncated = aoei_malloc_array(EMBED, sizeof *s->truncated);
    s->host = aoei_malloc_array(EMBED * s->D, sizeof *s->host);
    s->text = aoei_malloc_array(EMBED, sizeof *s->text);
    s->index = aoei_malloc_array(s->d->n_queries, sizeof *s->index);
    s->best = aoei_malloc_array(found, sizeof *s->best);
    s->gain_of = aoei_calloc(s->d->texts.n, sizeof *s->gain_of);
    s->gain = aoei_malloc_array(s->k, sizeof *s->gain);
    s->ideal = aoei_malloc_array(max_relevant(s->d), sizeof *s->ideal);
    if (s->truncated && s->host && s->text && s->index && s->best && s->gain_of && s->gain && s->ideal)
        return 0;
    return aoei_fail_nomem(err, found * sizeof *s->best);
}

static void destroy(search *s) {
    aoei_arena_destroy(&s->arena);
    aoei_word_index_free(&s->words);
    aoei_free(s->truncated);
    aoei_free(s->host);
    aoei_free(s->text);
    aoei_free(s->index);
    aoei_free(s->best);
    aoei_free(s->gain_of);
    aoei_free(s->gain);
    aoei_free(s->ideal);
}

/* ------------------------------------------------------------------ embeddings */

/* A list of texts to embed (the texts to search, or the queries) and the model that embeds them. */
typedef struct text_source {
    const aoei_eval_model *encoder; /* model; borrowed */
    /* Returns the i-th text of the list. */
    aoe_text (*text)(const aoei_retrieval_data *d, size_t i);
    int queries; /* 1: the list contains the queries; 0: it contains the texts to search */
    size_t n;    /* number of texts in the list */
} text_source;

static text_source texts_of(const aoei_retrieval_data *d, const aoei_eval_model *e) {
    return (text_source){e, aoei_retrieval_text, 0, d->texts.n};
}

static text_source queries_of(const aoei_retrieval_data *d, const aoei_eval_model *e) {
    return (text_source){e, aoei_retrieval_query, 1, d->n_queries};
}

static int prefix_error(const aoei_retrieval_data *d, const text_source *x, size_t i, int rc, aoe_error *err) {
    const aoei_examples *from = x->queries && !d->grouped ? &d->queries : &d->texts;
    aoei_error_prefix(err, "%s:%zu", from->name, from->line[x->queries ? d->query[i].index : i]);
    return rc;
}

/* Checks that every text has at least one token. The check is skipped for models that accept texts without tokens. */
static int check_tokens(const aoei_retrieval_data *d, const text_source *x, aoe_error *err) {
    int all;
    int rc = aoei_eval_model_has_specials(x->encoder, &all, err);
    for (size_t i = 0; !rc && !all && i < x->n; i++) {
        size_t tokens = 1;
        rc = x->encoder->count_tokens(x->encoder->user, x->text(d, i), &tokens, err);
        if (!rc && !tokens)
            rc = aoei_fail(err, AOE_EFORMAT, "the text has no token; correct or remove the row");
        if (rc)
            return prefix_error(d, x, i, rc, err);
    }
    return rc;
}

static int embed(search *s, const text_source *x, aoei_tensor to, size_t *truncated, aoei_eval_progress *p,
                 aoe_error *err) {
    int rc = 0;
    for (size_t first = 0; !rc && first < x->n; first += EMBED) {
        const size_t n = x->n - first < EMBED ? x->n - first : EMBED;
        size_t failed = (size_t)-1;
        for (size_t i = 0; i < n; i++)
            s->text[i] = x->text(s->d, first + i);
        rc = x->encoder->embed(x->encoder->user, s->text, n, s->host, s->truncated, &failed, err);
        if (rc)
            return failed < n ? prefix_error(s->d, x, first + failed, rc, err) : rc;
        const aoei_tensor rows = aoei_tensor_rows(to, first, n);
        for (size_t i = 0; i < n; i++)
            *truncated += s->truncated[i];
        aoei_tensor_write(s->ctx, rows, s->host);
        if (s->similarity == AOE_SIMILARITY_COSINE)
            aoei_l2_normalize(s->ctx, rows);
        rc = aoei_eval_advance(p, n, err);
    }
    return rc;
}

/* ----------------------------------------------------------------- metrics */

/* Computes the metrics of one query and adds them to *r. best: [k] nearest texts of the query. */
static void add_query(search *s, const aoei_query *q, const aoei_neighbor *best, aoe_retrieval_result *r) {
    const aoei_relevant *relevant = s->d->relevant + q->first;
    const uint32_t removed = s->o->count_query && s->d->grouped ? AOEI_NO_TEXT : q->own;
    size_t found = 0, found_in_group = 0, group_size = q->n + (s->d->grouped && !s->o->count_query);
    for (size_t i = 0; i < q->n; i++) {
        if (relevant[i].text != AOEI_NO_TEXT)
            s->gain_of[relevant[i].text] = relevant[i].gain;
        s->ideal[i] = relevant[i].gain;
    }
    for (size_t i = 0; i < s->k && best[i].text != AOEI_NO_TEXT; i++) {
        found_in_group += i < group_size && (s->gain_of[best[i].text] > 0 || best[i].text == q->own);
        if (best[i].text != removed)
            s->gain[found++] = s->gain_of[best[i].text];
    }
    r->strict += found_in_group == group_size;
    for (size_t i = 0; i < s->o->n_recall; i++)
        r->recall[i] += aoei_recall(s->gain, found, s->o->recall_at[i], q->n);
    r->mrr += aoei_reciprocal_rank(s->gain, found, s->o->top);
    r->ndcg += aoei_ndcg(s->gain, found, s->o->top, s->ideal, q->n);
    for (size_t i = 0; i < q->n; i++)
        if (relevant[i].text != AOEI_NO_TEXT)
            s->gain_of[relevant[i].text] = 0;
}

/* Adds the texts to the word index. */
static int add_words(search *s, aoei_eval_progress *p, aoe_error *err) {
    const aoei_retrieval_data *d = s->d;
    if (s->o->mode == AOE_RETRIEVAL_DENSE)
        return 0;
    int rc = aoei_word_index_create(&s->words, err);
    for (size_t i = 0; !rc && i < d->texts.n; i++)
        rc = aoei_word_index_add(&s->words, (uint32_t)i, aoei_retrieval_text(d, i), err);
    if (!rc)
        rc = aoei_word_index_finish(&s->words, err);
    /* the embeddings of the other modes count the texts and the queries */
    if (!rc && s->o->mode == AOE_RETRIEVAL_LEXICAL)
        rc = aoei_eval_advance(p, d->texts.n + d->n_queries, err);
    return rc;
}

/* Finds the best texts of n queries, and stores them in s->best. */
static int search_some(search *s, size_t first, size_t n, aoe_error *err) {
    const aoe_retrieval_mode mode = s->o->mode;
    if (mode != AOE_RETRIEVAL_LEXICAL) {
        const aoei_nearest_job job = {.queries = aoei_tensor_rows(s->queries, first, n),
                                      .texts = s->texts,
                                      .similarity = s->similarity,
                                      .k = s->k,
                                      .workspace = s->workspace};
        aoei_nearest(s->ctx, &job, s->best);
    }
    int rc = 0;
    for (size_t i = 0; mode != AOE_RETRIEVAL_DENSE && !rc && i < n; i++) {
        const aoe_text query = aoei_retrieval_query(s->d, first + i);
        aoei_neighbor *best = s->best + i * s->k;
        if (mode == AOE_RETRIEVAL_LEXICAL)
            rc = aoei_word_index_search(&s->words, query, s->k, best, err);
        else
            rc = aoei_word_index_fuse(&s->words, query, (aoei_weights){s->o->dense_weight, s->o->lexical_weight}, s->k,
                                      best, err);
    }
    return rc;
}

static int search_all(search *s, aoe_retrieval_result *r, aoe_error *err) {
    const aoei_retrieval_data *d = s->d;
    int rc = 0;
    for (size_t first = 0; !rc && first < d->n_queries; first += SEARCH) {
        const size_t n = d->n_queries - first < SEARCH ? d->n_queries - first : SEARCH;
        rc = search_some(s, first, n, err);
        for (size_t i = 0; !rc && i < n; i++)
            add_query(s, &d->query[first + i], s->best + i * s->k, r);
    }
    return rc;
}

static void finish_result(const search *s, aoe_retrieval_result *r) {
    const aoei_retrieval_data *d = s->d;
    const double n = (double)d->n_queries;
    r->name = d->name;
    r->texts = d->texts.n;
    r->queries = d->n_queries;
    r->without = d->without;
    r->skipped = d->skipped;
    r->missing = d->missing;
    r->unknown_queries = d->unknown_queries;
    r->duplicates = d->duplicates;
    for (size_t i = 0; i < d->texts.n; i++)
        r->empty += (size_t)aoei_text_is_empty(aoei_retrieval_text(d, i));
    for (size_t i = 0; !d->grouped && i < d->n_queries; i++)
        r->empty += (size_t)aoei_text_is_empty(aoei_retrieval_query(d, i));
    r->strict = d->grouped ? r->strict / n : NAN;
    for (size_t i = 0; i < s->o->n_recall; i++)
        r->recall[i] /= n;
    r->mrr /= n;
    r->ndcg /= n;
}

/* Embeds the texts and the queries. */
static int embed_all(search *s, const aoei_eval_model *queries, const aoei_eval_model *docs, size_t *truncated,
                     aoei_eval_progress *p, aoe_error *err) {
    const aoei_retrieval_data *d = s->d;
    const text_source texts = texts_of(d, docs), query_source = queries_of(d, queries);
    if (s->o->mode == AOE_RETRIEVAL_LEXICAL)
        return 0;
    const int rc = embed(s, &texts, s->texts, truncated, p, err);
    if (rc || !d->grouped || queries != docs)
        return rc ? rc : embed(s, &query_source, s->queries, truncated, p, err);
    for (size_t i = 0; i < d->n_queries; i++)
        s->index[i] = d->query[i].index;
    aoei_rows_gather(s->ctx, s->queries, s->texts, s->index);
    return aoei_eval_advance(p, d->n_queries, err);
}

/* Writes the nearest texts of each query, without the query itself, to list[queries, top]. */
static int write_lists(search *s, uint32_t *list, size_t top, aoe_error *err) {
    const aoei_retrieval_data *d = s->d;
    int rc = 0;
    for (size_t first = 0; !rc && first < d->n_queries; first += SEARCH) {
        const size_t n = d->n_queries - first < SEARCH ? d->n_queries - first : SEARCH;
        rc = search_some(s, first, n, err);
        for (size_t i = 0; !rc && i < n; i++) {
            uint32_t *to = list + (first + i) * top;
            size_t found = 0;
            for (size_t k = 0; k < s->k && found < top; k++)
                if (s->best[i * s->k + k].text != d->query[first + i].own && s->best[i * s->k + k].text != AOEI_NO_TEXT)
                    to[found++] = s->best[i * s->k + k].text;
            while (found < top)
                to[found++] = AOEI_NO_TEXT;
        }
    }
    return rc;
}

/* Fails if the two models have embeddings of different sizes. */
static int check_dims(const aoei_eval_model *queries, const aoei_eval_model *docs, aoe_error *err) {
    if (queries->dims == docs->dims)
        return 0;
    return aoei_fail(err, AOE_EARG,
                     "query vectors have %zu components but text vectors have %zu; use models with equal vector sizes",
                     queries->dims, docs->dims);
}

int aoei_retrieval_lists(uint32_t *list, const aoei_retrieval_data *d, const aoei_eval_model *queries,
                         const aoei_eval_model *docs, size_t top, aoei_eval_progress *p, aoe_error *err) {
    aoe_retrieval_options o;
    aoe_retrieval_options_defaults(&o);
    o.n_recall = 0;
    o.top = top;
    search s = {.o = &o, .d = d, .ctx = docs->ctx, .D = docs->dims, .similarity = queries->similarity};
    const text_source texts = texts_of(d, docs), query_source = queries_of(d, queries);
    size_t truncated = 0;
    int rc = check_dims(queries, docs, err);
    if (!rc)
        rc = check_tokens(d, &texts, err);
    if (!rc)
        rc = check_tokens(d, &query_source, err);
    if (!rc)
        rc = create(&s, err);
    if (!rc)
        rc = embed_all(&s, queries, docs, &truncated, p, err);
    if (!rc)
        rc = write_lists(&s, list, top, err);
    destroy(&s);
    return rc;
}

static int evaluate(const aoei_retrieval_data *d, const aoei_eval_model *queries, const aoei_eval_model *docs,
                    const aoe_retrieval_options *o, aoe_retrieval_result *r, aoei_eval_progress *p, aoe_error *err) {
    search s = {.o = o, .d = d, .ctx = docs->ctx, .D = docs->dims, .similarity = queries->similarity};
    *r = (aoe_retrieval_result){.struct_size = sizeof(aoe_retrieval_result)};
    int rc = create(&s, err);
    if (!rc)
        rc = embed_all(&s, queries, docs, &r->truncated, p, err);
    if (!rc)
        rc = add_words(&s, p, err);
    if (!rc)
        rc = search_all(&s, r, err);
    if (!rc)
        finish_result(&s, r);
    destroy(&s);
    return rc;
}

int aoei_retrieval_run(const aoei_eval_model *queries, const aoei_eval_model *docs, const char *const *paths,
                       size_t n_paths, const aoe_retrieval_options *o, aoe_retrieval_fn report, void *user,
                       aoe_error *err) {
    int rc = check_options(o, err);
    if (!rc && !n_paths)
        rc = aoei_fail(err, AOE_EARG, "no input paths; give at least one table of groups or BEIR folder");
    if (!rc)
        rc = check_dims(queries, docs, err);
    if (rc)
        return rc;
    aoei_retrieval_data *d = aoei_calloc(n_paths, sizeof *d);
    if (!d)
        return aoei_fail_nomem(err, n_paths * sizeof *d);
    aoei_eval_progress p = {.fn = o->progress, .user = o->user};
    for (size_t i = 0; !rc && i < n_paths; i++) {
        rc = aoei_retrieval_read(&d[i], paths, n_paths, i, o, err);
        const text_source texts = texts_of(&d[i], docs), query_source = queries_of(&d[i], queries);
        if (!rc && o->mode != AOE_RETRIEVAL_LEXICAL)
            rc = check_tokens(&d[i], &texts, err);
        if (!rc && o->mode != AOE_RETRIEVAL_LEXICAL)
            rc = check_tokens(&d[i], &query_source, err);
        p.total += d[i].texts.n + d[i].n_queries;
    }
    for (size_t i = 0; !rc && i < n_paths; i++) {
        aoe_retrieval_result result;
        rc = evaluate(&d[i], queries, docs, o, &result, &p, err);
        if (!rc && report)
            report(user, &result);
    }
    for (size_t i = 0; i < n_paths; i++)
        aoei_retrieval_free(&d[i]);
    aoei_free(d);
    return rc;
}

int aoe_eval_retrieval(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_retrieval_options *o,
                       aoe_retrieval_fn report, void *user, aoe_error *err) {
    AOEI_CHECK(err, e, paths, report);
    AOEI_OPTIONS(aoe_retrieval_options, o, err);
    aoei_embedder_adapter s, t;
    aoei_eval_model queries = aoei_eval_model_open(&s, e);
    const aoei_eval_model docs = aoei_eval_model_open(&t, o->doc_embedder ? o->doc_embedder : e);
    int rc = aoei_eval_model_set_similarity(&queries, o->similarity, err);
    if (!rc)
        rc = aoei_retrieval_run(&queries, o->doc_embedder ? &docs : &queries, paths, n_paths, o, report, user, err);
    aoei_eval_model_close(&s);
    aoei_eval_model_close(&t);
    return rc;
}
