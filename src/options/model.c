/* SPDX-License-Identifier: MIT
 * The option table of aoe_model_options.
 */
#include "options/model.h"

#include <stddef.h>

#include "options/rows.h"

#define AT(field) .member = #field, .offset = offsetof(aoe_model_options, field)

int aoei_parse_pooling(void *target, const char *text, aoe_error *err) {
    return aoe_pooling_parse(target, text, err);
}

static const char *pooling_name(char out[AOEI_NAME_SIZE], const void *target) {
    (void)out;
    const aoe_pooling pooling = *(const aoe_pooling *)target;
    return pooling == AOE_POOLING_AUTO ? NULL : aoe_pooling_name(pooling);
}

const aoei_option aoei_model_table[AOEI_MODEL_ROWS] = {
    AOEI_ROW_BASE_MODEL(AT(base)),
    {.name = "prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     AT(prompt),
     .help = "prompt, in which {text} is replaced by each text, for example \"query: {text}\"; \"\" for no prompt",
     .fallback = "from the model directory"},
    {.name = "prompt-name",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(prompt_name),
     .excludes = "prompt",
     .help = "use the prompt NAME of the model directory, for example query or document",
     .fallback = "the default prompt of the model directory"},
    {.name = "max-length",
     .kind = AOEI_OPTION_SIZE,
     AT(max_length),
     .min = 1,
     .help = "maximum sequence length in tokens, special tokens included; longer texts are truncated",
     .fallback = "from the model directory, otherwise the maximum of the model"},
    AOEI_ROW_DTYPE(AT(dtype)),
    {.name = "bidirectional-from",
     .kind = AOEI_OPTION_SIZE,
     AT(bidirectional_from),
     .max = 100000,
     .help = "causal models: use bidirectional attention in layer N and all later layers; 0 is the first layer",
     .fallback = "from the model directory, otherwise causal attention in all layers"},
    {.name = "pooling",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     AT(pooling),
     .parse = aoei_parse_pooling,
     .name_of = pooling_name,
     .help = AOEI_POOLING_HELP,
     .fallback = "from the model directory, otherwise " AOEI_DEFAULT_POOLING},
    {.name = "normalize",
     .kind = AOEI_OPTION_FLAG,
     AT(normalize),
     .excludes = "no-normalize",
     .help = "normalize embeddings to unit length",
     .fallback = "from the model directory"},
    {.name = "no-normalize",
     .kind = AOEI_OPTION_FLAG,
     AT(normalize),
     .clears = 1,
     .record = AOEI_RECORD_NEVER, /* the record contains the field as `normalize` */
     .help = "do not normalize embeddings"},
};
