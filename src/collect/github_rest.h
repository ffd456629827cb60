/* SPDX-License-Identifier: MIT
 * Reads the issues of a repository through GitHub's REST API.
 */
#pragma once

#include "collect/collection.h"

/* Reads the issues of a repository ("owner/name") and the mentions of duplicates into c. If the repository cannot be
 * read, returns 0 and sets *why to the reason, which is one line of text in `buffer` or in static storage. Otherwise
 * sets *why to NULL. Errors: the same as aoei_github_get. */
int aoei_collect_rest(aoei_collection *c, const char *name, char buffer[AOEI_WHY], const char **why, aoe_error *err);
