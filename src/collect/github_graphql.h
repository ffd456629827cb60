/* SPDX-License-Identifier: MIT
 * Reading a repository through GitHub's GraphQL API.
 */
#ifndef AOEI_COLLECT_GITHUB_GRAPHQL_H
#define AOEI_COLLECT_GITHUB_GRAPHQL_H

#include "collect/collection.h"

/* Reads the issues of a repository ("owner/name") and the mentions of duplicates into c. If the repository cannot be read,
 * *why is one line that gives the reason, in room[AOEI_WHY] or static, and the function returns 0; otherwise *why is NULL.
 * Errors: those of aoei_github_query. */
int aoei_collect_graphql(aoei_collection *c, const char *name, char room[AOEI_WHY], const char **why, aoe_error *err);

#endif
