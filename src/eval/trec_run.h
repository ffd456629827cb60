/* SPDX-License-Identifier: MIT
 * Reads and writes ranked lists in the run format of TREC: one line "QUERY Q0 DOCUMENT RANK SCORE TAG" per document,
 * with fields that are separated by spaces or tabs.
 */
#pragma once

#include "base/buffer.h"
#include "eval/retrieval_data.h"

/* Reads the run file `path` for the BEIR data d. text: [d->n_queries, k] receives the first k documents of each query,
 * in descending order of their scores and, if scores are equal, in the order of the lines; missing elements are
 * AOEI_NO_TEXT. A document with the id of the query is excluded, as in BEIR, and queries that are not evaluated are
 * ignored. *skipped is increased by the number of bad lines, which are skipped if skip_bad_rows is 1. Errors:
 * AOE_EFORMAT (a line is malformed, has an unknown id, or repeats a document; the message contains the file and line),
 * AOE_ENOENT, AOE_ENOMEM. */
int aoei_trec_run_read(uint32_t *text, const aoei_retrieval_data *d, size_t k, const char *path, int skip_bad_rows,
                       size_t *skipped, aoe_error *err);
/* Appends a line of a run file to b. query: index in d->query; text: index of the document; rank: from 1. Errors:
 * AOE_EFORMAT (an id contains white space), AOE_ENOMEM. */
int aoei_trec_run_append(aoei_buffer *b, const aoei_retrieval_data *d, size_t query, uint32_t text, size_t rank,
                         double score, aoe_error *err);
