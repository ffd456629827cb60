/* SPDX-License-Identifier: MIT
 * The routes of OpenAI: /v1/embeddings and /v1/models.
 */
#pragma once

#include "serve/job.h"

enum { AOEI_OPENAI_FIELDS = 10 };
extern const aoei_field aoei_openai_fields[AOEI_OPENAI_FIELDS];

/* Returns the name of a model for aoei_call_model. Names with which clients of text-embeddings-inference call any
 * model ("tei", "text-embeddings-inference") stand for the default. */
const char *aoei_openai_model(const char *name);

void aoei_route_openai(aoei_call *c);
void aoei_route_openai_models(aoei_call *c);
