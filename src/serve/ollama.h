/* SPDX-License-Identifier: MIT
 * The routes of ollama for embeddings, and those with which its clients list and describe models.
 */
#pragma once

#include "serve/job.h"

/* Version of ollama whose routes are offered. Clients read it from /api/version to learn what a server supports. */
#define AOEI_OLLAMA_VERSION "0.33.0"

enum { AOEI_OLLAMA_EMBED_FIELDS = 6, AOEI_OLLAMA_EMBEDDINGS_FIELDS = 4, AOEI_OLLAMA_SHOW_FIELDS = 2 };
extern const aoei_field aoei_ollama_embed_fields[AOEI_OLLAMA_EMBED_FIELDS];
extern const aoei_field aoei_ollama_embeddings_fields[AOEI_OLLAMA_EMBEDDINGS_FIELDS];
extern const aoei_field aoei_ollama_show_fields[AOEI_OLLAMA_SHOW_FIELDS];

void aoei_route_ollama_embed(aoei_call *c);
void aoei_route_ollama_embeddings(aoei_call *c);
void aoei_route_ollama_tags(aoei_call *c);
void aoei_route_ollama_ps(aoei_call *c);
void aoei_route_ollama_show(aoei_call *c);
void aoei_route_ollama_version(aoei_call *c);
