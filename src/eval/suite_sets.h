/* SPDX-License-Identifier: MIT
 * The STS test sets of SentEval: five years of SemEval with 24 subsets, STS-B and SICK-R. A table contains the published
 * number of scored pairs and the location of each set. STS-B and SICK-R are single files, which suite_sets.c reads; senteval.h
 * reads the folders.
 */
#ifndef AOEI_EVAL_SUITE_SETS_H
#define AOEI_EVAL_SUITE_SETS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/lines.h"

enum { AOEI_SUITE_SETS = 7, AOEI_SUITE_YEARS = 5, AOEI_SUITE_PARTS = 6 /* maximum number of subsets of a year */ };

/* A subset of a year of SemEval. */
typedef struct aoei_suite_part {
    const char *name; /* name of the subset, for example "MSRpar" */
    size_t pairs;     /* published number of pairs that have a score */
} aoei_suite_part;

/* How a set is stored. FOLDER: a SentEval folder; STSB: the file of STS-B; SICK: the file of SICK-R. */
typedef enum aoei_suite_layout { AOEI_SUITE_FOLDER, AOEI_SUITE_STSB, AOEI_SUITE_SICK } aoei_suite_layout;

typedef struct aoei_suite_set {
    const char *name;                       /* name of the set, for example "STS12" */
    const char *path;                       /* path in the data folder of SentEval, for example "STS12-en-test" */
    aoei_suite_layout layout;               /* how the set is stored */
    size_t n;                               /* number of subsets; 0 if the set is a single file */
    size_t pairs;                           /* published number of scored pairs of the whole set */
    aoei_suite_part part[AOEI_SUITE_PARTS]; /* subsets; unused for a single file */
} aoei_suite_set;

extern const aoei_suite_set aoei_suite_sets[AOEI_SUITE_SETS];

/* Sets *path to the first location in the folders dirs[n] that contains the set, owned by the caller (aoei_free), or to NULL
 * if none contains it. Errors: AOE_ENOMEM. */
int aoei_suite_find(char **path, const aoei_suite_set *set, const char *const *dirs, size_t n, aoe_error *err);
/* Reads STS-B or SICK-R into *p, owned by the caller. Sets *bad to the number of lines that were skipped because skip_bad_rows
 * is set. Errors: AOE_EFORMAT with file and line; those of reading files. */
int aoei_suite_read_file(aoe_pairs **p, aoei_suite_layout layout, const char *path, int skip_bad_rows, size_t *bad,
                         aoe_error *err);
/* Like aoei_suite_read_file, but reads from an open file. from is borrowed. */
int aoei_suite_read_lines(aoe_pairs **p, aoei_suite_layout layout, aoei_lines *from, int skip_bad_rows, size_t *bad,
                          aoe_error *err);

#endif
