/* SPDX-License-Identifier: MIT
 * Evaluates a cross-encoder that reranks the documents of a first stage.
 */
#include <stdlib.h>
#include <string.h>

#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/error.h"
#include "base/options.h"
#include "eval/eval_model.h"
#include "eval/retrieval.h"
#include "eval/retrieval_data.h"
#include "eval/trec_run.h"
#include "options/evaluate.h"
#include "stats/ranking.h"

enum { PAIRS = 4096 }; /* number of pairs per call of aoe_score_pairs */

/* A document of the list of a query, with its score. */
typedef struct candidate {
    uint32_t text;
    float score;
} candidate;

/* State of an evaluation. */
typedef struct rerank {
    const aoe_rerank_options *o; /* options; borrowed */
    aoe_embedder *e;             /* embedder of the cross-encoder; borrowed */
    size_t classes, chosen;      /* number of outputs; output that is the score */
    size_t top;               /* maximum number of documents in a list: options.top, at most the number of documents */
    aoei_retrieval_data d;    /* owned */
    uint32_t *text;           /* [queries, top] documents of the first stage; AOEI_NO_TEXT: none; owned */
    float *score;             /* [queries, top] scores of the cross-encoder; owned */
    aoe_text *first, *second; /* [PAIRS] texts of the pairs of one call; owned */
    size_t *at;               /* [PAIRS] index in `text` of each pair of one call; owned */
    float *outputs;           /* [PAIRS, classes] owned */
    aoe_text_info *info;      /* [PAIRS] owned */
    candidate *list;          /* [top] list of one query; owned */
    double *gain, *ideal;     /* [top], [relevant texts] gains of one query; owned */
    aoei_eval_progress progress;
    aoe_rerank_result *result;
} rerank;

AOEI_DEFAULTS(aoe_rerank_options) {
    *o = (aoe_rerank_options){
        .struct_size = sizeof *o, .split = "test", .top = 100, .cutoff = 10, .score_class = AOE_AUTO};
}

/* Checks the options, and sets r->classes and r->chosen. */
static int check(rerank *r, const char *folder, aoe_error *err) {
    const aoe_rerank_options *o = r->o;
    r->classes = aoe_model_classes(aoe_embedder_model(r->e));
    r->chosen = o->score_class == AOE_AUTO ? 0 : o->score_class;
    if (!r->classes)
        return aoei_fail(err, AOE_EARG, "the model is not a cross-encoder; open one with options.cross_encoder");
    if (r->classes > 1 && o->score_class == AOE_AUTO)
        return aoei_fail(
            err, AOE_EARG,
            "the model has %zu outputs per pair; set options.score_class to the one that is the score (0 to %zu)",
            r->classes, r->classes - 1);
    if (r->chosen >= r->classes)
        return aoei_fail(err, AOE_EARG, "options.score_class is %zu, but the model has %zu output%s", r->chosen,
                         r->classes, r->classes == 1 ? "" : "s");
    if (!o->first == !o->run)
        return aoei_fail(err, AOE_EARG, "give either options.first or options.run as the first stage");
    if (o->run && o->similarity != AOE_SIMILARITY_COSINE)
        return aoei_fail(err, AOE_EARG,
                         "options.similarity has no effect on the lists of options.run; remove it, or give "
                         "options.first");
    int code = aoei_option_group_check(&aoei_rerank_lists_rows, o, AOEI_ALL_METHODS, err);
    if (!code)
        code = aoei_option_group_check(&aoei_rerank_output_rows, o, AOEI_ALL_METHODS, err);
    if (code)
        return code;
    if (!aoei_is_dir(folder))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: no such directory; give a BEIR directory with corpus.jsonl, queries.jsonl and qrels",
                         folder);
    return 0;
}

static int read_data(rerank *r, const char *folder, aoe_error *err) {
    aoe_retrieval_options o;
    aoe_retrieval_options_defaults(&o);
    o.split = r->o->split ? r->o->split : o.split;
    o.table.skip_bad_rows = r->o->skip_bad_rows;
    const int rc = aoei_retrieval_read(&r->d, &folder, 1, 0, &o, err);
    r->top = r->o->top < r->d.texts.n ? r->o->top : r->d.texts.n;
    return rc;
}

