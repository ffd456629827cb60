/* SPDX-License-Identifier: MIT
 * The options of experiments.
 */
#pragma once

#include "options/option.h"

extern const char *const aoei_correction_names[]; /* names of the values of aoe_correction, NULL-terminated */

/* The rows of each struct, one group per heading of the help. */
/* aoe_experiment_options */
extern const aoei_option_group aoei_experiment_rows;
/* aoe_compare_options */
extern const aoei_option_group aoei_compare_tests_rows;
