/* SPDX-License-Identifier: MIT
 * The routes of text-embeddings-inference that compute embeddings: /embed, /embed_all, /similarity, and / for clients
 * that know only the address.
 */
#pragma once

#include "serve/job.h"

/* Settings that the bodies of several routes have. AOE_AUTO: not given. */
typedef struct aoei_tei_settings {
    int truncate;  /* 1 or 0 */
    int direction; /* 0: "Left", 1: "Right" */
    const char *prompt_name;
} aoei_tei_settings;

/* Fields of the truncation in a struct of the type `type` whose member `field` is an aoei_tei_settings. */
#define AOEI_TEI_TRUNCATION_FIELDS(type, field)                                                                        \
    {.name = "truncate",                                                                                               \
     .kind = AOEI_FIELD_BOOL,                                                                                          \
     .offset = offsetof(type, field) + offsetof(aoei_tei_settings, truncate),                                          \
     .help = "Truncate texts that are longer than the maximum sequence length."},                                      \
    {                                                                                                                  \
        .name = "truncation_direction", .kind = AOEI_FIELD_CHOICE,                                                     \
        .offset = offsetof(type, field) + offsetof(aoei_tei_settings, direction), .choices = "Left|Right",             \
        .help = "Side at which tokens are removed."                                                                    \
    }

/* The same fields, and the name of a prompt. */
#define AOEI_TEI_SETTINGS_FIELDS(type, field)                                                                          \
    AOEI_TEI_TRUNCATION_FIELDS(type, field), {                                                                         \
        .name = "prompt_name", .kind = AOEI_FIELD_STRING,                                                              \
        .offset = offsetof(type, field) + offsetof(aoei_tei_settings, prompt_name),                                    \
        .help = "Name of a prompt of the model."                                                                       \
    }

extern const aoei_tei_settings aoei_tei_defaults;

/* Applies the settings of the body to a job. */
void aoei_tei_apply(aoei_job *job, const aoei_tei_settings *s);

/* Fields of the bodies, for the table of routes. */
enum { AOEI_EMBED_FIELDS = 8, AOEI_EMBED_ALL_FIELDS = 5, AOEI_SIMILARITY_FIELDS = 3, AOEI_MAP_FIELDS = 2 };
extern const aoei_field aoei_embed_fields[AOEI_EMBED_FIELDS];
extern const aoei_field aoei_embed_all_fields[AOEI_EMBED_ALL_FIELDS];
extern const aoei_field aoei_similarity_fields[AOEI_SIMILARITY_FIELDS];
extern const aoei_field aoei_map_fields[AOEI_MAP_FIELDS];

void aoei_route_embed(aoei_call *c);
void aoei_route_embed_all(aoei_call *c);
void aoei_route_embed_sparse(aoei_call *c);
void aoei_route_similarity(aoei_call *c);
void aoei_route_map(aoei_call *c);
