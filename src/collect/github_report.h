/* SPDX-License-Identifier: MIT
 * Writes the pairs of issues, with their texts, as tables.
 */
#pragma once

#include "collect/collection.h"
#include "collect/issues_pairs.h"

/* Writes one table per split with the pairs of the split and the texts of their issues. Errors: the same as
 * aoei_github_load and aoei_table_writer_row. */
int aoei_collect_report(aoei_collection *c, const aoei_issue_pairs *p, aoe_error *err);
