/* SPDX-License-Identifier: MIT
 * The database of an index without vector files, for tests of the units that only read the database.
 */
#pragma once

#include "index/sql.h"

/* Creates an empty database of an index in test_dir and opens it. stem: see aoe_index_options. */
void test_index_open(aoei_db *d, int stem);
/* Adds a document with n passages. Each passage has one line and no heading. fields: "key=value" texts, NULL at the
 * end; NULL: none. Returns the id of its first passage. */
int64_t test_index_add(aoei_db *d, const char *name, const char *const *passages, size_t n, const char *const *fields);
/* Adds a document with one passage and without metadata. */
int64_t test_index_add_text(aoei_db *d, const char *name, const char *text);
