/* SPDX-License-Identifier: MIT
 * Configurations of new models, from their sizes.
 */
#ifndef AOEI_ENCODER_SHAPES_H
#define AOEI_ENCODER_SHAPES_H

#include "encoder/config.h"

/* The configuration of a new model with the sizes in s and the defaults of its architecture (NULL: BERT). Errors: AOE_EARG
 * if the architecture is unknown or cannot be created from sizes. */
int aoei_shape_config(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
/* Like aoei_shape_config, with the checks of aoei_config_read. If vocab or positions is 0, BERT's value is used. */
int aoei_shape_checked(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);

#endif
