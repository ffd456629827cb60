/* SPDX-License-Identifier: MIT
 * From the options of adapters (aoe_lora) to the adapters of a model's configuration.
 */
#ifndef AOEI_MODEL_LORA_OPTIONS_H
#define AOEI_MODEL_LORA_OPTIONS_H

#include "aoe_train.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Resolves `wanted` (wanted->r above 0) for a model of configuration c. Errors: AOE_EARG, AOE_EUNSUPPORTED. */
int aoei_lora_resolve(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err);
/* Sets c->lora to new adapters as wanted, or applies `wanted` to the saved adapters in f, of which only the dropout may change.
 * NULL: c->lora stays. Errors: AOE_EARG, AOE_EUNSUPPORTED (an architecture without adapters). */
int aoei_lora_configure(aoei_encoder_config *c, const aoei_model_files *f, const aoe_lora *wanted, aoe_error *err);

#endif
