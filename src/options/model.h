/* SPDX-License-Identifier: MIT
 * The options with which a model is opened (aoe_model_options), and with which texts are embedded and tokenized.
 */
#pragma once

#include "options/option.h"

enum {
    AOEI_SCORE_MODEL_ROWS = 6, /* number of the first rows, which also apply to cross-encoders */
    AOEI_MODEL_ROWS = 9,       /* number of all rows */
    AOEI_EMBEDDER_ROWS = 3
};
extern const aoei_option aoei_model_table[AOEI_MODEL_ROWS];
extern const aoei_option_group aoei_embedding_size_rows; /* aoe_model_options.dims */
/* Rows of aoe_embedder_options: the size of batches, and after it the treatment of long texts. */
extern const aoei_option aoei_embedder_table[AOEI_EMBEDDER_ROWS];
#define AOEI_ROW_OF_BATCH_TOKENS (&aoei_embedder_table[0])
extern const aoei_option_group aoei_encode_rows; /* aoe_encode_options */

const char *aoei_pooling_choice(size_t i); /* returns the name of a pooling that is not a concatenation, or NULL */
int aoei_parse_pooling(void *target, const char *text, aoe_error *err); /* parses the name of an aoe_pooling */
