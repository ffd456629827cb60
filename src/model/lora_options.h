/* SPDX-License-Identifier: MIT
 * Converts the options of LoRA adapters (aoe_lora) to the configuration of adapters (aoei_lora).
 */
#pragma once

#include "aoe_lora.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Sets *lora to the configuration of the new adapters that `wanted` describes, for a model with the configuration c.
 * wanted->r must be positive. Errors: AOE_EARG (invalid value), AOE_EUNSUPPORTED (the architecture does not support
 * adapters). */
int aoei_lora_resolve(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err);
/* Applies the options `wanted` to c->lora, in one of three cases:
 * - `wanted` is NULL: c->lora is not changed.
 * - `f` contains saved adapters: if `wanted` sets the dropout, c->lora.dropout is set to this value. It is an error if
 *   `wanted` sets the rank, alpha or targets.
 * - `f` contains no adapters: if wanted->r is positive, c->lora is set to new adapters. If wanted->r is 0, it is an
 *   error if `wanted` sets another option.
 * Errors: see aoei_lora_resolve. */
int aoei_lora_configure(aoei_encoder_config *c, const aoei_model_files *f, const aoe_lora *wanted, aoe_error *err);
