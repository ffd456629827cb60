/* SPDX-License-Identifier: MIT
 * The options of functions that create models.
 */
#pragma once

#include "options/option.h"

/* The rows of each struct, one group per heading of the help. */
/* aoe_shape */
extern const aoei_option_group aoei_shape_sizes_rows;
/* aoe_convert_options */
extern const aoei_option_group aoei_merge_rows;
extern const aoei_option_group aoei_convert_model_rows;
extern const aoei_option_group aoei_convert_vocabulary_rows;
/* aoe_whiten_options */
extern const aoei_option_group aoei_whiten_rows;
extern const aoei_option_group aoei_whiten_texts_rows;
/* aoe_flow_options */
extern const aoei_option_group aoei_flow_rows;
extern const aoei_option_group aoei_flow_training_rows;
extern const aoei_option_group aoei_flow_texts_rows;
/* aoe_init_options */
extern const aoei_option_group aoei_init_rows;
extern const aoei_option_group aoei_init_vocabulary_rows;
