/* SPDX-License-Identifier: MIT
 * The routes of indexes: search, the list of indexes, and changes of an index without sources.
 */
#pragma once

#include "serve/call.h"

enum { AOEI_SEARCH_FIELDS = 9, AOEI_ADD_FIELDS = 1, AOEI_SEARCH_MOST = 1000 /* passages of an answer */ };

extern const aoei_field aoei_search_fields[AOEI_SEARCH_FIELDS];
extern const aoei_field aoei_add_fields[AOEI_ADD_FIELDS];

void aoei_route_search(aoei_call *call);
void aoei_route_indexes(aoei_call *call);
void aoei_route_index_add(aoei_call *call);
void aoei_route_index_remove(aoei_call *call);
