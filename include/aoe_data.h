/* SPDX-License-Identifier: MIT
 *
 * aoe_data.h: tables, labelled pairs and texts in files; conversion, splits, duplicates, statistics, checks, hard
 * negatives and GitHub issues. docs/data-tools.md is the manual.
 *
 * Tables are .tsv, .csv, .jsonl and .txt files, each also .gz or .zst; the name decides. The texts of a row are those of the
 * columns of its kind (pairs, triplets, positives), else of every column with a recognised name. The field `columns` of
 * aoe_table_options selects other columns: "text1=a,text2=b,label=c" assigns columns, "a,b" names columns of texts. Each
 * alternative of a list in .jsonl is a text of the row.
 */
#ifndef AOE_DATA_H
#define AOE_DATA_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------- tables and pairs */

/* File format of a table. */
typedef enum aoe_table_format {
    AOE_TABLE_AUTO,  /* by the extension of the file's name; standard input ("-"): AOE_TABLE_TXT */
    AOE_TABLE_TSV,   /* a header line, one row per line, fields separated by TAB; quotes are literal */
    AOE_TABLE_CSV,   /* RFC 4180 with a header line; fields separated by `delimiter` */
    AOE_TABLE_JSONL, /* one JSON object per line */
    AOE_TABLE_TXT    /* one text per line, no header; with `delimiter` a table with a header line */
} aoe_table_format;

typedef struct aoe_table_options {
    size_t struct_size;    /* set by aoe_table_options_defaults */
    const char *columns;   /* "text1=a,text2=b,label=c"; NULL: recognized names */
    const char *label_map; /* "entailment=1,neutral=drop"; NULL: the defaults of the manual */
    int skip_bad_rows;     /* count bad rows instead of failing */
    int allow_empty;       /* empty texts are fine (evaluation), else a bad row (training) */
    /* File format: AOE_TABLE_AUTO by default. An explicit format is needed for pipes and for standard input. */
    aoe_table_format input_format;
    /* Character between the fields of a row: ',', ';', '\t', '|' or another ASCII character that is neither a letter, a digit,
     * a quote nor a line end. 0: detected in the header line (',', ';', '\t' or '|'), or given by a first line "sep=;" as Excel
     * writes it. Ignored for AOE_TABLE_JSONL. */
    char delimiter;
} aoe_table_options;

AOE_API void aoe_table_options_defaults(aoe_table_options *o);

/* The kind of examples in a file. In .jsonl a text may be a list of alternatives: one of them is drawn each epoch (for a
 * positive: one that differs from the query). Functions that take training data accept the first four values. */
typedef enum aoe_example_kind {
    AOE_EXAMPLES_AUTO,      /* the first kind below whose columns the file has: pairs, triplets, positives */
    AOE_EXAMPLES_PAIRS,     /* columns text1, text2, label */
    AOE_EXAMPLES_POSITIVES, /* columns query, positive */
    AOE_EXAMPLES_TRIPLETS,  /* columns query, positive, negative */
    AOE_EXAMPLES_TEXTS,     /* column text */
    AOE_EXAMPLES_GROUPS     /* columns group, text: texts of one group belong together */
} aoe_example_kind;

typedef struct aoe_pairs aoe_pairs; /* labelled pairs in memory, immutable */

/* Reads form A (text1, text2, label) from .tsv, .csv, .jsonl, each also .gz or .zst.
 * Errors: AOE_EFORMAT with file, line and column; AOE_ENOENT; AOE_EIO. */
AOE_API int aoe_pairs_load(aoe_pairs **p, const char *path, const aoe_table_options *AOE_NULLABLE o,
                           aoe_error *AOE_NULLABLE err);
AOE_API void aoe_pairs_free(aoe_pairs *AOE_NULLABLE p); /* NULL accepted */
AOE_API size_t aoe_pairs_count(const aoe_pairs *p);
AOE_API aoe_text aoe_pairs_text1(const aoe_pairs *p, size_t i); /* borrowed */
AOE_API aoe_text aoe_pairs_text2(const aoe_pairs *p, size_t i);
AOE_API double aoe_pairs_label(const aoe_pairs *p, size_t i);
AOE_API size_t aoe_pairs_line(const aoe_pairs *p, size_t i); /* line in the file, from 1 */
AOE_API size_t aoe_pairs_skipped(const aoe_pairs *p);        /* bad rows left out (skip_bad_rows) */
AOE_API uint64_t aoe_pairs_fingerprint(const aoe_pairs *p);  /* of all texts and labels, in order */
AOE_API size_t aoe_pairs_dropped(const aoe_pairs *p);        /* rows whose label the map drops */

