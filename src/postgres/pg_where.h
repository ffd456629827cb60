/* SPDX-License-Identifier: MIT
 * Translates a condition on metadata (index/where.h) to SQL. Keys and values become parameters; no text of the user
 * becomes a part of the SQL. The result is the same as that of the local index: metadata is a jsonb object with the
 * keys as members, plain numbers as numbers, and an array if a key has several values.
 */
#pragma once

#include "aoe.h"
#include "base/buffer.h"
#include "index/where.h"
#include "postgres/pg_table.h"

/* Appends the condition as an SQL expression in parentheses to `sql` and adds its parameters to p. The expression is
 * never NULL. Errors: AOE_EARG (the condition compares something that a server does not store), AOE_ENOMEM. */
int aoei_pg_where(const aoei_where *w, aoei_buffer *sql, aoei_pg_params *p, aoe_error *err);
/* Checks that the table has metadata with each key of the condition. Errors: AOE_EARG. */
int aoei_pg_where_check(const aoei_pg *s, const aoei_pg_table *t, const aoei_where *w, aoe_error *err);
