/* SPDX-License-Identifier: MIT
 * The lists of the keys of JSON files. Every key of a JSON file of a model is on one of these lists:
 * - keys that aoe uses: the code that reads the file checks their values
 * - keys that have no effect on embeddings
 * - keys that have no effect if they have certain values; other values are rejected, because they would change the
 *   embeddings
 * A key that is on no list is ignored with a warning. A new architecture adds one line to `architectures` in
 * json_keys.c, and a new module of sentence-transformers one line to `modules`.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "base/log.h"

/* Kinds of JSON files. */
typedef enum aoei_key_file {
    AOEI_KEYS_CONFIG,                /* config.json */
    AOEI_KEYS_ADAPTERS,              /* adapter_config.json of PEFT */
    AOEI_KEYS_MODULE_LIST,           /* an element of modules.json */
    AOEI_KEYS_MODULE,                /* config.json of a module after the transformer */
    AOEI_KEYS_TRANSFORMER,           /* sentence_bert_config.json */
    AOEI_KEYS_SENTENCE_TRANSFORMERS, /* config_sentence_transformers.json */
    AOEI_KEYS_TOKENIZER,             /* tokenizer_config.json */
    AOEI_KEYS_SPECIAL_TOKENS,        /* special_tokens_map.json */
    AOEI_KEYS_ROPE,                  /* rope_scaling and rope_parameters in config.json */
    AOEI_KEYS_AOE,                   /* aoe.json */
    AOEI_KEYS_TOKENIZER_JSON,        /* tokenizer.json */
    AOEI_KEYS_ADDED_TOKEN,           /* element of added_tokens in tokenizer.json */
    AOEI_KEYS_COMPONENT              /* component of a tokenizer in tokenizer.json */
} aoei_key_file;

/* Unknown keys of a file. */
typedef struct aoei_unknown_keys {
    size_t n;        /* number of keys */
    char names[400]; /* names of the first keys, in quotation marks, separated by commas */
} aoei_unknown_keys;

/* Checks the keys of `object`, the contents of `file` (a path, for messages). subject: value of "model_type" for
 * AOEI_KEYS_CONFIG, and class name such as "Dense" for AOEI_KEYS_MODULE; otherwise unused. The unknown keys of a file
 * are named in one warning, which is written to `log`. Error: AOE_EUNSUPPORTED (a key has a value that is not
 * supported). */
int aoei_json_keys_check(const json_t *object, aoei_key_file kind, const char *subject, const char *file,
                         const aoei_log *log, aoe_error *err);
/* Adds the keys of `object` that are on no list to *unknown. kind, subject: as above; for AOEI_KEYS_COMPONENT, subject
 * is the type of the component, such as "Split". within: key of `object` in its file, which precedes its keys in the
 * list; NULL: object is the whole file. */
void aoei_json_keys_collect(aoei_unknown_keys *unknown, const json_t *object, aoei_key_file kind, const char *subject,
                            const char *within);
/* Writes a warning that names the unknown keys of a file to `log`. If there are none, does nothing. */
void aoei_json_keys_warn(const aoei_unknown_keys *unknown, const char *file, const aoei_log *log);
/* A list of keys. */
typedef struct aoei_key_list {
    aoei_key_file kind;
    const char *subject; /* architecture, class of a module or type of a component, as above; NULL: none, or all of the
                            kind */
    const char *keys;    /* names, each of which is followed by a space */
} aoei_key_list;

/* Sets *list to the list with the index i, for programs that compare the effect of every key with another library.
 * Returns 0 if there are at most i lists. */
int aoei_json_keys_list(aoei_key_list *list, size_t i);
