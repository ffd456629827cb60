/* SPDX-License-Identifier: MIT
 * Updates the documents of a folder or of a single file: one document per file.
 */
#pragma once

#include "index/update_run.h"
#include "index/update_source.h"

/* Compares the files of the source with their records, and reads the files that differ. A file whose contents are equal
 * to those in the record keeps its document. Errors: AOE_ENOENT (the folder contains no files any more),
 * AOE_ECANCELLED, AOE_EIO, AOE_ENOMEM, and those of aoei_write_document. */
int aoei_update_folder(aoei_update *u, aoei_update_source *s, aoe_error *err);
/* Returns 1 if the size, the times and the inode of a file are those of its record. */
int aoei_update_is_same(const aoei_file_record *r, const aoei_file *file);
/* Returns 1 if a file that equals its record need not be read, whichever programs are installed now. */
int aoei_update_is_final(const aoei_filters *filters, const aoei_file *file, const aoei_file_record *r);
/* Writes the record of a file, if it differs from the old record (NULL: none). Sets *id to its id. */
int aoei_update_record(aoei_update *u, const aoei_update_source *s, const aoei_file *file, const aoei_file_record *old,
                       uint64_t hash, aoei_file_state state, int64_t *id, aoe_error *err);
