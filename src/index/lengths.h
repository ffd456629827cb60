/* SPDX-License-Identifier: MIT
 * The number of words of each passage, which BM25 needs for every passage that contains a word of the query. FTS5 keeps
 * these numbers in a table (words_docsize). Reading one row for each match would take longer than the rest of a search,
 * so the first lexical search of a view reads them all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "index/sql.h"

typedef struct aoei_lengths {
    uint32_t *words;  /* [n] number of words of the passage with this id; owned */
    size_t n;         /* the largest id of a passage plus 1 */
    size_t passages;  /* number of passages in the word index */
    uint64_t total;   /* sum of the words of all passages */
    int is_malformed; /* 1: while they were read, a row was malformed */
} aoei_lengths;

/* Prepares a connection for aoei_lengths_read. Errors: AOE_ENOMEM. */
int aoei_lengths_register(aoei_db *d, aoe_error *err);
/* Reads the lengths. The caller calls aoei_lengths_free. Errors: AOE_ENOMEM, AOE_EFORMAT, AOE_EIO. */
int aoei_lengths_read(aoei_lengths **out, aoei_db *d, aoe_error *err);
void aoei_lengths_free(aoei_lengths *l); /* accepts NULL */
