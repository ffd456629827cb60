/* SPDX-License-Identifier: MIT
 * Rewrites the vector files without the rows of removed passages, in a new generation of files, and numbers documents
 * and passages without gaps.
 */
#pragma once

#include "index/index.h"

/* What a compaction changes, in addition to what the earlier values change. */
typedef enum aoei_compaction {
    AOEI_COMPACT_ROWS,  /* the vector files contain no rows of removed passages, and the word index is one segment */
    AOEI_COMPACT_IDS,   /* ids of documents and passages are 1, 2, ... */
    AOEI_COMPACT_REPAIR /* passages whose rows do not match their checksums are embedded again, and the word index is
                           built again; without this value, such rows are an error */
} aoei_compaction;

/* Compacts the index if many rows belong to no document, or if most ids are unused. in_search: 1: somebody waits for
 * the answer of a search, so that a large index is compacted only if it has four times as many of them. A failure is
 * logged as a warning, because the changes have already been committed. The writer has no open transaction. */
void aoei_compact_if_needed(aoe_index *index, int in_search);
/* Compacts the index. The writer has no open transaction. */
int aoei_compact(aoe_index *index, aoei_compaction kind, aoe_error *err);
