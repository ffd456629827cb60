/* SPDX-License-Identifier: MIT
 * The options of training runs (aoe_train_options).
 */
#pragma once

#include "aoe_train.h"
#include "options/option.h"

enum {
    AOEI_GROUP_OUTPUT,   /* rows of aoe_training_args, also for pretraining */
    AOEI_GROUP_SCHEDULE, /* rows of aoe_training_args, also for pretraining */
    AOEI_GROUP_BATCHES,
    AOEI_GROUP_LOSSES,
    AOEI_GROUP_PREFIXES,
    AOEI_GROUP_LAYERS,
    AOEI_GROUP_TEACHER,
    AOEI_GROUP_LORA, /* rows of aoe_lora; the first one is lora-r */
    AOEI_TRAIN_GROUPS
};
/* The groups of options, with the offsets of their structs in aoe_train_options. Fields without a row, such as the list
 * of training files, are not set by an option of one value. */
extern const aoei_option_group aoei_train_groups[AOEI_TRAIN_GROUPS];

const char *aoei_method_choice(size_t i);                              /* returns the name of an aoe_method, or NULL */
int aoei_parse_method(void *target, const char *text, aoe_error *err); /* parses the name of an aoe_method */
