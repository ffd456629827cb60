/* SPDX-License-Identifier: MIT
 * The option tables of evaluations (retrieval, reranking, pairs with binary labels, triplets, the STS suite) and of
 * measurements of speed.
 */
#include "options/evaluate.h"

#include <stddef.h>
#include <stdlib.h>

#include "aoe_eval.h"
#include "base/error.h"
#include "options/rows.h"

const char *const aoei_bench_mode_names[] = {"infer", "train", "pretrain", NULL};

/* Parses a list of numbers of texts such as "1,5,10". The target is the struct aoe_retrieval_options. */
static int parse_numbers(void *target, const char *text, aoe_error *err) {
    aoe_retrieval_options *r = target;
    const char *at = text;
    r->n_recall = 0;
    do {
        char *end;
        const unsigned long n = strtoul(at, &end, 10);
        if (*at < '1' || *at > '9' || (*end && *end != ',') || n > 1000000 || r->n_recall == AOE_RECALL_MAX)
            return aoei_fail(err, AOE_EARG,
                             "expected up to %d integers from 1 to 1000000, for example 1,5,10, not '%.100s'",
                             AOE_RECALL_MAX, text);
        r->recall_at[r->n_recall++] = n;
        at = *end ? end + 1 : end;
    } while (*at);
    return 0;
}

#define RETRIEVAL(field) AOEI_AT(aoe_retrieval_options, field)

/* Parses weights such as "1,0.5". The target is the struct aoe_retrieval_options. */
static int parse_weights(void *target, const char *text, aoe_error *err) {
    aoe_retrieval_options *r = target;
    char *middle, *end = NULL;
    const double dense = strtod(text, &middle), lexical = *middle == ',' ? strtod(middle + 1, &end) : -1;
    if (*middle != ',' || middle == text || end == middle + 1 || *end || !(dense >= 0) || !(lexical >= 0) ||
        !(dense + lexical > 0 && dense + lexical < 1e9))
        return aoei_fail(err, AOE_EARG,
                         "expected the weights of dense and lexical search, which are not negative, for example 1,0.5, "
                         "not '%.100s'",
                         text);
    r->dense_weight = dense;
    r->lexical_weight = lexical;
    return 0;
}

static const aoei_option retrieval_metrics_rows[] = {
    {.name = "recall-at",
     .kind = AOEI_OPTION_NAMED,
     .value = "K,...",
     .member = "recall_at",
     .offset = 0,
     .parse = parse_numbers,
     .help = "print the recall among the K nearest texts, for each K",
     .fallback = "1,5,10"},
    {.name = "top",
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     RETRIEVAL(top),
     .min = 1,
     .most = 1e6,
     .help = "number of nearest texts from which MRR and nDCG are computed"},
};

static const aoei_option retrieval_search_rows[] = {
    AOEI_ROW_SIMILARITY("similarity of embeddings by which texts are ranked", RETRIEVAL(similarity)),
    {.name = "mode",
     .kind = AOEI_OPTION_CHOICE,
     RETRIEVAL(mode),
     .choices = AOEI_CHOICES("dense", "lexical", "hybrid"),
     .noun = "mode",
     .help = "ranking of the texts: dense (--similarity of embeddings), lexical (BM25 of words, without the model) or "
             "hybrid (reciprocal rank fusion of both, as in aoe search)"},
    {.name = "weights",
     .kind = AOEI_OPTION_NAMED,
     .value = "DENSE,LEXICAL",
     .member = "dense_weight",
     .offset = 0,
     .parse = parse_weights,
     .help = "for --mode hybrid: weights of the two rankings",
     .fallback = "1,0.8"},
};

static const aoei_option retrieval_input_rows[] = {
    {.name = "query",
     .kind = AOEI_OPTION_CHOICE,
     RETRIEVAL(query),
     .choices = AOEI_CHOICES("random", "first", "all"),
     .noun = "query choice",
     .help = "for tables: texts of each group that are used as queries: random (one text, drawn at random), first (the "
             "first text) or all (every text)"},
    {.name = "count-query",
     .kind = AOEI_OPTION_FLAG,
     RETRIEVAL(count_query),
     .help = "for tables: count the query itself as a relevant text in recall, MRR and nDCG; without "
             "this option, the query is excluded from the ranking"},
    {.name = "split",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     RETRIEVAL(split),
     .help = "BEIR directories: read the relevance judgments from qrels/NAME.tsv"},
    AOEI_ROW_COLUMNS(RETRIEVAL(table.columns), "ROLE=NAME,...",
                     "columns to read: ROLE=NAME reads the column NAME as ROLE, for example group=a,text=b",
                     "group=group or group=image; text=text, text=caption or text=sentence"),
    {.name = "skip-bad-rows",
     .kind = AOEI_OPTION_FLAG,
     RETRIEVAL(table.skip_bad_rows),
     .help = "skip unreadable rows and report the number of skipped rows; without this option, the command "
             "stops at the first such row"},
};

#define RERANK(field) AOEI_AT(aoe_rerank_options, field)

static const aoei_option rerank_lists_rows[] = {
    AOEI_ROW_SIMILARITY("for --first: similarity of embeddings by which documents are ranked", RERANK(similarity)),
    {.name = "run",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     RERANK(run),
     .excludes = "first",
     .help = "first stage: a run file of TREC, with lines QUERY Q0 DOCUMENT RANK SCORE TAG",
     .fallback = ""},
    {.name = "top",
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     RERANK(top),
     .min = 1,
     .max = 1e6,
     .help = "number of documents of the first stage that are reranked, for each query"},
};

