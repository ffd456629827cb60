/* SPDX-License-Identifier: MIT
 *
 * aoe_eval.h: evaluations, statistics, verification and benchmarks. docs/evaluation.md is the manual.
 */
#ifndef AOE_EVAL_H
#define AOE_EVAL_H

#include "aoe.h"
#include "aoe_data.h"
#include "aoe_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- evaluation */

/* While an embedder has a cache, its evaluations compute the embedding of each text once. The cache keeps the texts and
 * their complete embeddings, so evaluations with several values of aoe_embedder_set_dims also share them. aoe_embed
 * does not use it. Only one thread at a time may evaluate an embedder that has a cache. */
typedef struct aoe_eval_cache aoe_eval_cache;

/* Creates the cache of e, which borrows it. Errors: AOE_EARG (e has a cache). */
AOE_API int aoe_eval_cache_create(aoe_eval_cache **c, aoe_embedder *e, aoe_error *AOE_NULLABLE err);
/* Removes the cache from its embedder and frees it. Call it before the embedder is destroyed. */
AOE_API void aoe_eval_cache_destroy(aoe_eval_cache *AOE_NULLABLE c);

/* Pearson correlation of x[n] and y[n]. Returns NaN if n < 2, if x or y is constant, or if a value is NaN. */
AOE_API double aoe_pearson(const double *x, const double *y, size_t n);
/* Spearman correlation of x[n] and y[n], with average ranks for ties. Returns NaN if aoe_pearson returns NaN, or if
 * memory allocation fails. */
AOE_API double aoe_spearman(const double *x, const double *y, size_t n);

typedef enum aoe_sts_row { AOE_STS_FILE, AOE_STS_SUBSET, AOE_STS_FOLDER, AOE_STS_ALL } aoe_sts_row;

typedef struct aoe_sts_result {
    size_t struct_size; /* set by the caller of aoe_eval_pairs; set by the library for an aoe_sts_fn */
    aoe_sts_row row;    /* AOE_STS_FILE: a table. AOE_STS_SUBSET: one subset of a SentEval folder. AOE_STS_FOLDER: all
                           subsets of a SentEval folder. AOE_STS_ALL: all inputs */
    const char *name;   /* name of the file, subset or folder; borrowed for the call */
    size_t pairs;       /* scored pairs */
    size_t skipped;     /* number of rows that are not scored: bad rows and rows that label_map drops; SentEval folders:
                           lines without a gold score, bad lines and gold files without a file of texts */
    size_t empty;       /* empty texts */
    size_t truncated;   /* texts truncated to the maximum length */
    double spearman, pearson;    /* correlation of similarity and gold score, in [-1, 1] */
    const double *cosine, *gold; /* [pairs] similarity (options.similarity) and gold score of each pair, borrowed for
                                    the call of an aoe_sts_fn; NULL in aoe_eval_pairs */
} aoe_sts_result;

/* Receives the result for one table, subset, folder, or for all inputs. */
typedef void (*aoe_sts_fn)(void *user, const aoe_sts_result *result);

/* Receives the progress. done: number of pairs, triplets or texts whose embeddings are computed; total: number of all
 * pairs, triplets or texts. Returns 0 to continue; otherwise the evaluation returns AOE_ECANCELLED. */
typedef int (*aoe_eval_progress_fn)(void *user, size_t done, size_t total);

typedef struct aoe_sts_options {
    size_t struct_size;                 /* set by aoe_sts_options_defaults */
    aoe_table_options table;            /* allow_empty is ignored: empty texts are valid */
    aoe_eval_progress_fn progress;      /* counts pairs; NULL (default): none */
    void *user;                         /* first argument of progress */
    aoe_similarity_function similarity; /* default AOE_SIMILARITY_COSINE; must not be set for a cross-encoder */
} aoe_sts_options;

AOE_OPTIONS_WITH(aoe_sts_options, aoe_table_options_defaults(&o->table));

