/* SPDX-License-Identifier: MIT
 * The options of data sets of GitHub issues.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_github_source, aoei_github_output, aoei_github_choice; /* aoe_github_options */
