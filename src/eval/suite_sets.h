/* SPDX-License-Identifier: MIT
 * The sets of STS that sentence embeddings are compared on, as SentEval has them: the
 * five years of SemEval with their 24 subsets, STS-B and SICK-R; how many scored pairs
 * each has, where its files lie, and readers of the two that are no folders.
 */
#ifndef AOEI_EVAL_SUITE_SETS_H
#define AOEI_EVAL_SUITE_SETS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/lines.h"

enum { AOEI_SUITE_SETS = 7, AOEI_SUITE_YEARS = 5, AOEI_SUITE_PARTS = 6 /* subsets of a year, at most */ };

typedef struct aoei_suite_part {
    const char *name; /* "MSRpar" */
    size_t pairs;     /* that have a score */
} aoei_suite_part;

typedef enum aoei_suite_layout { AOEI_SUITE_FOLDER, AOEI_SUITE_STSB, AOEI_SUITE_SICK } aoei_suite_layout;

typedef struct aoei_suite_set {
    const char *name;  /* "STS12" */
    const char *place; /* below one of the folders that SentEval's data may begin at: "STS12-en-test" */
    aoei_suite_layout layout;
    size_t n;     /* parts; 0: a file */
    size_t pairs; /* of all parts */
    aoei_suite_part part[AOEI_SUITE_PARTS];
} aoei_suite_set;

extern const aoei_suite_set aoei_suite_sets[AOEI_SUITE_SETS];

/* *path: the first place in dirs[n] where the set is, aoei_free; NULL: in none. Errors: AOE_ENOMEM. */
int aoei_suite_find(char **path, const aoei_suite_set *set, const char *const *dirs, size_t n, aoe_error *err);
/* Reads STS-B or SICK-R; *bad: lines left out (skip_bad_rows). Errors: AOE_EFORMAT with file and line, those of reading. */
int aoei_suite_read_file(aoe_pairs **p, aoei_suite_layout layout, const char *path, int skip_bad_rows, size_t *bad,
                         aoe_error *err);
/* The same from lines, which stay the caller's. */
int aoei_suite_read_lines(aoe_pairs **p, aoei_suite_layout layout, aoei_lines *from, int skip_bad_rows, size_t *bad,
                          aoe_error *err);

#endif
