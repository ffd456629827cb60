/* SPDX-License-Identifier: MIT
 * The indexes of a server by name, with the models that they record. An index is opened at the first search.
 */
#pragma once

#include "aoe_serve.h"
#include "base/buffer.h"

typedef struct aoei_indexes aoei_indexes;

/* Reads the list of options.indexes. Errors: AOE_EARG (two indexes of the same name), AOE_ENOENT (a
 * directory is not an index), AOE_ENOMEM. */
int aoei_indexes_create(aoei_indexes **indexes, const aoe_serve_options *o, aoe_error *err);
void aoei_indexes_destroy(aoei_indexes *indexes);                     /* accepts NULL */
int aoei_indexes_reload(aoei_indexes *indexes, aoe_error *err);       /* see aoe_server_reload */
void aoei_indexes_describe(aoei_indexes *indexes, aoei_buffer *body); /* appends elements of a JSON list */
