/* SPDX-License-Identifier: MIT
 * The settings of a model, which affect how the embedding of a text is computed, and the sources of the settings.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

#define AOEI_FLOW_TYPE                                                                                                 \
    "Flow" /* type of the module of a normalizing flow, which sentence-transformers does not have                      \
            */
#define AOEI_PLACEHOLDER "{text}" /* in a prompt template, this placeholder is replaced by the text */

/* Module between the encoder and the pooling (modeldir/token_module.h). */
typedef enum aoei_token_module {
    AOEI_TOKEN_MODULE_NONE,
    AOEI_TOKEN_MODULE_CNN,
    AOEI_TOKEN_MODULE_LSTM,
    AOEI_TOKEN_MODULE_COUNT
} aoei_token_module;

/* The settings of an open model. */
typedef struct aoei_settings {
    aoe_pooling pooling;      /* never AOE_POOLING_AUTO */
    const char *pooling_from; /* source of `pooling`: "option", "method" (of training), "default", or a file name such
                                 as "aoe.json"; static */
    size_t max_length;        /* maximum sequence length in tokens, special tokens and prompt included */
    const char *max_length_from; /* source of `max_length`, with the same values as `pooling_from`; static */
    char *prompt;                /* prompt template that contains {text}; "": no prompt; owned */
    json_t *prompts;             /* JSON object of all named prompt templates of the model, owned; NULL: none */
    int normalize;               /* 1: embeddings are normalized to unit length */
    int bidirectional;           /* 1: a causal model uses bidirectional attention in all layers whose index is at least
                                    bidirectional_from */
    size_t bidirectional_from;   /* index of the first bidirectional layer; used only if `bidirectional` is 1 */
    /* modules between the pooling and the normalization: JSON array of objects with the keys "type" ("Dense",
       "LayerNorm", "Dropout", "Normalize" or "Flow") and "path" (folder in the model directory); owned; NULL: there are
       none */
    json_t *modules;
    char *layer_pooling; /* folder of the module WeightedLayerPooling in the model directory, owned; NULL: none */
    aoei_token_module token_module; /* module that computes the token vectors that are pooled */
    char *token_module_folder;      /* its folder in the model directory, owned; NULL: there is no such module */
    int lowercase;                  /* 1: texts are lowercased before tokenization */
    int reranker_template; /* 1: pairs are inserted into the template of Qwen3-Reranker (model/reranker_template.h) */
    aoe_score_activation activation; /* cross-encoders: function that is applied to the logits of a pair */
    int exclude_prompt;              /* 1: the pooling excludes the tokens of the prompt */
    int subtract_empty_prompt; /* 1: the embedding of the empty prompt template is subtracted from that of a text, after
                                  all modules (model/empty_prompt.h) */
    size_t truncate_dim;       /* number of components to which embeddings are truncated after all modules and after the
                                  normalization; 0: embeddings are not truncated */
    int unit_truncated; /* 1: truncated embeddings are normalized again, because the caller requested normalization */
    aoe_similarity_function similarity; /* similarity for which the model was trained: the key similarity_fn_name of
                                           sentence-transformers */
    /* chat template with which texts are rendered: JSON object with the keys "format" and "options"
       (tokenizer/chat_encode.h); owned; NULL: texts are not rendered */
    json_t *chat;
} aoei_settings;

/* The settings while they are read. They are read from several sources in order of precedence, and each source sets
 * only fields that are not set yet. */
typedef struct aoei_partial_settings {
    aoe_pooling pooling;            /* AOE_POOLING_AUTO: not set */
    const char *pooling_from;       /* "option", or a file name; static */
    size_t max_length;              /* maximum sequence length in tokens; AOE_AUTO: not set */
    const char *max_length_from;    /* "option", or a file name; static */
    char *prompt;                   /* prompt template; "": no prompt; NULL: not set; owned */
    json_t *prompts;                /* JSON object of all named prompt templates; NULL: not set; owned */
    int normalize;                  /* 0 or 1; AOE_AUTO: not set */
    int lowercase;                  /* 0 or 1; AOE_AUTO: not set */
    size_t bidirectional_from;      /* index of the first bidirectional layer; AOE_AUTO: not set */
    json_t *modules;                /* modules as in aoei_settings; NULL: not set; owned */
    char *layer_pooling;            /* see aoei_settings; NULL: not set; owned */
    aoei_token_module token_module; /* see aoei_settings; AOEI_TOKEN_MODULE_NONE: not set */
    char *token_module_folder;      /* see aoei_settings; NULL: not set; owned */
    int include_prompt;        /* 0: the pooling excludes the tokens of the prompt; 1: it does not; AOE_AUTO: not set */
    int subtract_empty_prompt; /* see aoei_settings; 0 if it is not set */
    size_t truncate_dim;       /* see aoei_settings; AOE_AUTO: not set */
    int similarity;            /* value of aoe_similarity_function; AOE_AUTO: not set */
    json_t *chat;              /* see aoei_settings; NULL: not set; owned */
    int skip_modules; /* 1: modules.json is not read, because aoe.json specifies the pooling and the normalization */
} aoei_partial_settings;

