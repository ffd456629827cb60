/* SPDX-License-Identifier: MIT
 * The route of text-embeddings-inference that classifies texts and pairs with a cross-encoder: /predict, and / for
 * clients that know only the address: what it does depends on the model.
 */
#pragma once

#include "serve/call.h"

/* Fields of the body, for the table of routes. */
enum { AOEI_PREDICT_FIELDS = 5 };
extern const aoei_field aoei_predict_fields[AOEI_PREDICT_FIELDS];

void aoei_route_predict(aoei_call *c);
/* Computes embeddings with an embedding model. With a cross-encoder, ranks texts if the body has a query, and otherwise
 * classifies. These are the three routes with the path / in the table, in this order. */
void aoei_route_root(aoei_call *c);
