/* SPDX-License-Identifier: MIT
 * Verification of the word index: it must contain exactly the words of all passages. The table of FTS5 has no copy of
 * the texts and no checksums, so that its own check finds only a part of the possible damage.
 */
#pragma once

#include "index/sql.h"

/* Compares the word index with the words of all passages. Sets *damage to a description of the first difference, a
 * static string, or to NULL. d: a connection for reading with aoei_lengths_register, in a read transaction. stem:
 * setting of the index. The function needs about as much time as building the word index. Errors: AOE_ENOMEM, AOE_EIO,
 * AOE_EUNSUPPORTED. */
int aoei_word_check(aoei_db *d, int stem, const char **damage, aoe_error *err);
