/* SPDX-License-Identifier: MIT
 * Sentences in replies that are JSON, or nearly: arrays, objects, a line of objects each, Python
 * lists, trailing commas, text around them, and what is left of them when the output was cut
 * off. Lenient by intent, so it is a scanner of strings and keys and no JSON parser.
 */
#ifndef AOEI_ANNOTATE_PARSE_JSON_H
#define AOEI_ANNOTATE_PARSE_JSON_H

#include "annotate/sentences.h"

/* Where an array or object of strings begins in a plain text; NULL: nowhere. */
const char *aoei_find_json(aoe_text plain);
/* Adds the strings that look like sentences of the answer. Strings under keys such as "sentence" or "output" are the answer
 * when there are any, those under "input", "type", "explanation" never are. A string that does not end is left out. 0, or
 * AOE_ENOMEM. */
int aoei_read_json(aoei_chat_list *l, aoe_text json);
/* *n: how many strings in quotes the text is made of, with commas or "and" between them and nothing else; 0: it is not. 0, or
 * AOE_ENOMEM. */
int aoei_count_strings(size_t *n, aoe_text s);

#endif
