/* SPDX-License-Identifier: MIT
 * Reads the documents of a request that changes an index: {"id", "text", "title", ...}, where all other keys are
 * metadata. Metadata are texts, numbers, true, false, and lists of these, which are several values of a key. The object
 * "fields", with which a search reports metadata, is read as well, so that a document can be sent back as it was found.
 */
#pragma once

#include <jansson.h>

#include "aoe_index.h"
#include "base/text_store.h"

enum { AOEI_ID_BYTES = 1000 }; /* longest id, so that it fits into the path of a request that removes the document */

typedef struct aoei_documents {
    aoe_index_document *document; /* [n], owned */
    size_t n;
    aoe_index_field *field; /* metadata of all documents, owned */
    aoei_chunks memory;     /* texts of numbers */
} aoei_documents;

/* Reads `list`, whose texts are borrowed. The caller calls aoei_documents_free, also after a failure. Errors: AOE_EARG
 * (the value is not a list of documents; the message names the document and the key), AOE_ENOMEM. */
int aoei_documents_read(aoei_documents *d, const json_t *list, aoe_error *err);
void aoei_documents_free(aoei_documents *d);
/* Returns AOE_EARG with a message if a text cannot be the id of a document that a client adds. */
int aoei_documents_check_id(aoe_text id, aoe_error *err);
