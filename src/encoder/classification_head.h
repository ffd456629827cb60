/* SPDX-License-Identifier: MIT
 * The classification head of a cross-encoder. A cross-encoder reads a text pair as one sequence of tokens and computes
 * one or several scores (logits). Its head consists of a pooling and of a chain of modules (nn/module_chain.h), the
 * last of which is a dense layer with one output per class. The architecture (arch.h) declares the modules and the
 * names of their tensors, which are those of the class ...ForSequenceClassification in the library transformers.
 */
#pragma once

#include <jansson.h>

#include "encoder/config.h"

#define AOEI_MAX_CLASSES ((size_t)10000) /* maximum number of classes of a head */

/* One module of a classification head. Strings have static storage. */
typedef struct aoei_head_module {
    aoei_module_kind kind;            /* Dense, LayerNorm or Dropout */
    const char *name;                 /* name of the tensors without ".weight" and ".bias"; NULL for Dropout */
    int in_encoder;                   /* 1: the name has the prefix of the encoder's tensors, such as "bert." */
    aoei_dense_activation activation; /* Dense: activation function, unless config.json has the key activation_key */
    const char *activation_key;       /* Dense: key of config.json; NULL: the activation function is fixed */
    int no_bias;                      /* Dense: 1: there is no bias, unless config.json has the key bias_key */
    const char *bias_key;             /* Dense: key of config.json; NULL: no_bias is fixed */
    const char *dropout_key;          /* Dropout: key of the probability in config.json; NULL: none */
    double dropout; /* Dropout: probability if the key is missing; negative: that of the hidden states */
} aoei_head_module;

/* The classification head of an architecture. */
typedef struct aoei_classification_head { /* aoei_arch.head */
    const char *class_name;               /* value of "architectures", such as "BertForSequenceClassification" */
    const char *prefix;                   /* prefix of the encoder's tensors in models of this class, such as "bert." */
    aoe_pooling pooling;                  /* pooling of the token vectors */
    const char *pooling_key;              /* key of the pooling in config.json ("cls" or "mean"); NULL: none */
    size_t n;                             /* number of modules */
    aoei_head_module module[AOEI_MAX_MODULES]; /* [n] modules; the last one is Dense */
} aoei_classification_head;

/* The modules of the head of BERT: dense layer with tanh (the pooler), dropout, dense layer. */
#define AOEI_BERT_HEAD_MODULES                                                                                         \
    .pooling = AOE_POOLING_CLS, .n = 3,                                                                                \
    .module = {{.kind = AOEI_MODULE_DENSE, .name = "pooler.dense", .in_encoder = 1, .activation = AOEI_DENSE_TANH},    \
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = "classifier_dropout", .dropout = -1},                      \
               {.kind = AOEI_MODULE_DENSE, .name = "classifier"}}
/* The modules of the head of RoBERTa: dropout, dense layer with an activation function, dropout, dense layer. */
#define AOEI_ROBERTA_HEAD_MODULES(function, key)                                                                       \
    .pooling = AOE_POOLING_CLS, .n = 4,                                                                                \
    .module = {{.kind = AOEI_MODULE_DROPOUT, .dropout_key = (key), .dropout = -1},                                     \
               {.kind = AOEI_MODULE_DENSE, .name = "classifier.dense", .activation = (function)},                      \
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = (key), .dropout = -1},                                     \
               {.kind = AOEI_MODULE_DENSE, .name = "classifier.out_proj"}}
/* The head of causal models: a dense layer without bias on the last token. */
#define AOEI_CAUSAL_HEAD_MODULES                                                                                       \
    .prefix = "model.", .pooling = AOE_POOLING_LAST_TOKEN, .n = 1,                                                     \
    .module = {{.kind = AOEI_MODULE_DENSE, .name = "score", .no_bias = 1}}

/* Returns the number of classes that config.json specifies with id2label or num_labels, or 0 if it specifies none. */
size_t aoei_head_classes(const json_t *config);
/* Returns the name of class i in id2label of config.json, borrowed from config, or NULL if the class has no name. */
const char *aoei_head_class_name(const json_t *config, size_t i);
/* Sets c->modules.classes to `classes`, the modules of c to those of the head of its architecture, and c->pooling to
 * the pooling of the head. config: contents of config.json; `file` is its name in messages. Errors: AOE_EUNSUPPORTED
 * (the architecture has no classification head; an activation function or pooling is not supported), AOE_EFORMAT. */
int aoei_head_read(aoei_encoder_config *c, size_t classes, const json_t *config, const char *file, aoe_error *err);
