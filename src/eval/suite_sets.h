/* SPDX-License-Identifier: MIT
 * The STS test sets of SentEval: five years of SemEval with 24 subsets, STS-B and SICK-R. A table
 * gives the number of scored pairs and the location of each set. STS-B and SICK-R are single
 * files, which this unit reads; senteval.h reads the folders.
 */
#ifndef AOEI_EVAL_SUITE_SETS_H
#define AOEI_EVAL_SUITE_SETS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/lines.h"

enum { AOEI_SUITE_SETS = 7, AOEI_SUITE_YEARS = 5, AOEI_SUITE_PARTS = 6 /* most subsets of a year */ };

typedef struct aoei_suite_part {
    const char *name; /* "MSRpar" */
    size_t pairs;     /* pairs that have a score */
} aoei_suite_part;

typedef enum aoei_suite_layout { AOEI_SUITE_FOLDER, AOEI_SUITE_STSB, AOEI_SUITE_SICK } aoei_suite_layout;

typedef struct aoei_suite_set {
    const char *name;  /* "STS12" */
    const char *place; /* path in the data folder of SentEval: "STS12-en-test" */
    aoei_suite_layout layout;
    size_t n;                               /* number of parts; 0 if the set is a single file */
    size_t pairs;                           /* scored pairs of all parts */
    aoei_suite_part part[AOEI_SUITE_PARTS]; /* subsets; empty for a single file */
} aoei_suite_set;

extern const aoei_suite_set aoei_suite_sets[AOEI_SUITE_SETS];

/* Sets *path to the first location in dirs[n] that contains the set, owned by the caller (aoei_free), or to NULL if there is
 * none. Errors: AOE_ENOMEM. */
int aoei_suite_find(char **path, const aoei_suite_set *set, const char *const *dirs, size_t n, aoe_error *err);
/* Reads STS-B or SICK-R into *p, owned by the caller. *bad: number of lines skipped because of skip_bad_rows. Errors:
 * AOE_EFORMAT with file and line; errors of reading. */
int aoei_suite_read_file(aoe_pairs **p, aoei_suite_layout layout, const char *path, int skip_bad_rows, size_t *bad,
                         aoe_error *err);
/* Like aoei_suite_read_file, but reads from lines, which are borrowed. */
int aoei_suite_read_lines(aoe_pairs **p, aoei_suite_layout layout, aoei_lines *from, int skip_bad_rows, size_t *bad,
                          aoe_error *err);

#endif
