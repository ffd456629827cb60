/* SPDX-License-Identifier: MIT
 * The options of the tools for training data.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_mine_data, aoei_mine_candidates, aoei_mine_choice; /* aoe_mine_options */
extern const aoei_option_group aoei_data_convert_output, aoei_data_convert_form;       /* aoe_data_convert_options */
extern const aoei_option_group aoei_data_check;                                        /* aoe_data_check_options */
extern const aoei_option_group aoei_data_dedup;                                        /* aoe_data_dedup_options */
extern const aoei_option_group aoei_data_split;                                        /* aoe_data_split_options */
extern const aoei_option_group aoei_data_stats;                                        /* aoe_data_stats_options */
