/* SPDX-License-Identifier: MIT
 * Implements aoe_mine, which mines hard negatives. Every distinct text is embedded once. The rows are then processed in
 * blocks: the nearest candidates (texts that may be negatives) of the queries of a block are searched, and the
 * negatives are chosen from them. The negatives of a row depend neither on other rows nor on the division into blocks.
 * They are passed to a callback; this file does not write files.
 */
#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "dataset/mine_texts.h"
#include "model/embedder.h"
#include "vectors/nearest.h"
#include "nn/pooling.h"
#include "nn/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY = 0, POSITIVE = 1 }; /* text roles of a row */
enum {
    EMBED = 4096,  /* number of texts per call of the embedder */
    SEARCH = 1024, /* number of searches after which a block is complete */
    ROWS = 4096    /* maximum number of rows per block */
};

/* A search for the nearest candidates of one query text. A class contains the texts with equal tokens (mine_texts.h).
 * Rows with a single query share a search if their queries are in one class. A row with alternative queries has a
 * search for each alternative, and does not share it with other rows, because the candidates to skip depend on all
 * alternatives of the row. */
typedef struct search {
    size_t row;        /* index of a row that contains the query */
    uint32_t class_of; /* class of the query text */
} search;

/* A row of the current block. */
typedef struct block_row {
    size_t row;      /* index of the row in miner.t.row */
    size_t first, n; /* the searches of the row are miner.search[first, first + n) */
} block_row;

/* State of aoe_mine. */
typedef struct miner {
    aoe_embedder *embedder;      /* computes the embeddings; borrowed */
    const aoe_mine_options *o;   /* options; borrowed */
    aoei_mine_texts t;           /* texts and rows of the input files; owned, like the arrays below */
    aoe_mine_result result;      /* counts of the rows processed so far */
    double positives, negatives; /* sum of the cosines of queries and positives, and sum of the cosines of queries and
                                    negatives */
    size_t D, k;                 /* D: embedding size; k: number of nearest candidates that a search returns */
    size_t searches;             /* maximum number of searches per block; the arrays below have this capacity */
    aoei_arena arena;            /* memory of the tensors; owned */
    aoei_tensor vectors; /* [t.n_classes, D] embedding of each class, normalized to length 1; a zero vector stays
                            zero */
    /* [t.n_classes, D] embedding of each class with the prompt of the queries; equal to `vectors` if o->query_prompt is
     * NULL */
    aoei_tensor query_vectors;
    aoei_tensor queries;   /* [searches, D] embeddings of the queries of the block */
    aoei_tensor workspace; /* workspace of the search */
    float *host;     /* [EMBED, D] embeddings that one call of the embedder returns; later used for the two vectors of a
                        cosine; owned */
    search *search;  /* [searches] searches of the block; owned */
    uint32_t *index; /* [searches] class of the query of each search; owned */
    aoei_neighbor *best;   /* [searches, k] nearest candidates of each search; owned */
    aoei_neighbor *found;  /* [maximum number of searches of a row, k] candidates of the current row; owned */
    size_t *latest_search; /* [t.n_classes] number of the latest shared search for each query class; 0 if there is none.
                              Searches of all blocks are counted from 1; owned */
    size_t before;         /* number of searches in the blocks before the current block */
    block_row *block_row;  /* [ROWS] rows of the block; owned */
} miner;

AOEI_DEFAULTS(aoe_mine_options) {
    *o = (aoe_mine_options){.struct_size = sizeof *o,
                            .negatives = 1,
                            .range = 50,
                            .threshold = AOE_AUTO,
                            .margin = -INFINITY,
                            .min_score = -INFINITY,
                            .max_score = INFINITY,
                            .seed = 42};
    aoe_table_options_defaults(&o->table);
    aoe_table_options_defaults(&o->corpus_table);
}

