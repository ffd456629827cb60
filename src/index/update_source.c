/* SPDX-License-Identifier: MIT
 * Describes and lists the sources of an update.
 */
#include "index/update_source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

int aoei_source_kind(const aoei_update_source *s) {
    return s->record.kind & AOEI_SOURCE_KIND;
}

static int copy_string(char **copy, const char *s, aoe_error *err) {
    *copy = s ? aoei_strdup(s) : NULL;
    return s && !*copy ? aoei_fail_nomem(err, strlen(s) + 1) : 0;
}

/* Sets *text to a JSON array of the patterns, or NULL if there are none. */
static int write_patterns(char **text, const aoe_index_source *given, aoe_error *err) {
    *text = NULL;
    if (!given->n_exclude)
        return 0;
    json_t *list = json_array();
    int code = list ? 0 : AOE_ENOMEM;
    for (size_t i = 0; i < given->n_exclude && code == 0; i++) {
        const char *pattern = given->exclude[i];
        if (!pattern || aoei_utf8_valid(pattern, strlen(pattern)) < strlen(pattern)) {
            json_decref(list);
            return aoei_fail(err, AOE_EARG,
                             "source.exclude[%zu] is NULL or not valid UTF-8; give a pattern such as *.log", i);
        }
        code = json_array_append_new(list, json_string(pattern)) ? AOE_ENOMEM : 0;
    }
    *text = code ? NULL : aoei_json_text(list, JSON_COMPACT);
    json_decref(list);
    return *text ? 0 : aoei_fail_nomem(err, given->n_exclude * sizeof *list);
}

/* Sets *patterns to the strings of a JSON array, which are owned by *root. */
static int read_patterns(json_t **root, const char ***patterns, size_t *n, const char *text, aoe_error *err) {
    *root = NULL;
    *patterns = NULL;
    *n = 0;
    int code = text ? aoei_json_parse(root, text, strlen(text), "exclude", err) : 0;
    if (code || !*root)
        return code;
    const size_t count = json_array_size(*root);
    *patterns = aoei_malloc_array(count + 1, sizeof **patterns);
    if (!*patterns)
        return aoei_fail_nomem(err, count * sizeof **patterns);
    for (size_t i = 0; i < count; i++)
        if (json_is_string(json_array_get(*root, i)))
            (*patterns)[(*n)++] = json_string_value(json_array_get(*root, i));
    return 0;
}

int aoei_source_describe(aoei_update_source *s, const aoe_index_source *given, aoe_error *err) {
    char full[PATH_MAX];
    struct stat st;
    aoe_table_format format = AOE_TABLE_AUTO;
    if (!given->path || !*given->path)
        return aoei_fail(err, AOE_EARG, "source.path is NULL or empty; give a folder or a file");
    if (given->n_exclude && !given->exclude)
        return aoei_fail(err, AOE_EARG, "%s: source.exclude is NULL; set it or set n_exclude to 0", given->path);
    if (!realpath(given->path, full) || stat(full, &st))
        return aoei_fail_errno(err, errno, "cannot open %s", given->path);
    if (aoei_utf8_valid(full, strlen(full)) < strlen(full))
        return aoei_fail(err, AOE_EARG, "%s: the path is not valid UTF-8; rename the folder or the file", given->path);
    if (!S_ISDIR(st.st_mode) && aoe_table_format_of(&format, full, NULL))
        format = AOE_TABLE_AUTO; /* a document, such as a .md file */
    s->given = given;
    s->record.kind = S_ISDIR(st.st_mode)        ? AOEI_SOURCE_FOLDER
                     : format == AOE_TABLE_AUTO ? AOEI_SOURCE_FILE
                                                : AOEI_SOURCE_TABLE;
    if (s->record.kind != AOEI_SOURCE_TABLE && (given->text_column || given->id_column || given->vectors))
        return aoei_fail(err, AOE_EARG,
                         "%s is not a table; a text column, an id column and vectors can only be given for a table",
                         given->path);
    int code = copy_string(&s->record.path, full, err);
    if (code == 0)
        code = copy_string(&s->record.text_column, given->text_column, err);
    if (code == 0)
        code = copy_string(&s->record.id_column, given->id_column, err);
    return code ? code : write_patterns(&s->record.excludes, given, err);
}

static int same_string(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int aoei_source_equal(const aoei_source_record *a, const aoei_source_record *b) {
    return same_string(a->text_column, b->text_column) && same_string(a->id_column, b->id_column) &&
           same_string(a->excludes, b->excludes);
}

int aoei_source_list(aoei_update_source *s, const char *skip, int (*progress)(void *user, size_t files), void *user,
                     aoe_error *err) {
    if (aoei_source_kind(s) != AOEI_SOURCE_FOLDER)
        return aoei_folder_open_file(&s->folder, s->record.path, err);
    json_t *root;
    const char **patterns;
    aoei_folder_options o = {.skip = skip, .progress = progress, .user = user};
    int code = read_patterns(&root, &patterns, &o.n_exclude, s->record.excludes, err);
    o.exclude = patterns;
    if (code == 0)
        code = aoei_folder_open(&s->folder, s->record.path, &o, err);
    aoei_free(patterns);
    json_decref(root);
    return code;
}

int aoei_source_set_prefix(aoei_update_source *s, const char *base, int is_single, aoe_error *err) {
    aoei_buffer b = {.len = 0};
    const char *path = s->record.path;
    const size_t n = strcmp(base, "/") == 0 ? 0 : strlen(base);
    if (!is_single) {
        if (strncmp(path, base, n) == 0 && (path[n] == '/' || !path[n]))
            path += n + (path[n] == '/');
        size_t len = strlen(path);
        if (aoei_source_kind(s) != AOEI_SOURCE_FOLDER) /* the name of the file follows the prefix */
            len = (size_t)(aoei_path_name(path) - path);
        aoei_buffer_append(&b, path, len);
        if (b.len && b.data[b.len - 1] != '/')
            aoei_buffer_putc(&b, '/');
    } else {
        aoei_buffer_append(&b, "", 0);
    }
    if (!b.data && !b.failed)
        aoei_buffer_reserve(&b, 1);
    if (b.failed || !b.data) {
        aoei_buffer_free(&b);
        return aoei_fail_nomem(err, strlen(path));
    }
    b.data[b.len] = 0;
    s->prefix = b.data;
    return 0;
}

int aoei_source_is_nested(const aoei_update_source *s, const aoei_file *file) {
    for (size_t i = 0; i < s->n_nested; i++) {
        const size_t n = strlen(s->nested[i]);
        if (strncmp(file->real, s->nested[i], n) == 0 && (file->real[n] == '/' || !file->real[n]))
            return 1;
    }
    return 0;
}

void aoei_source_free(aoei_update_source *s) {
    aoei_free(s->record.path);
    aoei_free(s->record.text_column);
    aoei_free(s->record.id_column);
    aoei_free(s->record.excludes);
    aoei_folder_close(s->folder);
    aoei_free(s->prefix);
    aoei_free(s->nested);
    *s = (aoei_update_source){.force = 0};
}
