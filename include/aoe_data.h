/* SPDX-License-Identifier: MIT
 *
 * aoe_data.h: reads tables, labeled pairs and texts, and prepares training data. The tools convert, split, deduplicate
 * and check tables, compute statistics and mine hard negatives. docs/data-tools.md is the manual.
 *
 * Tables are .tsv, .csv, .jsonl, .json and .txt files, optionally compressed (.gz, .zst); the extension of the name
 * determines the format. The kind of the examples (pairs, positives, triplets) determines the columns that contain
 * texts. A function that needs no kind reads every column with a recognized name (docs/data.md lists these names). The
 * field `columns` of aoe_table_options selects other columns: "text1=a,text2=b,label=c" assigns columns to text1, text2
 * and label, and "a,b" names two columns of texts. In .jsonl files, a value may be a list of alternative texts; each of
 * them is then a text of the row.
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
    AOE_TABLE_AUTO,  /* determined by the extension of the file name; AOE_TABLE_TXT for standard input ("-") */
    AOE_TABLE_TSV,   /* a header line, one row per line, fields separated by TAB; quotes are literal */
    AOE_TABLE_CSV,   /* RFC 4180 with a header line; fields separated by `delimiter` */
    AOE_TABLE_JSONL, /* one JSON object per line */
    AOE_TABLE_TXT,   /* one text per line, no header line; a table with a header line if `delimiter` is set */
    AOE_TABLE_JSON   /* a JSON array of objects, or one JSON object per line; only for input */
} aoe_table_format;

/* Sets *format to the format of a file whose name is `path`, as its extension determines it: .tsv or .tab, .csv, .jsonl
 * or .ndjson, .json, and .txt, in upper or lower case and optionally followed by .gz or .zst. *format is AOE_TABLE_AUTO
 * if the extension is unknown, and AOE_TABLE_TXT for "-". The file is not opened. Errors: AOE_EARG for documents and
 * source code (.md, .html, .py), which are read only if options.whole_files or options.input_format is set, and for
 * files that must be converted (.parquet, .pdf, .zip); the message says how. */
AOE_API int aoe_table_format_of(aoe_table_format *format, const char *path, aoe_error *AOE_NULLABLE err);

/* Quotes in the fields of .tsv and .csv tables. */
typedef enum aoe_quoting {
    AOE_QUOTING_AUTO, /* .csv: as AOE_QUOTING_CSV; .tsv: quotes are literal, and a file whose fields are quoted as in
                         CSV is an error */
    AOE_QUOTING_CSV, /* as in RFC 4180: a field in double quotes may contain delimiters, line ends and "" for a quote */
    AOE_QUOTING_NONE /* quotes are literal */
} aoe_quoting;

typedef struct aoe_table_options {
    size_t struct_size; /* set by aoe_table_options_defaults */
    /* Columns to read, for example "text1=a,text2=b,label=c". "negative=a,negative=b" reads several negatives, and
     * "ignore=c" marks the column c as deliberately unused. NULL (default): columns with recognized names. */
    const char *columns;
    /* Numbers for label names, for example "good=1,bad=0,unsure=drop"; "drop" excludes the rows with this label. The
     * map extends and overrides the predefined map "entailment=1,contradiction=0,neutral=drop,not_entailment=0". NULL
     * (default): only the predefined map. In the training files of methods whose labels are classes, neutral is 2
     * instead of dropped. */
    const char *label_map;
    int skip_bad_rows; /* 1: skip and count bad rows; 0 (default): functions fail at the first bad row */
    int allow_empty;   /* 1: empty texts are valid (evaluation); 0 (default): a row with an empty text is bad
                          (training) */
    /* File format; default AOE_TABLE_AUTO. An explicit format is required for tables from pipes and standard input. */
    aoe_table_format input_format;
    /* Character between the fields of a row: ',', ';', '\t', '|' or another ASCII character that is neither a letter, a
     * digit, a quote nor a line end. 0 (default): if the first line is "sep=;" (as Excel writes it), that line gives
     * the delimiter; otherwise it is detected in the header line (',', ';', '\t' or '|'). Ignored for AOE_TABLE_JSONL
     * and AOE_TABLE_JSON. */
    char delimiter;
    int no_header; /* 1: the first line of a .tsv or .csv table is a row; the columns are named 1, 2 and so on, or text
                      if there is only one. 0 (default): the first line contains the names of the columns */
    aoe_quoting quoting; /* default AOE_QUOTING_AUTO */
    int decimal_comma;   /* 1: labels may have a decimal comma, such as 0,5; 0 (default): only a decimal point */
    int whole_files;     /* 1: each file is one text, whatever its name; line ends become LF. 0 (default): see
                            input_format */
    int classes; /* 1: labels are classes; 0 (default): labels are scores, and functions that compare scores reject
                    labels that seem to be classes of natural language inference (docs/data.md) */
    /* Receives one note per file, which names the columns that are used and those that are not. NULL (default): no
     * notes. */
    aoe_log_fn log;
    void *log_user; /* first argument of log */
} aoe_table_options;

