/* SPDX-License-Identifier: MIT
 * Names, divides, marks and compares the parts of the work of a command.
 */
#include "base/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"

enum {
    SHOWN = 8,      /* missing parts that a message names */
    HASH_BYTES = 17 /* size of a hash as hexadecimal text with its NUL */
};

/* Parses the digits up to *end. Returns 0 if there are digits and the number is at most SIZE_MAX / 10. */
static int parse_number(size_t *out, const char *text, const char **end) {
    const char *s = text;
    size_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (v > SIZE_MAX / 100)
            return -1;
        v = 10 * v + (size_t)(*s - '0');
    }
    *out = v;
    *end = s;
    return s == text ? -1 : 0;
}

/* Sets *i to the index that the scheduler gives, and *source to the name of its variable. */
static int scheduled_index(size_t *i, const char **source, aoe_error *err) {
    static const char *const names[] = {"SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *value = getenv(names[k]), *end;
        if (!value || !*value)
            continue;
        *source = names[k];
        if (!parse_number(i, value, &end) && !*end)
            return AOE_OK;
        return aoei_fail(err, AOE_EARG, "the environment variable %s is '%.40s', but auto/N needs an index from 0",
                         names[k], value);
    }
    return aoei_fail(err, AOE_EARG,
                     "auto/N needs one of the environment variables %s, %s and %s, but none is set; start the command "
                     "as a job array, or give the index, for example 0/8",
                     names[0], names[1], names[2]);
}

int aoei_part_parse(aoei_part *p, const char *text, aoe_error *err) {
    const char *slash = strchr(text, '/'), *end = text, *source = NULL;
    aoei_part part = {0};
    if (!slash || !slash[1])
        return aoei_fail(err, AOE_EARG,
                         "'%.60s' does not contain the number of parts; give I/N or auto/N, for example 0/8", text);
    const int automatic = slash - text == 4 && memcmp(text, "auto", 4) == 0;
    if ((!automatic && (parse_number(&part.i, text, &end) || end != slash)) || parse_number(&part.n, slash + 1, &end) ||
        *end)
        return aoei_fail(err, AOE_EARG, "'%.60s' is not a part; give I/N or auto/N, for example 0/8", text);
    if (part.n == 0 || part.n > AOEI_MAX_PARTS)
        return aoei_fail(err, AOE_EARG, "'%.60s': the number of parts must be from 1 to %d", text, AOEI_MAX_PARTS);
    if (automatic && scheduled_index(&part.i, &source, err))
        return AOE_EARG;
    if (part.i >= part.n)
        return source
                   ? aoei_fail(err, AOE_EARG,
                               "%s is %zu, but the last of %zu parts has the index %zu; start the job with the "
                               "indices 0 to %zu",
                               source, part.i, part.n, part.n - 1, part.n - 1)
                   : aoei_fail(err, AOE_EARG, "'%.60s': indices start at 0, so the last of %zu parts has the index %zu",
                               text, part.n, part.n - 1);
    *p = part;
    return AOE_OK;
}

size_t aoei_part_of(size_t n, uint64_t before, uint64_t weight, uint64_t total) {
    return (size_t)(n * (2 * before + weight) / (2 * total));
}

static char *part_name(const char *output, aoei_part p, const char *end) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s.part-%zu-of-%zu%s", output, p.i, p.n, end);
    if (!b.failed)
        return b.data;
    aoei_buffer_free(&b);
    return NULL;
}

char *aoei_part_path(const char *output, aoei_part p) {
    return part_name(output, p, "");
}

char *aoei_part_marker(const char *output, aoei_part p) {
    return part_name(output, p, ".json");
}

/* Writes the hash of the contents of a file, and sets *size to its size. */
static int hash_file(char hash[HASH_BYTES], size_t *size, const char *path, aoe_error *err) {
    aoei_map m;
    const int code = aoei_map_regular(&m, path, err);
    if (code)
        return code;
    *size = m.size;
    snprintf(hash, HASH_BYTES, "%016" PRIx64, aoei_hash(AOEI_HASH_START, m.data, m.size));
    aoei_map_close(&m);
    return AOE_OK;
}

int aoei_part_complete(const char *output, aoei_part p, const json_t *identity, aoe_error *err) {
    char hash[HASH_BYTES];
    size_t size = 0;
    char *path = aoei_part_path(output, p), *marker = aoei_part_marker(output, p);
    int code = path && marker ? hash_file(hash, &size, path, err) : aoei_fail_nomem(err, strlen(output));
    if (!code) {
        json_t *root = json_pack("{s:I, s:I, s:O, s:{s:I, s:s}}", "part", (json_int_t)p.i, "parts", (json_int_t)p.n,
                                 "identity", identity, "file", "bytes", (json_int_t)size, "hash", hash);
        code = root ? aoei_json_save(root, marker, err) : aoei_fail_nomem(err, sizeof hash);
        json_decref(root);
    }
    aoei_free(path);
    aoei_free(marker);
    return code;
}

