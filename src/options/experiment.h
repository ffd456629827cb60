/* SPDX-License-Identifier: MIT
 * The options of experiments.
 */
#pragma once

#include "options/option.h"

extern const char *const aoei_correction_names[]; /* names of the values of aoe_correction, NULL-terminated */

extern const aoei_option_group aoei_experiment_options; /* aoe_experiment_options */
extern const aoei_option_group aoei_compare_tests;      /* aoe_compare_options */
