/* SPDX-License-Identifier: MIT
 * Reads and writes JSON with jansson's values. If a key appears twice, the last value is used, as in Python's json
 * module, because some published configuration files have duplicate keys.
 */
#include "base/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/error.h"
#include "base/file.h"
#include "base/git_lfs.h"
#include "base/json_decode.h"
#include "base/path.h"
#include "base/utf8.h"

#define DECODE_FLAGS (JSON_ALLOW_NUL | JSON_DECODE_ANY)
#define EXACT_LIMIT  9007199254740992.0 /* 2^53: every integer up to this limit is exact in double */

/* Returns 1 if v is a real whose value is an integer of at most 2^53 in magnitude. */
static int is_exact_integer(const json_t *v) {
    double x = json_real_value(v);
    return json_is_real(v) && fabs(x) <= EXACT_LIMIT && floor(x) == x;
}

/* Converts the reals in v whose values are integers to JSON integers. It is called after a file was parsed with all
 * integers as reals. Returns -1 if out of memory. The depth of the recursion is limited, because jansson's parser
 * limits the depth of values. */
static int restore_integers(json_t *v) {
    if (json_is_array(v)) {
        for (size_t i = 0; i < json_array_size(v); i++) {
            json_t *item = json_array_get(v, i);
            if (is_exact_integer(item)) {
                if (json_array_set_new(v, i, json_integer((json_int_t)json_real_value(item))))
                    return -1;
            } else if (restore_integers(item)) {
                return -1;
            }
        }
    } else if (json_is_object(v)) {
        for (void *it = json_object_iter(v); it; it = json_object_iter_next(v, it)) {
            json_t *item = json_object_iter_value(it);
            if (is_exact_integer(item)) {
                if (json_object_iter_set_new(v, it, json_integer((json_int_t)json_real_value(item))))
                    return -1;
            } else if (restore_integers(item)) {
                return -1;
            }
        }
    }
    return 0;
}

/* Reports a syntax error. If the file is not JSON at all, the message says what it is. */
static int fail_syntax(const char *data, size_t len, const char *name, const json_error_t *error, aoe_error *err) {
    const char *encoding = aoei_utf_name(data, len);
    size_t first = 0;
    while (first < len && strchr(" \t\r\n", data[first]))
        first++;
    if (encoding)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file is encoded in %s; convert it to UTF-8: iconv -f %s -t UTF-8",
                         name, encoding, encoding);
    if (len >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the file begins with a byte order mark, which JSON does not allow; save it as UTF-8 without it", name);
    if (first < len && data[first] == '<')
        return aoei_fail(err, AOE_EFORMAT, "%s: the file is an HTML or XML page, not JSON; download the file again",
                         name);
    return aoei_fail(err, AOE_EFORMAT, "%s:%d: %s (byte %d); correct the JSON or download the file again", name,
                     error->line, error->text, error->position);
}

int aoei_json_parse(json_t **root, const char *data, size_t len, const char *name, aoe_error *err) {
    *root = NULL;
    if (len == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file is empty, but must contain JSON; download or write it again",
                         name);
    json_error_t error;
    int no_memory;
    json_t *value = aoei_json_decode(data, len, DECODE_FLAGS, &error, &no_memory);
    if (!no_memory && !value && json_error_code(&error) == json_error_numeric_overflow) {
        value = aoei_json_decode(data, len, DECODE_FLAGS | JSON_DECODE_INT_AS_REAL, &error, &no_memory);
        no_memory |= value && restore_integers(value);
    }
    if (no_memory) {
        json_decref(value);
        return aoei_fail_nomem(err, len);
    }
    if (!value)
        return fail_syntax(data, len, name, &error, err);
    *root = value;
    return 0;
}

int aoei_json_load(json_t **root, const char *path, aoe_error *err) {
    char *data = NULL;
    size_t size = 0;
    *root = NULL;
    int code = aoei_read_regular(&data, &size, path, 0, err);
    if (code == 0)
        code = aoei_git_lfs_check(data, size, path, err);
    if (code == 0)
        code = aoei_json_parse(root, data, size, path, err);
    aoei_free(data);
    return code;
}

int aoei_json_load_optional(json_t **root, char **path, const char *dir, const char *name, aoe_error *err) {
    char *at = aoei_path_join(dir, name);
    *root = NULL;
    int rc = at ? aoei_check_optional_file(at, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc && aoei_exists(at))
        rc = aoei_json_load(root, at, err);
    if (path)
        *path = at;
    else
        aoei_free(at);
    return rc;
}

/* Formats the real number at the start of s with the fewest digits from which the same value is read back, in jansson's
 * notation (1.0, 1e-5). Returns its length. "%.15g" drops trailing zeros, so 15 digits already give the shortest form,
 * except for subnormal numbers. */
static size_t format_real(char out[40], const char *s) {
    const double x = strtod(s, NULL);
    char text[40];
    for (int digits = fabs(x) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        const double back = strtod(text, NULL);
        if (!(back < x) && !(back > x))
            break;
    }
    const char *e = strchr(text, 'e');
    if (!e)
        return (size_t)snprintf(out, 40, "%s%s", text, strchr(text, '.') ? "" : ".0");
    return (size_t)snprintf(out, 40, "%.*se%s%s", (int)(e - text), text, e[1] == '-' ? "-" : "",
                            e + 2 + strspn(e + 2, "0"));
}

