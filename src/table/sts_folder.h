/* SPDX-License-Identifier: MIT
 * Reads all sentences of SentEval's STS data (Conneau and Kiela 2018) as texts without scores: of all pairs, also of
 * those that have no gold score. A folder and its subfolders are searched for these files, which contain pairs of
 * sentences, separated by TABs:
 * - STS.input.SUBSET.txt of STS12 to STS16: columns 1 and 2
 * - sts-train.csv, sts-dev.csv and sts-test.csv of STS-B, and SICK_train.txt, SICK_trial.txt and
 *   SICK_test_annotated.txt of SICK: the columns of table/sts_columns.h
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "table/lines.h"

/* Callback that receives the two sentences of a pair. file: file that is being read; line: line number. Returns 0,
 * AOEI_BAD_ROW (table/table.h) or an error code; every nonzero value ends the reading. */
typedef int (*aoei_sts_pair_fn)(void *user, const char *file, size_t line, const aoe_text pair[2], aoe_error *err);

/* Passes every pair of a folder to the callback, in the order of the paths of the files and of their lines. If a line
 * has too few columns, the pair is {{NULL, 0}, {NULL, 0}}. Errors: AOE_EFORMAT if the folder contains no such file or
 * folders that are nested too deeply, the errors of reading files, and the result of the callback. */
int aoei_sts_folder_read(const char *dir, aoei_sts_pair_fn fn, void *user, aoe_error *err);
