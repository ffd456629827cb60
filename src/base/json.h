/* SPDX-License-Identifier: MIT
 * Small helpers around jansson: loading a file with an error that names file,
 * line and byte, and typed look-ups that say which key of which file is wrong.
 * All JSON in aoe is read with JSON_ALLOW_NUL and JSON_DECODE_ANY.
 */
#ifndef AOEI_BASE_JSON_H
#define AOEI_BASE_JSON_H

#include <jansson.h>

#include "aoe.h"

/* Routes jansson's memory through base/alloc.h, once. The functions below do it themselves; code that builds values
 * with jansson before it has called any of them calls this first. */
void aoei_json_init(void);

/* json_loadb. NULL with *no_memory set when memory ran out at any point: jansson itself calls that a syntax error in
 * places, and in others it returns a value that lacks a byte. */
json_t *aoei_json_decode(const char *data, size_t len, size_t flags, json_error_t *error, int *no_memory);

/* Integers too large for 64 bits become reals (Hugging Face writes model_max_length 1e30 so). */
int aoei_json_load(json_t **root, const char *path, aoe_error *err); /* owner: caller, json_decref */
int aoei_json_parse(json_t **root, const char *data, size_t len, const char *name, aoe_error *err);
/* The text of a value, for all JSON that is printed or saved. Each real has as few digits as read back equal: 0.1, not
 * 0.10000000000000001. flags: json_dumps's, such as JSON_COMPACT or JSON_INDENT(2). The caller frees it with aoei_free. NULL:
 * out of memory. */
char *aoei_json_text(const json_t *root, size_t flags);
int aoei_json_save(const json_t *root, const char *path, aoe_error *err); /* indented, sorted as inserted, atomic */

/* Look-ups in an object; `file` is for the message. A missing key or null leaves *out as it is and returns 0
 * (the _need forms return AOE_EFORMAT); a value of the wrong type or range is AOE_EFORMAT. */
int aoei_json_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err);
int aoei_json_need_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err);
int aoei_json_double(const json_t *o, const char *key, double *out, const char *file, aoe_error *err);
int aoei_json_bool(const json_t *o, const char *key, int *out, const char *file, aoe_error *err);
/* *out points into o, NULL stays when the key is missing or null. len may be NULL: then a NUL inside
 * the string is an error. */
int aoei_json_string(const json_t *o, const char *key, const char **out, size_t *len, const char *file, aoe_error *err);

/* A name on the disk as JSON (it need not be UTF-8); null for NULL; NULL: no memory. */
json_t *aoei_name_json(const char *name);

#endif