/* The contents of a marker. The texts belong to `root`. */
typedef struct marker {
    json_t *root;           /* owned */
    const json_t *identity; /* object of objects */
    const char *hash;
    size_t bytes;
} marker;

/* Reads the marker of a part. If there is none, m->root is NULL. The caller calls json_decref(m->root). */
static int read_marker(marker *m, const char *path, aoei_part p, aoe_error *err) {
    size_t i = SIZE_MAX, n = 0;
    *m = (marker){0};
    if (!aoei_exists(path))
        return AOE_OK;
    const int code = aoei_json_load(&m->root, path, err);
    if (code)
        return code;
    const json_t *file = json_object_get(m->root, "file");
    m->identity = json_object_get(m->root, "identity");
    const char *key;
    json_t *subject;
    int valid = json_is_object(m->identity) && json_is_object(file) &&
                !aoei_json_size(m->root, "part", &i, path, NULL) && !aoei_json_size(m->root, "parts", &n, path, NULL) &&
                !aoei_json_need_size(file, "bytes", &m->bytes, path, NULL) &&
                !aoei_json_string(file, "hash", &m->hash, NULL, path, NULL) && m->hash && i == p.i && n == p.n;
    if (valid)
        json_object_foreach((json_t *)m->identity, key, subject) valid &= json_is_object(subject);
    return valid ? AOE_OK
                 : aoei_fail(err, AOE_EFORMAT,
                             "%s: not the marker of this part; delete the file, and compute the part again", path);
}

/* Appends "the KEY of the SUBJECT is VALUE". */
static int name_value(aoei_buffer *b, const char *subject, const char *key, const json_t *value) {
    aoei_buffer_printf(b, "%s.%s is ", subject, key);
    return value ? aoei_json_append(b, value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS)
                 : aoei_buffer_printf(b, "missing");
}

/* Finds the first value of `a` that differs from that of `b`, in any subject. Returns 0 if there is none. Otherwise
 * appends "SUBJECT.KEY is VALUE, but VALUE" to `out`. */
