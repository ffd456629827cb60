/* SPDX-License-Identifier: MIT
 * Functions on top of jansson that load files and read typed values. A message about invalid JSON names the file, the
 * line and the byte. A message about an invalid value names the file and the key. All JSON is read with JSON_ALLOW_NUL
 * and JSON_DECODE_ANY.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "base/buffer.h"

/* aoei_json_load parses a regular file (see aoei_map_regular). aoei_json_parse parses data[len]; messages use `name` as
 * the name of the file. Integers that exceed 64 bits become reals, because Hugging Face tokenizers write
 * model_max_length as such an integer. */
int aoei_json_load(json_t **root, const char *path, aoe_error *err); /* the caller releases *root with json_decref */
int aoei_json_parse(json_t **root, const char *data, size_t len, const char *name, aoe_error *err);
/* Parses the file DIR/name like aoei_json_load. If the file does not exist, sets *root to NULL and returns 0. If path
 * is not NULL, *path is set to the path of the file, also if the function fails, or to NULL if out of memory; the
 * caller frees it with aoei_free. */
int aoei_json_load_optional(json_t **root, char **path, const char *dir, const char *name, aoe_error *err);
/* Appends a value as JSON text. flags: those of json_dumps, which is not used, because its result belongs to jansson's
 * allocator and may be incomplete if memory runs out. Returns 0, or AOE_ENOMEM, also if root is NULL. */
int aoei_json_append(aoei_buffer *out, const json_t *root, size_t flags);
/* Returns a value as JSON text. All JSON that is printed or saved must be formatted with this function. Each real has
 * the fewest digits from which the same value is read back: 0.1, not 0.10000000000000001. flags: those of json_dumps,
 * such as JSON_COMPACT or JSON_INDENT(2). The caller frees the text with aoei_free. Returns NULL if out of memory. */
char *aoei_json_text(const json_t *root, size_t flags);
/* Returns a new object with the keys and values of `object`; both objects share the values. Returns NULL if out of
 * memory. json_copy and json_deep_copy are not used, because they return incomplete objects if out of memory. */
json_t *aoei_json_copy(const json_t *object);
int aoei_json_save(const json_t *root, const char *path, aoe_error *err); /* writes indented JSON atomically, with keys
                                                                             in insertion order */

/* These functions read the value of a key of the object o. Messages name `file`. If the key is missing or its value is
 * null, *out is unchanged and the result is 0, except that aoei_json_need_size returns AOE_EFORMAT. All functions
 * return AOE_EFORMAT if the value has the wrong type or is out of range. */
int aoei_json_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err);
int aoei_json_need_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err);
int aoei_json_double(const json_t *o, const char *key, double *out, const char *file, aoe_error *err);
int aoei_json_bool(const json_t *o, const char *key, int *out, const char *file, aoe_error *err);
/* Sets *out to a string inside o and, if len is not NULL, *len to its length. *out and *len are unchanged if the key is
 * missing or its value is null. If len is NULL, the function returns AOE_EFORMAT for a string that contains a NUL. */
int aoei_json_string(const json_t *o, const char *key, const char **out, size_t *len, const char *file, aoe_error *err);

/* Returns 1 if v is NULL, null, false, or an empty object, array or string: a setting with such a value is not used. */
int aoei_json_is_unset(const json_t *v);

/* Returns a file name as a JSON string of one line. The name need not be valid UTF-8. If name is NULL, returns JSON
 * null. If out of memory, returns NULL. */
json_t *aoei_name_json(const char *name);
