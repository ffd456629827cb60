/* SPDX-License-Identifier: MIT
 * Recognizes static models, such as the models of Model2Vec. The only weights of a static model are the token
 * embeddings. Its config.json may not exist, or may lack the keys hidden_size and vocab_size.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "base/file_cache.h"
#include "modeldir/safetensors.h"

/* Returns 1 if a model with this config.json may be static. This is the case if `config` is NULL (there is no
 * config.json), has no model_type, or has the model_type of static models. */
int aoei_may_be_static(const json_t *config);
/* If `file` contains the weights of a static model, adds the keys model_type, hidden_size and vocab_size to *config,
 * unless they are already set. If *config is NULL, a new object is created. If `file` does not contain such weights,
 * *config is not changed. dir: the model directory. Errors: AOE_ENOMEM. If *config has the
 * model_type of static models, also AOE_EFORMAT (the tensor of embeddings is missing) and AOE_EUNSUPPORTED (the file
 * contains other tensors). */
int aoei_static_complete(json_t **config, const aoei_safetensors *file, aoei_model_dir dir, aoe_error *err);
