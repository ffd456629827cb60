/* SPDX-License-Identifier: MIT
 * The options of masked language modeling.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_pretrain_data, aoei_pretrain_batches; /* aoe_pretrain_options */
