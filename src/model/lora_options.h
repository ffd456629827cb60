/* SPDX-License-Identifier: MIT
 * Converts the options of adapters (aoe_lora) to the configuration of adapters (aoei_lora).
 */
#ifndef AOEI_MODEL_LORA_OPTIONS_H
#define AOEI_MODEL_LORA_OPTIONS_H

#include "aoe_train.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Sets *lora to the new adapters that `wanted` describes (wanted->r is positive), for a model of configuration c. Errors:
 * AOE_EARG (invalid value), AOE_EUNSUPPORTED (the architecture does not support adapters). */
int aoei_lora_resolve(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err);
/* If f contains saved adapters, sets the dropout in c->lora to that of `wanted`, and fails if `wanted` sets the rank, alpha
 * or targets. If f contains no adapters and wanted->r is positive, sets c->lora to new adapters. If `wanted` is NULL,
 * c->lora is unchanged. Errors: see aoei_lora_resolve. */
int aoei_lora_configure(aoei_encoder_config *c, const aoei_model_files *f, const aoe_lora *wanted, aoe_error *err);

#endif
