/* SPDX-License-Identifier: MIT
 * The routes of text-embeddings-inference that show the tokenization of a model: /tokenize and /decode.
 */
#pragma once

#include "serve/call.h"

/* Fields of the bodies, for the table of routes. */
enum { AOEI_TOKENIZE_FIELDS = 4, AOEI_DECODE_FIELDS = 3 };
extern const aoei_field aoei_tokenize_fields[AOEI_TOKENIZE_FIELDS];
extern const aoei_field aoei_decode_fields[AOEI_DECODE_FIELDS];

void aoei_route_tokenize(aoei_call *c);
void aoei_route_decode(aoei_call *c);
