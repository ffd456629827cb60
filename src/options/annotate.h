/* SPDX-License-Identifier: MIT
 * The options of annotation and scoring with chat models.
 */
#pragma once

#include "options/option.h"

/* The rows of each struct, one group per heading of the help. */
/* aoe_annotate_options */
extern const aoei_option_group aoei_annotate_rows;
extern const aoei_option_group aoei_annotate_data_rows;
/* aoe_score_options */
extern const aoei_option_group aoei_score_rows;
extern const aoei_option_group aoei_score_data_rows;
/* aoe_chat_options */
extern const aoei_option_group aoei_chat_output_rows;
extern const aoei_option_group aoei_chat_models_rows;
extern const aoei_option_group aoei_chat_calls_rows;