/* Computes the correlation of similarity and gold score (semantic textual similarity; for a cross-encoder with one
 * output, of its score and gold score; this also holds for the other evaluations of pairs and triplets) on tables of
 * pairs and on SentEval folders (STSxx-en-test). Calls report for each table, in input order. For a folder, report is
 * called for each subset and then for the whole folder (the `all` setting). If there are several inputs, the last call
 * is for all inputs together. Errors: AOE_EFORMAT (file, line and column), AOE_ENOENT, AOE_ECANCELLED. */
AOE_API int aoe_eval_sts(aoe_embedder *e, const char *const *paths, size_t n_paths,
                         const aoe_sts_options *AOE_NULLABLE o, aoe_sts_fn report, void *AOE_NULLABLE user,
                         aoe_error *AOE_NULLABLE err);
/* Reads and checks the inputs of aoe_eval_sts without a model. Errors: see aoe_eval_sts; AOE_EFORMAT (all gold scores
 * of a table or folder are equal, so the correlation is undefined). */
AOE_API int aoe_sts_check(const char *const *paths, size_t n_paths, const aoe_table_options *AOE_NULLABLE o,
                          aoe_error *AOE_NULLABLE err);
/* Evaluates pairs in memory, as aoe_eval_sts evaluates a table. Sets *result. */
AOE_API int aoe_eval_pairs(aoe_embedder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *AOE_NULLABLE err);

/* The dev set of a training run: labeled pairs that are evaluated during training. The model with the highest Spearman
 * correlation of cosine and label is kept. Set four fields of aoe_train_options to use a dev set:
 *     o.evaluate = aoe_dev_set_evaluate;
 *     o.evaluate_user = dev_set;
 *     o.dev_name = path;
 *     o.dev_fingerprint = aoe_dev_set_fingerprint(dev_set);
 */
typedef struct aoe_dev_set aoe_dev_set;

/* Loads a table of labeled pairs. options.allow_empty is ignored: empty texts are valid. The log of `ctx` receives the
 * number of skipped rows and the warnings of aoe_dev_set_evaluate. Errors: see aoe_pairs_load; AOE_EFORMAT (all labels
 * are equal, so the correlation is undefined). */
