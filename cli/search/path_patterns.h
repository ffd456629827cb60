/* SPDX-License-Identifier: MIT
 * The patterns of --path and of the argument `path` of the MCP tool `search`. The library compares patterns with the
 * names of documents and with absolute paths (aoe_index_search_options.path); this unit adds what a user means by a
 * relative path: the path from a folder.
 */
#pragma once

#include <stddef.h>

/* A zeroed struct is empty. */
typedef struct cli_path_patterns {
    char **item; /* [n] for options.path; owned, with its elements */
    size_t n, capacity;
} cli_path_patterns;

/* Adds the pattern text[len], with ! before it to exclude. folder: absolute folders that relative paths may start from,
 * up to the first NULL; NULL: only names, as for the documents on a server. A relative pattern is also compared with
 * names. */
void cli_path_patterns_add(cli_path_patterns *p, const char *text, size_t len, const char *const *folder);
/* Adds several patterns that are separated by commas; spaces around them are ignored. */
void cli_path_patterns_add_list(cli_path_patterns *p, const char *text, const char *const *folder);
void cli_path_patterns_free(cli_path_patterns *p); /* accepts a zeroed struct */
