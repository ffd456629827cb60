/* SPDX-License-Identifier: MIT
 * Recognizes the relevance judgments of TREC (qrels), which aoe does not read.
 */
#pragma once

#include "aoe.h"

/* Replaces the error of reading the file `path` if its first line is a judgment without a header: query, 0, document
 * and grade (TREC), or query, document and grade. rc: error of reading the file; returned for all other files. */
int aoei_trec_qrels_explain(int rc, const char *path, aoe_error *err);
