/* SPDX-License-Identifier: MIT
 * The options of masked language modeling.
 */
#pragma once

#include "options/option.h"

/* The rows of each struct, one group per heading of the help. */
/* aoe_pretrain_options */
extern const aoei_option_group aoei_pretrain_data_rows;
extern const aoei_option_group aoei_pretrain_batches_rows;