static int check_options(const aoe_mine_options *o, aoe_error *err) {
    if (!o->n_files)
        return aoei_fail(err, AOE_EARG, "options.n_files is 0; give at least one training file");
    if (!o->negatives || !o->range)
        return aoei_fail(err, AOE_EARG, "options.negatives and options.range must be at least 1");
    if (o->skip >= o->range)
        return aoei_fail(
            err, AOE_EARG,
            "no candidate is left: options.range is %zu and options.skip is %zu; increase options.range or reduce "
            "options.skip",
            o->range, o->skip);
    int rc;
    if ((rc = aoei_check_option("options.threshold", o->threshold, err)) ||
        (rc = aoei_check_option("options.margin", o->margin, err)) ||
        (rc = aoei_check_option("options.min_score", o->min_score, err)) ||
        (rc = aoei_check_option("options.max_score", o->max_score, err)))
        return rc;
    if (o->min_score > o->max_score)
        return aoei_fail(err, AOE_EARG,
                         "options.min_score is %g and options.max_score is %g; the minimum must not exceed the maximum",
                         o->min_score, o->max_score);
    return AOE_OK;
}

static int report_progress(const miner *m, aoe_mine_stage stage, size_t done, size_t total, aoe_error *err) {
    if (m->o->progress && m->o->progress(m->o->user, stage, done, total))
        return aoei_fail(err, AOE_ECANCELLED, "mining was cancelled");
    return AOE_OK;
}

/* Returns the maximum number of alternative queries that a row has. */
static size_t max_alternatives(const aoei_mine_texts *t) {
    size_t max_queries = 1;
    for (size_t r = 0; r < t->n_rows; r++) {
        const size_t n = aoei_mine_role(&t->row[r], POSITIVE) - aoei_mine_role(&t->row[r], QUERY);
        max_queries = n > max_queries ? n : max_queries;
    }
    return max_queries;
}

static void lay_out(miner *m) {
    const aoe_context *ctx = aoe_embedder_model(m->embedder)->ctx;
    m->vectors = aoei_tensor_take(&m->arena, m->t.n_classes, m->D);
    m->query_vectors = m->o->query_prompt ? aoei_tensor_take(&m->arena, m->t.n_classes, m->D) : m->vectors;
    m->queries = aoei_tensor_take(&m->arena, m->searches, m->D);
    m->workspace = aoei_workspace_take(&m->arena, aoei_nearest_workspace(ctx, m->searches, m->t.n_candidates, m->D));
}

static int create(miner *m, aoe_error *err) {
    const size_t max_queries = max_alternatives(&m->t);
    m->D = aoe_embedder_dims(m->embedder);
    m->k = m->o->range < m->t.n_candidates ? m->o->range : m->t.n_candidates;
    m->searches = SEARCH + max_queries;
    aoei_arena_measure(&m->arena);
    lay_out(m);
    if (m->arena.overflow)
        return aoei_fail_nomem(err, SIZE_MAX);
    const size_t bytes = m->arena.used;
    const int code = aoei_arena_create(&m->arena, bytes, err);
    if (code)
        return code;
    lay_out(m);
    size_t found;
    if (aoei_mul_size(m->searches, m->k, &found))
        return aoei_fail_nomem(err, SIZE_MAX);
    m->host = aoei_malloc_array(EMBED * m->D, sizeof *m->host);
    m->search = aoei_malloc_array(m->searches, sizeof *m->search);
    m->index = aoei_malloc_array(m->searches, sizeof *m->index);
    m->best = aoei_malloc_array(found, sizeof *m->best);
    m->found = aoei_malloc_array(max_queries * m->k, sizeof *m->found);
    m->latest_search = aoei_calloc(m->t.n_classes, sizeof *m->latest_search);
    m->block_row = aoei_malloc_array(ROWS, sizeof *m->block_row);
    if (m->host && m->search && m->index && m->best && m->found && m->latest_search && m->block_row)
        return AOE_OK;
    return aoei_fail_nomem(err, found * sizeof *m->best);
}

static void destroy(miner *m) {
    aoei_arena_destroy(&m->arena);
    aoei_free(m->host);
    aoei_free(m->search);
    aoei_free(m->index);
    aoei_free(m->best);
    aoei_free(m->found);
    aoei_free(m->latest_search);
    aoei_free(m->block_row);
    aoei_mine_texts_free(&m->t);
}

/* Embeds the classes, whose tokens are `all`, and writes the normalized embeddings to `to`. done: number of texts that
 * were embedded before, of `total` texts. */