void aoei_partial_settings_init(aoei_partial_settings *s);
void aoei_partial_settings_free(aoei_partial_settings *s);
/* Sets s->prompt to a copy of the template `prompt`. The template "{text}" is stored as "", which means that there is
 * no prompt. */
int aoei_partial_settings_set_prompt(aoei_partial_settings *s, const char *prompt, aoe_error *err);

/* Reads the keys truncate_dim and `key`, the name of the similarity, from `config`, the contents of `file`, unless they
 * are already set. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_partial_settings_read_output(aoei_partial_settings *s, const json_t *config, const char *key, const char *file,
                                      aoe_error *err);

/* Copies `from` to *to. The caller frees *to with aoei_settings_free, even if the function fails. Errors:
 * AOE_ENOMEM. */
int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err);
void aoei_settings_free(aoei_settings *s); /* accepts a zeroed struct */
enum { AOEI_MODULE_FOLDER_SIZE = 32 };     /* size of the buffer for the name of the folder of a module */
/* Returns the embedding size of a model whose last module has n outputs. */
size_t aoei_settings_dims(const aoei_settings *s, size_t n);
/* Returns the name of a similarity in similarity_fn_name, such as "cosine". */
const char *aoei_similarity_name(aoe_similarity_function similarity);
/* Returns the number of modules between the pooling and the normalization. */
size_t aoei_settings_module_count(const aoei_settings *s);
/* Writes to `name` the name of the folder to which module i of a model with these settings is written, and returns
 * `name`. */
const char *aoei_settings_module_folder(const aoei_settings *s, size_t i, char name[AOEI_MODULE_FOLDER_SIZE]);
/* Appends a module to *modules, which may be NULL. Returns 0 or AOE_ENOMEM. */
int aoei_module_list_append(json_t **modules, const char *type, const char *path, aoe_error *err);
/* Returns 0 if sentence-transformers does not support this pooling of token vectors, so modules.json cannot describe
 * it. Returns 1 for all other poolings. */
int aoei_pooling_is_portable(aoe_pooling pooling);
/* Returns 1 if one of the modules after the pooling is a flow. */
int aoei_settings_has_flow(const aoei_settings *s);
/* Returns NULL if modules.json can describe the settings. Otherwise, returns the name of a module that
 * sentence-transformers does not have. modules.json then contains this name, so that sentence-transformers cannot open
 * the model. This is the case for a pooling that it does not support, a flow, and the subtraction of the embedding of
 * the empty prompt. */
const char *aoei_settings_unsupported(const aoei_settings *s);
/* Returns 1 if the pooling is a mean over the tokens and over two layers. sentence-transformers supports it with the
 * module WeightedLayerPooling (layer_pooling.h), which precedes the mean over tokens. */
int aoei_pooling_averages_layers(aoe_pooling pooling);
/* Checks whether sentence-transformers, text-embeddings-inference and angle_emb support the settings. If they support
 * all settings, returns NULL. Otherwise, writes a sentence to buf[size] that says why they compute different embeddings
 * or cannot open the model, and returns buf. */
const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size);
/* Returns the template of the prompt `name` in `prompts` (see aoei_settings), or NULL if there is no such prompt. The
 * name "document" means the first of the prompts "document", "passage" and "corpus" that exists. The string is
 * borrowed. */
const char *aoei_prompt_find(const json_t *prompts, const char *name);
/* Returns 1 if the template `prompt` has the form "PREFIX{text}", which is the only form that sentence-transformers
 * supports. Sets *len to the number of bytes before {text}. */
int aoei_prompt_is_prefix(const char *prompt, size_t *len);