AOE_OPTIONS(aoe_table_options);

/* The kind of examples in a file. In .jsonl files, a text may be a list of alternatives. Training draws one alternative
 * in each epoch; a positive is drawn from the alternatives that differ from the query. Functions that read training
 * data accept only AUTO, PAIRS, POSITIVES and TRIPLETS. */
typedef enum aoe_example_kind {
    AOE_EXAMPLES_AUTO, /* detected from the columns: pairs, triplets or positives, the first of these for which the file
                          has all columns */
    AOE_EXAMPLES_PAIRS,     /* columns text1, text2, label */
    AOE_EXAMPLES_POSITIVES, /* columns query, positive */
    AOE_EXAMPLES_TRIPLETS,  /* columns query, positive, and one or several negatives (docs/data.md) */
    AOE_EXAMPLES_TEXTS,     /* column text */
    AOE_EXAMPLES_GROUPS     /* columns group, text: texts with the same group value belong together */
} aoe_example_kind;

typedef struct aoe_pairs aoe_pairs; /* labeled pairs in memory, immutable */

/* Reads a table of pairs (text1, text2, label). Errors: AOE_EFORMAT with file, line and column; AOE_ENOENT; AOE_EIO. */
AOE_API int aoe_pairs_load(aoe_pairs **p, const char *path, const aoe_table_options *AOE_NULLABLE o,
                           aoe_error *AOE_NULLABLE err);
AOE_API void aoe_pairs_free(aoe_pairs *AOE_NULLABLE p);
AOE_API size_t aoe_pairs_count(const aoe_pairs *p);
AOE_API aoe_text aoe_pairs_text1(const aoe_pairs *p, size_t i); /* text1 of pair i, borrowed from p */
AOE_API aoe_text aoe_pairs_text2(const aoe_pairs *p, size_t i); /* text2 of pair i, borrowed from p */
AOE_API double aoe_pairs_label(const aoe_pairs *p, size_t i);
AOE_API size_t aoe_pairs_line(const aoe_pairs *p, size_t i); /* line of pair i in the file, counted from 1 */
AOE_API size_t aoe_pairs_skipped(const aoe_pairs *p);        /* number of bad rows that were skipped (skip_bad_rows) */
AOE_API size_t aoe_pairs_dropped(const aoe_pairs *p); /* number of rows that label_map drops because of their label */
AOE_API uint64_t aoe_pairs_fingerprint(const aoe_pairs *p); /* hash of all texts and labels, in order */

/* Receives one text, borrowed for the call. Returns 0 to continue. Otherwise it sets *err and returns an error code;
 * aoe_texts_read then stops and returns this code. */
typedef int (*aoe_text_fn)(void *user, aoe_text text, aoe_error *err);
/* Calls fn with the texts of a file in file order. The texts of a .txt file are its lines. The texts of a table are
 * read row by row from the columns that o->columns names:
 *   "a,b" or "text=a"  these columns
 *   NULL               every column with a recognized name
 *   ""                 the column text or sentence
 * A list of alternatives is passed one text at a time. An empty file of any format contains no texts. Only the options
 * columns, input_format, delimiter, no_header, quoting and whole_files are used. Errors: AOE_EFORMAT with file, line
 * and column; AOE_EARG (see aoe_table_format_of; a file with an unknown extension needs options.input_format);
 * AOE_ENOENT; AOE_EIO; the errors of fn, with the location in the file added. */
