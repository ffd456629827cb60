/* SPDX-License-Identifier: MIT
 * A parser of JSON texts (RFC 8259) that creates jansson values.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

/* Parses data[len] like json_loadb and reports the same errors. flags: JSON_ALLOW_NUL, JSON_DECODE_ANY,
 * JSON_DECODE_INT_AS_REAL and JSON_REJECT_DUPLICATES. If the text is invalid, returns NULL and fills *error. If an
 * allocation fails, returns NULL and sets *no_memory to 1; otherwise *no_memory is 0. */
json_t *aoei_json_decode(const char *data, size_t len, size_t flags, json_error_t *error, int *no_memory);
