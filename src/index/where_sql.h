/* SPDX-License-Identifier: MIT
 * Finds the documents that satisfy a condition (where.h) in the database of an index. All keys and values are bound
 * parameters of constant SQL statements.
 *
 * Built-in keys are compared as texts:
 *     name      name of the document
 *     path      absolute path of its file
 *     ext       extension of its file, or of its name, in lower-case letters without the dot
 *     modified  time of the last change of its file in UTC, such as 2026-01-31T12:00:00Z
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "index/sql.h"
#include "index/where.h"

/* SQL expression for the absolute path of a file, in a statement with the tables files f and sources s. If the
 * source is a table or a single file (its kind, index/update_source.h), the path of the source is that of the file. */
#define AOEI_SQL_PATH                                                                                                  \
    "CASE WHEN substr(f.path, 1, 1) = '/' THEN f.path WHEN s.kind & 15 > 1 THEN s.path "                               \
    "ELSE s.path || '/' || f.path END"
/* SQL condition: the source of a file is a table (AOEI_SOURCE_TABLE in index/update_source.h). */
#define AOEI_SQL_IS_TABLE "(s.kind & 15 = 2)"
/* Joins the files and sources of the documents d. */
#define AOEI_SQL_FILES "LEFT JOIN files f ON f.id = d.file LEFT JOIN sources s ON s.id = f.source"

/* Sets bits[(n + 63) / 64] to the documents with ids below n that satisfy the condition. Bits that belong to no
 * document may also be set. Errors: AOE_EARG (no document has one of the keys), AOE_ENOMEM, AOE_EIO. */
int aoei_where_documents(const aoei_where *w, aoei_db *d, uint64_t *bits, size_t n, aoe_error *err);
