/* SPDX-License-Identifier: MIT
 * Reading a repository through GitHub's REST API.
 */
#ifndef AOEI_COLLECT_GITHUB_REST_H
#define AOEI_COLLECT_GITHUB_REST_H

#include "collect/collection.h"

/* Reads the issues of a repository ("owner/name") and the mentions of duplicates into c. If the repository cannot be read,
 * *why is one line that gives the reason, in room[AOEI_WHY] or static, and the function returns 0; otherwise *why is NULL.
 * Errors: those of aoei_github_get. */
int aoei_collect_rest(aoei_collection *c, const char *name, char room[AOEI_WHY], const char **why, aoe_error *err);

#endif
