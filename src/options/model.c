/* SPDX-License-Identifier: MIT
 * The option tables of aoe_model_options, aoe_embedder_options and aoe_encode_options.
 */
#include "options/model.h"

#include <stddef.h>

#include "aoe_tokenizer.h"
#include "options/rows.h"

#define AT(field)       AOEI_AT(aoe_model_options, field)
#define EMBEDDER(field) AOEI_AT(aoe_embedder_options, field)
#define ENCODE(field)   AOEI_AT(aoe_encode_options, field)

int aoei_parse_pooling(void *target, const char *text, aoe_error *err) {
    return aoe_pooling_parse(target, text, err);
}

const char *aoei_pooling_choice(size_t i) {
    return i + 1 < AOE_POOLING_COUNT ? aoe_pooling_name((aoe_pooling)(i + 1)) : NULL;
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
     .value = "NAME[+NAME]",
     AT(pooling),
     .parse = aoei_parse_pooling,
     .choice = aoei_pooling_choice,
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

static const aoei_option size_rows[] = {
    {.name = "dims",
     .kind = AOEI_OPTION_SIZE,
     AT(dims),
     .min = 1,
     .help = "keep only the first N components; normalized embeddings are normalized again",
     .fallback = "all"},
};

const aoei_option_group aoei_embedding_size_rows = AOEI_GROUP("output", aoe_model_options, size_rows);

const aoei_option aoei_embedder_table[AOEI_EMBEDDER_ROWS] = {
    {.name = "batch-tokens",
     .kind = AOEI_OPTION_SIZE,
     EMBEDDER(batch_tokens),
     .min = 1,
     .most = 1e9,
     .help =
         "maximum number of tokens per batch; smaller batches are used where they are faster. In aoe pretrain: maximum "
         "number of tokens per micro-batch"},
    {.name = "chunk",
     .kind = AOEI_OPTION_CHOICE,
     EMBEDDER(chunk),
     .choices = AOEI_CHOICES("first", "mean"), /* names of the values of aoe_chunk, in the order of the values */
     .noun = "chunk mode",
     .help = "how texts longer than --max-length are embedded: first (embed only the first --max-length tokens) or "
             "mean (split the text into chunks of --max-length tokens and average the embeddings of the chunks)"},
    {.name = "chunk-overlap",
     .kind = AOEI_OPTION_SIZE,
     EMBEDDER(chunk_overlap),
     .help = "number of tokens shared by consecutive chunks",
     .fallback = "one eighth of the chunk length"},
};

static const aoei_option encode_rows[] = {
    {.name = "max-length",
     .kind = AOEI_OPTION_SIZE,
     ENCODE(max_length),
     .min = 1,
     .help = "maximum sequence length in tokens, special tokens included; longer texts are truncated",
     .fallback = "unlimited"},
    {.name = "prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     ENCODE(prompt),
     .help = "prompt, in which {text} is replaced by each text, for example \"query: {text}\"",
     .fallback = "none"},
    {.name = "no-specials",
     .kind = AOEI_OPTION_FLAG,
     ENCODE(no_special_tokens),
     .help = "do not add special tokens such as [CLS] and [SEP]"},
};

const aoei_option_group aoei_encode_rows = AOEI_GROUP("tokenizing", aoe_encode_options, encode_rows);
