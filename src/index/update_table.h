/* SPDX-License-Identifier: MIT
 * Updates the documents of a table or of a .txt file with one text per line: one document per row.
 */
#pragma once

#include "index/update_run.h"
#include "index/update_source.h"

/* Compares the table with its record, and reads it if it differs. The text column becomes the text of a document, and
 * the other columns become its metadata. Errors: AOE_EFORMAT (a missing column; a bad row; an id that is empty or
 * occurs twice), AOE_EARG (source.n_vectors is not the number of rows), AOE_ECANCELLED, and those of
 * aoei_write_document. */
int aoei_update_table(aoei_update *u, aoei_update_source *s, aoe_error *err);
/* Checks that the columns of the source exist. Errors: AOE_EFORMAT, and those of aoei_table_open. */
int aoei_update_table_check(aoei_update_source *s, aoe_error *err);
