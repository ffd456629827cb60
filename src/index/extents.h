/* SPDX-License-Identifier: MIT
 * Compares the rows of the vector files with their checksums.
 */
#pragma once

#include "index/sql.h"
#include "index/view.h"
#include "index/writer.h"

/* Sets *bad to a bitmap of the rows [v->rows] that belong to an extent with a wrong checksum, or that a file does not
 * contain; the caller frees it with aoei_free. *n_bad is the number of these rows that belong to documents. The
 * transaction of d must be that of the view. Errors: AOE_EFORMAT (the extents do not cover the rows), AOE_ENOMEM,
 * AOE_EIO. */
int aoei_extents_check(uint64_t **bad, size_t *n_bad, aoei_db *d, const aoei_view *v, aoe_error *err);
/* Returns 1 if the checksum of the extent that contains a row of the writer is right, 0 if it is wrong or missing, or
 * an error. Rows that were appended since the last commit are right. The result of an extent is kept until the vector
 * files are opened again. */
int aoei_extents_row_is_intact(aoei_index_writer *w, uint64_t row, aoe_error *err);
