/* SPDX-License-Identifier: MIT
 * The option table of aoe_pretrain_options.
 */
#include "options/pretrain.h"

#include <stddef.h>

#include "aoe_train.h"
#include "options/rows.h"

#define PRETRAIN(field) AOEI_AT(aoe_pretrain_options, field)

static const aoei_option pretrain_data_rows[] = {
    AOEI_ROW_COLUMNS(PRETRAIN(table.columns), "text=NAME", "name of the text column", "text or sentence"),
    AOEI_ROW_SKIP_BAD_ROWS(PRETRAIN(table.skip_bad_rows)),
    {.name = "held-out",
     .kind = AOEI_OPTION_REAL,
     PRETRAIN(held_out),
     .max = AOEI_BELOW_1,
     .most = 0.99,
     .help = "fraction of the texts that is used for evaluation instead of training; 0 disables evaluation"},
};

static const aoei_option pretrain_batches_rows[] = {
    {.name = "batch-size",
     .letter = 'b',
     .kind = AOEI_OPTION_SIZE,
     PRETRAIN(batch_size),
     .min = 1,
     .max = 1 << 20,
     .most = 1e6,
     .help = "number of sequences per step"},
    {.name = "mask-rate",
     .kind = AOEI_OPTION_REAL,
     PRETRAIN(mask_rate),
     .min = AOEI_ABOVE_0,
     .max = AOEI_BELOW_1,
     .least = 0.001,
     .most = 0.99,
     .help = "fraction of the tokens that the model must predict; the tokens of a word are always selected together"},
    {.name = "no-pack",
     .kind = AOEI_OPTION_FLAG,
     PRETRAIN(pack),
     .clears = 1,
     .help = "train on one text per sequence; without this option, texts are concatenated into sequences"
             " of up to --max-length tokens"},
    {.name = "shuffle",
     .kind = AOEI_OPTION_SIZE,
     PRETRAIN(shuffle),
     .min = 1,
     .max = 1 << 28,
     .help = "size of the shuffle buffer in sequences"},
};

const aoei_option_group aoei_pretrain_data_rows = AOEI_GROUP("data", aoe_pretrain_options, pretrain_data_rows);
const aoei_option_group aoei_pretrain_batches_rows = AOEI_GROUP("batches", aoe_pretrain_options, pretrain_batches_rows);
