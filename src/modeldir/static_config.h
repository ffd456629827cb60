/* SPDX-License-Identifier: MIT
 * Recognises directories of static models (Model2Vec), whose config.json has no sizes or does not exist.
 */
#ifndef AOEI_MODELDIR_STATIC_CONFIG_H
#define AOEI_MODELDIR_STATIC_CONFIG_H

#include <jansson.h>

#include "aoe.h"
#include "modeldir/safetensors.h"

/* 1: the directory may be a static model, because its config.json (NULL: missing) says so or has no model_type. */
int aoei_static_may_be(const json_t *config);
/* If the weights are those of a static model, adds the missing keys to *config (NULL: creates the object). Otherwise leaves it
 * unchanged, unless config.json says that it is a static model: AOE_EFORMAT (the tensor is missing), AOE_EUNSUPPORTED (there
 * are other tensors). dir: directory for messages. Also AOE_ENOMEM. */
int aoei_static_complete(json_t **config, const aoei_safetensors *file, const char *dir, aoe_error *err);

#endif
