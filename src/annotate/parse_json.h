/* SPDX-License-Identifier: MIT
 * Finds sentences in responses that are JSON or resemble it: arrays, objects, one object per line, Python lists, trailing
 * commas, text before and after the JSON, and truncated output. The reader is lenient by design: it scans strings and keys, and
 * it does not parse JSON.
 */
#ifndef AOEI_ANNOTATE_PARSE_JSON_H
#define AOEI_ANNOTATE_PARSE_JSON_H

#include "annotate/sentences.h"

/* Returns the position in a plain text at which an array or object of strings begins; NULL if there is none. */
const char *aoei_json_list_find(aoe_text plain);
/* Adds the strings that are the requested sentences. If there are strings with keys such as "sentence" or "output", only
 * these are added. Strings with keys such as "input", "type" or "explanation" are never added. Reading ends at an
 * unterminated string, which is not added. Returns 0 or AOE_ENOMEM. */
int aoei_json_list_read(aoei_sentences *l, aoe_text json);
/* Counts the quoted strings of a text that consists only of quoted strings, separated by commas or "and"; for other texts *n
 * is 0. Returns 0 or AOE_ENOMEM. */
int aoei_count_strings(size_t *n, aoe_text s);

#endif
