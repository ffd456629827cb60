/* SPDX-License-Identifier: MIT
 * Reader of SentEval folders. For each subset, a folder contains a file STS.input.SUBSET.txt (sentence1 TAB sentence2) and a
 * file STS.gs.SUBSET.txt (one gold score per line; the line is empty if the pair has no score).
 */
#ifndef AOEI_EVAL_SENTEVAL_H
#define AOEI_EVAL_SENTEVAL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"

/* The pairs of a subset. */
typedef struct aoei_senteval_subset {
    char *name;       /* name of the subset, for example "MSRpar"; owned */
    aoe_pairs *pairs; /* pairs that have a score, with the line numbers of the input file; owned */
    size_t unscored;  /* number of lines without a score */
    size_t bad;       /* number of bad lines that were skipped because of skip_bad_rows */
} aoei_senteval_subset;

/* The subsets of a folder. */
typedef struct aoei_senteval {
    aoei_senteval_subset *subset; /* [n] subsets sorted by name, byte by byte; owned */
    size_t n, capacity;           /* number of subsets, and number of elements allocated */
    size_t without_input;         /* number of files with gold scores that have no input file */
} aoei_senteval;

/* Reads all subsets of dir into *s, which the caller frees. skip_bad_rows: as in aoe_table_options. Returns AOE_EFORMAT if the
 * folder has no SentEval files, if an input file has no gold file, if the two files of a subset have different numbers of
 * lines, if a line has no TAB, if a score is not a number, or if no pair has a score. Other errors: those of reading files,
 * AOE_ENOMEM. */
int aoei_senteval_load(aoei_senteval *s, const char *dir, int skip_bad_rows, aoe_error *err);
void aoei_senteval_free(aoei_senteval *s); /* accepts a zeroed struct */

#endif
