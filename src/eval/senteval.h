/* SPDX-License-Identifier: MIT
 * Reader of SentEval folders. A folder has a file STS.input.SUBSET.txt (sentence1 TAB sentence2)
 * and a file STS.gs.SUBSET.txt (one score per line, empty if the pair has no score) per subset.
 */
#ifndef AOEI_EVAL_SENTEVAL_H
#define AOEI_EVAL_SENTEVAL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"

typedef struct aoei_senteval_subset {
    char *name;       /* owned; "MSRpar" */
    aoe_pairs *pairs; /* owned; the scored pairs, with the line numbers of the input file */
    size_t unscored;  /* lines without a score */
    size_t bad;       /* bad lines that were skipped (skip_bad_rows) */
} aoei_senteval_subset;

typedef struct aoei_senteval {
    aoei_senteval_subset *subset; /* [n] owned, sorted by name (bytes) */
    size_t n, capacity;           /* number of subsets; allocated subsets */
    size_t without_input;         /* gold files that have no input file */
} aoei_senteval;

/* Reads all subsets of dir into *s, which the caller frees. skip_bad_rows: as in aoe_table_options. Errors: AOE_EFORMAT (no
 * SentEval files; an input without a gold file; different line counts; a line without TAB; a score that is not a number; no
 * scored pair), errors of reading, AOE_ENOMEM. */
int aoei_senteval_load(aoei_senteval *s, const char *dir, int skip_bad_rows, aoe_error *err);
void aoei_senteval_free(aoei_senteval *s); /* accepts a zeroed struct */

#endif
