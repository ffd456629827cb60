/* SPDX-License-Identifier: MIT
 * Finds the requested sentences in responses that are JSON or similar to JSON. The functions only scan quoted strings
 * and keys; they do not parse JSON, because models often write invalid JSON. They accept arrays, objects, one object
 * per line, Python lists, trailing commas, other text before and after the JSON, and truncated JSON.
 */
#pragma once

#include "annotate/sentences.h"

/* Returns the position in `plain` at which an array or object of strings begins, or NULL if the text contains
 * neither. */
const char *aoei_json_list_find(aoe_text plain);
/* Appends the strings that are requested sentences to the list. If some strings have keys such as "sentence" or
 * "output", only these strings are added. Strings with keys such as "input", "type" or "explanation" are never added.
 * Reading ends at an unterminated string; the unterminated string is not added. Returns 0 or AOE_ENOMEM. */
int aoei_json_list_read(aoei_sentences *l, aoe_text json);
/* If the text consists only of quoted strings, with white space, punctuation such as commas, or words such as "and"
 * between them, sets *n to the number of strings. For other texts, sets *n to 0. Returns 0 or AOE_ENOMEM. */
int aoei_count_strings(size_t *n, aoe_text s);