/* Returns the length in bytes of the string literal at s, quotes included. */
static size_t literal_bytes(const char *s) {
    size_t n = 1;
    while (s[n] != '"')
        n += s[n] == '\\' ? 2 : 1;
    return n + 1;
}

/* Shortens all reals of a JSON text, in place. */
static void shorten_reals(char *text) {
    char *to = text, real[40];
    for (const char *s = text; *s;) {
        size_t len = *s == '"' ? literal_bytes(s) : strspn(s, "-.0123456789"), n;
        const char *from = s;
        if (len && *s != '"')
            len += s[len] == 'e' ? 1 + strspn(s + len + 1, "-0123456789") : 0;
        n = len = len ? len : 1;
        if (*s != '"' && (memchr(s, '.', len) || (len > 1 && memchr(s, 'e', len))) && format_real(real, s) <= len) {
            from = real;
            n = strlen(real);
        }
        memmove(to, from, n);
        to += n;
        s += len;
    }
    *to = 0;
}

static int append(const char *text, size_t len, void *buffer) {
    return aoei_buffer_append(buffer, text, len);
}

int aoei_json_append(aoei_buffer *out, const json_t *root, size_t flags) {
    /* out->failed is checked because jansson ignores some errors of the callback */
    return !root || json_dump_callback(root, append, out, flags) || out->failed ? AOE_ENOMEM : 0;
}

char *aoei_json_text(const json_t *root, size_t flags) {
    aoei_buffer text = {0};
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the "C" locale, so that the decimal separator is a
                                                                    point */
    const int failed = aoei_json_append(&text, root, flags | JSON_ENCODE_ANY) || !c;
    if (!failed) {
        const locale_t before = uselocale(c);
        shorten_reals(text.data);
        uselocale(before);
    }
    if (c)
        freelocale(c);
    if (!failed)
        return text.data;
    aoei_buffer_free(&text);
    return NULL;
}

int aoei_json_save(const json_t *root, const char *path, aoe_error *err) {
    char *text = aoei_json_text(root, JSON_INDENT(2));
    if (!text)
        return aoei_fail(err, AOE_ENOMEM, "cannot write %s: out of memory; free some memory and run again", path);
    size_t len = strlen(text);
    text[len] = '\n'; /* replaces the NUL, because the length is passed separately */
    int code = aoei_write_file(path, text, len + 1, err);
    aoei_free(text);
    return code;
}

static int fail_wrong_type(aoe_error *err, const char *file, const char *key, const char *what) {
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not %s; correct the value", file, key, what);
}

/* Returns the value of a key, or NULL if it is missing or null. */
static const json_t *lookup(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

int aoei_json_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err) {
    const json_t *v = lookup(o, key);
    if (!v)
        return 0;
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        *out = (size_t)json_integer_value(v);
    else if (is_exact_integer(v) && json_real_value(v) >= 0)
        *out = (size_t)json_real_value(v);
    else
        return fail_wrong_type(err, file, key, "a non-negative integer");
    return 0;
}

int aoei_json_need_size(const json_t *o, const char *key, size_t *out, const char *file, aoe_error *err) {
    if (!lookup(o, key))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is missing; add it", file, key);
    return aoei_json_size(o, key, out, file, err);
}

int aoei_json_double(const json_t *o, const char *key, double *out, const char *file, aoe_error *err) {
    const json_t *v = lookup(o, key);
    if (!v)
        return 0;
    if (!json_is_number(v))
        return fail_wrong_type(err, file, key, "a number");
    *out = json_number_value(v);
    return 0;
}

int aoei_json_bool(const json_t *o, const char *key, int *out, const char *file, aoe_error *err) {
    const json_t *v = lookup(o, key);
    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return fail_wrong_type(err, file, key, "true or false");
    *out = json_is_true(v);
    return 0;
}

int aoei_json_string(const json_t *o, const char *key, const char **out, size_t *len, const char *file,
                     aoe_error *err) {
    const json_t *v = lookup(o, key);
    if (!v)
        return 0;
    if (!json_is_string(v))
        return fail_wrong_type(err, file, key, "a string");
    if (!len && strlen(json_string_value(v)) != json_string_length(v))
        return fail_wrong_type(err, file, key, "a string without NUL");
    *out = json_string_value(v);
    if (len)
        *len = json_string_length(v);
    return 0;
}

json_t *aoei_name_json(const char *name) {
    json_t *v = NULL;
    char *copy = name ? aoei_strdup(name) : NULL;
    if (copy)
        v = json_stringn(copy, aoei_one_line(copy, strlen(copy)));
    aoei_free(copy);
    return name ? v : json_null();
}

json_t *aoei_json_copy(const json_t *object) {
    json_t *copy = json_object();
    if (copy && !json_object_update(copy, (json_t *)object))
        return copy;
    json_decref(copy);
    return NULL;
}

int aoei_json_is_unset(const json_t *v) {
    return !v || json_is_null(v) || json_is_false(v) || (json_is_object(v) && !json_object_size(v)) ||
           (json_is_array(v) && !json_array_size(v)) || (json_is_string(v) && !json_string_length(v));
}
