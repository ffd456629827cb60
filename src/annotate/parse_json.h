/* SPDX-License-Identifier: MIT
 * Finds sentences in answers that are JSON or similar: arrays, objects, one object per line, Python lists, trailing
 * commas, text before and after the JSON, and truncated output. It is lenient by design: a scanner of strings and keys,
 * not a JSON parser.
 */
#ifndef AOEI_ANNOTATE_PARSE_JSON_H
#define AOEI_ANNOTATE_PARSE_JSON_H

#include "annotate/sentences.h"

/* Returns the position where an array or object of strings begins in a plain text; NULL: there is none. */
const char *aoei_find_json(aoe_text plain);
/* Adds the strings that are sentences of the answer. If there are strings with keys such as "sentence" or "output", only
 * these are added; strings with keys "input", "type" or "explanation" never are. An unterminated string is skipped. Returns
 * 0 or AOE_ENOMEM. */
int aoei_read_json(aoei_chat_list *l, aoe_text json);
/* Counts the quoted strings if the text consists of quoted strings only, separated by commas or "and"; otherwise *n is 0.
 * Returns 0 or AOE_ENOMEM. */
int aoei_count_strings(size_t *n, aoe_text s);

#endif
