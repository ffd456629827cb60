/* SPDX-License-Identifier: MIT
 * Reads passages with their documents and metadata into the public result struct.
 */
#pragma once

#include "aoe_index.h"
#include "base/text_store.h"
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

/* Everything that a result owns. Other sources of hits (src/postgres) fill it as aoei_hits_load does. */
typedef struct aoei_hits_memory {
    aoei_chunks chunks;     /* all texts */
    aoe_index_hit *hit;     /* [n], owned */
    aoe_index_field *field; /* [n_fields] metadata of all hits, in the order of the hits; owned */
    size_t n_fields, capacity;
    const char **term; /* words of the query, owned; NULL: none */
} aoei_hits_memory;

/* Creates memory for n hits, which are 0. */
int aoei_hits_memory_create(aoei_hits_memory **m, size_t n, aoe_error *err);
void aoei_hits_memory_destroy(aoei_hits_memory *m);
/* Returns a copy of a text, with a NUL after it. NULL: out of memory. */
char *aoei_hits_copy(aoei_hits_memory *m, const char *s, size_t len);
/* Sets m->term[*n] to the words of a query that were found, as the user wrote them. found: [words->n] 0 for words that
 * were not found; NULL: none was. */
int aoei_hits_terms(aoei_hits_memory *m, const aoei_words *words, const size_t *found, size_t *n, aoe_error *err);
/* Moves the memory to the result. The caller has set hit[i].n_fields; the function sets hit[i].field. */
void aoei_hits_finish(aoe_index_hits *hits, aoei_hits_memory *m, size_t n, size_t n_terms);
