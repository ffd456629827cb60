/* SPDX-License-Identifier: MIT
 * The routes that rank texts by their scores with a query: /rerank and its other names. Their bodies have one of two
 * forms: that of text-embeddings-inference (`texts`), or that of Jina and Cohere (`documents`).
 */
#pragma once

#include "serve/call.h"

/* Fields of the bodies, for the table of routes. The route with the form `texts` precedes that with `documents`. */
enum { AOEI_RERANK_TEXTS_FIELDS = 7, AOEI_RERANK_DOCUMENTS_FIELDS = 8 };
extern const aoei_field aoei_rerank_texts_fields[AOEI_RERANK_TEXTS_FIELDS];
extern const aoei_field aoei_rerank_documents_fields[AOEI_RERANK_DOCUMENTS_FIELDS];

/* Chooses the form by the keys of the body. */
void aoei_route_rerank(aoei_call *c);
void aoei_route_rerank_texts(aoei_call *c);
void aoei_route_rerank_documents(aoei_call *c);