static int allocate(rerank *r, aoe_error *err) {
    const aoei_retrieval_data *d = &r->d;
    size_t listed, outputs, most = 1;
    for (size_t i = 0; i < d->n_queries; i++)
        most = d->query[i].n > most ? d->query[i].n : most;
    if (aoei_mul_size(d->n_queries, r->top, &listed) || aoei_mul_size(PAIRS, r->classes, &outputs))
        return aoei_fail_nomem(err, SIZE_MAX);
    r->text = aoei_malloc_array(listed, sizeof *r->text);
    r->score = aoei_malloc_array(listed, sizeof *r->score);
    r->first = aoei_malloc_array(PAIRS, sizeof *r->first);
    r->second = aoei_malloc_array(PAIRS, sizeof *r->second);
    r->at = aoei_malloc_array(PAIRS, sizeof *r->at);
    r->outputs = aoei_malloc_array(outputs, sizeof *r->outputs);
    r->info = aoei_malloc_array(PAIRS, sizeof *r->info);
    r->list = aoei_malloc_array(r->top, sizeof *r->list);
    r->gain = aoei_malloc_array(r->top, sizeof *r->gain);
    r->ideal = aoei_malloc_array(most, sizeof *r->ideal);
    if (r->text && r->score && r->first && r->second && r->at && r->outputs && r->info && r->list && r->gain &&
        r->ideal)
        return 0;
    return aoei_fail_nomem(err, listed * (sizeof *r->text + sizeof *r->score));
}

static void destroy(rerank *r) {
    aoei_retrieval_free(&r->d);
    aoei_free(r->text);
    aoei_free(r->score);
    aoei_free(r->first);
    aoei_free(r->second);
    aoei_free(r->at);
    aoei_free(r->outputs);
    aoei_free(r->info);
    aoei_free(r->list);
    aoei_free(r->gain);
    aoei_free(r->ideal);
}

/* Computes the lists of the first stage. */
static int run_first_stage(rerank *r, aoe_error *err) {
    aoei_embedder_adapter s, t;
    if (r->o->run)
        return aoei_trec_run_read(r->text, &r->d, r->top, r->o->run, r->o->skip_bad_rows, &r->d.skipped, err);
    r->progress.total = r->d.texts.n + r->d.n_queries;
    aoei_eval_model queries = aoei_eval_model_open(&s, r->o->first);
    const aoei_eval_model docs = aoei_eval_model_open(&t, r->o->first_docs ? r->o->first_docs : r->o->first);
    int rc = aoei_eval_model_set_similarity(&queries, r->o->similarity, err);
    if (!rc)
        rc = aoei_retrieval_lists(r->text, &r->d, &queries, &docs, r->top, &r->progress, err);
    aoei_eval_model_close(&s);
    aoei_eval_model_close(&t);
    return rc;
}

/* ------------------------------------------------------------------ scores */

/* Scores n pairs, which are collected in r->first and r->second. */
static int score_pairs(rerank *r, size_t n, aoe_error *err) {
    const int rc = aoe_score_pairs(r->e, r->first, r->second, n, r->outputs, r->info, err);
    const size_t failed = aoe_embed_failed_text(r->e);
    if (rc && failed < n)
        aoei_error_prefix(err, "%s:%zu", r->d.texts.name, r->d.texts.line[r->text[r->at[failed]]]);
    for (size_t i = 0; i < n && !rc; i++) {
        r->score[r->at[i]] = r->outputs[i * r->classes + r->chosen];
        r->result->truncated += r->info[i].truncated;
    }
    r->result->pairs += n;
    return rc ? rc : aoei_eval_advance(&r->progress, n, err);
}

/* Scores all documents of all lists. */
static int score_lists(rerank *r, aoe_error *err) {
    const size_t top = r->top, all = r->d.n_queries * top;
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < all && !rc; i++) {
        if (r->text[i] == AOEI_NO_TEXT)
            continue;
        r->first[n] = aoei_retrieval_query(&r->d, i / top);
        r->second[n] = aoei_retrieval_text(&r->d, r->text[i]);
        r->at[n++] = i;
        if (n == PAIRS) {
            rc = score_pairs(r, n, err);
            n = 0;
        }
    }
    return rc || !n ? rc : score_pairs(r, n, err);
}

/* Comparison function for qsort: sorts candidates by descending score, then by descending id, which is the order of the
 * texts.
 */