/* Called with each text, borrowed for the call. Returns 0, or the code that reading is to end with and, in err, why. */
typedef int (*aoe_text_fn)(void *user, aoe_text text, aoe_error *err);
/* Calls fn with the texts of a file in the order of the file: the lines of a .txt file; for a table, row by row, the columns
 * that o->columns names ("a,b" or "text=a"; NULL: every column with a recognized name of texts). For a list of alternatives fn
 * is called with each. o: columns, input_format and delimiter are used; NULL: the defaults. Files may be compressed (.gz,
 * .zst). Errors: AOE_EFORMAT with file, line and column, AOE_ENOENT, AOE_EIO; those of fn, with the location before the
 * message. */
AOE_API int aoe_texts_read(const char *path, const aoe_table_options *AOE_NULLABLE o, aoe_text_fn fn, void *AOE_NULLABLE user,
                           aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------------- common types */

/* When two texts count as the same. */
typedef enum aoe_text_equality {
    AOE_TEXT_EQUAL_EXACT,  /* byte by byte */
    AOE_TEXT_EQUAL_SPACE,  /* white space at the ends does not count, and a run of it is one space */
    AOE_TEXT_EQUAL_CASE,   /* likewise, and neither does upper or lower case, nor how accents are encoded (Unicode case folding,
                              NFD) */
    AOE_TEXT_EQUAL_LETTERS /* likewise, and of the rest only letters, marks and digits count; of texts without any the last rule
                            * holds
                            */
} aoe_text_equality;

/* Takes bytes of the output `part` (0, but for aoe_data_split), in order. Returns 0 to go on; else the function that calls it
 * returns AOE_ECANCELLED. */
typedef int (*aoe_write_fn)(void *user, size_t part, const char *data, size_t len);

/* ------------------------------------------------------------------- convert */

/* Which negatives of a text its positives are put together with, where pairs become triplets. */
typedef enum aoe_pairing {
    AOE_PAIRING_ZIP,    /* the i-th positive with the i-th negative, as many as there are of both */
    AOE_PAIRING_SAMPLE, /* each positive with a negative drawn by the seed */
    AOE_PAIRING_ALL     /* each positive with each negative */
} aoe_pairing;

typedef struct aoe_data_convert_options {
    size_t struct_size;      /* set by aoe_data_convert_options_defaults */
    const char *name;        /* of the output: its format and compression, as of inputs; .txt takes one column */
    aoe_example_kind to;     /* AUTO: the rows as they are, with all columns */
    aoe_example_kind from;   /* AUTO: told by the columns; not looked at when `to` is AUTO */
    aoe_table_options table; /* allow_empty is ignored: empty texts are fine */
    const char *keep;        /* "a,b": these columns of the output alone, in this order; NULL: all */
    const char *rename;      /* "old=new,...": columns of the output; NULL: none */
    double threshold;        /* pairs with a label from here on are positives; NaN: lowest + 0.8 x range */
    aoe_pairing pairing;     /* AOE_PAIRING_ZIP */
    size_t negatives;        /* 1: so many are drawn for a row, where positives become pairs or triplets */
    aoe_text_equality
        equality;  /* AOE_TEXT_EQUAL_EXACT: first texts that are one, where pairs become triplets; texts not to be drawn */
    uint64_t seed; /* 42 */
    aoe_write_fn write;
    void *user;
} aoe_data_convert_options;

typedef struct aoe_data_convert_result {
    size_t rows;    /* read, without the next two */
    size_t skipped; /* bad rows left out */
    size_t dropped; /* rows whose label is dropped */
    size_t written;
    size_t below;   /* pairs to positives: rows below the threshold, left out */
    size_t texts;   /* pairs to triplets: distinct first texts (premises) */
    size_t without; /* of these, left out for want of a positive or a negative; of drawn negatives: rows that have none */
    size_t unused;  /* pairs to triplets: rows that no triplet has, those of texts left out included */
} aoe_data_convert_result;

AOE_API void aoe_data_convert_options_defaults(aoe_data_convert_options *o);
/* Writes a table in another format, or another form:
 *   pairs to positives   those with a label from the threshold on
 *   pairs to triplets     per text1 the text2 of labels from the threshold on are positives, the others negatives; so labelled
 *                        NLI pairs become the triplets that supervised SimCSE trains on
 *   triplets to pairs     two rows each, label 1 and 0; to positives: without the negative
 *   positives to pairs   label 1, and `negatives` drawn positives of other rows with label 0; to triplets: a row for each drawn
 * Never drawn: the query, and a text that stands with it in any row. Where the form changes, other columns are left out.
 * result may be NULL. Errors: AOE_EFORMAT (file, line, column; a text that the output's format cannot hold), AOE_EARG. */
AOE_API int aoe_data_convert(const char *path, const aoe_data_convert_options *AOE_NULLABLE o,
                             aoe_data_convert_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- split */

typedef struct aoe_data_split_options {
    size_t struct_size;         /* set by aoe_data_split_options_defaults */
    aoe_table_options table;    /* columns; allow_empty and label_map are ignored: labels are not looked at */
    aoe_text_equality equality; /* AOE_TEXT_EQUAL_CASE: texts that are the same stay together */
    double near_duplicates;     /* and those whose sets of words have a Jaccard index from here on; NaN: none */
    const char *group;          /* and rows with the same value in this column; NULL: none */
    const double *ratios;       /* [parts] of the rows, in any unit */
    size_t parts;
    uint64_t seed;    /* 42 */
    const char *name; /* of outputs: compressed as its end says (.gz, .zst); NULL: plain */
    aoe_write_fn write;
    void *user;
} aoe_data_split_options;

typedef struct aoe_data_split_part {
    size_t rows, clusters;
    size_t texts; /* distinct ones, by `equality`: none of them is in another part */
} aoe_data_split_part;

typedef struct aoe_data_split_result {
    size_t rows, skipped, clusters, texts;
    size_t largest;      /* rows of the largest cluster */
    size_t largest_line; /* of its first row */
    size_t near_pairs;   /* that joined two clusters */
} aoe_data_split_result;

AOE_API void aoe_data_split_options_defaults(aoe_data_split_options *o);
/* Splits the rows of a table into parts so that no text is in two of them: rows that share a text, directly or through other
 * rows, are a cluster, and a cluster goes into one part. Heavy clusters are placed first, where they fit; a cluster that is
 * larger than any part's share makes the shares impossible, which the sizes show. Rows keep their bytes and order.
 * part: [o->parts]. result may be NULL. Errors: AOE_EFORMAT, AOE_EARG. */
AOE_API int aoe_data_split(const char *path, const aoe_data_split_options *AOE_NULLABLE o, aoe_data_split_part *part,
                           aoe_data_split_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- dedup */

typedef enum aoe_conflicts {
    AOE_CONFLICTS_FIRST, /* of equal rows with different labels the first one stays */
    AOE_CONFLICTS_DROP,  /* none of them stays, whatever their labels */
    AOE_CONFLICTS_KEEP   /* the first of each label stays */
} aoe_conflicts;

/* Two rows with equal texts and different labels; the first row of those texts and each row that disagrees with it. */
typedef struct aoe_data_conflict {
    size_t first, line;          /* lines in the file */
    aoe_text first_label, label; /* borrowed for the call, as all below */
    const aoe_text *text;        /* [n] of the later row */
    size_t n;
} aoe_data_conflict;

typedef struct aoe_data_dedup_options {
    size_t struct_size;         /* set by aoe_data_dedup_options_defaults */
    aoe_table_options table;    /* columns; allow_empty and label_map are ignored */
    aoe_text_equality equality; /* AOE_TEXT_EQUAL_EXACT */
    int ordered;                /* 1: a pair the other way round is another one */
    aoe_conflicts conflicts;    /* AOE_CONFLICTS_FIRST */
    const char *name;           /* as in aoe_data_split_options */
    aoe_write_fn write;
    void (*report)(void *user, const aoe_data_conflict *conflict); /* in the order of the file; NULL: none */
    void *user;
} aoe_data_dedup_options;

typedef struct aoe_data_dedup_result {
    size_t rows, skipped, kept;
    size_t duplicates; /* rows left out that are equal to one before them, labels too */
    size_t conflicts;  /* rows whose label is not that of the first with these texts */
    size_t dropped;    /* rows left out because of conflicts */
} aoe_data_dedup_result;

AOE_API void aoe_data_dedup_options_defaults(aoe_data_dedup_options *o);
/* Writes the rows of a table without those whose texts equal an earlier row's. Columns that are neither texts nor label are not
 * looked at; labels are the same when they are the same number or word. Rows keep their bytes and order. result may be NULL.
 * Errors: AOE_EFORMAT, AOE_EARG. */
AOE_API int aoe_data_dedup(const char *path, const aoe_data_dedup_options *AOE_NULLABLE o,
                           aoe_data_dedup_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ---------------------------------------------------------------- statistics */

enum { AOE_QUANTILES = 7 }; /* of lengths: 0, 1/4, 1/2, 3/4, 0.9, 0.99, 1 */

typedef struct aoe_data_lengths {
    double mean;
    double quantile[AOE_QUANTILES];
    size_t longer; /* texts of more than options.longer units */
} aoe_data_lengths;

typedef struct aoe_data_label {
    aoe_text label;   /* as a number or word, owned by the result; of bins "" */
    double low, high; /* of bins: from low to below high, the last one to high itself; NaN of words */
    size_t rows;
} aoe_data_label;

typedef struct aoe_data_stats_options {
    size_t struct_size;         /* set by aoe_data_stats_options_defaults */
    aoe_table_options table;    /* allow_empty is ignored */
    aoe_text_equality equality; /* AOE_TEXT_EQUAL_EXACT: of distinct texts */
    double threshold;           /* labels from here on are positive; NaN: lowest + 0.8 x range */
    size_t bins;                /* 10: of labels with more than 20 values */
    size_t longer;              /* 0: aoe_data_lengths.longer stays 0 */
    /* Tokens of a text, called once for each distinct one; 0, or the code that ends the reading, with err. NULL: no tokens. */
    int (*tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user;
} aoe_data_stats_options;

typedef struct aoe_data_stats_result {
    size_t rows, skipped;
    int labelled;                       /* 1: there is a label */
    double threshold;                   /* in use; NaN without numbers */
    size_t positive, negative, dropped; /* rows by label: from the threshold on, below, dropped by the label map */
    size_t unknown;                     /* rows with a word that has no value */
    size_t texts, distinct;
    aoe_data_lengths characters, words, tokens; /* code points; runs without white space */
    int has_tokens;
    aoe_data_label *label; /* [labels] owned: numbers upwards, then words by their bytes */
    size_t labels;
    char *bytes; /* owned; private */
} aoe_data_stats_result;

AOE_API void aoe_data_stats_options_defaults(aoe_data_stats_options *o);
/* Counts of a table, and lengths of its texts, each as often as it occurs. Free *result with aoe_data_stats_free, after a
 * failure too. Errors: AOE_EFORMAT, AOE_EARG; those of `tokens`. */
AOE_API int aoe_data_stats(const char *path, const aoe_data_stats_options *AOE_NULLABLE o, aoe_data_stats_result *result,
                           aoe_error *AOE_NULLABLE err);
AOE_API void aoe_data_stats_free(aoe_data_stats_result *AOE_NULLABLE result); /* accepts a zeroed one */

/* --------------------------------------------------------------------- check */

/* What can be wrong with data: name, text */
#define AOE_FINDING_LIST(X)                                                                                                    \
    X(INVALID, "invalid", "rows that cannot be read")                                                                          \
    X(LABEL, "label", "labels without a value")                                                                                \
    X(RANGE, "range", "labels out of range")                                                                                   \
    X(CLASS, "class", "files with one label alone")                                                                            \
    X(EMPTY, "empty", "rows with an empty text")                                                                               \
    X(LONG, "long", "rows with a very long text")                                                                              \
    X(DUPLICATE, "duplicate", "rows that are there before")                                                                    \
    X(CONFLICT, "conflict", "equal rows with another label")                                                                   \
    X(LEAK, "leak", "rows that are in an earlier file")                                                                        \
    X(SHARED, "shared", "other rows with a text of an earlier file")

typedef enum aoe_finding_kind {
#define AOE_X(name, word, text) AOE_FINDING_##name,
    AOE_FINDING_LIST(AOE_X)
#undef AOE_X
        AOE_FINDING_COUNT
} aoe_finding_kind;

AOE_API const char *aoe_finding_name(aoe_finding_kind kind); /* "duplicate"; static */
AOE_API const char *aoe_finding_text(aoe_finding_kind kind); /* "rows that are there before"; static */

typedef struct aoe_finding {
    aoe_finding_kind kind;
    const char *file;       /* borrowed for the call, as all below */
    size_t line;            /* where the row begins; 0: the file as a whole */
    const char *other_file; /* the row it is compared with; NULL: none */
    size_t other_line;
    aoe_text text;        /* what is wrong: the label, the text, of INVALID why; "" where the places say all */
    aoe_text other_label; /* of CONFLICT; else "" */
    size_t length;        /* of LONG: characters */
} aoe_finding;

typedef struct aoe_data_check_options {
    size_t struct_size;                                     /* set by aoe_data_check_options_defaults */
    aoe_table_options table;                                /* skip_bad_rows and allow_empty are ignored */
    aoe_text_equality equality;                             /* AOE_TEXT_EQUAL_CASE */
    int ordered;                                            /* 1: a pair the other way round is another one */
    double low, high;                                       /* of labels; NaN: any */
    size_t longest;                                         /* 20000: characters of a text; 0: any */
    unsigned ignore;                                        /* bit 1 << kind: not looked for */
    void (*report)(void *user, const aoe_finding *finding); /* each file in turn, its rows downwards; NULL: none */
    void *user;
} aoe_data_check_options;

typedef struct aoe_data_check_result {
    size_t rows; /* of all files, those that cannot be read included */
    size_t found[AOE_FINDING_COUNT];
    size_t total; /* of these */
} aoe_data_check_result;

AOE_API void aoe_data_check_options_defaults(aoe_data_check_options *o);
/* Looks for what is wrong in tables, one by one and with those before: a file's rows and texts should not be in an earlier
 * file, as test data in training data. Findings are no error. Errors: AOE_EFORMAT (a fault of a file, not of a row), AOE_EARG.
 */
AOE_API int aoe_data_check(const char *const *paths, size_t n_paths, const aoe_data_check_options *AOE_NULLABLE o,
                           aoe_data_check_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------ hard negatives */

typedef enum aoe_mine_stage { AOE_MINE_EMBED /* texts */, AOE_MINE_SEARCH /* rows */ } aoe_mine_stage;

typedef struct aoe_mined {
    const aoe_text *query;    /* [n_query] as the row has it: one text, or its alternatives. All borrowed for the call */
    const aoe_text *positive; /* [n_positive] likewise */
    size_t n_query, n_positive;
    aoe_text negative;
    double positive_score, negative_score; /* cosines with the query; of alternatives the highest */
} aoe_mined;

/* Each returns 0 to go on; else aoe_mine returns AOE_ECANCELLED. */
typedef int (*aoe_mine_fn)(void *user, const aoe_mined *mined);
typedef int (*aoe_mine_progress_fn)(void *user, aoe_mine_stage stage, size_t done, size_t total);

typedef struct aoe_mine_options {
    size_t struct_size;       /* set by aoe_mine_options_defaults */
    const char *const *files; /* [n_files] training files, as aoe_train reads them */
    size_t n_files;
    aoe_example_kind kind;     /* of all of them; AUTO */
    aoe_table_options table;   /* likewise; allow_empty is ignored */
    double threshold;          /* pairs with a label from here on are positives; NaN: lowest + 0.8 x range of a file */
    const char *const *corpus; /* [n_corpus] files of texts, the candidates: .txt or tables; none: those below */
    size_t n_corpus;
    aoe_table_options corpus_table; /* columns: "text=NAME" */
    int from_queries;               /* 1: queries (text1) are candidates; else the files' positives and negatives (text2) are */
    size_t negatives;               /* 1: of a row, a triplet each */
    size_t range;                   /* 50: so many nearest candidates are looked at */
    size_t skip;                    /* 0: the first of these are passed over */
    double margin;                  /* a candidate above the positive's cosine less this is passed over; NaN: none is */
    double min_score, max_score;    /* candidates of other cosines are passed over; NaN: none */
    int sample;                     /* 1: drawn at random from what is left; else the nearest */
    uint64_t seed;                  /* 42: of that */
    int for_tsv;                    /* 1: lists of alternatives, and texts with TABs or line ends, are an error */
    aoe_mine_fn report;             /* called for every triplet, in the order of the rows, nearest first; NULL: none */
    aoe_mine_progress_fn progress;  /* NULL: none */
    void *user;                     /* of both */
} aoe_mine_options;

typedef struct aoe_mine_result {
    size_t rows;           /* with a query and a positive */
    size_t without;        /* of these, left without a negative: no triplet is reported */
    size_t triplets;       /* reported */
    size_t texts;          /* distinct ones, token by token: what was embedded */
    size_t truncated;      /* of these, cut to the maximum length */
    size_t candidates;     /* of these, what could be a negative */
    size_t below;          /* pairs below the threshold: no positives, but their text2 are candidates */
    size_t skipped;        /* bad rows left out */
    size_t dropped;        /* rows whose label is dropped */
    double positive_score; /* mean cosine of query and positive, of rows with a negative; NaN: there is none */
    double negative_score; /* of query and negative, of triplets; likewise */
} aoe_mine_result;

AOE_API void aoe_mine_options_defaults(aoe_mine_options *o);
/* Looks for hard negatives: for each row of the files the candidates that are most similar to its query (cosine, exact
 * search). Never a negative of a row: a text that stands with one of its queries, as query or positive, in any row. Texts of
 * equal tokens, prompt included and truncated, are one text. Takes the vectors of all distinct texts in memory, and beside
 * them a few MB. The same triplets for any number of threads. A query that a static model knows no word of has no negative.
 * Errors: AOE_EFORMAT (file, line, column; no positive), AOE_EARG, AOE_ECANCELLED, those of aoe_embed. */
AOE_API int aoe_mine(aoe_embedder *e, const aoe_mine_options *AOE_NULLABLE o, aoe_mine_result *result,
                     aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------ duplicates on GitHub */

enum { AOE_ISSUES_TRAIN, AOE_ISSUES_VALIDATION, AOE_ISSUES_TEST, AOE_ISSUES_SPLITS };

/* Where negatives of a duplicate come from: issues of the same repository and split, of another cluster. */
typedef enum aoe_issue_negatives {
    AOE_ISSUE_NEGATIVES_RANDOM, /* any */
    AOE_ISSUE_NEGATIVES_LABEL,  /* with a label in common, the rarest first */
    AOE_ISSUE_NEGATIVES_NEAR    /* with the title that has most in common (cosine of rare words) */
} aoe_issue_negatives;

/* What is taken out of bodies. */
enum {
    AOE_ISSUE_CLEAN_COMMENTS = 1, /* HTML comments outside of code */
    AOE_ISSUE_CLEAN_IMAGES = 2,   /* ![](...) and <img> outside of code */
    AOE_ISSUE_CLEAN_TEMPLATES = 4 /* lines outside of code that 1 of 20 issues of the repository has, of those chosen, and at
                                     least 5; checkboxes; headings with nothing below them */
};

typedef struct aoe_github_progress {
    const char *repository; /* being read; "" after the last */
    size_t done, total;     /* repositories */
    size_t issues;          /* read so far, of all repositories */
    uint64_t requests;      /* sent */
    uint64_t stored;        /* answered by the cache */
    int64_t quota;          /* requests (GraphQL: points) left; -1: not known */
    double waiting;         /* seconds left of a wait; 0: none */
    const char *why;        /* of the wait, one line; "" without */
} aoe_github_progress;

typedef struct aoe_github_options {
    size_t struct_size;              /* set by aoe_github_options_defaults */
    const char *const *repositories; /* [n_repositories] "owner/name" */
    size_t n_repositories;
    const char *cache; /* SQLite file, made when it is not there; needed */
    const char *api;   /* NULL: https://api.github.com; of GitHub Enterprise https://HOST/api/v3 */
    const char *token; /* NULL: none. Goes to the API's origin alone; never stored, logged or part of a message */
    int graphql;       /* 1: GraphQL (needs a token) instead of REST */
    int all_comments;  /* REST: 1: of every issue instead of those that are marked as duplicates */
    int refresh;       /* 1: ask again for what the cache has, conditionally where that is possible */
    int offline;       /* 1: no request; what the cache lacks is counted, and a repository it lacks is missing */
    size_t limit;      /* oldest issues of a repository to read, pull requests not counted; 0: all */
    const char *name[AOE_ISSUES_SPLITS]; /* of outputs, each tells format and compression; NULL: the split is left out */
    double ratio[AOE_ISSUES_SPLITS];     /* of the duplicates, in any unit; default 12, 1, 1: the paper's */
    aoe_example_kind kind; /* PAIRS: text1, text2, label, a duplicate and its original with 1, each negative with 0; TRIPLES:
                      query, positive, negative */
    int ids; /* 1: columns more that name the issues, "owner/name#12": id1, id2; query_id, positive_id, negative_id */
    aoe_issue_negatives negatives_by;
    size_t negatives; /* of a duplicate; 1 */
    unsigned clean;   /* sum of AOE_ISSUE_CLEAN_*; 0 */
    uint64_t seed;    /* of split and negatives; 42 */
    /* write gets a split after the other; NULL: nothing is written. progress returns 0 to go on; else AOE_ECANCELLED comes
     * back. */
    aoe_write_fn write;                                               /* part: the split */
    int (*progress)(void *user, const aoe_github_progress *progress); /* NULL: none */
    int (*stop)(void *user); /* asked several times a second while the network is waited for; not 0: as progress; NULL: none */
    void (*missing)(void *user, const char *repository, const char *why); /* one that cannot be read; NULL: none */
    void *user;
} aoe_github_options;

typedef struct aoe_github_result {
    size_t positives[AOE_ISSUES_SPLITS], negatives[AOE_ISSUES_SPLITS]; /* written */
    size_t repositories;                                               /* read */
    size_t missing;                                                    /* that could not be */
    size_t issues;                                                     /* read */
    size_t pull_requests;                                              /* left out */
    size_t gone;        /* issues pointed to that are deleted, pull requests, or that nobody may read */
    size_t unread;      /* lists of comments and events that were not given to their end, and issues pointed to that the
                           server failed to give: what is said there makes no pairs */
    size_t transferred; /* issues pointed to that are somewhere else now */
    size_t marked;      /* issues closed as duplicates, or labelled or marked as such */
    size_t unknown;     /* of them: nothing says of what */
    size_t clusters;    /* of duplicates */
    size_t clustered;   /* issues in them */
    size_t largest;     /* issues of the largest */
    size_t equal;       /* duplicates with the very text of what they point to, or without text: left out */
    size_t easier;      /* hard negatives that were drawn at random for want of one */
    size_t without;     /* duplicates with fewer negatives than asked for */
    uint64_t requests;  /* sent, repeated ones included */
    uint64_t stored;    /* answered by the cache */
    uint64_t unchanged; /* asked about, and unchanged (304) */
    uint64_t absent;    /* offline: answers that the cache lacks */
} aoe_github_result;

AOE_API void aoe_github_options_defaults(aoe_github_options *o);
/* Collects issues closed as duplicates and what they point to (paper section 4.1; docs/github-issues.md), and writes each
 * with negatives. A text is title, line end and body; in .tsv TABs and line ends are spaces. Everything fetched is put into the
 * cache at once: a run that was stopped or killed goes on where it was, and one that has read everything needs no request. Same
 * cache, options and seed: same bytes. Needs memory for titles and numbers of all issues, and for the texts of those written.
 * Errors: AOE_EARG, AOE_EIO (network, after several tries; a refused token; quota that comes back too late), AOE_ECANCELLED,
 * those of a cache that cannot be used, AOE_ENOMEM. */
AOE_API int aoe_github_issues(const aoe_github_options *AOE_NULLABLE o, aoe_github_result *result, aoe_error *AOE_NULLABLE err);
/* The repositories of a preset, "owner/name" each: "angle", the 55 of the paper (appendix A.1). NULL: there is no such preset.
 * Static. */
AOE_API const char *const *aoe_github_preset(const char *name, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
