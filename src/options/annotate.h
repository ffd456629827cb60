/* SPDX-License-Identifier: MIT
 * The options of annotation and scoring with chat models.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_chat_output, aoei_chat_models, aoei_chat_calls; /* aoe_chat_options */
extern const aoei_option_group aoei_annotate_rows, aoei_annotate_data;              /* aoe_annotate_options */
extern const aoei_option_group aoei_score_scores, aoei_score_data;                  /* aoe_score_options */
