/* SPDX-License-Identifier: MIT
 *
 * aoe_eval.h: evaluations, statistics, verification and benchmarks. docs/evaluation.md is the manual.
 */
#ifndef AOE_EVAL_H
#define AOE_EVAL_H

#include "aoe.h"
#include "aoe_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- evaluation */

/* Correlations of x[n] and y[n]; Spearman with average ranks for ties. NaN when n < 2, a side is constant or a value NaN. */
AOE_API double aoe_pearson(const double *x, const double *y, size_t n);
AOE_API double aoe_spearman(const double *x, const double *y, size_t n); /* NaN also when memory ran out */

typedef enum aoe_sts_row { AOE_STS_FILE, AOE_STS_SUBSET, AOE_STS_FOLDER, AOE_STS_ALL } aoe_sts_row;

typedef struct aoe_sts_result {
    aoe_sts_row row;  /* a table; a subset of a SentEval folder; the folder's total; all inputs together */
    const char *name; /* borrowed for the call */
    size_t pairs;     /* scored pairs */
    size_t skipped;   /* unscored lines, gold files without input, bad rows */
    size_t empty;     /* texts that were empty */
    size_t truncated; /* texts that were cut to the maximum length */
    double spearman;  /* of cosine and gold, in [-1, 1] */
    double pearson;
    const double *cosine, *gold; /* [pairs] borrowed for the call of an aoe_sts_fn; NULL in what aoe_eval_pairs returns */
} aoe_sts_result;

typedef void (*aoe_sts_fn)(void *user, const aoe_sts_result *result);

/* Called while an evaluation works, with how many pairs, triplets or texts of all are embedded. Not 0: the evaluation ends
 * with AOE_ECANCELLED. */
typedef int (*aoe_eval_progress_fn)(void *user, size_t done, size_t total);