static int embed_lists(miner *m, aoei_tensor to, const aoei_token_lists *all, size_t done, size_t total,
                       aoe_error *err) {
    const aoe_context *ctx = aoe_embedder_model(m->embedder)->ctx;
    int code = report_progress(m, AOE_MINE_EMBED, done, total, err);
    for (size_t first = 0; first < all->n && !code; first += EMBED) {
        const size_t n = all->n - first < EMBED ? all->n - first : EMBED;
        const aoei_token_lists block = {.n = n,
                                        .ids = all->ids,
                                        .offsets = all->offsets + first,
                                        .truncated = all->truncated + first,
                                        .skipped = all->skipped ? all->skipped + first : NULL};
        code = aoei_embed_lists(m->embedder, &block, m->host, err);
        const size_t failed = aoe_embed_failed_text(m->embedder);
        if (code)
            return failed < n ? aoei_mine_prefix_error(&m->t, m->t.representative[first + failed], code, err) : code;
        const aoei_tensor rows = aoei_tensor_rows(to, first, n);
        aoei_tensor_write(ctx, rows, m->host);
        aoei_l2_normalize(ctx, rows);
        code = report_progress(m, AOE_MINE_EMBED, done + first + n, total, err);
    }
    return code;
}

/* Embeds the classes with the prompt of the queries. */
static int embed_queries(miner *m, aoe_error *err) {
    const size_t n = m->t.n_classes;
    aoe_text *texts = aoei_malloc_array(n ? n : 1, sizeof *texts);
    aoei_token_lists lists = {0};
    size_t failed = (size_t)-1;
    if (!texts)
        return aoei_fail_nomem(err, n * sizeof *texts);
    for (size_t i = 0; i < n; i++)
        texts[i] = m->t.text[m->t.representative[i]];
    const aoe_model *model = aoe_embedder_model(m->embedder);
    int code = aoei_encode_for_inference(model->ctx, model, texts, n, m->o->query_prompt, 0, &lists, &failed, err);
    if (code && failed < n)
        code = aoei_mine_prefix_error(&m->t, m->t.representative[failed], code, err);
    if (!code)
        code = embed_lists(m, m->query_vectors, &lists, n, 2 * n, err);
    aoei_token_lists_free(&lists);
    aoei_free(texts);
    return code;
}

static int embed(miner *m, aoe_error *err) {
    const size_t n = m->t.tokens.n;
    int code = embed_lists(m, m->vectors, &m->t.tokens, 0, m->o->query_prompt ? 2 * n : n, err);
    aoei_mine_texts_drop_tokens(&m->t);
    return code || !m->o->query_prompt ? code : embed_queries(m, err);
}

/* Filter callback for aoei_nearest. Returns 1 if the candidate `text` must be skipped, because some row contains both
 * the candidate and one of the queries of the row to which the search belongs. */
static int is_known(const void *user, size_t query, uint32_t text) {
    const miner *m = user;
    const aoei_mine_row *row = &m->t.row[m->search[query].row];
    for (size_t i = aoei_mine_role(row, QUERY); i < aoei_mine_role(row, POSITIVE); i++)
        if (aoei_mine_related(&m->t, row->class_of[i], text))
            return 1;
    return 0;
}

/* Fills the block with rows, starting with row `first`. *n is set to the number of rows in the block. Returns the
 * number of searches for the block. */
