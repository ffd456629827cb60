/* SPDX-License-Identifier: MIT
 * The options of data sets of GitHub issues.
 */
#pragma once

#include "options/option.h"

/* The rows of each struct, one group per heading of the help. */
/* aoe_github_options */
extern const aoei_option_group aoei_github_source_rows;
extern const aoei_option_group aoei_github_output_rows;
extern const aoei_option_group aoei_github_choice_rows;
