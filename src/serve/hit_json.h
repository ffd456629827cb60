/* SPDX-License-Identifier: MIT
 * Passages in the JSON form of `aoe search`, with two differences: the path of the file is null, because clients
 * learn nothing about the file system, and the ranges of the words of the query are added.
 */
#pragma once

#include "aoe_index.h"
#include "base/buffer.h"
#include "base/query_words.h"

/* Appends the object of a passage. words: of the query, for the key "highlights", a list of [start, end) in code
 * points; explain: 1: with both ranks and scores. */
void aoei_answer_hit(aoei_buffer *b, const aoe_index_hit *hit, const aoei_query_words *words, int explain);
