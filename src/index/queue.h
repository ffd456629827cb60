/* SPDX-License-Identifier: MIT
 * Documents that will be written together: a copy of their texts, divided into passages. The passages of many documents
 * are embedded in one call, and written in one step.
 */
#pragma once

#include "base/text_store.h"
#include "index/encode.h"
#include "index/split.h"

typedef struct aoei_queued_passage {
    aoe_text full;          /* heading, newline and text, or only the text if there is no heading: what is embedded */
    aoe_text text;          /* the part of `full` after the heading */
    aoe_text heading;       /* the part of `full` before the newline */
    size_t line, last_line; /* lines in the document, counted from 1 */
    uint64_t hash;          /* aoei_passage_hash */
    uint64_t given;         /* aoei_given_hash if the caller gave the vector, and row i of `rows` contains it; or 0 */
    size_t same; /* during a flush: index of an earlier passage of the queue with the same text; SIZE_MAX: none */
} aoei_queued_passage;

typedef struct aoei_queued_document {
    const char *name, *title; /* title: NULL: none */
    int64_t file;             /* id of the record of its file; 0: none */
    uint64_t hash;            /* aoei_document_hash */
    size_t first, n;          /* its passages in the queue */
    size_t first_field, n_fields;
} aoei_queued_document;

/* A zeroed struct is empty. All texts are copies in `chunks`. */
typedef struct aoei_queue {
    aoei_queued_document *document; /* [n_documents], owned */
    size_t n_documents, document_capacity;
    aoei_queued_passage *passage; /* [n_passages], owned */
    size_t n_passages, passage_capacity;
    aoe_index_field *field; /* [n_fields], owned */
    size_t n_fields, field_capacity;
    size_t bytes; /* bytes of all texts */
    aoei_chunks chunks;
    aoei_rows rows;         /* [n_passages] vectors */
    aoei_passages passages; /* buffer of aoei_queue_add */
    aoei_splitter splitter; /* started for the model of the index if splitter.tokens is not 0 */
} aoei_queue;

/* Returns the hash of everything in a document that the index stores. */
uint64_t aoei_document_hash(const aoe_index_document *d, size_t dims);
/* Returns the hash of everything but the name and the vector, which is never 0. */
uint64_t aoei_given_hash(const aoe_index_document *d);
/* Returns the hash of the text that is embedded for a passage. */
uint64_t aoei_passage_hash(aoe_text heading, aoe_text text);

/* Checks the name and the texts of a document. Errors: AOE_EFORMAT (invalid UTF-8, empty name or key), AOE_EARG. */
int aoei_document_check(const aoe_index_document *d, aoe_error *err);
/* Adds a copy of a document to the queue. Documents without a vector need q->splitter. After a failure, the queue is
 * unchanged. */
int aoei_queue_add(aoei_queue *q, const aoe_index_document *d, int64_t file, size_t dims, aoe_index_store store,
                   aoe_error *err);
int aoei_queue_contains(const aoei_queue *q, const char *name); /* 1: a document of this name is in the queue */
void aoei_queue_clear(aoei_queue *q);                           /* removes all documents */
void aoei_queue_free(aoei_queue *q);
