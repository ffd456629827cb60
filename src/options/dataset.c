/* SPDX-License-Identifier: MIT
 * The option tables of the tools for training data: mining, conversion, checks, deduplication, splits and statistics.
 */
#include "options/dataset.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/error.h"
#include "options/rows.h"
#include "options/table.h"

/* Parses the names of problems, such as "duplicate,shared". */
static int parse_ignore(void *target, const char *text, aoe_error *err) {
    unsigned *ignore = target;
    for (const char *s = text; *s;) {
        const size_t len = strcspn(s, ",");
        int kind = 0;
        while (kind < AOE_FINDING_COUNT && (strlen(aoe_finding_name((aoe_finding_kind)kind)) != len ||
                                            strncmp(aoe_finding_name((aoe_finding_kind)kind), s, len) != 0))
            kind++;
        if (kind == AOE_FINDING_COUNT) {
            err->code = AOE_EARG;
            int at = snprintf(err->message, sizeof err->message, "unknown kind '%.100s'; choose from", s);
            for (int k = 0; k < AOE_FINDING_COUNT; k++)
                at += snprintf(err->message + at, sizeof err->message - (size_t)at, "%s%s", k ? ", " : " ",
                               aoe_finding_name((aoe_finding_kind)k));
            return err->code;
        }
        *ignore |= 1u << kind;
        s += len;
        s += *s == ',';
    }
    return 0;
}

/* Returns the names of problems, or NULL if there is none. */
static const char *finding_names(char out[AOEI_NAME_SIZE], const void *target) {
    const unsigned ignore = *(const unsigned *)target;
    size_t used = 0;
    for (int k = 0; k < AOE_FINDING_COUNT && used < AOEI_NAME_SIZE; k++)
        if (ignore >> k & 1)
            used += (size_t)snprintf(out + used, AOEI_NAME_SIZE - used, "%s%s", used ? "," : "",
                                     aoe_finding_name((aoe_finding_kind)k));
    return used ? out : NULL;
}

static const char *finding_choice(size_t i) {
    return i < AOE_FINDING_COUNT ? aoe_finding_name((aoe_finding_kind)i) : NULL;
}

/* Parses a range of labels, such as "0,5". The target is the field low; the field high follows it. */
static int parse_range(void *target, const char *text, aoe_error *err) {
    double *range = target;
    char *middle, *end = NULL;
    const double low = strtod(text, &middle), high = *middle == ',' ? strtod(middle + 1, &end) : 0;
    if (middle == text || !end || end == middle + 1 || *end || !(low <= high) || !isfinite(low) || !isfinite(high))
        return aoei_fail(err, AOE_EARG, "expected LOW,HIGH, for example 0,5, not '%.100s'", text);
    range[0] = low;
    range[1] = high;
    return 0;
}

#define MINE(field) AOEI_AT(aoe_mine_options, field)

