/* SPDX-License-Identifier: MIT
 * Recognizes static models (Model2Vec), whose config.json contains no sizes or does not exist.
 */
#ifndef AOEI_MODELDIR_STATIC_CONFIG_H
#define AOEI_MODELDIR_STATIC_CONFIG_H

#include <jansson.h>

#include "aoe.h"
#include "modeldir/safetensors.h"

/* Returns 1 if the model may be static: its config.json has this model_type or none, or is missing (NULL). */
int aoei_may_be_static(const json_t *config);
/* If the weights are those of a static model, adds the missing keys to *config, which is created if it is NULL. Otherwise
 * *config is unchanged. dir: directory for messages. Errors: AOE_ENOMEM; if config.json has the model_type of static models,
 * AOE_EFORMAT (the tensor of embeddings is missing) and AOE_EUNSUPPORTED (there are other tensors). */
int aoei_static_complete(json_t **config, const aoei_safetensors *file, const char *dir, aoe_error *err);

#endif
