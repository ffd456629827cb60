/* SPDX-License-Identifier: MIT
 * Adapters of a model that is being opened: which it has, their tensors in PEFT's
 * file, and their part of a weight's rows. The configuration file is peft.c's.
 */
#ifndef AOEI_MODEL_ADAPTERS_H
#define AOEI_MODEL_ADAPTERS_H

#include "aoe_train.h"
#include "model/model.h"

/* Sets the adapters of m->config: new ones as wanted, or those of the directory, whose file is opened. Errors: AOE_EARG
 * (wanted, but not possible), AOE_EUNSUPPORTED (an architecture without adapters), those of aoei_peft_read. */
int aoei_adapters_configure(aoe_model *m, const aoe_lora *wanted, aoe_error *err);
/* Resolves wanted (r above 0) for a model of configuration c. Errors: AOE_EARG, AOE_EUNSUPPORTED. */
int aoei_adapters_wanted(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err);
/* Finds the tensors of saved adapters: m->stored of their slots. A tensor that is missing, of another shape, or belongs to no
 * adapter, is AOE_EFORMAT. */
int aoei_adapters_find(aoe_model *m, aoe_error *err);
/* Their names in PEFT's file are those of the base's own checkpoint: what to write before a slot's name. */
const char *aoei_adapters_prefix(const aoe_model *m);

#endif