static const aoei_option mine_data_rows[] = {
    {.name = "form",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     MINE(kind),
     .parse = aoei_parse_form,
     .name_of = aoei_form_name,
     .choices = aoei_forms,
     .help = "kind of rows in the input: pairs (text1, text2, label), positives (query, positive) or triplets (query, "
             "positive, negative)",
     .fallback = "detected from the columns"},
    AOEI_ROW_COLUMNS(
        MINE(table.columns), "ROLE=NAME,...",
        "columns to read: ROLE=NAME reads the column NAME as ROLE, for example query=a,positive=b; ignore=NAME marks "
        "an unused column",
        AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_LABEL_MAP(MINE(table.label_map)),
    AOEI_ROW_THRESHOLD(MINE(threshold)),
    AOEI_ROW_SKIP_BAD_ROWS(MINE(table.skip_bad_rows)),
};

static const aoei_option mine_candidates_rows[] = {
    {.name = "corpus-columns",
     .kind = AOEI_OPTION_TEXT,
     .value = "text=NAME",
     MINE(corpus_table.columns),
     .field = "corpus_table.columns",
     .help = "name of the text column in tables of --corpus",
     .fallback = "text"},
    {.name = "corpus-format",
     .kind = AOEI_OPTION_CHOICE,
     MINE(corpus_table.input_format),
     .field = "corpus_table.input_format",
     .choices = aoei_table_formats,
     .noun = "format",
     .help = "format of the files of --corpus: tsv, csv, jsonl, json or txt",
     .fallback = "from the file extension"},
    {.name = "whole-files",
     .kind = AOEI_OPTION_FLAG,
     MINE(corpus_table.whole_files),
     .field = "corpus_table.whole_files",
     .excludes = "corpus-columns",
     .help = "read each file of --corpus as one text, whatever its name, for example documents (.md, .html)"},
    {.name = "from-queries",
     .kind = AOEI_OPTION_FLAG,
     MINE(from_queries),
     .help = "also select negatives from the queries"},
};

static const aoei_option mine_choice_rows[] = {
    {.name = "negatives",
     .letter = 'n',
     .kind = AOEI_OPTION_SIZE,
     MINE(negatives),
     .min = 1,
     .max = 1e6,
     .help = "write up to N triplets per row, each with a different negative"},
    {.name = "tuples",
     .kind = AOEI_OPTION_FLAG,
     MINE(complete),
     .field = "complete",
     .excludes = "scores",
     .help =
         "write one row with exactly N negatives (columns negative_1 to negative_N) instead of N triplets; rows of the "
         "input with fewer negatives are dropped"},
    {.name = "range",
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     MINE(range),
     .min = 1,
     .max = 1e6,
     .help = "consider only the K candidates nearest to the query"},
    {.name = "skip",
     .kind = AOEI_OPTION_SIZE,
     MINE(skip),
     .max = 1e6,
     .help = "skip the N nearest candidates, which may be unlabeled positives"},
    {.name = "margin",
     .kind = AOEI_OPTION_REAL,
     MINE(margin),
     .min = -2,
     .max = 2,
     .help = "skip candidates whose cosine with the query is above C - X, where C is the cosine of the"
             " positive with the query",
     .fallback = "off"},
    {.name = "min-score",
     .kind = AOEI_OPTION_REAL,
     MINE(min_score),
     .min = -1,
     .max = 1,
     .help = "skip candidates whose cosine with the query is below X",
     .fallback = "off"},
    {.name = "max-score",
     .kind = AOEI_OPTION_REAL,
     MINE(max_score),
     .min = -1,
     .max = 1,
     .help = "skip candidates whose cosine with the query is above X",
     .fallback = "off"},
    {.name = "sample",
     .kind = AOEI_OPTION_FLAG,
     MINE(sample),
     .help = "draw negatives at random from the remaining candidates instead of selecting the nearest candidates"},
};

#define CONVERT(field) AOEI_AT(aoe_data_convert_options, field)

static const aoei_option data_convert_output_rows[] = {
    {.name = "keep",
     .kind = AOEI_OPTION_TEXT,
     .value = "A,B,...",
     CONVERT(keep),
     .help = "write only these columns, in this order"},
    {.name = "rename",
     .kind = AOEI_OPTION_TEXT,
     .value = "OLD=NEW,...",
     CONVERT(rename),
     .help = "rename columns of the output"},
};

static const aoei_option data_convert_form_rows[] = {
    {.name = "to",
     .kind = AOEI_OPTION_NAMED,
     .value = "FORM",
     CONVERT(to),
     .parse = aoei_parse_form,
     .name_of = aoei_form_name,
     .choices = aoei_forms,
     .help =
         "convert the rows to pairs (text1, text2, label), positives (query, positive) or triplets (query, positive, "
         "negative)",
     .fallback = "rows are not converted"},
    {.name = "from",
     .kind = AOEI_OPTION_NAMED,
     .value = "FORM",
     CONVERT(from),
     .parse = aoei_parse_form,
     .name_of = aoei_form_name,
     .choices = aoei_forms,
     .help = "kind of rows in the input: pairs, positives or triplets",
     .fallback = "detected from the columns"},
    AOEI_ROW_COLUMNS(
        CONVERT(table.columns), "ROLE=NAME,...",
        "columns to read: ROLE=NAME reads the column NAME as ROLE, for example text1=a,text2=b,label=c; requires --to",
        AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_LABEL_MAP(CONVERT(table.label_map)),
    AOEI_ROW_THRESHOLD(CONVERT(threshold)),
    {.name = "pairing",
     .kind = AOEI_OPTION_CHOICE,
     CONVERT(pairing),
     .choices = AOEI_CHOICES("zip", "sample", "all"),
     .noun = "pairing",
     .help = "from pairs to triplets: how the positives and the negatives of a text1 are combined. "
             "zip: the first positive with the first negative, the second with the second, and so on. "
             "sample: each positive with a random negative. all: each positive with each negative"},
    AOEI_ROW_SAME(CONVERT(equality)),
    {.name = "negatives",
     .letter = 'n',
     .kind = AOEI_OPTION_SIZE,
     CONVERT(negatives),
     .max = 1e6,
     .help = "from positives to pairs or triplets: number of random negatives per row"},
    AOEI_ROW_SKIP_BAD_ROWS(CONVERT(table.skip_bad_rows)),
};

#define CHECK(field) AOEI_AT(aoe_data_check_options, field)

static const aoei_option data_check_rows[] = {
    {.name = "ignore",
     .kind = AOEI_OPTION_NAMED,
     .value = "KIND,...",
     CHECK(ignore),
     .parse = parse_ignore,
     .name_of = finding_names,
     .choice = finding_choice,
     .help = "kinds of problems that are not reported. invalid: unreadable row. label: unknown label. range: label "
             "outside --range. class: all labels of a file are equal. empty: empty text. long: text longer than "
             "--longest. duplicate: row with the texts and the label of an earlier row of the file. conflict: row with "
             "the texts of an earlier row and a different label. leak: row with the texts of a row of an earlier file. "
             "shared: text that an earlier file contains",
     .fallback = "none"},
    {.name = "range",
     .kind = AOEI_OPTION_NAMED,
     .value = "LOW,HIGH",
     CHECK(low),
     .parse = parse_range,
     .help = "report labels that are not between LOW and HIGH",
     .fallback = "any label is accepted"},
    {.name = "longest",
     .kind = AOEI_OPTION_SIZE,
     CHECK(longest),
     .help = "report texts longer than N characters; 0 accepts any length"},
    AOEI_ROW_SAME(CHECK(equality)),
    AOEI_ROW_ORDERED(CHECK(ordered)),
    AOEI_ROW_TEXT_COLUMNS(CHECK(table.columns)),
    AOEI_ROW_LABEL_MAP(CHECK(table.label_map)),
};

#define DEDUP(field) AOEI_AT(aoe_data_dedup_options, field)

static const aoei_option data_dedup_rows[] = {
    AOEI_ROW_SAME(DEDUP(equality)),
    AOEI_ROW_ORDERED(DEDUP(ordered)),
    {.name = "conflicts",
     .kind = AOEI_OPTION_CHOICE,
     DEDUP(conflicts),
     .choices = AOEI_CHOICES("first", "drop", "keep"),
     .noun = "conflict mode",
     .help = "which rows to keep if duplicates have different labels: first (only the first row), drop"
             " (none) or keep (the first row of each label)"},
    AOEI_ROW_TEXT_COLUMNS(DEDUP(table.columns)),
    AOEI_ROW_SKIP_BAD_ROWS(DEDUP(table.skip_bad_rows)),
};

#define SPLIT(field) AOEI_AT(aoe_data_split_options, field)

static const aoei_option data_split_rows[] = {
    AOEI_ROW_SAME(SPLIT(equality)),
    {.name = "near",
     .kind = AOEI_OPTION_REAL,
     SPLIT(near_duplicates),
     .min = 0.05,
     .max = 1,
     .help = "also keep near duplicates in one split; two texts are near duplicates if their sets of "
             "words have a Jaccard similarity of at least X (typically 0.8)",
     .fallback = "off"},
    {.name = "group",
     .kind = AOEI_OPTION_TEXT,
     .value = "COLUMN",
     SPLIT(group),
     .help = "also keep rows with equal values in this column in one split"},
    AOEI_ROW_COLUMNS(SPLIT(table.columns), "A,B,...", "text columns whose texts must not occur in two splits",
                     AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_SKIP_BAD_ROWS(SPLIT(table.skip_bad_rows)),
};

#define STATS(field) AOEI_AT(aoe_data_stats_options, field)

static const aoei_option data_stats_rows[] = {
    {.name = "longer",
     .kind = AOEI_OPTION_SIZE,
     STATS(longer),
     .min = 1,
     .help = "for each unit of length (characters, words and, with --model, tokens), also report the "
             "fraction of texts longer than N",
     .fallback = "off"},
    {.name = "threshold",
     .kind = AOEI_OPTION_REAL,
     STATS(threshold),
     .min = -1e30,
     .max = 1e30,
     .help = "pairs with a label of at least X are positive",
     .fallback = AOEI_DEFAULT_THRESHOLD},
    {.name = "bins",
     .kind = AOEI_OPTION_SIZE,
     STATS(bins),
     .min = 1,
     .max = 1000,
     .help = "number of bins in which numeric labels are counted if a file has more than 20 distinct numeric labels"},
    AOEI_ROW_SAME(STATS(equality)),
    AOEI_ROW_TEXT_COLUMNS(STATS(table.columns)),
    AOEI_ROW_LABEL_MAP(STATS(table.label_map)),
    AOEI_ROW_SKIP_BAD_ROWS(STATS(table.skip_bad_rows)),
};

static const aoei_option similar_rows[] = {
    {.name = "threshold",
     .kind = AOEI_OPTION_REAL,
     AOEI_AT(aoe_similar_options, threshold),
     .min = AOEI_ABOVE_0,
     .max = 1,
     .help = "lowest cosine of similar texts"},
};

const aoei_option_group aoei_mine_data_rows = AOEI_GROUP("data", aoe_mine_options, mine_data_rows);
const aoei_option_group aoei_mine_candidates_rows = AOEI_GROUP("candidates", aoe_mine_options, mine_candidates_rows);
const aoei_option_group aoei_mine_choice_rows = AOEI_GROUP("selection", aoe_mine_options, mine_choice_rows);
const aoei_option_group aoei_data_convert_output_rows =
    AOEI_GROUP("output", aoe_data_convert_options, data_convert_output_rows);
const aoei_option_group aoei_data_convert_form_rows =
    AOEI_GROUP("conversion", aoe_data_convert_options, data_convert_form_rows);
const aoei_option_group aoei_data_check_rows = AOEI_GROUP("checks", aoe_data_check_options, data_check_rows);
const aoei_option_group aoei_data_dedup_rows = AOEI_GROUP("comparison", aoe_data_dedup_options, data_dedup_rows);
const aoei_option_group aoei_data_split_rows = AOEI_GROUP("grouping", aoe_data_split_options, data_split_rows);
const aoei_option_group aoei_data_stats_rows = AOEI_GROUP("data", aoe_data_stats_options, data_stats_rows);
const aoei_option_group aoei_similar_rows = AOEI_GROUP("similarity", aoe_similar_options, similar_rows);
