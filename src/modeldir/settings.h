/* SPDX-License-Identifier: MIT
 * What a model directory says about making vectors, and who said it. For each
 * setting the first that speaks wins: the caller's option, aoe.json, the
 * sentence-transformers files, the default.
 */
#ifndef AOEI_MODELDIR_SETTINGS_H
#define AOEI_MODELDIR_SETTINGS_H

#include "aoe_train.h"
#include "model/model.h"

#define AOEI_SETTINGS_FORMAT 2 /* the newest format_version of aoe.json that is read; 1 has no "dense" */

/* Settings as one source states them; what it does not state keeps the value that means so. */
typedef struct aoei_stated {
    aoe_pooling pooling;         /* AOE_POOLING_AUTO: not stated */
    const char *pooling_from;    /* static file name */
    size_t max_length;           /* 0: not stated */
    const char *max_length_from; /* static file name */
    char *prompt;                /* owned; NULL: not stated, "": none */
    json_t *prompts;             /* owned; named templates, or NULL */
    int normalize;               /* -1: not stated */
    int lowercase;               /* -1: not stated */
    int bidirectional;           /* 0: not stated */
    size_t bidirectional_from;
    char *dense; /* owned; folder of the dense layer; NULL: not stated */
    int settled; /* aoe.json states pooling and normalisation: modules.json is not read */
} aoei_stated;

void aoei_stated_init(aoei_stated *s);
void aoei_stated_free(aoei_stated *s);

/* Fills s from the directory and the options. *record: the training record of aoe.json (new reference), or NULL. On failure
 * s is empty and *record NULL. */
int aoei_settings_read(aoei_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err);
int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err);
void aoei_settings_free(aoei_settings *s); /* accepts a zeroed one */

/* aoe.json of these settings and a training record (borrowed, may be NULL). New reference; NULL: no memory. */
json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record);

/* Fills what is not stated yet in `s` from the sentence-transformers files of dir, in their old or new form. What they say
 * about things already stated is not judged, but modules other than the Pooling are, unless aoe.json has settled it. */
int aoei_sentence_transformers_read(aoei_stated *s, const char *dir, const aoei_encoder_config *c, aoe_error *err);
/* Writes them in the old form into dir, which exists. Pooling that has no such form (first-last-avg) writes nothing. */
int aoei_sentence_transformers_write(const aoei_settings *s, size_t hidden, const char *dir, aoe_error *err);
/* 1 when `name` is that of a folder of the model directory itself. */
int aoei_module_folder(const char *name);
/* 1 when the template is "PREFIX{text}" (a prompt of sentence-transformers); then *len is the prefix's bytes. */
int aoei_prompt_is_prefix(const char *prompt, size_t *len);

/* README.md of a model directory, and of a directory of adapters. */
int aoei_model_readme(const aoe_model *m, json_t *record, const char *dir, aoe_storage storage, aoe_error *err);
int aoei_adapters_readme(const aoe_model *m, json_t *record, const char *dir, aoe_error *err);

#endif
