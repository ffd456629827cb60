/* SPDX-License-Identifier: MIT
 * SentEval folders: STS.input.SUBSET.txt (sentence1 TAB sentence2) with
 * STS.gs.SUBSET.txt (one score per line, empty if the pair has no score). This unit reads
 * them; sts.h evaluates them.
 */
#ifndef AOEI_EVAL_SENTEVAL_H
#define AOEI_EVAL_SENTEVAL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"

typedef struct aoei_senteval_subset {
    char *name;       /* owned; "MSRpar" */
    aoe_pairs *pairs; /* owned; the scored pairs; their lines are those of the input file */
    size_t unscored;  /* lines without a score */
    size_t bad;       /* bad lines that were skipped (skip_bad_rows) */
} aoei_senteval_subset;

typedef struct aoei_senteval {
    aoei_senteval_subset *subset; /* [n] owned, sorted by name (bytes) */
    size_t n, capacity;
    size_t without_input; /* gold files that have no input file */
} aoei_senteval;

/* skip_bad_rows: as in aoe_table_options. Errors: AOE_EFORMAT (no such files in the folder; an input without gold; line
 * counts that differ; a line without TAB; a score that is no number; no scored pair), those of reading, AOE_ENOMEM. */
int aoei_senteval_load(aoei_senteval *s, const char *dir, int skip_bad_rows, aoe_error *err);
void aoei_senteval_free(aoei_senteval *s); /* accepts a zeroed struct */

#endif
