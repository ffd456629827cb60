/* SPDX-License-Identifier: MIT
 * The settings that decide how a model turns a text into a vector, and the source of each.
 */
#ifndef AOEI_MODELDIR_SETTINGS_H
#define AOEI_MODELDIR_SETTINGS_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

#define AOEI_PLACEHOLDER "{text}" /* of a prompt template */

/* Settings of an open model. */
typedef struct aoei_settings {
    aoe_pooling pooling;         /* how token vectors become a text vector; never AOE_POOLING_AUTO */
    const char *pooling_from;    /* static; source of `pooling`: "aoe.json", "1_Pooling/config.json", "default", "option" */
    size_t max_length;           /* maximum tokens per text, special tokens and prompt included */
    const char *max_length_from; /* static; source of `max_length` */
    char *prompt;                /* owned; template with {text}; "" for no prompt */
    json_t *prompts;             /* owned; all named templates of the directory; NULL for none */
    int normalize;               /* 1: vectors have unit length */
    int bidirectional;           /* 1: a causal model uses bidirectional attention in layers bidirectional_from and above */
    size_t bidirectional_from;   /* index of a layer; read only if `bidirectional` */
    char *dense;                 /* owned; folder of the dense layer after the pooling; NULL: no such layer */
    int lowercase;               /* 1: texts are lowercased before the tokenizer reads them */
} aoei_settings;

/* The settings stated by the sources read so far. A setting that no source has stated yet keeps the value named below. */
typedef struct aoei_partial_settings {
    aoe_pooling pooling;         /* AOE_POOLING_AUTO: not stated */
    const char *pooling_from;    /* static file name */
    size_t max_length;           /* tokens per text; AOE_AUTO: not stated */
    const char *max_length_from; /* static file name */
    char *prompt;                /* owned; "": no prompt; NULL: not stated */
    json_t *prompts;             /* owned; named templates; NULL: not stated */
    int normalize;               /* 0 or 1; AOE_AUTO: not stated */
    int lowercase;               /* 0 or 1; AOE_AUTO: not stated */
    size_t bidirectional_from;   /* index of a layer; AOE_AUTO: not stated */
    char *dense;                 /* owned; folder of the dense layer; NULL: not stated */
    int settled;                 /* 1: aoe.json states pooling and normalization, so modules.json is not read */
} aoei_partial_settings;

void aoei_partial_settings_init(aoei_partial_settings *s);
void aoei_partial_settings_free(aoei_partial_settings *s);
/* Copies the template; the bare placeholder "{text}" means no prompt. */
int aoei_partial_settings_set_prompt(aoei_partial_settings *s, const char *prompt, aoe_error *err);

int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err);
void aoei_settings_free(aoei_settings *s); /* accepts a zeroed struct */
/* Folder in which the dense layer of a model with these settings is written; static. */
const char *aoei_settings_dense_folder(const aoei_settings *s);
/* What sentence-transformers, text-embeddings-inference and angle_emb cannot express of these settings, as one sentence in
 * buf[size]; NULL if they can express all of them. */
const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size);
/* Returns 1 if the template is "PREFIX{text}", as prompts of sentence-transformers are; *len is the length of PREFIX in bytes.
 */
int aoei_prompt_is_prefix(const char *prompt, size_t *len);

#endif
