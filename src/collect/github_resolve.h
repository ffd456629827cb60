/* SPDX-License-Identifier: MIT
 * Converts mentions of duplicates to links between issues.
 */
#pragma once

#include "collect/collection.h"

/* Converts the mentions of c into links. If a mention refers to an issue that is not in the collection, the issue is
 * fetched from the API. The mentions in such an issue give only weak links (aoei_issue_link). Errors: the same as
 * aoei_github_get. */
int aoei_collect_resolve(aoei_collection *c, aoe_error *err);
