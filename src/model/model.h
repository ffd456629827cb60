/* SPDX-License-Identifier: MIT
 * The inside of aoe_model: configuration, weights, tokenizer and the settings
 * that make a text a vector. Immutable after open. The trainer makes one over
 * its own master weights with aoei_model_view.
 */
#ifndef AOEI_MODEL_MODEL_H
#define AOEI_MODEL_MODEL_H

#include <jansson.h>

#include "aoe.h"
#include "aoe_train.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"
#include "nn/tensor.h"

/* What a model directory says about making vectors (aoe.json, else sentence-transformers files, else defaults). */
typedef struct aoei_settings {
    aoe_pooling pooling;
    const char *pooling_from; /* static: "aoe.json", "1_Pooling/config.json", "default", "option" */
    size_t max_length;
    const char *max_length_from; /* static */
    char *prompt;                /* owned; a template with {text}; "" for none */
    json_t *prompts;             /* owned; the directory's other templates by name, kept for its readers; NULL for none */
    int normalize;
    int bidirectional; /* 1: of a causal model, attention goes in both directions from layer bidirectional_from on */
    size_t bidirectional_from;
    char *dense;   /* owned; folder of the dense layer behind the pooling; NULL: there is none */
    int lowercase; /* sentence_bert_config.json do_lower_case: lower the text before the tokenizer */
} aoei_settings;

/* Weights that lie nowhere but are made when they are saved. rows: as aoei_model_rows, of slots in ascending order. */
typedef struct aoei_row_source {
    void (*rows)(struct aoei_row_source *s, const aoe_model *m, float *to, size_t slot, size_t first, size_t n);
} aoei_row_source;

struct aoe_model {
    aoe_context *ctx; /* borrowed */
    char *dir;        /* owned; where it was opened */
    aoei_encoder_config config;
    aoei_tensor *weights;           /* owned array [aoei_slot_count], memory below or the mapping's */
    aoei_safetensors *file;         /* owned; NULL for a view */
    char *base_dir;                 /* owned; of a directory of adapters: where the file and config.json are; else NULL */
    aoei_safetensors *adapter_file; /* owned; theirs, or NULL */
    aoei_safetensors *dense_file;   /* owned; of the dense layer behind the pooling, or NULL */
    const aoei_st_tensor **stored;  /* owned array [aoei_slot_count] of the files' tensors, NULL: there is none. Or NULL */
    aoei_row_source *source;        /* borrowed; of a model that is only saved, else NULL */
    const char *license_dir;        /* borrowed; likewise: whose LICENSE goes along; NULL: its own */
    float *made;                    /* owned; a new masked-LM head, new adapters, or NULL */
    float *behind;                  /* owned; a layer added behind the pooling (dense.h), or NULL */
    void *converted;                /* owned; weights that do not stay as they are stored */
    size_t converted_bytes;
    aoei_lora lora;           /* the adapters, which are in config too unless they are merged into the packed copies */
    size_t stored_bytes;      /* of the weights in the file; 0 for a view */
    aoei_dtype type;          /* of activations and products */
    aoe_dtype dtype_option;   /* the data type that the caller asked for; type follows from it */
    void *packed;             /* owned; packed copies for inference, NULL for a view */
    aoe_tokenizer *tokenizer; /* owned unless view; NULL when the directory has none */
    aoei_settings settings;   /* owned; options applied */
    json_t *config_json;      /* owned; config.json as read */
    json_t *record;           /* owned; the training record of aoe.json, or NULL */
    const char *storage;      /* static: "F32" ... */
    const char *prefix;       /* static; of the tensor names in file: "", "bert." */
    char *lora_targets;       /* owned; for aoe_model_info; NULL: no adapters */
    const aoe_model *base;    /* borrowed; of a view: the model whose other tensors are saved with it. Else NULL */
    int view;                 /* 1: weights and tokenizer belong to somebody else */
};

/* What a model is opened for. */
typedef struct aoei_purpose {
    int packed;           /* inference: with copies laid out for the kernels, adapters merged into them */
    int stored;           /* saving: rows of weights are read from the file (aoei_model_rows) */
    int mlm;              /* with the masked-LM head */
    const aoe_lora *lora; /* new adapters beside the weights, which are frozen then; NULL: those of the directory, if any */
    int eight_bit;        /* frozen linear weights as int8 rows */
    uint64_t seed;        /* of a head, or of adapters, that are not there yet */
} aoei_purpose;
int aoei_model_open_for(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, const aoei_purpose *p,
                        aoe_error *err);

/* Opens the directory without packing copies for inference (training, saving). */
int aoei_model_open_plain(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, aoe_error *err);
/* The same with the masked-LM head: the one in the directory, or where there is none a new one from `seed`. Errors beside:
 * AOE_EUNSUPPORTED (a decoder that is not tied to the word table). */
int aoei_model_open_mlm(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, uint64_t seed,
                        aoe_error *err);
/* A model with the configuration, type, tokenizer and settings of `base` over other weights ([aoei_slot_count] tensors,
 * copied array). base must outlive it. Close with aoe_model_close. */
int aoei_model_view(aoe_model **m, const aoe_model *base, const aoei_tensor *weights, aoe_error *err);

/* to[n, cols] = rows of a weight in float32, its adapter merged in. */
void aoei_model_rows(const aoe_model *m, float *to, size_t slot, size_t first, size_t n);

/* Writes a complete model directory: config.json, model.safetensors (F32; names without prefix and `pooler.*` of the source
 * carried over, or with a masked-LM head as transformers names them), tokenizer files, aoe.json (with `record`, borrowed, may
 * be NULL), sentence-transformers files in their old form, README.md, and the LICENSE that lies beside the source's weights.
 * Everything is staged beside and renamed, the weights last; a directory that had other weights loses them first, so that it is
 * never a mixture; on failure the old model is back, after a kill the next save puts it back. Other things in `dir`
 * (checkpoints/) stay. Of a model with adapters these alone are written, as PEFT does (docs/lora.md), in the same way. */
int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);
/* The same of all weights, adapters merged in, stored in another form than F32. Values must be finite but for F32. */
int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err);
/* Name without prefix of a tensor that goes along though the encoder has no use for it (the pooler), or NULL: t is none. */
const char *aoei_model_carried(const aoe_model *source, const aoei_st_tensor *t);
/* Name of the folder of `dir` in which this process stages what it writes; free with aoei_free, NULL: no memory. */
char *aoei_model_staging(const char *dir);
/* What sentence-transformers, text-embeddings-inference and angle_emb cannot express of these settings, as one sentence
 * (static or in buf), or NULL. */
const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size);
/* The weights have been copied and are not read any more: their memory goes back. What else the file holds can still be saved.
 */
void aoei_model_release_weights(aoe_model *m);
/* Bytes of the packed copies of the linear weights on this model's context, whether made or not. */
size_t aoei_model_packed_bytes(const aoe_model *m);
/* 1 when DIR/name exists. */
int aoei_entry_exists(const char *dir, const char *name);
/* Without force, AOE_EEXIST when DIR holds an entry that saving a model there would replace (the first one is named), or a
 * model that an interrupted save had moved aside. */
int aoei_model_dir_check(const char *dir, int force, aoe_error *err);
/* *where: the folder, relative to DIR, in which an interrupted save left the model it was replacing (aoei_free); NULL: none. */
int aoei_model_stranded(char **where, const char *dir, aoe_error *err);
/* 1 when DIR holds a model (config.json and weights), or adapters of one. */
int aoei_is_model_dir(const char *dir);

#endif