static const aoei_option rerank_output_rows[] = {
    {.name = "cutoff",
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     RERANK(cutoff),
     .min = 1,
     .most = 1e6,
     .help = "number of documents from which nDCG and MRR are computed"},
};

static const aoei_option rerank_input_rows[] = {
    {.name = "split",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     RERANK(split),
     .help = "read the relevance judgments from qrels/NAME.tsv"},
    AOEI_ROW_SKIP_BAD_ROWS(RERANK(skip_bad_rows)),
};

#define SIMILARITY_HELP "similarity of two embeddings"
#define BINARY(field)   AOEI_AT(aoe_binary_options, field)

static const aoei_option binary_classes_rows[] = {
    {.name = "positive-from",
     .kind = AOEI_OPTION_REAL,
     BINARY(positive_from),
     .min = -1e30,
     .max = 1e30,
     .help = "pairs with a label of at least X are positive",
     .fallback = "1; without this option, all labels must be 0 or 1"},
};

/* The similarity of the evaluations of pairs. */
static const aoei_option sts_similarity_rows[] = {
    AOEI_ROW_SIMILARITY(SIMILARITY_HELP, AOEI_AT(aoe_sts_options, similarity)),
};

static const aoei_option binary_similarity_rows[] = {
    AOEI_ROW_SIMILARITY(SIMILARITY_HELP, BINARY(similarity)),
};

#define TRIPLETS(field) AOEI_AT(aoe_triplet_options, field)

static const aoei_option triplet_similarity_rows[] = {
    AOEI_ROW_SIMILARITY(SIMILARITY_HELP, TRIPLETS(similarity)),
};

/* Table options for triplets. Options for labels are missing, because triplets have no labels. */
static const aoei_option triplet_rows[] = {
    AOEI_ROW_COLUMNS(
        TRIPLETS(table.columns), "ROLE=NAME,...",
        "columns to read: ROLE=NAME reads the column NAME as ROLE, for example query=a,positive=b,negative=c",
        AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_SKIP_BAD_ROWS(TRIPLETS(table.skip_bad_rows)),
};

#define BENCH(field) AOEI_AT(aoe_bench_options, field)

static const aoei_option bench_rows[] = {
    {.name = "mode",
     .kind = AOEI_OPTION_CHOICE,
     .value = "MODE",
     BENCH(mode),
     .choices = aoei_bench_mode_names,
     .noun = "mode",
     .help = "what to measure: infer (inference), train (one AdamW step on --texts / 2 pairs, with dropout 0.1) or "
             "pretrain (one step of masked language modeling)"},
    {.name = "length",
     .kind = AOEI_OPTION_SIZE,
     BENCH(length),
     .min = 1,
     .max = 1e6,
     .help = "number of tokens per text"},
    AOEI_ROW_DTYPE(BENCH(dtype)),
    {.name = "runs",
     .kind = AOEI_OPTION_SIZE,
     BENCH(runs),
     .min = 5,
     .max = 1e6,
     .help = "number of measured runs, at least 5"},
};

#define SUITE(field) AOEI_AT(aoe_suite_options, field)

static const aoei_option suite_rows[] = {
    AOEI_ROW_SIMILARITY(SIMILARITY_HELP, SUITE(similarity)),
    AOEI_ROW_SKIP_BAD_ROWS(SUITE(skip_bad_rows)),
};

const aoei_option_group aoei_retrieval_metrics_rows =
    AOEI_GROUP("metrics", aoe_retrieval_options, retrieval_metrics_rows);
const aoei_option_group aoei_retrieval_search_rows = AOEI_GROUP("search", aoe_retrieval_options, retrieval_search_rows);
const aoei_option_group aoei_retrieval_input_rows = AOEI_GROUP("input", aoe_retrieval_options, retrieval_input_rows);
const aoei_option_group aoei_rerank_lists_rows = AOEI_GROUP("lists", aoe_rerank_options, rerank_lists_rows);
const aoei_option_group aoei_rerank_output_rows = AOEI_GROUP("output", aoe_rerank_options, rerank_output_rows);
const aoei_option_group aoei_rerank_input_rows = AOEI_GROUP("input", aoe_rerank_options, rerank_input_rows);
const aoei_option_group aoei_binary_classes_rows = AOEI_GROUP("classes", aoe_binary_options, binary_classes_rows);
const aoei_option_group aoei_sts_similarity_rows = AOEI_GROUP("similarity", aoe_sts_options, sts_similarity_rows);
const aoei_option_group aoei_binary_similarity_rows =
    AOEI_GROUP("similarity", aoe_binary_options, binary_similarity_rows);
const aoei_option_group aoei_triplet_similarity_rows =
    AOEI_GROUP("similarity", aoe_triplet_options, triplet_similarity_rows);
const aoei_option_group aoei_suite_rows = AOEI_GROUP("suite", aoe_suite_options, suite_rows);
const aoei_option_group aoei_triplets_rows = AOEI_GROUP("tables", aoe_triplet_options, triplet_rows);
const aoei_option_group aoei_bench_rows = AOEI_GROUP("measurement", aoe_bench_options, bench_rows);
