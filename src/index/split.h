/* SPDX-License-Identifier: MIT
 * Divides a document into passages (document/passages.h) whose sizes are measured with the tokenizer of the model.
 */
#pragma once

#include "aoe_index.h"
#include "aoe_tokenizer.h"
#include "document/passages.h"

/* A zeroed struct owns nothing. */
typedef struct aoei_splitter {
    const aoe_tokenizer *tokenizer; /* borrowed from the model; NULL: it has none, and tokens are estimated */
    aoe_ids ids;                    /* buffer, owned */
    size_t tokens;                  /* tokens of a passage to aim at */
    size_t longest;                 /* maximum tokens of a passage, without special tokens and prompt */
    size_t unreported;              /* bytes that were counted since `report` was called */
    int (*report)(void *user, size_t passages, aoe_error *err); /* called now and then, with passages = 0; an error ends
                                                                   the division; NULL: none */
    void *report_user;                                          /* its first argument */
} aoei_splitter;

/* Prepares for the model of an embedder. tokens: options.passage_tokens. */
int aoei_splitter_start(aoei_splitter *s, aoe_embedder *e, size_t tokens, aoe_error *err);
void aoei_splitter_free(aoei_splitter *s);
/* Replaces the contents of p by the passages of a document. is_file: 1: its name is the name of a file, which becomes
 * the heading of passages that have no other. Errors: see aoei_passages_split. */
int aoei_splitter_split(aoei_splitter *s, aoei_passages *p, const aoe_index_document *d, int is_file, aoe_error *err);
