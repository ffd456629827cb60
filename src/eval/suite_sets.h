/* SPDX-License-Identifier: MIT
 * Lists the STS test sets of SentEval: five years of SemEval with 24 subsets in total, STS-B and SICK-R. The list
 * contains the published number of scored pairs and the location of each set. STS-B and SICK-R are single files, which
 * suite_sets.c reads. The SemEval years are folders, which senteval.h reads.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/lines.h"

enum {
    AOEI_SUITE_SETS = 7,
    AOEI_SUITE_YEARS = 5,
    AOEI_SUITE_PARTS = 6 /* maximum number of subsets of a year */
};

/* A subset of a year of SemEval. */
typedef struct aoei_suite_part {
    const char *name; /* name of the subset, for example "MSRpar" */
    size_t pairs;     /* published number of pairs with a gold score */
} aoei_suite_part;

/* How a set is stored. AOEI_SUITE_FOLDER: a SentEval folder. AOEI_SUITE_STSB: the file of STS-B. AOEI_SUITE_SICK: the
 * file of SICK-R. */
typedef enum aoei_suite_layout { AOEI_SUITE_FOLDER, AOEI_SUITE_STSB, AOEI_SUITE_SICK } aoei_suite_layout;

typedef struct aoei_suite_set {
    const char *name;         /* name of the set, for example "STS12" */
    const char *path;         /* path of the set relative to the SentEval data folder, for example "STS12-en-test" */
    aoei_suite_layout layout; /* how the set is stored */
    size_t n;                 /* number of subsets; 0 if the set is a single file */
    size_t pairs;             /* published number of pairs with a gold score in the whole set */
    aoei_suite_part part[AOEI_SUITE_PARTS]; /* subsets; unused for a single file */
} aoei_suite_set;

extern const aoei_suite_set aoei_suite_sets[AOEI_SUITE_SETS];

/* Searches the folders dirs[n] for a set. *path is set to the first path that exists, which the caller frees with
 * aoei_free, or to NULL if no folder contains the set. Errors: AOE_ENOMEM. */
int aoei_suite_find(char **path, const aoei_suite_set *set, const char *const *dirs, size_t n, aoe_error *err);
/* Reads the file of STS-B or SICK-R into *p, which the caller frees. skip_bad_rows: 1 to skip bad lines; *bad is set to
 * their number. Errors: AOE_EFORMAT (the message contains the file and line), and the errors of reading files. */
int aoei_suite_read_file(aoe_pairs **p, aoei_suite_layout layout, const char *path, int skip_bad_rows, size_t *bad,
                         aoe_error *err);
/* Reads the pairs as aoei_suite_read_file does, but from a file that the caller has opened and closes. */
int aoei_suite_read_lines(aoe_pairs **p, aoei_suite_layout layout, aoei_lines *from, int skip_bad_rows, size_t *bad,
                          aoe_error *err);