static size_t plan_block(miner *m, size_t first, size_t *n) {
    size_t n_searches = 0;
    for (*n = 0; *n < ROWS && first + *n < m->t.n_rows && n_searches < SEARCH; ++*n) {
        const aoei_mine_row *row = &m->t.row[first + *n];
        const size_t begin = aoei_mine_role(row, QUERY), count = aoei_mine_role(row, POSITIVE) - begin;
        size_t *latest_search = &m->latest_search[row->class_of[begin]];
        m->block_row[*n] = (block_row){first + *n, n_searches, count};
        if (count == 1 && *latest_search > m->before) {
            m->block_row[*n].first = *latest_search - 1 - m->before;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            m->search[n_searches++] = (search){first + *n, row->class_of[begin + i]};
        if (count == 1)
            *latest_search = m->before + n_searches;
    }
    return n_searches;
}

static void search_block(miner *m, size_t n_searches) {
    const aoe_context *ctx = aoe_embedder_model(m->embedder)->ctx;
    const aoei_nearest_job job = {.queries = aoei_tensor_rows(m->queries, 0, n_searches),
                                  .texts = aoei_tensor_rows(m->vectors, 0, m->t.n_candidates),
                                  .k = m->k,
                                  .skip = is_known,
                                  .user = m,
                                  .workspace = m->workspace};
    for (size_t i = 0; i < n_searches; i++)
        m->index[i] = m->search[i].class_of;
    aoei_rows_gather(ctx, job.queries, m->query_vectors, m->index);
    aoei_nearest(ctx, &job, m->best);
    m->before += n_searches;
}

/* Comparison function for qsort: sorts neighbors by ascending text index, and neighbors with equal text index by
 * descending score. */
static int by_text(const void *pa, const void *pb) {
    const aoei_neighbor *a = pa, *b = pb;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return (a->score < b->score) - (a->score > b->score);
}

static int by_score(const void *pa, const void *pb) {
    const aoei_neighbor *a = pa, *b = pb;
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

/* Merges the search results of all alternative queries of a row into m->found. A candidate that several searches found
 * is stored once, with its highest score. m->found is sorted by descending score. Returns the number of candidates. */
static size_t collect(const miner *m, const block_row *w) {
    aoei_neighbor *found = m->found;
    size_t n = 0, kept = 0;
    for (const aoei_neighbor *b = m->best + w->first * m->k, *end = b + w->n * m->k; b < end; b++)
        if (b->text != AOEI_NO_TEXT)
            found[n++] = *b;
    if (w->n == 1)
        return n;
    qsort(found, n, sizeof *found, by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || found[i].text != found[kept - 1].text)
            found[kept++] = found[i];
    qsort(found, kept, sizeof *found, by_score);
    return kept < m->k ? kept : m->k;
}

/* Returns the dot product of row a of x and row b of y, which are normalized embeddings. */
static double cosine(const miner *m, aoei_tensor x, uint32_t a, aoei_tensor y, uint32_t b) {
    const aoe_context *ctx = aoe_embedder_model(m->embedder)->ctx;
    double sum = 0;
    aoei_tensor_read(ctx, m->host, aoei_tensor_rows(x, a, 1));
    aoei_tensor_read(ctx, m->host + m->D, aoei_tensor_rows(y, b, 1));
    for (size_t i = 0; i < m->D; i++)
        sum += (double)m->host[i] * (double)m->host[m->D + i];
    return sum;
}

/* Returns the highest cosine of a query and a positive of the row. Pairs of alternatives that belong to one class are
 * ignored; if there are only such pairs, the result is 1. If the embeddings of all queries are zero vectors, the result
 * is -infinity. An embedding is zero if the model's vocabulary contains none of the text's words. */
static double positive_score(const miner *m, const aoei_mine_row *row) {
    double best = -INFINITY;
    int known = 0;
    for (size_t q = aoei_mine_role(row, QUERY); q < aoei_mine_role(row, POSITIVE); q++) {
        known |= cosine(m, m->query_vectors, row->class_of[q], m->query_vectors, row->class_of[q]) > 0;
        for (size_t p = aoei_mine_role(row, POSITIVE); p < aoei_mine_role(row, POSITIVE + 1); p++)
            if (row->class_of[q] != row->class_of[p])
                best = fmax(best, cosine(m, m->query_vectors, row->class_of[q], m->vectors, row->class_of[p]));
    }
    return !known ? -INFINITY : isinf(best) ? 1 : best;
}

/* Removes candidates from m->found[n] that options.skip, margin, min_score and max_score exclude. positive: cosine of
 * the query and the positive. Returns the number of remaining candidates. */
static size_t filter(const miner *m, size_t n, double positive) {
    const aoe_mine_options *o = m->o;
    size_t kept = 0;
    for (size_t i = o->skip; i < n; i++) {
        const double score = (double)m->found[i].score;
        if (!(score > positive - o->margin) && !(score < o->min_score) && !(score > o->max_score))
            m->found[kept++] = m->found[i];
    }
    return kept;
}

/* Chooses the negatives of a row from the n candidates in m->found. Returns the number of negatives. */
static size_t choose(const miner *m, size_t row, size_t n) {
    const size_t n_wanted = m->o->negatives < n ? m->o->negatives : n;
    size_t kept = 0;
    aoei_rng rng;
    if (!m->o->sample)
        return n_wanted;
    aoei_rng_init(&rng, m->o->seed, AOEI_STREAM_MINE, (uint32_t)row);
    for (size_t i = 0; kept < n_wanted; i++)
        if (aoei_rng_below(&rng, (uint32_t)(n - i)) < n_wanted - kept)
            m->found[kept++] = m->found[i];
    return kept;
}

static int mine_row(miner *m, const block_row *w, aoe_error *err) {
    const aoei_mine_row *row = &m->t.row[w->row];
    const aoe_text *texts = row->file->text;
    const double positive = positive_score(m, row);
    const size_t n = isinf(positive) ? 0 : choose(m, w->row, filter(m, collect(m, w), positive));
    const size_t query = aoei_mine_role(row, QUERY), first = aoei_mine_role(row, POSITIVE),
                 end = aoei_mine_role(row, POSITIVE + 1);
    if (!n || (m->o->complete && n < m->o->negatives)) {
        m->result.without++;
        return AOE_OK;
    }
    m->positives += positive;
    for (size_t i = 0; i < n; i++) {
        const double score = (double)m->found[i].score;
        const aoe_mined mined = {.struct_size = sizeof(aoe_mined),
                                 .query = texts + query,
                                 .n_query = first - query,
                                 .positive = texts + first,
                                 .n_positive = end - first,
                                 .negative = m->t.text[m->t.representative[m->found[i].text]],
                                 .number = i,
                                 .of = n,
                                 .positive_score = positive,
                                 .negative_score = score};
        m->negatives += score;
        m->result.triplets++;
        if (m->o->report && m->o->report(m->o->user, &mined))
            return aoei_fail(err, AOE_ECANCELLED, "mining was cancelled");
    }
    return AOE_OK;
}

static int mine(miner *m, aoe_error *err) {
    size_t n;
    int code = report_progress(m, AOE_MINE_SEARCH, 0, m->t.n_rows, err);
    for (size_t first = 0; first < m->t.n_rows && !code; first += n) {
        search_block(m, plan_block(m, first, &n));
        for (size_t i = 0; i < n && !code; i++)
            code = mine_row(m, &m->block_row[i], err);
        if (!code)
            code = report_progress(m, AOE_MINE_SEARCH, first + n, m->t.n_rows, err);
    }
    return code;
}

/* Computes the counts and means of the result. */
static void count_results(miner *m) {
    aoe_mine_result *r = &m->result;
    const size_t mined = m->t.n_rows - r->without;
    for (size_t f = 0; f < m->t.n_files; f++) {
        r->skipped += m->t.file[f].skipped;
        r->dropped += m->t.file[f].dropped;
    }
    r->rows = m->t.n_rows;
    r->below = m->t.below;
    r->texts = m->t.n_classes;
    r->truncated = m->t.truncated;
    r->candidates = m->t.n_candidates;
    r->positive_score = mined ? m->positives / (double)mined : NAN;
    r->negative_score = r->triplets ? m->negatives / (double)r->triplets : NAN;
}

int aoe_mine(aoe_embedder *e, const aoe_mine_options *o, aoe_mine_result *result, aoe_error *err) {
    AOEI_CHECK(err, e, result);
    AOEI_RESULT(aoe_mine_result, result, err);
    AOEI_OPTIONS(aoe_mine_options, o, err);
    miner m = {.embedder = e, .o = o};
    int code = check_options(o, err);
    if (!code)
        code = aoei_mine_texts_read(&m.t, aoe_embedder_model(e), o, err);
    if (!code)
        code = create(&m, err);
    if (!code)
        code = embed(&m, err);
    if (!code)
        code = mine(&m, err);
    if (!code) {
        count_results(&m);
        *result = m.result;
    }
    destroy(&m);
    return code;
}
