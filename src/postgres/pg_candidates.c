/* SPDX-License-Identifier: MIT
 * Reads the rows (id, name, position, score, number, words) of a statement. The score is written with AOEI_PG_DOUBLE.
 */
#include "postgres/pg_candidates.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

static int add(aoei_pg_candidates *list, const aoei_pq_result *r, int row, aoe_error *err) {
    const aoe_text id = aoei_pg_value(r, row, 0), name = aoei_pg_value(r, row, 1);
    if (!aoei_pg_is_id(id.data, id.len))
        return 0; /* a row of another program, whose id has another form */
    char *copy = aoei_chunks_take(&list->names, name.len + 1);
    if (!copy || aoei_grow((void **)&list->item, &list->capacity, list->n, sizeof *list->item))
        return aoei_fail_nomem(err, name.len + 1);
    memcpy(copy, name.data, name.len + 1);
    aoei_pg_candidate *c = &list->item[list->n++];
    *c = (aoei_pg_candidate){.number = aoei_pg_value_number(r, row, 4),
                             .name = copy,
                             .position = aoei_pg_value_number(r, row, 2),
                             .score = aoei_pg_value_double(r, row, 3),
                             .words = (size_t)aoei_pg_value_number(r, row, 5)};
    memcpy(c->id, id.data, id.len);
    return 0;
}

int aoei_pg_candidates_read(aoei_pg_candidates *list, aoei_pq_result *r, aoe_error *err) {
    int rc = 0;
    for (int row = 0; !rc && row < aoei_pq.ntuples(r); row++)
        rc = add(list, r, row, err);
    aoei_pq.clear(r);
    return rc;
}

void aoei_pg_candidates_free(aoei_pg_candidates *list) {
    aoei_free(list->item);
    aoei_chunks_free(&list->names);
    *list = (aoei_pg_candidates){.n = 0};
}
