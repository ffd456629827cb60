/* SPDX-License-Identifier: MIT
 * Rewrites the vector files without the rows of removed passages, in a new generation of files.
 */
#pragma once

#include "index/index.h"

/* Compacts the index if many rows belong to no document. A failure is logged as a warning, because the changes have
 * already been committed. The writer has no open transaction. */
void aoei_compact_if_needed(aoe_index *index);
/* Compacts the index. reembed: 1: passages whose rows do not match their checksums are embedded again, and the word
 * index is built again; 0: such rows are an error. The writer has no open transaction. */
int aoei_compact(aoe_index *index, int reembed, aoe_error *err);
