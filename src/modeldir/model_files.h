/* SPDX-License-Identifier: MIT
 * The open files of a model. A model is either one model directory, or an adapter directory and the directory of their
 * base model.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "base/file_cache.h"
#include "encoder/config.h"
#include "encoder/slot_layout.h"
#include "modeldir/layout.h"
#include "modeldir/safetensors.h"

/* The decoder of a language model that is used as a reranker (model/logit_score_head.h). AOEI_DECODER_NONE: the model
 * is no such reranker; AOEI_DECODER_TIED: the decoder consists of the token embeddings; AOEI_DECODER_UNTIED: it is the
 * tensor lm_head.weight. */
typedef enum aoei_decoder { AOEI_DECODER_NONE, AOEI_DECODER_TIED, AOEI_DECODER_UNTIED } aoei_decoder;

/* The module LogitScore of sentence-transformers: the score is the logit of a token, or the difference of two
 * logits. */
typedef struct aoei_logit_score {
    int given;          /* 1: modules.json contains the module */
    size_t true_token;  /* id of the token whose logit is the score */
    size_t false_token; /* id of the token whose logit is subtracted; AOE_AUTO: none */
} aoei_logit_score;

typedef struct aoei_model_files {
    char *dir;      /* directory that was opened, owned */
    char *base_dir; /* base model directory, owned; NULL if `dir` contains no adapters */
    /* directory with config.json and the weights, if sentence-transformers stored the transformer in a subfolder of
       `dir`, such as 0_Transformer; owned; NULL: the files are in `dir` */
    char *transformer_dir;
    aoei_file_cache *cache; /* the text files of these directories, owned; cleared after the model was opened */
    json_t *config_json; /* contents of config.json, owned; hidden_size and vocab_size are added for a static model */
    json_t *record;      /* training record in aoe.json, owned; NULL: none */
    aoei_safetensors *weights;  /* mapped file (or shards) that contains the encoder's weights, owned */
    aoei_safetensors *adapters; /* mapped adapter file, owned; NULL: none */
    /* mapped files of the modules after the pooling, in the order of aoei_encoder_config.modules, and of the layer
     * weights and of the convolutions, which are the last two elements (aoei_slot.pooled - 1); owned; NULL: no
     * weights */
    aoei_safetensors *modules[AOEI_POOLED_TOKEN_MODULE];
    /* [aoei_slot_count] tensor of each weight, indexed by slot (encoder/slots.h). An element is NULL if no file
     * contains the weight. The array is owned; the tensors are borrowed from the files. */
    const aoei_st_tensor **tensors;
    /* [2 * aoei_slot_count] rows of fused tensors (encoder/arch.h) to which elements of `tensors` point, and their
     * scales; owned. NULL: there are no fused tensors */
    aoei_st_tensor *parts;
    /* Description of the token embeddings with their number of columns, to which an element of `tensors` points if they
     * are stored as int5 (AOEI_ST_I5); owned. NULL: they are not stored as int5 */
    aoei_st_tensor *int5;
    aoei_lora_layer *lora_layers; /* array to which aoei_lora.each of the configuration points, owned; NULL: none */
    aoei_decoder decoder;         /* decoder, if the model is a language model that is used as a reranker */
    aoei_logit_score logit_score; /* tokens of such a reranker */
    int module_head;              /* 1: the head of a cross-encoder consists of a Pooling module and further modules */
    int new_head; /* 1: the classification head is not in `weights`; its weights are random values (cross_encoder.h) */
    int saved_head;       /* 1: the classification head is in `adapters` */
    int ignored_adapters; /* number of tensors in `adapters` that have no effect on embeddings */
    const char *prefix;   /* prefix of the tensor names in `weights`, such as "" or "bert."; static */
    /* Name of the data type of all weights, such as "BF16" or "I8"; the name of I8 with int5 token embeddings
     * (aoei_storage_name); "mixed" for other weights of different types. The string is static. */
    const char *storage;
    /* Contents of the files aoei_license_files, owned; NULL: the file does not exist. They are stored in memory,
     * because `dir` may be a checkpoint that training removes before it saves the model. */
    char *license[AOEI_LICENSE_FILES];
    size_t license_size[AOEI_LICENSE_FILES]; /* sizes of the elements of `license` in bytes */
    size_t stored_bytes; /* total size in bytes of the tensors in `tensors` and of the scales of int8 and int5
                            matrices */
} aoei_model_files;

/* Opens the model in `dir` and reads its configuration into c. If `dir` contains adapters, `base` is the base model
 * directory. If `base` is NULL, the directory in adapter_config.json is used. If `mlm` is 1, the configuration includes
 * the masked-LM head. The caller closes f with aoei_model_files_close, even if the function fails. Errors: AOE_ENOENT,
 * AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_EARG (`base` is given, but `dir` contains no adapters), AOE_ENOMEM. */
int aoei_model_files_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, const char *base, int mlm,
                          aoe_error *err);
/* Opens the model configuration in `dir`, whose weights may be missing, and which contains no adapters. c->arch is NULL
 * for a static model, whose configuration depends on its weights. The caller closes f with aoei_model_files_close, even
 * if the function fails. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_model_config_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, aoe_error *err);
/* Sets f->dir, f->transformer_dir and, for adapters whose base model is found, f->base_dir. The caller closes f with
 * aoei_model_files_close, even if the function fails. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (names the first module),
 * AOE_ENOMEM. */
int aoei_model_files_find(aoei_model_files *f, const char *dir, aoe_error *err);
/* Sets the directories as aoei_model_files_find does, and reads config.json, if it exists, into f->config_json. Opens
 * only the weights of a static model. The caller closes f with aoei_model_files_close, even if the function fails.
 * Errors: as above. */
int aoei_model_files_open_config(aoei_model_files *f, const char *dir, aoe_error *err);
void aoei_model_files_close(aoei_model_files *f); /* accepts a zeroed struct */
/* Returns the directory that contains config.json and the weights of the encoder. If f->dir contains adapters, this is
 * the base model directory. The string is borrowed from f. */
const char *aoei_weights_dir(const aoei_model_files *f);
/* Sets dirs[2] to the directories in which the tokenizer is searched for, in this order; the second may be NULL. They
 * are the adapter directory and that of their base model, or the folder of the transformer and f->dir. The strings are
 * borrowed from f. */
void aoei_tokenizer_dirs(const aoei_model_files *f, const char *dirs[2]);
/* Returns the directory that contains the settings. This is f->dir, unless f->dir contains adapters but no settings. In
 * that case it is the base model directory. The path is borrowed from f. */
aoei_model_dir aoei_settings_dir(const aoei_model_files *f);
/* Returns the directory `path` with the cache of f. */
static inline aoei_model_dir aoei_files_dir(const aoei_model_files *f, const char *path) {
    return (aoei_model_dir){path, f->cache};
}
