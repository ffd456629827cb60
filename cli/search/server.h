/* SPDX-License-Identifier: MIT
 * The copy of an index on a PostgreSQL server, as `aoe index --to` writes it and `aoe search --from` queries it.
 */
#pragma once

#include <aoe_postgres.h>

#include "cli/search/index_session.h"

enum { CLI_SERVER_COUNT = 1 };

typedef struct cli_server_options {
    const char *url;   /* --to or --from; NULL: no server */
    const char *table; /* NULL: the default name */
    int replace;       /* --replace */
} cli_server_options;

extern const aoei_option cli_server_table[CLI_SERVER_COUNT]; /* the option --table of cli_server_options */

/* Checks that the server can be reached, before a long update. Returns 0, or 1 after reporting the error. */
int cli_server_check(const cli_server_options *o);
/* Copies an open index to the server, and prints the result. dir: name of the index for the result. Returns 0, or an
 * exit code after reporting the error. */
int cli_server_write(const cli_server_options *o, aoe_index *index, const char *dir, int json);

/* Connects to the server and opens the model of its table, unless with_model is 0. The options of the model are those
 * of x. Returns 0, or 1 after reporting the error. */
int cli_server_open(aoe_postgres **server, const cli_server_options *o, cli_index *x, int with_model);
/* Searches for each of n queries. Errors: see aoe_postgres_search. */
int cli_server_search(aoe_postgres *server, const aoe_text *queries, size_t n, const aoe_index_search_options *o,
                      aoe_index_hits *hits, aoe_error *err);
