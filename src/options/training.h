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
    AOEI_GROUP_METHODS, /* options of single methods */
    AOEI_GROUP_PREFIXES,
    AOEI_GROUP_LAYERS,
    AOEI_GROUP_ESE,
    AOEI_GROUP_TEACHER,
    AOEI_GROUP_DISTILL, /* options of the method distill */
    AOEI_GROUP_LORA,    /* rows of aoe_lora; the first one is lora-r */
    AOEI_TRAIN_GROUPS
};
/* The groups of options, with the offsets of their structs in aoe_train_options. Fields without a row, such as the list
 * of training files, are not set by an option of one value. */
extern const aoei_option_group aoei_train_groups[AOEI_TRAIN_GROUPS];

/* Checks that the values of the options that a training run uses are in their ranges, except those of aoe_training_args
 * and aoe_lora. Errors: AOE_EARG. */
int aoei_train_options_check(const aoe_train_options *o, aoe_error *err);

const char *aoei_method_choice(size_t i);                              /* returns the name of an aoe_method, or NULL */
int aoei_parse_method(void *target, const char *text, aoe_error *err); /* parses the name of an aoe_method */
