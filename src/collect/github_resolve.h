/* SPDX-License-Identifier: MIT
 * Converts mentions of duplicates to links between issues.
 */
#ifndef AOEI_COLLECT_GITHUB_RESOLVE_H
#define AOEI_COLLECT_GITHUB_RESOLVE_H

#include "collect/collection.h"

/* Converts the mentions of c into links. Issues that are referenced but are not part of the collection are fetched from the
 * API; mentions in such issues give only weak links. Errors: as for aoei_github_get. */
int aoei_collect_resolve(aoei_collection *c, aoe_error *err);

#endif
