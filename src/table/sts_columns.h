/* SPDX-License-Identifier: MIT
 * Finds the columns of the published files of STS-B and SICK, whose lines are split at TABs. SentEval's files of STS-B
 * have no header. The files of SICK have one, and several layouts with different orders of columns exist: SICK.txt has
 * the column entailment_label before relatedness_score, SICK_test_annotated.txt has it after relatedness_score. GLUE's
 * files of STS-B have a header, too. If the first line is a header, the columns are found by name; otherwise they have
 * fixed positions.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "table/lines.h"

typedef enum aoei_sts_file { AOEI_STS_FILE_STSB, AOEI_STS_FILE_SICK } aoei_sts_file;

enum { AOEI_STS_COLUMNS = 16 }; /* further columns of a line are ignored */

typedef struct aoei_sts_columns {
    size_t text1, text2, score; /* index of each column, counted from 0 */
    size_t columns;             /* minimum number of columns in a line */
    int header;                 /* 1: the first line is a header, 0: it is a pair */
} aoei_sts_columns;

/* Finds the columns. first: first line of the file. with_score: 0 if the column of the score is not needed. name: file
 * name for messages. Errors: AOE_EFORMAT if a header has no column of the score, or if the first line of a file of SICK
 * is neither a header nor a pair. */
int aoei_sts_columns_find(aoei_sts_columns *c, aoei_sts_file file, const aoei_line *first, int with_score,
                          const char *name, aoe_error *err);
/* Splits a line at TABs. Stores up to AOEI_STS_COLUMNS fields and returns their number. */
size_t aoei_sts_columns_split(const aoei_line *line, aoe_text field[AOEI_STS_COLUMNS]);