static int find_difference(aoei_buffer *out, json_t *a, json_t *b) {
    const char *subject, *key;
    json_t *keys, *value;
    json_object_foreach(a, subject, keys) json_object_foreach(keys, key, value) {
        const json_t *other = json_object_get(json_object_get(b, subject), key);
        if (other && json_equal(value, other))
            continue;
        name_value(out, subject, key, value);
        aoei_buffer_printf(out, ", but ");
        if (other)
            aoei_json_append(out, other, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        else
            aoei_buffer_printf(out, "missing");
        return 1;
    }
    json_object_foreach(b, subject, keys) json_object_foreach(keys, key, value) {
        if (json_object_get(json_object_get(a, subject), key))
            continue;
        aoei_buffer_printf(out, "%s.%s is missing, but ", subject, key);
        aoei_json_append(out, value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        return 1;
    }
    return 0;
}

/* Fails if two identities differ. marker: path of the first one; other: words for the second one; advice: end of the
 * message. */
static int compare(const char *marker_path, const json_t *a, const json_t *b, const char *other, const char *advice,
                   aoe_error *err) {
    aoei_buffer text = {0};
    int code = AOE_OK;
    if (find_difference(&text, (json_t *)a, (json_t *)b))
        code = text.failed ? aoei_fail_nomem(err, text.len)
                           : aoei_fail(err, AOE_EARG, "%s: %s %s; %s", marker_path, text.data, other, advice);
    aoei_buffer_free(&text);
    return code;
}

/* Sets *size to the size of a file, or to SIZE_MAX if it does not exist. */
static void file_size(size_t *size, const char *path) {
    struct stat st;
    *size = stat(path, &st) || !S_ISREG(st.st_mode) ? SIZE_MAX : (size_t)st.st_size;
}

int aoei_part_check(int *complete, const char *output, aoei_part p, const json_t *identity, aoe_error *err) {
    marker m = {0};
    size_t size;
    char *path = aoei_part_path(output, p), *marker_path = aoei_part_marker(output, p);
    int code = path && marker_path ? AOE_OK : aoei_fail_nomem(err, strlen(output));
    *complete = 0;
    if (!code)
        code = read_marker(&m, marker_path, p, err);
    if (!code && m.root)
        code = compare(marker_path, m.identity, identity, "in this command",
                       "delete the parts to compute them again, or choose another output", err);
    if (!code && m.root) {
        file_size(&size, path);
        *complete = size == m.bytes;
    }
    json_decref(m.root);
    aoei_free(path);
    aoei_free(marker_path);
    return code;
}

/* Parses the name of a marker, NAME.part-i-of-n.json. Returns 1 if it is one. */
static int parse_marker(aoei_part *p, const char *file, const char *name) {
    static const char part[] = ".part-", of[] = "-of-";
    const size_t len = strlen(name);
    const char *s = file + len;
    if (strncmp(file, name, len) != 0 || strncmp(s, part, sizeof part - 1) != 0 ||
        parse_number(&p->i, s + sizeof part - 1, &s) || strncmp(s, of, sizeof of - 1) != 0 ||
        parse_number(&p->n, s + sizeof of - 1, &s))
        return 0;
    return strcmp(s, ".json") == 0 && p->i < p->n && p->n <= AOEI_MAX_PARTS;
}

/* Determines the number of parts from the names of the markers. */
static int count_parts(size_t *n, const char *output, aoe_error *err) {
    char **names = NULL, *dir = aoei_path_parent(output);
    size_t count = 0;
    const char *first = NULL;
    aoei_part p;
    int code = dir ? aoei_list_dir(&names, &count, dir, err) : aoei_fail_nomem(err, strlen(output));
    *n = 0;
    for (size_t i = 0; i < count && !code; i++) {
        if (!parse_marker(&p, names[i], aoei_path_name(output)))
            continue;
        if (*n && p.n != *n)
            code = aoei_fail(err, AOE_EARG,
                             "%s is one of %zu parts, but %s is one of %zu; delete the parts of one of the two "
                             "divisions",
                             names[i], p.n, first, *n);
        *n = p.n;
        first = first ? first : names[i];
    }
    if (!code && !*n)
        code = aoei_fail(err, AOE_ENOENT,
                         "there are no complete parts (%s.part-I-of-N.json); compute them first, with the same output",
                         output);
    aoei_list_free(names, count);
    aoei_free(dir);
    return code;
}

/* Checks that all n parts have markers and files. */
static int check_missing(const char *output, size_t n, aoe_error *err) {
    aoei_buffer list = {0};
    size_t missing = 0;
    int code = AOE_OK;
    for (size_t i = 0; i < n && !code; i++) {
        const aoei_part p = {i, n};
        char *path = aoei_part_path(output, p), *marker_path = aoei_part_marker(output, p);
        if (!path || !marker_path)
            code = aoei_fail_nomem(err, strlen(output));
        else if ((!aoei_exists(path) || !aoei_exists(marker_path)) && missing++ < SHOWN)
            aoei_buffer_printf(&list, "%s%zu", list.len ? ", " : "", i);
        aoei_free(path);
        aoei_free(marker_path);
    }
    if (!code && list.failed)
        code = aoei_fail_nomem(err, list.len);
    if (!code && missing)
        code = aoei_fail(err, AOE_ENOENT, "%s: %zu of %zu parts are not complete: %s%s; compute them first", output,
                         missing, n, list.data, missing > SHOWN ? ", ..." : "");
    aoei_buffer_free(&list);
    return code;
}

/* Checks the file of a part. */
static int check_file(const marker *m, const char *path, aoe_error *err) {
    char hash[HASH_BYTES];
    size_t size;
    const int code = hash_file(hash, &size, path, err);
    if (code || (size == m->bytes && strcmp(hash, m->hash) == 0))
        return code;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the file is damaged: it has %zu bytes and the hash %s, but was written with %zu bytes and the "
        "hash %s; delete it and its marker, and compute the part again",
        path, size, hash, m->bytes, m->hash);
}

/* Checks the marker and the file of a part. first: the marker of part 0, which is set if p.i is 0. */
static int check_one(marker *first, const char *output, aoei_part p, aoe_error *err) {
    marker m = {0};
    char *path = aoei_part_path(output, p), *marker_path = aoei_part_marker(output, p);
    int code = path && marker_path ? read_marker(&m, marker_path, p, err) : aoei_fail_nomem(err, strlen(output));
    if (!code && !m.root)
        code = aoei_fail(err, AOE_ENOENT, "%s: the file was removed; compute the part again", marker_path);
    if (!code && p.i)
        code = compare(marker_path, m.identity, first->identity, "in part 0",
                       "delete the parts of one of the two commands, and compute them again", err);
    if (!code)
        code = check_file(&m, path, err);
    if (!p.i)
        *first = m;
    else
        json_decref(m.root);
    aoei_free(path);
    aoei_free(marker_path);
    return code;
}

int aoei_parts_check(size_t *n, json_t **identity, const char *output, aoe_error *err) {
    marker first = {0};
    *identity = NULL;
    int code = count_parts(n, output, err);
    if (!code)
        code = check_missing(output, *n, err);
    for (size_t i = 0; i < *n && !code; i++)
        code = check_one(&first, output, (aoei_part){i, *n}, err);
    if (!code)
        *identity = json_incref((json_t *)first.identity);
    json_decref(first.root);
    return code;
}
