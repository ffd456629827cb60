/* SPDX-License-Identifier: MIT
 * Checks of the arguments that searches of a local index and of a server (src/postgres) have in common.
 */
#pragma once

#include "aoe_index.h"

/* Checks the options that need no index. Errors: AOE_EARG. */
int aoei_search_check_options(const aoe_index_search_options *o, aoe_error *err);
/* Checks query i of n, counted from 0: it is UTF-8 and not blank. Errors: AOE_EARG. */
int aoei_search_check_query(aoe_text query, size_t i, size_t n, aoe_error *err);
