/* SPDX-License-Identifier: MIT
 * Computes configurations of new models from their sizes.
 */
#pragma once

#include "aoe_shape.h"
#include "encoder/config.h"

/* Sets *c to the configuration of a new model. *s contains its sizes; the architecture s->architecture (NULL: BERT)
 * determines all other options. Errors: AOE_EARG (the architecture is unknown, or cannot be created from sizes). */
int aoei_shape_config(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
/* Sets *c as aoei_shape_config does, but also checks the sizes as aoei_config_read does. If s->vocab or s->positions is
 * 0, the value of bert-base-uncased is used (30522 or 512). On error, *c may have been changed. Errors: AOE_EARG,
 * AOE_ENOMEM. */
int aoei_shape_checked(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
