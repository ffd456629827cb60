/* SPDX-License-Identifier: MIT
 * Configurations of new models, given their sizes.
 */
#ifndef AOEI_ENCODER_SHAPES_H
#define AOEI_ENCODER_SHAPES_H

#include "encoder/config.h"

/* Sets *c to the configuration of a new model with the sizes *s and the defaults of the architecture s->architecture (NULL:
 * BERT). Errors: AOE_EARG if the architecture is unknown or cannot be created from sizes. */
int aoei_shape_config(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
/* Like aoei_shape_config, and also checks the sizes as aoei_config_read does. If vocab or positions is 0, BERT's value is used.
 * Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_shape_checked(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);

#endif
