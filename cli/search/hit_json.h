/* SPDX-License-Identifier: MIT
 * Passages as JSON. Metadata that are plain numbers (base/plain_number.h) with at most 15 digits are JSON numbers,
 * written with the characters of the document; other metadata are strings. Several values of a key are an array.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <aoe_index.h>
#include <jansson.h>

/* Returns 1 if the document is a whole file; 0: it is a row of a table, or its text was given by a program. */
int cli_hit_is_file(const aoe_index_hit *hit);
/* Sets *first and *last to the lines of the file that contain a passage. A row of a table with the name FILE:LINE has
 * this line. 0: the lines are not known, because the name of the row is that of its --id-column. Returns 1 if the lines
 * of the passage are those of its document. */
int cli_hit_lines(const aoe_index_hit *hit, size_t *first, size_t *last);
/* Returns the JSON object of a passage. score: NaN: the object contains no score. */
json_t *cli_hit_json(const aoe_index_hit *hit, double score, int explain);
/* Writes a JSON value as one line and takes ownership of it. Control characters are escapes. Returns 0, or 1 if out of
 * memory; ferror(f) shows whether writing failed. */
int cli_write_hit_json(FILE *f, json_t *value);
void cli_print_hit_json(json_t *value); /* writes it to stdout and flushes stdout; ends the program if out of memory */
