/* SPDX-License-Identifier: MIT
 * Passages as JSON. Metadata that are plain numbers (base/plain_number.h) with at most 15 digits are JSON numbers,
 * written with the characters of the document; other metadata are strings. Several values of a key are an array.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <aoe_index.h>
#include <jansson.h>

/* Returns the JSON object of a passage. score: NaN: the object contains no score. */
json_t *cli_hit_json(const aoe_index_hit *hit, double score, int explain);
/* Writes a JSON value as one line and takes ownership of it. Control characters are escapes. Returns 0, or 1 if out of
 * memory; ferror(f) shows whether writing failed. */
int cli_write_hit_json(FILE *f, json_t *value);
void cli_print_hit_json(json_t *value); /* writes it to stdout and flushes stdout; ends the program if out of memory */
