/* SPDX-License-Identifier: MIT
 * The options with which a model is opened (aoe_model_options).
 */
#pragma once

#include "options/option.h"

enum {
    AOEI_SCORE_MODEL_ROWS = 6, /* number of the first rows, which also apply to cross-encoders */
    AOEI_MODEL_ROWS = 9        /* number of all rows */
};
extern const aoei_option aoei_model_table[AOEI_MODEL_ROWS];

int aoei_parse_pooling(void *target, const char *text, aoe_error *err); /* parses the name of an aoe_pooling */