AOE_API int aoe_texts_read(const char *path, const aoe_table_options *AOE_NULLABLE o, aoe_text_fn fn,
                           void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

/* Receives the two texts of a row, borrowed for the call. line: line number of the row in the file, counted from 1.
 * Returns 0 to continue. Otherwise it sets *err and returns an error code; aoe_text_pairs_read then stops and returns
 * this code. */
typedef int (*aoe_text_pair_fn)(void *user, aoe_text text1, aoe_text text2, size_t line, aoe_error *err);
/* Calls fn with the two texts of each row of a table in file order; labels are not needed. The columns are assigned to
 * the roles text1 and text2 by o->columns, for example "text1=query,text2=document", or by their names: text1,
 * sentence1, question1, premise, query, question or context; text2, sentence2, question2, hypothesis, document,
 * positive or sentence. A text may be empty, and an empty file contains no pairs. Of the options, skip_bad_rows is
 * ignored.
 * Errors: as aoe_texts_read; a value that is a list is an error, too; AOE_EARG (o->columns is malformed). */
AOE_API int aoe_text_pairs_read(const char *path, const aoe_table_options *AOE_NULLABLE o, aoe_text_pair_fn fn,
                                void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------------- common types */

/* Rules for comparing two texts. Each rule also ignores the differences that the rules above it ignore. */
typedef enum aoe_text_equality {
    AOE_TEXT_EQUAL_EXACT,  /* the bytes are equal */
    AOE_TEXT_EQUAL_SPACE,  /* ignores white space at both ends, and treats a run of white space as one space */
    AOE_TEXT_EQUAL_CASE,   /* also ignores upper and lower case and the encoding of accents (Unicode case folding and
                              NFD) */
    AOE_TEXT_EQUAL_LETTERS /* also ignores all characters except letters, marks and digits; texts without any of these
                              are compared as AOE_TEXT_EQUAL_CASE */
} aoe_text_equality;

/* Receives the next bytes of an output. part: index of the output; it is 0 except in aoe_data_split and
 * aoe_github_issues. data: [len] bytes, borrowed for the call. Returns 0 to continue; otherwise the calling function
 * returns AOE_ECANCELLED. */
typedef int (*aoe_write_fn)(void *user, size_t part, const char *data, size_t len);

/* ------------------------------------------------------------------- convert */

/* Ways to combine the positives and negatives of a query when pairs are converted to triplets. */
typedef enum aoe_pairing {
    AOE_PAIRING_ZIP,    /* the i-th positive with the i-th negative; surplus positives or negatives are unused */
    AOE_PAIRING_SAMPLE, /* each positive with a random negative */
    AOE_PAIRING_ALL     /* each positive with each negative */
} aoe_pairing;

typedef struct aoe_data_convert_options {
    size_t struct_size; /* set by aoe_data_convert_options_defaults */
    const char *name;   /* file name of the output; its extension determines the format and the compression. The file is
                           not opened; `write` receives its bytes */
    aoe_example_kind to;     /* kind of the output; AUTO (default): the rows are copied without conversion to another
                                kind */
    aoe_example_kind from;   /* kind of the input; AUTO (default): detected from the columns; ignored if `to` is AUTO */
    aoe_table_options table; /* allow_empty is ignored: empty texts are valid */
    const char *keep;        /* "a,b": write only these columns, in this order; NULL (default): all columns */
    const char *rename;      /* "old=new,...": rename these columns in the output; NULL (default): rename none */
    double threshold; /* lowest label of a positive pair; AOE_AUTO (default): lowest + 0.8 (highest - lowest), computed
                         from the lowest and the highest label of the file */
    aoe_pairing pairing; /* default AOE_PAIRING_ZIP */
    size_t negatives;    /* random negatives per row when positives are converted to pairs or triplets; default 1 */
    aoe_text_equality equality; /* defines which texts are equal when pairs are grouped by text1 and when random
                                   negatives are excluded; default AOE_TEXT_EQUAL_EXACT */
    uint64_t seed;              /* seed of random negatives and AOE_PAIRING_SAMPLE; default 42 */
    aoe_write_fn write;         /* receives the output */
    void *user;                 /* first argument of write */
} aoe_data_convert_options;

typedef struct aoe_data_convert_result {
    size_t struct_size; /* set by the caller */
    size_t rows;        /* number of rows that were read, except skipped and dropped rows */
    size_t skipped;     /* bad rows that were skipped */
    size_t dropped;     /* rows that were excluded because table.label_map maps their label to "drop" */
    size_t written;     /* rows that were written */
    size_t below;       /* pairs to positives: rows below the threshold, which were excluded */
    size_t texts;       /* pairs to triplets: distinct values of text1 */
    size_t without; /* pairs to triplets: distinct values of text1 that were excluded because they have no positive or
                       no negative. Positives to pairs or triplets: rows for which no random negative was found */
    size_t unused;  /* pairs to triplets: rows that are in no triplet */
} aoe_data_convert_result;

AOE_OPTIONS_WITH(aoe_data_convert_options, aoe_table_options_defaults(&o->table));
/* Converts a table to another format or another kind of examples:
 *   pairs to positives    rows with a label of at least the threshold
 *   pairs to triplets     each distinct text1 is a query. If a row has a label of at least the threshold, its text2 is
 *                         a positive of the query, otherwise a negative. Labeled NLI pairs become the triplets of
 *                         supervised SimCSE.
 *   triplets to pairs     two rows per triplet, with labels 1 and 0
 *   triplets to positives query and positive, without the negative
 *   positives to pairs    for each input row, one row with label 1 and `negatives` rows with label 0; the text2 of
 *                         such a row is a random positive of another row
 *   positives to triplets `negatives` rows for each input row, each with another random negative
 * Random negatives of a query are never equal to the query or to a text that occurs with this query in any row. If the
 * kind changes, columns that do not belong to the new kind are excluded. Errors: AOE_EFORMAT (file, line and column; a
 * text that the output format cannot represent). */
AOE_API int aoe_data_convert(const char *path, const aoe_data_convert_options *AOE_NULLABLE o,
                             aoe_data_convert_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- split */

typedef struct aoe_data_split_options {
    size_t struct_size;         /* set by aoe_data_split_options_defaults */
    aoe_table_options table;    /* allow_empty and label_map are ignored */
    aoe_text_equality equality; /* defines which texts are equal; rows with equal texts go into the same part; default
                                   AOE_TEXT_EQUAL_CASE */
    double near_duplicates;     /* rows with near duplicates are in the same part: two texts are near duplicates if the
                                   Jaccard index of their word sets is at least this value; 0 (default): off */
    const char *group;    /* column name; rows with equal values in this column go into the same part; NULL (default):
                             off */
    const double *ratios; /* [parts] relative sizes of the parts; default 0.8, 0.1, 0.1 */
    size_t parts;         /* number of parts; default 3 */
    uint64_t seed;        /* default 42 */
    const char *name;   /* file name; only its extension is used: the outputs are compressed if it is .gz or .zst; NULL
                           (default): not compressed */
    aoe_write_fn write; /* receives the output of each part */
    void *user;         /* first argument of write */
} aoe_data_split_options;

typedef struct aoe_data_split_part {
    size_t rows, clusters; /* number of rows in the part; number of clusters in the part */
    size_t texts;          /* distinct texts in the part; none of them is in another part */
} aoe_data_split_part;

typedef struct aoe_data_split_result {
    size_t struct_size;                    /* set by the caller */
    size_t rows, skipped, clusters, texts; /* numbers of rows read, bad rows skipped, clusters and distinct texts */
    size_t largest;                        /* rows of the largest cluster */
    size_t largest_line;                   /* line of the first row of the largest cluster */
    size_t near_pairs;                     /* number of times that a pair of near duplicates merged two clusters */
} aoe_data_split_result;

AOE_OPTIONS_WITH(aoe_data_split_options, aoe_table_options_defaults(&o->table));
/* Splits the rows of a table into parts that have no text in common. Rows that share a text, directly or through other
 * rows, form a cluster, and all rows of a cluster go into the same part. The largest clusters are assigned first, each
 * to a part that can still take all its rows. If a cluster has more rows than the largest part should have, the sizes
 * of the parts differ from the requested ratios. The rows of a part are copied byte for byte, in input order. part:
 * [options.parts]. Errors: AOE_EFORMAT. */
AOE_API int aoe_data_split(const char *path, const aoe_data_split_options *AOE_NULLABLE o, aoe_data_split_part *part,
                           aoe_data_split_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- dedup */

/* Treatment of rows with equal texts and different labels. */
typedef enum aoe_conflicts {
    AOE_CONFLICTS_FIRST, /* keep the first row */
    AOE_CONFLICTS_DROP,  /* drop all rows with these texts */
    AOE_CONFLICTS_KEEP   /* keep the first row of each label */
} aoe_conflicts;

/* A row whose texts equal those of an earlier row with a different label. */
typedef struct aoe_data_conflict {
    size_t struct_size;          /* set by the library */
    size_t first, line;          /* line of the first row with these texts; line of the later row */
    aoe_text first_label, label; /* label of the first row; label of the later row; borrowed for the call */
    const aoe_text *text;        /* [n] texts of the later row; borrowed for the call */
    size_t n;
} aoe_data_conflict;

typedef struct aoe_data_dedup_options {
    size_t struct_size;         /* set by aoe_data_dedup_options_defaults */
    aoe_table_options table;    /* allow_empty and label_map are ignored */
    aoe_text_equality equality; /* default AOE_TEXT_EQUAL_EXACT */
    int ordered;                /* 1: a pair and the pair with swapped texts are different; default 0 */
    aoe_conflicts conflicts;    /* default AOE_CONFLICTS_FIRST */
    const char *name;           /* file name, used as in aoe_data_split_options */
    aoe_write_fn write;         /* receives the output */
    void (*report)(void *user, const aoe_data_conflict *conflict); /* receives conflicts in file order; NULL (default):
                                                                      none */
    void *user;                                                    /* first argument of write and report */
} aoe_data_dedup_options;

typedef struct aoe_data_dedup_result {
    size_t struct_size;         /* set by the caller */
    size_t rows, skipped, kept; /* numbers of rows read, bad rows skipped and rows written */
    size_t duplicates;          /* rows that were excluded because an earlier row has equal texts and label */
    size_t conflicts;           /* rows with equal texts but another label than the first row with these texts */
    size_t dropped;             /* rows that were excluded because of a conflict */
} aoe_data_dedup_result;

AOE_OPTIONS_WITH(aoe_data_dedup_options, aoe_table_options_defaults(&o->table));
/* Writes the rows of a table except those whose texts equal the texts of an earlier row. Only the texts and the label
 * of a row are compared. Labels are equal if they are equal numbers or equal names. The written rows are copied byte
 * for byte, in input order. Errors: AOE_EFORMAT. */
AOE_API int aoe_data_dedup(const char *path, const aoe_data_dedup_options *AOE_NULLABLE o,
                           aoe_data_dedup_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------------------- near duplicates */

typedef struct aoe_similar_options {
    size_t struct_size; /* set by aoe_similar_options_defaults */
    double threshold;   /* lowest cosine of a pair, above 0 and at most 1; default 0.9 */
    /* Receives each pair: the rows of its two vectors, first < second, and their cosine (aoe_cosine, rounded to float).
     * The pairs are sorted by `first`, then by `second`. NULL (default): none */
    int (*report)(void *user, size_t first, size_t second, double cosine);
    /* Receives the fraction of all pairs of vectors that have been compared, from 0 to 1. NULL (default): none */
    int (*progress)(void *user, double fraction);
    void *user; /* first argument of report and progress. Both return 0 to continue; otherwise aoe_find_similar returns
                   AOE_ECANCELLED */
} aoe_similar_options;

typedef struct aoe_similar_result {
    size_t struct_size; /* set by the caller */
    size_t pairs;       /* pairs of vectors whose cosine is at least the threshold */
    size_t groups;      /* groups of at least two vectors: connected components of the graph of the pairs */
    size_t grouped;     /* vectors that are in one of these groups */
} aoe_similar_result;

AOE_OPTIONS(aoe_similar_options);
/* Finds all pairs of vectors whose cosine is at least a threshold, and the groups that the pairs connect, by exact
 * search. For a table, embed each distinct text once; each further row with this text is a duplicate.
 * - vectors: [n, dims], for example from aoe_embed
 * - group: [n] receives the number of the group of each vector, counted from 0 in the order of their first vectors;
 *   SIZE_MAX: the vector is in no pair. NULL: not needed. Owned by the caller
 * The result does not depend on the number of threads. The time is proportional to n^2. The function allocates 4 n dims
 * bytes for a copy of the vectors, 16 n bytes, and at most about 60 MB or 12 n bytes for buffers, however many pairs
 * there are. A zero vector is in no pair. Errors: AOE_EARG (dims is 0; n is 2^32 - 1 or more), AOE_ENUMERIC (a value is
 * not finite), AOE_ECANCELLED. */
AOE_API int aoe_find_similar(aoe_context *ctx, const float *vectors, size_t n, size_t dims,
                             const aoe_similar_options *AOE_NULLABLE o, size_t *AOE_NULLABLE group,
                             aoe_similar_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ---------------------------------------------------------------- statistics */

enum { AOE_QUANTILES = 7 }; /* aoe_data_lengths contains the quantiles 0, 0.25, 0.5, 0.75, 0.9, 0.99 and 1 */

typedef struct aoe_data_lengths {
    double mean;
    double quantile[AOE_QUANTILES];
    size_t longer; /* texts that are longer than options.longer */
} aoe_data_lengths;

typedef struct aoe_data_label {
    aoe_text label;   /* label (a number or a name), owned by the result; "" for a bin of labels */
    double low, high; /* bounds of a bin, which contains the labels x with low <= x < high; the last bin also contains
                         high. Both are equal to a label that is a number, and NaN for a label name */
    size_t rows;      /* rows with this label, or with a label in the bin */
} aoe_data_label;

typedef struct aoe_data_stats_options {
    size_t struct_size;         /* set by aoe_data_stats_options_defaults */
    aoe_table_options table;    /* allow_empty is ignored */
    aoe_text_equality equality; /* defines which texts are distinct; default AOE_TEXT_EQUAL_EXACT */
    double threshold; /* lowest label of a positive row; AOE_AUTO (default): lowest + 0.8 (highest - lowest), computed
                         from the lowest and the highest label of the file */
    size_t bins;      /* number of bins if there are more than 20 distinct numeric labels; default 10 */
    size_t longer;    /* texts that are longer than this length are counted in aoe_data_lengths.longer; 0 (default): not
                         counted */
    /* Sets *n to the number of tokens in a text; called once for each distinct text. Returns 0 to continue. Otherwise
     * it sets *err and returns an error code; aoe_data_stats then stops and returns it. NULL (default): tokens are not
     * counted. */
    int (*tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user; /* first argument of tokens */
} aoe_data_stats_options;

typedef struct aoe_data_stats_result {
    size_t struct_size;    /* set by the caller */
    char *bytes;           /* private */
    aoe_data_label *label; /* [labels] labels with their numbers of rows; owned by the result. Numbers come first, in
                              ascending order, then names in byte order */
    size_t labels;
    size_t rows, skipped;               /* number of rows read; number of bad rows skipped */
    int has_labels;                     /* 1: the table has a label column */
    double threshold;                   /* threshold in use; NaN if no label is a number */
    size_t positive, negative, dropped; /* number of rows with a label of at least the threshold; with a label below it;
                                           with a label that table.label_map maps to "drop" */
    size_t unknown;                     /* rows whose label is a name without a value */
    size_t texts, distinct;             /* number of texts; number of distinct texts */
    aoe_data_lengths characters;        /* lengths of texts in Unicode code points */
    aoe_data_lengths words;             /* lengths in words separated by white space */
    aoe_data_lengths tokens;            /* lengths in tokens; set only if has_tokens is 1 */
    int has_tokens;                     /* 1: options.tokens was given */
} aoe_data_stats_result;

AOE_OPTIONS_WITH(aoe_data_stats_options, aoe_table_options_defaults(&o->table));
/* Counts rows and labels of a table and computes the lengths of its texts; a text that occurs several times is counted
 * each time. Free *result with aoe_data_stats_free, also after an error. Errors: AOE_EFORMAT; the errors of
 * options.tokens. */
AOE_API int aoe_data_stats(const char *path, const aoe_data_stats_options *AOE_NULLABLE o,
                           aoe_data_stats_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_data_stats_free(aoe_data_stats_result *AOE_NULLABLE result); /* accepts a zeroed struct */

/* --------------------------------------------------------------------- check */

/* Problems in tables: X(constant, name, description). */
#define AOE_FINDING_LIST(X)                                                                                            \
    X(INVALID, "invalid", "rows that cannot be read")                                                                  \
    X(LABEL, "label", "labels that are neither numbers nor known label names")                                         \
    X(RANGE, "range", "labels out of range")                                                                           \
    X(CLASS, "class", "files in which all labels are equal")                                                           \
    X(EMPTY, "empty", "rows with an empty text")                                                                       \
    X(LONG, "long", "rows with a very long text")                                                                      \
    X(DUPLICATE, "duplicate", "rows that repeat an earlier row")                                                       \
    X(CONFLICT, "conflict", "rows with the texts of an earlier row and another label")                                 \
    X(LEAK, "leak", "rows that are in an earlier file")                                                                \
    X(SHARED, "shared", "other rows with a text of an earlier file")

typedef enum aoe_finding_kind {
#define AOE_X(name, word, text) AOE_FINDING_##name,
    AOE_FINDING_LIST(AOE_X)
#undef AOE_X
        AOE_FINDING_COUNT
} aoe_finding_kind;

AOE_API const char *aoe_finding_name(aoe_finding_kind kind); /* for example "duplicate"; static string */
AOE_API const char *aoe_finding_text(aoe_finding_kind kind); /* description from the list above; static string */

typedef struct aoe_finding {
    size_t struct_size; /* set by the library */
    aoe_finding_kind kind;
    const char *file;       /* file with the problem. All pointers in this struct are borrowed for the call */
    size_t line;            /* first line of the row; 0: the whole file */
    const char *other_file; /* file of the earlier row; NULL: no other row is involved */
    size_t other_line;      /* line of the earlier row */
    aoe_text text; /* INVALID: why the row cannot be read; LABEL, RANGE, CLASS, CONFLICT: the label; LONG, SHARED: the
                      text; other kinds: "" */
    aoe_text other_label; /* CONFLICT: label of the earlier row; otherwise "" */
    size_t length;        /* LONG: length of the text in characters */
} aoe_finding;

typedef struct aoe_data_check_options {
    size_t struct_size;         /* set by aoe_data_check_options_defaults */
    aoe_table_options table;    /* skip_bad_rows and allow_empty are ignored */
    aoe_text_equality equality; /* default AOE_TEXT_EQUAL_CASE */
    int ordered;                /* 1: a pair and the pair with swapped texts are different; default 0 */
    double low, high;           /* range of valid labels; default -INFINITY, INFINITY */
    size_t longest;             /* longest valid text in characters; default 20000; 0: no limit */
    unsigned ignore;            /* bit mask of findings that are not reported: bit 1 << kind for each kind; default 0 */
    void (*report)(void *user, const aoe_finding *finding); /* receives findings file by file, in row order; NULL
                                                               (default): only counts */
    void *user;                                             /* first argument of report */
} aoe_data_check_options;

typedef struct aoe_data_check_result {
    size_t struct_size;              /* set by the caller */
    size_t rows;                     /* number of rows in all files, including rows that cannot be read */
    size_t found[AOE_FINDING_COUNT]; /* number of findings of each kind */
    size_t total;                    /* sum of found */
} aoe_data_check_result;

AOE_OPTIONS_WITH(aoe_data_check_options, aoe_table_options_defaults(&o->table));
/* Checks tables for problems. Each table is checked alone and is then compared with the earlier tables in `paths`. This
 * finds, for example, rows and texts of test data that also occur in training data. The function returns 0 even if it
 * finds problems. Errors: AOE_EFORMAT (a whole file is malformed). */
AOE_API int aoe_data_check(const char *const *paths, size_t n_paths, const aoe_data_check_options *AOE_NULLABLE o,
                           aoe_data_check_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------ hard negatives */

typedef enum aoe_mine_stage {
    AOE_MINE_EMBED, /* progress counts texts */
    AOE_MINE_SEARCH /* progress counts rows */
} aoe_mine_stage;

/* A triplet with a mined negative. All pointers are borrowed for the call. */
typedef struct aoe_mined {
    size_t struct_size;       /* set by the library */
    const aoe_text *query;    /* [n_query] the query of the row, or its alternatives */
    const aoe_text *positive; /* [n_positive] the positive of the row, or its alternatives */
    size_t n_query, n_positive;
    aoe_text negative;
    size_t number, of; /* the negative is number `number` of `of` negatives of its row, counted from 0 */
    double positive_score, negative_score; /* cosines of the positive and of the negative with the query; if there are
                                              alternatives, the highest cosine */
} aoe_mined;

/* An aoe_mine_fn receives a triplet, and an aoe_mine_progress_fn receives the progress. Both return 0 to continue;
 * otherwise aoe_mine returns AOE_ECANCELLED. */
typedef int (*aoe_mine_fn)(void *user, const aoe_mined *mined);
typedef int (*aoe_mine_progress_fn)(void *user, aoe_mine_stage stage, size_t done, size_t total);

typedef struct aoe_mine_options {
    size_t struct_size;       /* set by aoe_mine_options_defaults */
    const char *const *files; /* [n_files] training files of pairs, positives or triplets */
    size_t n_files;
    aoe_example_kind kind;   /* kind of the examples of all files; default AUTO */
    aoe_table_options table; /* options of all files; allow_empty is ignored */
    double threshold; /* lowest label of a positive pair; AOE_AUTO (default): lowest + 0.8 (highest - lowest), computed
                         from the lowest and the highest label of the file */
    const char *const *corpus; /* [n_corpus] files of candidate texts, .txt or tables; without files, the candidates are
                                  texts of the training files */
    size_t n_corpus;
    aoe_table_options corpus_table; /* options of the corpus files; columns: "text=NAME" */
    int from_queries; /* used only if n_corpus is 0. 1: the candidates are the queries (text1) of the training files; 0
                         (default): their positives and negatives (text2) */
    size_t negatives; /* negatives per row, each in a triplet of its own; default 1 */
    int complete;     /* 1: a row with fewer than `negatives` negatives is dropped; 0 (default): only a row without
                         negatives */
    size_t range;     /* number of nearest candidates that are considered; default 50 */
    size_t skip;      /* number of nearest candidates that are never chosen; default 0 */
    double margin; /* candidates with a cosine above (cosine of the positive - margin) are skipped; default -INFINITY:
                      no candidate is skipped */
    double min_score, max_score; /* candidates with a cosine outside this range are skipped; default -INFINITY,
                                    INFINITY */
    int sample;                  /* 1: choose at random among the remaining candidates; 0 (default): the nearest */
    uint64_t seed;               /* seed of sample; default 42 */
    int for_tsv; /* 1: aoe_mine rejects lists of alternatives and texts with tabs or line ends, because a .tsv file
                    cannot contain them; default 0 */
    aoe_mine_fn report; /* receives every triplet in row order, nearest negatives first; NULL (default): none */
    aoe_mine_progress_fn progress; /* NULL (default): none */
    void *user;                    /* first argument of report and progress */
    const char *query_prompt; /* prompt template for the queries; NULL (default): the prompt of the model, which is also
                                 the prompt of the other texts */
} aoe_mine_options;

typedef struct aoe_mine_result {
    size_t struct_size; /* set by the caller */
    size_t rows;        /* rows with a query and a positive */
    size_t without;     /* rows for which no negative was found; they have no triplet */
    size_t triplets;    /* reported triplets */
    size_t texts;       /* texts that were embedded; texts with equal tokens are embedded once */
    size_t truncated;   /* texts truncated to the maximum length */
    size_t candidates;  /* embedded texts that are candidates */
    size_t below; /* pairs with a label below the threshold. They yield no triplet; their texts can only be negatives of
                     other rows */
    size_t skipped;        /* bad rows that were skipped */
    size_t dropped;        /* rows that were excluded because table.label_map maps their label to "drop" */
    double positive_score; /* mean cosine of query and positive over rows with a negative; NaN without such a row */
    double negative_score; /* mean cosine of query and negative over triplets; NaN without a triplet */
} aoe_mine_result;

AOE_OPTIONS_WITH(aoe_mine_options, aoe_table_options_defaults(&o->table), aoe_table_options_defaults(&o->corpus_table));
/* Mines hard negatives: for each row of the files, finds the candidates with the highest cosine to the query by exact
 * search. A text that is the query or a positive of a row is never a negative of this query, not even for another row
 * with the same query. Two texts count as one text if their tokens are equal after the prompt is added and the texts
 * are truncated. Needs memory for the vectors of all distinct texts and a few MB. The result does not depend on the
 * number of threads. In a static model, a query without known words has no negative. Errors: AOE_EFORMAT (file, line
 * and column; no positive), AOE_ECANCELLED, and the errors of aoe_embed. */
AOE_API int aoe_mine(aoe_embedder *e, const aoe_mine_options *AOE_NULLABLE o, aoe_mine_result *result,
                     aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
