/* SPDX-License-Identifier: MIT
 * Reading a repository through GitHub's GraphQL API.
 */
#ifndef AOEI_COLLECT_GITHUB_GRAPHQL_H
#define AOEI_COLLECT_GITHUB_GRAPHQL_H

#include "collect/collection.h"

/* Reads the issues of a repository ("owner/name") and the mentions of duplicates into c. If the repository cannot be read,
 * the function returns 0 and sets *why to the reason, one line in `buffer` or in static storage; otherwise *why is NULL.
 * Errors: as for aoei_github_query. */
int aoei_collect_graphql(aoei_collection *c, const char *name, char buffer[AOEI_WHY], const char **why, aoe_error *err);

#endif
