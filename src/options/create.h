/* SPDX-License-Identifier: MIT
 * The options of functions that create models.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_convert, aoei_convert_vocabulary; /* aoe_convert_options */
extern const aoei_option_group aoei_merge;                     /* aoe_convert_options, for adapters and averages */
extern const aoei_option_group aoei_whiten, aoei_whiten_texts; /* aoe_whiten_options */
extern const aoei_option_group aoei_flow, aoei_flow_training, aoei_flow_texts; /* aoe_flow_options */
extern const aoei_option_group aoei_init, aoei_init_vocabulary;                /* aoe_init_options */
extern const aoei_option_group aoei_shape_sizes;                               /* aoe_shape */