static int by_score(const void *pa, const void *pb) {
    const candidate *a = pa, *b = pb;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

/* Sets r->list to the reranked list of a query. Returns the number of its documents. */
static size_t sort_list(rerank *r, size_t query) {
    size_t n = 0;
    for (size_t i = query * r->top; i < (query + 1) * r->top; i++)
        if (r->text[i] != AOEI_NO_TEXT)
            r->list[n++] = (candidate){r->text[i], r->score[i]};
    if (n)
        qsort(r->list, n, sizeof *r->list, by_score);
    return n;
}

/* Replaces the lists of the first stage by the reranked lists, and writes the run file. */
static int sort_lists(rerank *r, aoe_error *err) {
    aoei_buffer lines = {0};
    int rc = 0;
    for (size_t q = 0; q < r->d.n_queries && !rc; q++) {
        const size_t n = sort_list(r, q);
        aoei_buffer_clear(&lines);
        for (size_t i = 0; i < n && !rc; i++) {
            r->text[q * r->top + i] = r->list[i].text;
            if (r->o->write)
                rc = aoei_trec_run_append(&lines, &r->d, q, r->list[i].text, i + 1, (double)r->list[i].score, err);
        }
        if (!rc && r->o->write && lines.len && r->o->write(r->o->user, 0, lines.data, lines.len))
            rc = aoei_fail(err, AOE_ECANCELLED, "the output could not be written");
    }
    aoei_buffer_free(&lines);
    return rc;
}

/* ----------------------------------------------------------------- metrics */

/* Returns the gain of a document for a query. */
static double gain_of(const aoei_retrieval_data *d, const aoei_query *q, uint32_t text) {
    for (size_t i = 0; i < q->n; i++)
        if (d->relevant[q->first + i].text == text)
            return d->relevant[q->first + i].gain;
    return 0;
}

/* Computes the metrics of the lists in r->text. */
static void measure(const rerank *r, aoe_rerank_metrics *m) {
    const aoei_retrieval_data *d = &r->d;
    for (size_t i = 0; i < d->n_queries; i++) {
        const aoei_query *q = &d->query[i];
        size_t n = 0;
        for (const uint32_t *text = r->text + i * r->top; n < r->top && text[n] != AOEI_NO_TEXT; n++)
            r->gain[n] = gain_of(d, q, text[n]);
        for (size_t k = 0; k < q->n; k++)
            r->ideal[k] = d->relevant[q->first + k].gain;
        m->ndcg += aoei_ndcg(r->gain, n, r->o->cutoff, r->ideal, q->n);
        m->mrr += aoei_reciprocal_rank(r->gain, n, r->o->cutoff);
        m->recall += aoei_recall(r->gain, n, r->top, q->n);
    }
    m->ndcg /= (double)d->n_queries;
    m->mrr /= (double)d->n_queries;
    m->recall /= (double)d->n_queries;
}

/* Runs both stages. */
static int evaluate(rerank *r, aoe_error *err) {
    double start = aoei_now();
    int rc = run_first_stage(r, err);
    if (rc)
        return rc;
    r->result->first.seconds = aoei_now() - start;
    measure(r, &r->result->first);
    for (size_t i = 0; i < r->d.n_queries * r->top; i++) {
        r->progress.total += r->text[i] != AOEI_NO_TEXT;
        r->result->missing += i % r->top == 0 && r->text[i] == AOEI_NO_TEXT;
    }
    start = aoei_now();
    rc = score_lists(r, err);
    if (!rc)
        rc = sort_lists(r, err);
    r->result->reranked.seconds = aoei_now() - start;
    if (!rc)
        measure(r, &r->result->reranked);
    return rc;
}

int aoe_eval_rerank(aoe_embedder *e, const char *folder, const aoe_rerank_options *o, aoe_rerank_result *result,
                    aoe_error *err) {
    AOEI_CHECK(err, e, folder, result);
    AOEI_RESULT(aoe_rerank_result, result, err);
    AOEI_OPTIONS(aoe_rerank_options, o, err);
    rerank r = {.o = o, .e = e, .result = result, .progress = {.fn = o->progress, .user = o->user}};
    int rc = check(&r, folder, err);
    if (!rc)
        rc = read_data(&r, folder, err);
    if (!rc)
        rc = allocate(&r, err);
    if (!rc)
        rc = evaluate(&r, err);
    result->texts = r.d.texts.n;
    result->queries = r.d.n_queries;
    result->without = r.d.without;
    result->skipped = r.d.skipped;
    result->missing_documents = r.d.missing;
    result->unknown_queries = r.d.unknown_queries;
    result->duplicates = r.d.duplicates;
    destroy(&r);
    return rc;
}
