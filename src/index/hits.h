/* SPDX-License-Identifier: MIT
 * Reads passages with their documents and metadata into the public result struct.
 */
#pragma once

#include "aoe_index.h"
#include "index/fusion.h"
#include "index/lexical.h"
#include "index/sql.h"

enum { AOEI_ID_DIGITS = 12 };

/* Writes the id of a passage: 48 bits of a hash of the name of its document, a NUL byte and its position (counted from
 * 0) in decimal digits. */
void aoei_passage_id(const char *name, size_t position, char id[AOEI_ID_DIGITS + 1]);

/* Fills the fields n, hit, term, n_terms and memory of *hits. words: the search by words, whose words are returned;
 * NULL: none. The caller calls aoe_index_hits_free; after a failure, the fields are empty. */
int aoei_hits_load(aoe_index_hits *hits, aoei_db *d, const aoei_found *found, size_t n, const aoei_lexical *words,
                   aoe_error *err);