AOE_API int aoe_dev_set_load(aoe_dev_set **d, aoe_context *ctx, const char *path,
                             const aoe_table_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
/* Evaluates the model of the embedder `e` on the dev set. `dev_set` must point to an aoe_dev_set; it is a void pointer
 * so that the function has the type aoe_dev_fn. Sets *score to the Spearman correlation. If all cosines are equal, the
 * correlation is undefined; *score is then -1, and a warning is logged. The score of a cross-encoder is the Spearman
 * correlation of its scores with the labels or, if it has several outputs, its accuracy; labels must then be classes.
 * The first evaluation also logs a warning if texts are truncated. Errors: see aoe_eval_pairs. */
AOE_API int aoe_dev_set_evaluate(void *dev_set, aoe_embedder *e, double *score, aoe_error *AOE_NULLABLE err);
AOE_API double aoe_dev_set_pearson(const aoe_dev_set *d); /* Pearson correlation of the latest evaluation; NaN before
                                                             the first one */
AOE_API uint64_t aoe_dev_set_fingerprint(const aoe_dev_set *d); /* value for aoe_train_options.dev_fingerprint */
AOE_API void aoe_dev_set_free(aoe_dev_set *AOE_NULLABLE d);

/* How SentEval aggregates the subsets of one year of STS (docs/evaluation.md).
 *   AOE_SETTING_ALL    one correlation over the pairs of all subsets
 *   AOE_SETTING_MEAN   the mean of the correlations of the subsets
 *   AOE_SETTING_WMEAN  the mean of the correlations of the subsets, weighted by their numbers of pairs */
typedef enum aoe_setting { AOE_SETTING_ALL, AOE_SETTING_MEAN, AOE_SETTING_WMEAN, AOE_SETTING_COUNT } aoe_setting;
AOE_API const char *aoe_setting_name(aoe_setting s); /* "all", "mean" or "wmean"; static string, NULL for an unknown
                                                        value */

typedef enum aoe_suite_row { AOE_SUITE_SUBSET, AOE_SUITE_SET, AOE_SUITE_AVERAGE } aoe_suite_row;

typedef struct aoe_suite_result {
    size_t struct_size; /* set by the library */
    aoe_suite_row row;
    const char *name; /* "STS12/MSRpar", "STS12", "STS-B", "SICK-R" or "average"; borrowed for the call */
    const char *path; /* AOE_SUITE_SET: file or folder of the set, borrowed for the call; NULL: the set was not found
                         and has no results */
    size_t parts;     /* AOE_SUITE_SET: number of subsets (1 for STS-B and SICK-R); AOE_SUITE_AVERAGE: number of sets */
    size_t pairs;     /* scored pairs */
    size_t published_pairs; /* AOE_SUITE_SET, AOE_SUITE_SUBSET: number of pairs in the published data set */
    size_t skipped; /* number of lines without a gold score, bad rows, subsets that the set does not use, and gold files
                       without a file of texts */
    size_t empty;   /* empty texts */
    size_t truncated;                                               /* texts truncated to the maximum length */
    double spearman[AOE_SETTING_COUNT], pearson[AOE_SETTING_COUNT]; /* correlation of similarity and gold score for each
                                                                       aoe_setting, in [-1, 1]; the settings have equal
                                                                       values if `parts` is 1 */
} aoe_suite_result;

typedef void (*aoe_suite_fn)(void *user, const aoe_suite_result *result);

typedef struct aoe_suite_options {
    size_t struct_size;                 /* set by aoe_suite_options_defaults */
    int skip_bad_rows;                  /* as in aoe_table_options */
    aoe_eval_progress_fn progress;      /* counts pairs; NULL (default): none */
    void *user;                         /* first argument of progress */
    aoe_similarity_function similarity; /* default AOE_SIMILARITY_COSINE; must not be set for a cross-encoder */
} aoe_suite_options;

AOE_OPTIONS(aoe_suite_options);

/* Evaluates the seven sets of table 2 of the AnglE paper: STS12 to STS16, STS-B (test) and SICK-R (test). dirs:
 * [n_dirs] folders in SentEval's layout; each set is read from the first folder that contains it (docs/evaluation.md).
 * Calls report for each of the seven sets in this order, even if a set was not found. The subsets of a set are reported
 * before the set. The last call reports the average over the sets that were found. Errors: AOE_ENOENT (no set was
 * found), AOE_EFORMAT (a subset of a year is missing), and the errors of aoe_eval_sts. */
AOE_API int aoe_eval_suite(aoe_embedder *e, const char *const *dirs, size_t n_dirs,
                           const aoe_suite_options *AOE_NULLABLE o, aoe_suite_fn report, void *AOE_NULLABLE user,
                           aoe_error *AOE_NULLABLE err);

/* Metrics of a binary classifier that predicts a pair as positive if its score is at least the threshold. The best
 * threshold is halfway between two adjacent scores; if several thresholds are equally good, it is the highest. If there
 * are no positives, the F1 fields and average_precision are NaN. */
typedef struct aoe_binary_metrics {
    size_t positives;                                 /* number of positive pairs */
    double accuracy, accuracy_threshold;              /* highest accuracy; threshold at which it is reached */
    double f1, f1_threshold, f1_precision, f1_recall; /* highest F1; threshold, precision and recall at the highest
                                                         F1 */
    double average_precision; /* sum over descending thresholds of (recall - previous recall) * precision */
} aoe_binary_metrics;

/* Computes the metrics of score[n] with classes positive[n] (0 or 1). Pairs with equal scores get the same prediction
 * at every threshold. Errors: AOE_EARG (n is 0), AOE_ENUMERIC (a score is NaN). */
AOE_API int aoe_binary(aoe_binary_metrics *m, const double *score, const uint8_t *positive, size_t n,
                       aoe_error *AOE_NULLABLE err);

typedef struct aoe_binary_options {
    size_t struct_size; /* set by aoe_binary_options_defaults */
    aoe_table_options table;
    double positive_from;               /* lowest label of a positive pair; AOE_AUTO (default): labels must be 0 or 1 */
    aoe_eval_progress_fn progress;      /* counts pairs; NULL (default): none */
    void *user;                         /* first argument of progress */
    aoe_similarity_function similarity; /* default AOE_SIMILARITY_COSINE; must not be set for a cross-encoder */
} aoe_binary_options;

typedef struct aoe_binary_result {
    size_t struct_size;                      /* set by the library */
    const char *name;                        /* file name, borrowed for the call */
    size_t pairs, skipped, empty, truncated; /* as in aoe_sts_result */
    double spearman, pearson;                /* correlation of similarity and label */
    aoe_binary_metrics metrics;              /* the similarities are the scores */
} aoe_binary_result;

typedef void (*aoe_binary_fn)(void *user, const aoe_binary_result *result);

AOE_OPTIONS_WITH(aoe_binary_options, aoe_table_options_defaults(&o->table));
/* Evaluates binary classification of pairs (for example paraphrases or duplicates) by similarity. paths: tables of
 * pairs whose labels have two classes. Calls report for each table in order. Errors: as aoe_eval_sts. */
AOE_API int aoe_eval_binary(aoe_embedder *e, const char *const *paths, size_t n_paths,
                            const aoe_binary_options *AOE_NULLABLE o, aoe_binary_fn report, void *AOE_NULLABLE user,
                            aoe_error *AOE_NULLABLE err);

typedef struct aoe_triplet_options {
    size_t struct_size;                 /* set by aoe_triplet_options_defaults */
    aoe_table_options table;            /* columns: query, positive, negative */
    aoe_eval_progress_fn progress;      /* counts pairs, two for each triplet; NULL (default): none */
    void *user;                         /* first argument of progress */
    aoe_similarity_function similarity; /* default AOE_SIMILARITY_COSINE; must not be set for a cross-encoder */
} aoe_triplet_options;

AOE_OPTIONS_WITH(aoe_triplet_options, aoe_table_options_defaults(&o->table));

typedef struct aoe_triplet_result {
    size_t struct_size;                    /* set by the library */
    const char *name;                      /* file name, borrowed for the call */
    size_t triplets;                       /* evaluated triplets */
    size_t skipped, empty, truncated;      /* as in aoe_sts_result */
    double accuracy;                       /* fraction of triplets with sim(query, positive) > sim(query, negative) */
    double ties;                           /* fraction of triplets with equal similarities */
    double positive_score, negative_score; /* mean similarity of query and positive, and of query and negative */
} aoe_triplet_result;

typedef void (*aoe_triplet_fn)(void *user, const aoe_triplet_result *result);

/* Evaluates tables of triplets. Calls report for each table in order. Errors: as aoe_eval_sts. */
AOE_API int aoe_eval_triplets(aoe_embedder *e, const char *const *paths, size_t n_paths,
                              const aoe_triplet_options *AOE_NULLABLE o, aoe_triplet_fn report, void *AOE_NULLABLE user,
                              aoe_error *AOE_NULLABLE err);

/* Choice of the queries among the texts of a group. AOE_QUERY_RANDOM: one random text. AOE_QUERY_FIRST: the first text.
 * AOE_QUERY_ALL: every text. */
typedef enum aoe_query_choice { AOE_QUERY_RANDOM, AOE_QUERY_FIRST, AOE_QUERY_ALL } aoe_query_choice;

/* How texts are ranked. */
typedef enum aoe_retrieval_mode {
    AOE_RETRIEVAL_DENSE,   /* similarity of embeddings */
    AOE_RETRIEVAL_LEXICAL, /* BM25 of words, as in aoe_index.h; the model is not used */
    AOE_RETRIEVAL_HYBRID   /* reciprocal rank fusion of both, as in aoe_index.h */
} aoe_retrieval_mode;

enum { AOE_RECALL_MAX = 8 };

typedef struct aoe_retrieval_options {
    size_t struct_size;               /* set by aoe_retrieval_options_defaults */
    aoe_table_options table;          /* groups: columns, for example "group=image,text=caption" */
    const char *split;                /* BEIR folders: name of the relevance file qrels/SPLIT.tsv; default "test" */
    size_t recall_at[AOE_RECALL_MAX]; /* [n_recall] values of k for recall@k; default 1, 5, 10 */
    size_t n_recall;
    size_t top;                 /* value of k for MRR@k and nDCG@k; default 10 */
    aoe_query_choice query;     /* groups: choice of the queries; default AOE_QUERY_RANDOM */
    uint64_t seed;              /* seed of AOE_QUERY_RANDOM; default 42 */
    int count_query;            /* groups: 1: the query itself is also a relevant text that can be found; default 0 */
    aoe_embedder *doc_embedder; /* embedder of the corpus, for example with another prompt; NULL (default): the embedder
                                   of the queries */
    aoe_eval_progress_fn progress;       /* counts texts; NULL (default): none */
    void *user;                          /* first argument of progress */
    aoe_retrieval_mode mode;             /* default AOE_RETRIEVAL_DENSE */
    double dense_weight, lexical_weight; /* HYBRID: weights of the two lists; defaults as in aoe_index_search_options */
    aoe_similarity_function similarity;  /* DENSE and HYBRID: similarity of embeddings; default AOE_SIMILARITY_COSINE */
} aoe_retrieval_options;

typedef struct aoe_retrieval_result {
    size_t struct_size; /* set by the library */
    const char *name;   /* file or folder name, borrowed for the call */
    size_t texts;       /* texts in the corpus */
    size_t queries;     /* evaluated queries */
    size_t without;   /* groups: queries that were excluded because they are alone in their group; BEIR folders: judged
                         queries without relevant texts, whose metrics are 0 as in trec_eval */
    size_t skipped;   /* bad rows */
    size_t empty;     /* empty texts */
    size_t truncated; /* texts and queries truncated to the maximum length */
    double strict; /* groups: fraction of queries for which the g nearest texts, including the query itself, are exactly
                      the texts of the query's group, where g is the size of the group; BEIR folders: NaN */
    double recall[AOE_RECALL_MAX]; /* [i]: mean over queries of recall@k for k = recall_at[i] */
    double mrr, ndcg;              /* MRR@k and nDCG@k for k = options.top, means over queries, in [0, 1] */
    size_t missing; /* BEIR folders: judgments of texts that the corpus does not contain; they count as not found */
    size_t unknown_queries; /* BEIR folders: judgments of queries that queries.jsonl does not contain; they have no
                               effect */
    size_t duplicates;      /* BEIR folders: entries that were replaced by a later entry with the same id */
} aoe_retrieval_result;

typedef void (*aoe_retrieval_fn)(void *user, const aoe_retrieval_result *result);

AOE_OPTIONS_WITH(aoe_retrieval_options, aoe_table_options_defaults(&o->table));
/* Evaluates exact search, by cosine unless options.mode or options.similarity is set, on tables of groups and on BEIR
 * folders (corpus.jsonl, queries.jsonl, qrels). A group is, for example, the captions of one image. If scores are
 * equal, the earlier text of a group file ranks higher, and the text of a BEIR folder with the larger id, as in
 * trec_eval. The vectors of all texts of an input are in memory at the same time. Calls report for each input in order.
 * docs/evaluation.md contains the formulas. Errors: as aoe_eval_sts; AOE_EARG (options.similarity is set in mode
 * LEXICAL). */
AOE_API int aoe_eval_retrieval(aoe_embedder *e, const char *const *paths, size_t n_paths,
                               const aoe_retrieval_options *AOE_NULLABLE o, aoe_retrieval_fn report,
                               void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

/* Metrics of the ranked lists of one stage: means over queries, in [0, 1]. */
typedef struct aoe_rerank_metrics {
    double ndcg, mrr; /* nDCG@k and MRR@k for k = options.cutoff */
    double recall;    /* recall among the options.top documents of the list; both stages rank the same documents */
    double seconds;   /* time of the stage, without reading files */
} aoe_rerank_metrics;

typedef struct aoe_rerank_options {
    size_t struct_size;       /* set by aoe_rerank_options_defaults */
    aoe_embedder *first;      /* first stage: embedder of the queries; NULL (default): the lists are read from `run` */
    aoe_embedder *first_docs; /* embedder of the documents, for example with another prompt; NULL (default): `first` */
    const char *run;          /* first stage: run file of TREC; must be given if and only if `first` is NULL */
    const char *split;        /* name of the relevance file qrels/SPLIT.tsv; default "test" */
    size_t top;               /* number of documents in the first stage that are reranked; default 100 */
    size_t cutoff;            /* value of k for nDCG@k and MRR@k; default 10 */
    size_t score_class;       /* output that is the score; AOE_AUTO (default): the only output of the model */
    int skip_bad_rows;        /* 1: skip and count bad rows of all files; 0 (default): fail at the first bad row */
    aoe_write_fn write;       /* receives the reranked lists as a run file of TREC; NULL (default): not written */
    aoe_eval_progress_fn progress; /* counts the texts that the first stage embeds and the scored pairs; NULL (default):
                                      none */
    void *user;                    /* first argument of write and progress */
    aoe_similarity_function similarity; /* similarity of the first stage `first`; default AOE_SIMILARITY_COSINE */
} aoe_rerank_options;

typedef struct aoe_rerank_result {
    size_t struct_size;                 /* set by the caller */
    size_t texts;                       /* documents in the corpus */
    size_t queries;                     /* evaluated queries */
    size_t without;                     /* queries without relevant documents, whose metrics are 0 as in trec_eval */
    size_t missing;                     /* evaluated queries for which the run file contains no document */
    size_t skipped;                     /* bad rows that were skipped */
    size_t pairs;                       /* pairs that the cross-encoder has scored */
    size_t truncated;                   /* pairs that were truncated to the maximum length */
    aoe_rerank_metrics first, reranked; /* metrics before and after reranking */
    size_t missing_documents, unknown_queries, duplicates; /* missing, unknown_queries and duplicates of
                                                              aoe_retrieval_result */
} aoe_rerank_result;

AOE_OPTIONS(aoe_rerank_options);
/* Evaluates a cross-encoder on a BEIR folder (corpus.jsonl, queries.jsonl, qrels). The first stage is exact search by
 * similarity with o->first, or a run file; it provides the o->top best documents of each query. The cross-encoder of
 * the embedder `e` scores them, and they are sorted by their scores. If scores are equal, the document that comes first
 * in the corpus ranks higher. As in BEIR, a document is its title, a space and its text, and a document with the id of
 * the query is excluded. Errors: AOE_EARG (the model is not a cross-encoder; not exactly one first stage is given; the
 * model has several outputs and score_class is AOE_AUTO; options.similarity is set for a run file), AOE_EFORMAT (with
 * file and line), AOE_ENOENT, AOE_ECANCELLED. */
AOE_API int aoe_eval_rerank(aoe_embedder *e, const char *folder, const aoe_rerank_options *AOE_NULLABLE o,
                            aoe_rerank_result *result, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------- distributions */

/* Gaussian kernel density estimate: density[j] = 1/(n h) sum over i of phi((at[j] - x[i]) / h), where h is the
 * bandwidth and phi the standard normal density. All arithmetic is in double. x: [n]; at, density: [m]. low, high:
 * bounds of the possible values of x; -INFINITY and INFINITY mean no bound. The part of a kernel outside the bounds is
 * reflected at them (Silverman 1986, section 2.10), so that the density integrates to 1 between the bounds. Outside the
 * bounds, the density is 0. Errors: AOE_EARG (n is 0; the bandwidth is not above 0; a value of x is not finite or
 * outside the bounds). */
AOE_API int aoe_density(const double *x, size_t n, double bandwidth, double low, double high, const double *at,
                        size_t m, double *density, aoe_error *AOE_NULLABLE err);
/* Bandwidth by Silverman's rule of thumb (1986, equation 3.31): 0.9 min(sd, interquartile range / 1.34) n^(-1/5), where
 * sd is the standard deviation of x. If the quartiles are equal, the minimum is replaced by sd. Returns NaN if n < 2,
 * if all values are equal, if a value is not finite, or if memory allocation fails. */
AOE_API double aoe_bandwidth(const double *x, size_t n);
/* The q-quantile of x[n], 0 <= q <= 1, by linear interpolation between the order statistics around (n - 1) q (type 7 of
 * Hyndman and Fan 1996). Returns NaN if n is 0, a value is NaN, q is out of range, or memory allocation fails. */
AOE_API double aoe_quantile(const double *x, size_t n, double q);

/* -------------------------------------------------------------- significance */

typedef struct aoe_t_test_result {
    size_t n;    /* number of values */
    double mean; /* mean of x, or of the differences x[i] - y[i]; NaN if n is 0 */
    double sd;   /* sample standard deviation (divisor n - 1). If n < 2, sd, t, df and p are NaN */
    double t; /* t statistic, mean / (sd / sqrt(n)); 0 if all differences are 0; infinite if they are equal and not 0 */
    double df; /* degrees of freedom, n - 1 */
    double p;  /* two-sided p-value; 1 if all differences are 0 */
} aoe_t_test_result;

/* Student's t test for paired values, for example scores of two methods with the same seeds: tests whether the mean of
 * x[i] - y[i] is 0. If y is NULL, tests whether the mean of x[i] is 0. Assumes that the differences are approximately
 * normal. */
AOE_API void aoe_t_test(const double *x, const double *AOE_NULLABLE y, size_t n, aoe_t_test_result *result);
/* Returns P(|T| >= |t|) for a variable T that has Student's t distribution with df > 0 degrees of freedom. Computed
 * with the incomplete beta function. Returns NaN if t or df is NaN. */
AOE_API double aoe_student_t_p(double t, double df);

/* Corrects the p-values of a family of m tests for their number with the step-down procedure of Holm ("A simple
 * sequentially rejective multiple test procedure", 1979). The corrected value of the i-th lowest p-value is the maximum
 * of min(1, (m - j + 1) p_j) over the j lowest p-values, j = 1, ..., i. If all null hypotheses with a corrected value
 * below a are rejected, the probability of rejecting a true one is at most a, whether the tests depend on each other or
 * not. p, corrected: [n]; they may be the same array. NaN in p stands for a test that was not made: its corrected value
 * is NaN, and it does not count in m. Errors: AOE_EARG (a p-value is below 0 or above 1), AOE_ENOMEM. */
AOE_API int aoe_holm(const double *p, size_t n, double *corrected, aoe_error *AOE_NULLABLE err);

typedef struct aoe_bootstrap_options {
    size_t struct_size; /* set by aoe_bootstrap_options_defaults */
    size_t replicates;  /* number of bootstrap replicates; default 2000 */
    double confidence;  /* coverage of the interval, in (0, 1); default 0.95 */
    uint64_t seed;      /* default 42 */
} aoe_bootstrap_options;

typedef struct aoe_interval {
    double low, high; /* ends of the interval; NaN if every replicate is undefined */
    size_t undefined; /* replicates that were excluded because x, y or gold was constant in the sample */
} aoe_interval;

AOE_OPTIONS(aoe_bootstrap_options);
/* Computes a percentile bootstrap interval of a mean over training runs. gold: [n_pairs]; x, y: [n_runs, n_pairs]
 * scores of the pairs in each run. If y is NULL, the interval is for the mean Spearman correlation of x and gold.
 * Otherwise, the difference between the correlation of x and gold and the correlation of y and gold is computed for
 * each run i, and the interval is for the mean of the differences. A replicate draws n_pairs pairs and n_runs runs with
 * replacement. All runs of x and y use the pairs of this draw. Quantiles are interpolated linearly. Errors: AOE_EARG
 * (fewer than 2 pairs; no run; options out of range), AOE_ENUMERIC (a value is NaN). */
AOE_API int aoe_bootstrap_spearman(const double *gold, size_t n_pairs, const double *x, const double *AOE_NULLABLE y,
                                   size_t n_runs, const aoe_bootstrap_options *AOE_NULLABLE o, aoe_interval *interval,
                                   aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------- verification and benchmarks */

typedef struct aoe_verify_result {
    size_t struct_size; /* set by the library */
    const char *name;   /* "bert/hidden", "objectives/cosine" ...; borrowed for the call */
    double error;       /* largest error, relative or absolute as the golden case defines */
    double tolerance;   /* the check passes if `error` is at most this value */
    size_t checks;      /* number of compared values or tensors */
    int passed;         /* 1: error <= tolerance; 0: error is larger or NaN */
} aoe_verify_result;
typedef void (*aoe_verify_fn)(void *user, const aoe_verify_result *result);

/* Compares models and loss functions with golden cases: recorded outputs of the reference implementation. dir: a folder
 * with the cases of one architecture, or a folder that contains objectives.json and one folder per architecture. In
 * int8, only the embeddings of models are compared. Errors: AOE_EMISMATCH (a check failed), AOE_ENOENT (no golden
 * case), and the errors of aoe_model_open. */
AOE_API int aoe_verify(aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_verify_fn AOE_NULLABLE report,
                       void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

typedef enum aoe_bench_mode {
    AOE_BENCH_INFER,   /* forward pass and pooling */
    AOE_BENCH_TRAIN,   /* a training step with texts / 2 pairs: cls pooling, all three losses, dropout 0.1, AdamW */
    AOE_BENCH_PRETRAIN /* a masked-language-model training step: 15% of the tokens masked, dropout 0.1, AdamW */
} aoe_bench_mode;

typedef struct aoe_bench_options {
    size_t struct_size;    /* set by aoe_bench_options_defaults */
    aoe_shape shape;       /* sizes of the model, which has random weights; default "bert-base" */
    aoe_bench_mode mode;   /* default AOE_BENCH_INFER */
    size_t texts;          /* texts per batch; default 64 */
    const size_t *lengths; /* [texts] tokens of each text; NULL (default): `length` tokens each */
    size_t length;         /* tokens per text; default 32 */
    aoe_dtype dtype;       /* default AOE_DTYPE_AUTO */
    size_t runs;           /* timed runs after one warm-up run, at least 5; default 7 */
    uint64_t seed;         /* seed of weights and token ids */
} aoe_bench_options;

typedef struct aoe_bench_result {
    size_t struct_size;  /* set by the caller */
    size_t tokens;       /* tokens per run */
    size_t layers_timed; /* number of timed layers. If the weights do not fit in memory, only one layer is timed. Its
                            time is multiplied by the number of layers, and the time of the token embeddings is
                            excluded */
    double ms, ms_min;   /* median and minimum time of a run, milliseconds */
    double tokens_per_second; /* tokens / median time */
    double tflops;      /* floating-point operations of the matmuls / median time, in 1e12 per second; other operations
                           are not counted */
    double peak_rss_mb; /* peak resident memory of the process, MB (1e6 bytes) */
    aoe_dtype dtype;    /* data type in use, never AUTO */
} aoe_bench_result;

AOE_OPTIONS_WITH(aoe_bench_options, o->shape.struct_size = sizeof o->shape);
/* Measures the time of inference or training steps of a model with random weights. */
AOE_API int aoe_bench(aoe_context *ctx, const aoe_bench_options *AOE_NULLABLE o, aoe_bench_result *result,
                      aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
