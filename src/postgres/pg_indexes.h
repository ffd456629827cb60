/* SPDX-License-Identifier: MIT
 * Creates the indexes of a table after the first copy, which is several times as fast as keeping them up to date during
 * the copy, and reports the progress of the server.
 */
#pragma once

#include "postgres/pg_table.h"

/* done, total: units of work of the server; total is 0 if it reports none. Returns 0 to continue. */
typedef int (*aoei_pg_progress_fn)(void *user, uint64_t done, uint64_t total);

/* Creates the indexes that do not exist, and updates the statistics of the planner. url: for a second connection, which
 * reads the progress. progress: NULL: none. Errors: AOE_ECANCELLED (progress returned another value than 0). */
int aoei_pg_create_indexes(const aoei_pg *s, const aoei_pg_table *t, size_t dims, const char *url,
                           aoei_pg_progress_fn progress, void *user, aoe_error *err);
