/* SPDX-License-Identifier: MIT
 * The options of the tools for training data.
 */
#pragma once

#include "options/option.h"

/* The rows of each struct, one group per heading of the help. */
/* aoe_mine_options */
extern const aoei_option_group aoei_mine_data_rows;
extern const aoei_option_group aoei_mine_candidates_rows;
extern const aoei_option_group aoei_mine_choice_rows;
/* aoe_data_convert_options */
extern const aoei_option_group aoei_data_convert_output_rows;
extern const aoei_option_group aoei_data_convert_form_rows;
/* aoe_data_check_options */
extern const aoei_option_group aoei_data_check_rows;
/* aoe_data_dedup_options */
extern const aoei_option_group aoei_data_dedup_rows;
/* aoe_data_split_options */
extern const aoei_option_group aoei_data_split_rows;
/* aoe_data_stats_options */
extern const aoei_option_group aoei_data_stats_rows;
/* aoe_similar_options */
extern const aoei_option_group aoei_similar_rows;
