/* SPDX-License-Identifier: MIT
 * Cross-encoders in model directories: the classification head in the weight file, and the activation function of the
 * scores. Two formats are read: directories of transformers (and of sentence-transformers before version 5.4), whose
 * config.json names a class ...ForSequenceClassification, and directories of sentence-transformers since version 5.4,
 * which also contain modules.json. The first format is written, because every version of sentence-transformers can read
 * it; adapters of cross-encoders are written in the second format.
 */
#pragma once

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"

/* The classification head with which a model is opened. */
typedef struct aoei_head_request {
    size_t new_classes; /* number of classes of a new head, if the files contain no head; 0: the files must contain a
                           head */
    int replace;        /* 1: a head in the files is not used; a new head replaces it */
} aoei_head_request;

/* Adds the classification head to c. f must be open. If f contains no weights (aoei_model_config_open), a head that
 * config.json names is taken to be in the weights. If the files contain a head, the number of its classes is read from
 * config.json or from the weight of its last layer. A head in the adapter file (PEFT's modules_to_save) replaces the
 * head of the base model; f->saved_head is then set to 1. Otherwise, the head has request->new_classes classes, and
 * f->new_head is set to 1. If the head consists of modules, f->module_head is set to 1, and c is completed by
 * aoei_cross_encoder_modules_finish. Errors: AOE_EUNSUPPORTED (the architecture has no head), AOE_EFORMAT (config.json
 * promises a head that is missing), AOE_EARG (there is no head and no new head is requested; the head has another
 * number of classes), AOE_ENOMEM. */
int aoei_cross_encoder_open(aoei_encoder_config *c, aoei_model_files *f, const aoei_head_request *request,
                            aoe_error *err);
/* Sets s->activation, and replaces the settings that a classification head determines. o: options of the caller. If an
 * embedding model gets a new head, its prompts are dropped, because they are not prompts for pairs. Errors:
 * AOE_EUNSUPPORTED (the activation function or a module is not supported), AOE_EFORMAT, AOE_ENOMEM. */
int aoei_cross_encoder_settings(aoei_settings *s, const aoei_encoder_config *c, const aoei_model_files *f,
                                const aoe_model_options *o, aoe_error *err);
/* Completes the configuration of a cross-encoder whose head consists of modules (f->module_head), after its modules are
 * open: sets c->modules.classes and s->activation. Errors: AOE_EUNSUPPORTED, AOE_EFORMAT, AOE_ENOMEM. */
int aoei_cross_encoder_modules_finish(aoei_settings *s, aoei_encoder_config *c, const aoei_model_files *f,
                                      aoe_error *err);
/* Writes the class name of the activation function in torch to out[size], such as
 * "torch.nn.modules.activation.Sigmoid". */
void aoei_score_activation_name(char *out, size_t size, aoe_score_activation activation);
/* Sets *has to 1 if the open files f contain a classification head, otherwise to 0. The adapter file may contain it, or
 * config.json may name it; modules.json must then not describe an embedding model. c: model configuration, with or
 * without the head. Errors: AOE_ENOMEM. */
int aoei_has_head(int *has, const aoei_encoder_config *c, const aoei_model_files *f, aoe_error *err);
/* Sets *declared to 1 if the files describe a cross-encoder: modules.json describes a head
 * (aoei_cross_encoder_modules_read), or aoei_has_head returns 1. Without weights (aoei_model_config_open), it is enough
 * that config.json names a class with a head. Errors: as aoei_cross_encoder_modules_read. */
int aoei_declares_cross_encoder(int *declared, const aoei_encoder_config *c, const aoei_model_files *f, aoe_error *err);
/* Returns 1 if the open files f contain a language model that may be a reranker (aoei_decoder): config.json names a
 * class ...ForCausalLM, and there is no modules.json, which an embedding model has. c: model configuration. */
int aoei_is_language_model(const aoei_encoder_config *c, const aoei_model_files *f);
/* Returns 1 if the model in the directory `path` is a cross-encoder: its config.json names a class
 * ...ForSequenceClassification. For adapters, the config.json of the base model is read. base: see aoei_peft_base.
 * Returns 0 for all other directories, or if a file cannot be read. */
int aoei_is_cross_encoder(const char *path, const char *base);
