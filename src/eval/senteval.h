/* SPDX-License-Identifier: MIT
 * Reads SentEval folders. A folder contains two files for each subset. STS.input.SUBSET.txt has one pair per line:
 * sentence1, TAB, sentence2. STS.gs.SUBSET.txt has one gold score per line; the line is empty if the pair has no score.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"

/* The pairs of a subset. */
typedef struct aoei_senteval_subset {
    char *name;       /* name of the subset, for example "MSRpar"; owned */
    aoe_pairs *pairs; /* pairs that have a score, with their line numbers in the input file; owned */
    size_t unscored;  /* number of lines without a score */
    size_t bad;       /* number of bad lines that were skipped */
} aoei_senteval_subset;

/* The subsets of a SentEval folder. */
typedef struct aoei_senteval {
    aoei_senteval_subset *subset; /* [n] subsets sorted by name, byte by byte; owned */
    size_t n, capacity;           /* used and allocated elements of `subset` */
    size_t without_input;         /* number of gold files that have no input file */
} aoei_senteval;

/* Reads all subsets of the folder dir into *s, which the caller frees. skip_bad_rows: 1 to skip bad lines. Errors:
 * - AOE_EFORMAT if the folder has no SentEval files, or an input file has no gold file
 * - AOE_EFORMAT if the two files of a subset have different numbers of lines, or no pair has a score
 * - AOE_EFORMAT for a bad line (no TAB in the input file, or a score that is not a number), if skip_bad_rows is 0
 * - the errors of reading files, and AOE_ENOMEM */
int aoei_senteval_load(aoei_senteval *s, const char *dir, int skip_bad_rows, aoe_error *err);
void aoei_senteval_free(aoei_senteval *s); /* accepts a zeroed struct */