typedef struct aoe_sts_options {
    size_t struct_size;            /* set by aoe_sts_options_defaults */
    aoe_table_options table;       /* allow_empty is ignored: empty texts are fine */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_sts_options;

AOE_API void aoe_sts_options_defaults(aoe_sts_options *o);

/* Semantic textual similarity of tables (form A) and SentEval folders (STSxx-en-test). Reports in the order given,
 * subsets before their folder's total (the `all` setting), and a row for all inputs together when there are several. */
AOE_API int aoe_eval_sts(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_sts_options *AOE_NULLABLE o,
                         aoe_sts_fn report, void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);
/* Reads and checks what aoe_eval_sts would, without a model (so not whether a text has tokens): 0 when models can be compared
 * on each of the inputs; AOE_EFORMAT also where all gold scores of a table or folder are equal. o: NULL: defaults. */
AOE_API int aoe_sts_check(const char *const *paths, size_t n_paths, const aoe_table_options *AOE_NULLABLE o,
                          aoe_error *AOE_NULLABLE err);
AOE_API int aoe_eval_pairs(aoe_embedder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *AOE_NULLABLE err);

/* The dev set of a training run: labelled pairs with which models are compared during training, by the Spearman correlation
 * of cosine and label. It belongs into four fields of aoe_train_options:
 *     o.evaluate = aoe_dev_set_evaluate;
 *     o.evaluate_user = dev_set;
 *     o.dev_name = path;
 *     o.dev_fingerprint = aoe_dev_set_fingerprint(dev_set);
 */
typedef struct aoe_dev_set aoe_dev_set;

/* Loads a table of labelled pairs. Empty texts are allowed, whatever o->allow_empty is. Skipped rows and the warnings of
 * aoe_dev_set_evaluate are reported to the log of the context. Errors: those of aoe_pairs_load; AOE_EFORMAT if all labels are
 * equal, because models cannot be compared then. */
AOE_API int aoe_dev_set_load(aoe_dev_set **d, aoe_context *ctx, const char *path, const aoe_table_options *AOE_NULLABLE o,
                             aoe_error *AOE_NULLABLE err);
/* An aoe_dev_fn. dev_set: an aoe_dev_set. Sets *score to the Spearman correlation, or to -1 with a warning if it is undefined
 * because all cosines are equal. The first evaluation also warns if texts are truncated. Errors: those of aoe_eval_pairs. */
AOE_API int aoe_dev_set_evaluate(void *dev_set, aoe_embedder *e, double *score, aoe_error *AOE_NULLABLE err);
AOE_API double aoe_dev_set_pearson(const aoe_dev_set *d); /* Pearson correlation of the latest evaluation; NaN before it */
AOE_API uint64_t aoe_dev_set_fingerprint(const aoe_dev_set *d); /* aoe_pairs_fingerprint of the pairs */
AOE_API void aoe_dev_set_free(aoe_dev_set *AOE_NULLABLE d);

/* The settings in which SentEval scores a year of STS: all subsets as one, the mean of the subsets' coefficients, and that
 * mean weighted with their pairs (docs/evaluation.md). */
typedef enum aoe_setting { AOE_SETTING_ALL, AOE_SETTING_MEAN, AOE_SETTING_WMEAN, AOE_SETTING_COUNT } aoe_setting;
AOE_API const char *aoe_setting_name(aoe_setting s); /* "all", "mean", "wmean"; static, NULL for an unknown value */

typedef enum aoe_suite_row { AOE_SUITE_SUBSET, AOE_SUITE_SET, AOE_SUITE_AVERAGE } aoe_suite_row;

typedef struct aoe_suite_result {
    aoe_suite_row row;
    const char *name;       /* "STS12/MSRpar", "STS12", "STS-B", "SICK-R" or "average"; borrowed for the call, as the next */
    const char *path;       /* of a set: where it was found; NULL: nowhere, and no figure below is one */
    size_t parts;           /* subsets of a set (of STS-B and SICK-R 1); sets of the average */
    size_t pairs;           /* scored pairs */
    size_t published_pairs; /* of a set and a subset: how many the published one has */
    size_t skipped;         /* unscored lines, subsets and gold files that do not count, bad rows */
    size_t empty;           /* texts that were empty */
    size_t truncated;       /* texts that were cut to the maximum length */
    double spearman[AOE_SETTING_COUNT], pearson[AOE_SETTING_COUNT]; /* in [-1, 1]; of one part thrice the same */
} aoe_suite_result;

typedef void (*aoe_suite_fn)(void *user, const aoe_suite_result *result);

typedef struct aoe_suite_options {
    size_t struct_size;            /* set by aoe_suite_options_defaults */
    int skip_bad_rows;             /* as in aoe_table_options */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_suite_options;

AOE_API void aoe_suite_options_defaults(aoe_suite_options *o);

/* The seven sets of the paper's table 2: STS12 to STS16, STS-B (test) and SICK-R (test), looked for in the folders in turn as
 * SentEval has them (docs/evaluation.md). Reports all seven in this order, subsets before their set, sets that were not found
 * too, and last the average over those that were. Errors: AOE_ENOENT (none found), AOE_EFORMAT (a year lacks a subset). */
AOE_API int aoe_eval_suite(aoe_embedder *e, const char *const *dirs, size_t n_dirs, const aoe_suite_options *AOE_NULLABLE o,
                           aoe_suite_fn report, void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

/* How well scores tell positive from negative, over all thresholds: from the threshold on a pair counts as positive. Of
 * thresholds that are as good the highest; it lies midway between the scores that it parts. */
typedef struct aoe_binary_metrics {
    size_t positives;
    double accuracy, accuracy_threshold;              /* share judged rightly, at its best */
    double f1, f1_threshold, f1_precision, f1_recall; /* 2 precision recall / (precision + recall), at its best */
    double average_precision; /* sum over thresholds of (recall - the recall before) precision. Without positives, NaN here
                                 and in the four above */
} aoe_binary_metrics;

/* score[n], positive[n] 0 or 1. Equal scores are judged alike. Errors: AOE_EARG (n is 0), AOE_ENUMERIC (a score is NaN),
 * AOE_ENOMEM. */
AOE_API int aoe_binary(aoe_binary_metrics *m, const double *score, const uint8_t *positive, size_t n,
                       aoe_error *AOE_NULLABLE err);

typedef struct aoe_binary_options {
    size_t struct_size; /* set by aoe_binary_options_defaults */
    aoe_table_options table;
    double positive_from;          /* labels from here on are positive; NaN: labels are 0 and 1, another one is an error */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_binary_options;

typedef struct aoe_binary_result {
    const char *name; /* borrowed for the call */
    size_t pairs, skipped, empty, truncated;
    double spearman, pearson;   /* of cosine and label */
    aoe_binary_metrics metrics; /* of the cosines */
} aoe_binary_result;

typedef void (*aoe_binary_fn)(void *user, const aoe_binary_result *result);

AOE_API void aoe_binary_options_defaults(aoe_binary_options *o);
/* Paraphrases, duplicates, answers: tables of form A with labels of two classes. A report for each table, in their order. */
AOE_API int aoe_eval_binary(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_binary_options *AOE_NULLABLE o,
                            aoe_binary_fn report, void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

typedef struct aoe_triplet_options {
    size_t struct_size;            /* set by aoe_triplet_options_defaults */
    aoe_table_options table;       /* columns: query, positive, negative */
    aoe_eval_progress_fn progress; /* two pairs a triplet; NULL: none */
    void *user;                    /* of progress */
} aoe_triplet_options;

AOE_API void aoe_triplet_options_defaults(aoe_triplet_options *o);

typedef struct aoe_triplet_result {
    const char *name; /* borrowed for the call */
    size_t triplets, skipped, empty, truncated;
    double accuracy;                       /* share of triplets with cos(query, positive) > cos(query, negative) */
    double ties;                           /* share with equal cosines */
    double positive_score, negative_score; /* mean cosines with the query */
} aoe_triplet_result;

typedef void (*aoe_triplet_fn)(void *user, const aoe_triplet_result *result);

/* Tables of form C. A report for each, in their order. */
AOE_API int aoe_eval_triplets(aoe_embedder *e, const char *const *paths, size_t n_paths,
                              const aoe_triplet_options *AOE_NULLABLE o, aoe_triplet_fn report, void *AOE_NULLABLE user,
                              aoe_error *AOE_NULLABLE err);

/* Which text of a group is its query. */
typedef enum aoe_query_choice { AOE_QUERY_RANDOM, AOE_QUERY_FIRST, AOE_QUERY_ALL } aoe_query_choice;

enum { AOE_RECALL_MAX = 8 };

typedef struct aoe_retrieval_options {
    size_t struct_size;               /* set by aoe_retrieval_options_defaults */
    aoe_table_options table;          /* of groups: columns "group=image,text=caption" */
    const char *split;                /* of a BEIR folder: qrels/SPLIT.tsv; "test" */
    size_t recall_at[AOE_RECALL_MAX]; /* [n_recall] 1, 5, 10 */
    size_t n_recall;
    size_t top;                    /* 10: how far down MRR and nDCG look */
    aoe_query_choice query;        /* AOE_QUERY_RANDOM: one of each group, drawn with the seed */
    uint64_t seed;                 /* 42 */
    int count_query;               /* 1: in groups, the query itself is one of the texts to be found */
    aoe_embedder *doc_embedder;    /* of what is searched, where its prompt is another one; NULL: e */
    aoe_eval_progress_fn progress; /* texts; NULL: none */
    void *user;                    /* of progress */
} aoe_retrieval_options;

typedef struct aoe_retrieval_result {
    const char *name; /* borrowed for the call */
    size_t texts;     /* what is searched */
    size_t queries;
    size_t without;   /* queries left out, nothing being relevant to them (groups of one text) */
    size_t skipped;   /* bad rows; of a BEIR folder also judgements of texts that are not there */
    size_t empty;     /* texts that were empty */
    size_t truncated; /* texts, and queries of their own, that were cut to the maximum length */
    double strict; /* of groups: share of queries whose g nearest texts, themselves included, are their group's g; else NaN */
    double recall[AOE_RECALL_MAX]; /* mean share of the relevant texts among the nearest recall_at[i] */
    double mrr, ndcg;              /* at `top`; all means over queries, in [0, 1] */
} aoe_retrieval_result;

typedef void (*aoe_retrieval_fn)(void *user, const aoe_retrieval_result *result);

AOE_API void aoe_retrieval_options_defaults(aoe_retrieval_options *o);
/* Exact search by cosine over tables of groups (captions of an image) and BEIR folders (corpus.jsonl, queries.jsonl, qrels);
 * of equal cosines the text that comes first is nearer. All vectors of an input are in memory. A report for each, in their
 * order. docs/evaluation.md has the formulas. */
AOE_API int aoe_eval_retrieval(aoe_embedder *e, const char *const *paths, size_t n_paths,
                               const aoe_retrieval_options *AOE_NULLABLE o, aoe_retrieval_fn report, void *AOE_NULLABLE user,
                               aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------- distributions */

/* Gaussian kernel density estimate: density[j] = 1/(n h) sum over i of phi((at[j] - x[i]) / h), h the bandwidth, in double.
 * Where x cannot be below low or above high (-INFINITY, INFINITY: it can), what a kernel puts beyond is reflected there
 * (Silverman 1986, section 2.10), so that the density integrates to 1 between them, and outside it is 0. density: [m].
 * Errors: AOE_EARG (n 0; a bandwidth that is not above 0; an x that is not finite or not between low and high). */
AOE_API int aoe_density(const double *x, size_t n, double bandwidth, double low, double high, const double *at, size_t m,
                        double *density, aoe_error *AOE_NULLABLE err);
/* Silverman's rule of thumb (1986, equation 3.31) for it: 0.9 min(sd, interquartile range / 1.34) n^(-1/5), of sd alone where
 * the quartiles are equal. NaN when n < 2, all x are equal or one is not finite; also when memory ran out. */
AOE_API double aoe_bandwidth(const double *x, size_t n);
/* The q-quantile of x[n], 0 <= q <= 1, linear between the two order statistics about (n - 1) q (Hyndman and Fan's type 7).
 * NaN when n is 0, an x is NaN or q is out of range; also when memory ran out. */
AOE_API double aoe_quantile(const double *x, size_t n, double q);

/* -------------------------------------------------------------- significance */

typedef struct aoe_t_test_result {
    size_t n;
    double mean; /* of x, or of the differences x[i] - y[i]; NaN when n is 0 */
    double sd;   /* of the same, with n - 1; NaN when n < 2, as the next three */
    double t;    /* mean / (sd / sqrt(n)); 0 when all differences are 0, infinite when all are the same other value */
    double df;   /* n - 1 */
    double p;    /* two-sided: how often chance alone gives a |t| as large. 1 when all differences are 0 */
} aoe_t_test_result;

/* Student's t test of paired values, as of runs with the same seeds: is the mean of x[i] - y[i] other than 0? y NULL: that of
 * x[i]. Assumes differences that are about normal. */
AOE_API void aoe_t_test(const double *x, const double *AOE_NULLABLE y, size_t n, aoe_t_test_result *result);
/* P(|T| >= |t|) of Student's t with df > 0 degrees of freedom, through the incomplete beta function; NaN for a NaN. */
AOE_API double aoe_student_t_p(double t, double df);

typedef struct aoe_bootstrap_options {
    size_t struct_size; /* set by aoe_bootstrap_options_defaults */
    size_t replicates;  /* 2000 */
    double confidence;  /* 0.95 */
    uint64_t seed;      /* 42 */
} aoe_bootstrap_options;

typedef struct aoe_interval {
    double low, high; /* NaN when every replicate is undefined */
    size_t undefined; /* replicates left out: a side was constant in what was drawn */
} aoe_interval;

AOE_API void aoe_bootstrap_options_defaults(aoe_bootstrap_options *o);
/* Percentile interval of a mean of Spearman correlations over runs, or with y of the mean difference x - y of paired runs.
 * gold: [n_pairs]; x, y: [n_runs, n_pairs] scores of the pairs by each run, y may be NULL. A replicate draws n_pairs pairs, the
 * same for every run and side, and n_runs runs, both with replacement. Quantiles are interpolated linearly.
 * Errors: AOE_EARG (fewer than 2 pairs, no run, options out of range), AOE_ENUMERIC (a NaN), AOE_ENOMEM. */
AOE_API int aoe_bootstrap_spearman(const double *gold, size_t n_pairs, const double *x, const double *AOE_NULLABLE y,
                                   size_t n_runs, const aoe_bootstrap_options *AOE_NULLABLE o, aoe_interval *interval,
                                   aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------- verification and benchmarks */

typedef struct aoe_verify_result {
    const char *name; /* "bert/hidden", "objectives/cosine" ...; borrowed for the call */
    double error;     /* worst relative (or absolute, see golden cases) error */
    double tolerance;
    size_t checks; /* values or tensors compared */
    int passed;    /* error <= tolerance; a NaN fails */
} aoe_verify_result;
typedef void (*aoe_verify_fn)(void *user, const aoe_verify_result *result);

/* Checks golden cases: a folder of one architecture, or the parent that holds several and objectives.json.
 * Errors: AOE_EMISMATCH when a check failed; AOE_ENOENT when there is nothing to check; those of aoe_model_open. */
AOE_API int aoe_verify(aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_verify_fn AOE_NULLABLE report,
                       void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

typedef enum aoe_bench_mode {
    AOE_BENCH_INFER,   /* the encoder and its vectors */
    AOE_BENCH_TRAIN,   /* a training step of texts/2 pairs, cls, three objectives, dropout 0.1, AdamW */
    AOE_BENCH_PRETRAIN /* a step of masked-language-model training: 15% of the tokens masked, dropout 0.1, AdamW */
} aoe_bench_mode;

typedef struct aoe_bench_options {
    size_t struct_size; /* set by aoe_bench_options_defaults */
    aoe_shape shape;    /* random weights */
    aoe_bench_mode mode;
    size_t texts;          /* 64 */
    const size_t *lengths; /* [texts] tokens of each text, or NULL: all `length` */
    size_t length;         /* 32 */
    aoe_dtype dtype;
    size_t runs; /* 7, after one warm-up; at least 5 */
    uint64_t seed;
} aoe_bench_options;

typedef struct aoe_bench_result {
    size_t tokens;            /* of one run */
    size_t layers_timed;      /* fewer than the shape has where its weights are too large: times are those of one layer, without
                                 the vocabulary, multiplied by the number of layers */
    double ms, ms_min;        /* median and fastest */
    double tokens_per_second; /* at the median */
    double tflops;            /* matrix products only, at the median, 1e12/s */
    double peak_rss_mb;
    aoe_dtype dtype; /* in use */
} aoe_bench_result;

AOE_API void aoe_bench_options_defaults(aoe_bench_options *o);
AOE_API int aoe_bench(aoe_context *ctx, const aoe_bench_options *AOE_NULLABLE o, aoe_bench_result *result,
                      aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
