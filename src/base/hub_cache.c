/* SPDX-License-Identifier: MIT
 * Implements the names and paths of the Hub's cache. The contents of the cache are not trusted: a revision or a file
 * name is used as a path only after it was checked.
 */
#include "base/hub_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

#define MAX_LIST ((size_t)16 << 20) /* maximum bytes of a list of files */

/* ------------------------------------------------------------------- names */

static int is_id_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

/* Returns 1 if text[len] is a valid repository id. */
static int is_id(const char *text, size_t len) {
    size_t slashes = 0, start = 0;
    if (len == 0 || len > AOEI_HUB_ID_MAX || (len >= 4 && memcmp(text + len - 4, ".git", 4) == 0))
        return 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && text[i] != '/') {
            if (!is_id_char(text[i]) || (i > start && (text[i] == '-' || text[i] == '.') && text[i] == text[i - 1]))
                return 0;
            continue;
        }
        if (i == start || strchr("-.", text[start]) || strchr("-.", text[i - 1]))
            return 0;
        slashes += i < len;
        start = i + 1;
    }
    return slashes <= 1;
}

int aoei_hub_safe_path(const char *text) {
    const size_t len = strlen(text);
    if (len == 0 || len > 1024)
        return 0;
    for (const char *part = text;; part++) {
        const size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && *part == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return 0;
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)part[i] < 0x20 || part[i] == 0x7f || part[i] == '\\' || part[i] == ':')
                return 0;
        part += n;
        if (!*part)
            return 1;
    }
}

int aoei_is_hex(const char *text, size_t n) {
    return strspn(text, "0123456789abcdef") == n && !text[n];
}

int aoei_hub_name_parse(aoei_hub_name *name, const char *text) {
    const size_t len = strcspn(text, "@");
    const char *revision = text[len] ? text + len + 1 : "main";
    if (!is_id(text, len) || strlen(revision) > AOEI_HUB_REVISION_MAX || !aoei_hub_safe_path(revision))
        return 0;
    memcpy(name->id, text, len);
    name->id[len] = 0;
    memcpy(name->revision, revision, strlen(revision) + 1);
    return 1;
}

/* ------------------------------------------------------------------- paths */

/* Appends `value` to the buffer as os.path.expanduser and os.path.expandvars of Python expand it: "~" at the start is
 * the home directory, and $NAME and ${NAME} are replaced by the environment variable NAME, if it is set. */
static void append_expanded(aoei_buffer *b, const char *value) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const char *home = getenv("HOME");
    if (home && *home && value[0] == '~' && (value[1] == '/' || !value[1])) {
        (void)aoei_buffer_append(b, home, strlen(home));
        value++;
    }
    while (*value) {
        const int braces = value[0] == '$' && value[1] == '{';
        const char *name = value + 1 + braces;
        const size_t n = strspn(name, letters);
        char variable[256];
        const char *replacement = NULL;
        if (value[0] == '$' && n && n < sizeof variable && (!braces || name[n] == '}')) {
            memcpy(variable, name, n);
            variable[n] = 0;
            replacement = getenv(variable);
        }
        if (replacement) {
            (void)aoei_buffer_append(b, replacement, strlen(replacement));
            value = name + n + braces;
        } else {
            (void)aoei_buffer_putc(b, *value++);
        }
    }
}

/* Returns the expanded value of an environment variable followed by `more`, or NULL if it is not set or out of
 * memory. */
static char *from_environment(const char *variable, const char *more) {
    const char *value = getenv(variable);
    aoei_buffer b = {0};
    if (!value || !*value)
        return NULL;
    append_expanded(&b, value);
    (void)aoei_buffer_append(&b, more, strlen(more) + 1);
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

static int is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value;
}

char *aoei_hub_home(void) {
    if (is_set("HF_HOME"))
        return from_environment("HF_HOME", "");
    if (is_set("XDG_CACHE_HOME"))
        return from_environment("XDG_CACHE_HOME", "/huggingface");
    return is_set("HOME") ? from_environment("HOME", "/.cache/huggingface") : aoei_strdup(".cache/huggingface");
}

char *aoei_hub_root(void) {
    if (is_set("HF_HUB_CACHE"))
        return from_environment("HF_HUB_CACHE", "");
    if (is_set("HUGGINGFACE_HUB_CACHE"))
        return from_environment("HUGGINGFACE_HUB_CACHE", "");
    char *home = aoei_hub_home(), *root = home ? aoei_path_join(home, "hub") : NULL;
    aoei_free(home);
    return root;
}

int aoei_hub_roots(char *root[AOEI_HUB_ROOTS]) {
    const char *other = getenv("SENTENCE_TRANSFORMERS_HOME"); /* sentence-transformers does not expand it */
    root[0] = aoei_hub_root();
    root[1] = root[0] && other && *other && strcmp(other, root[0]) != 0 ? aoei_strdup(other) : NULL;
    if (root[0] && (root[1] || !other || !*other || !strcmp(other, root[0])))
        return 0;
    aoei_hub_roots_free(root);
    return AOE_ENOMEM;
}

void aoei_hub_roots_free(char *root[AOEI_HUB_ROOTS]) {
    for (size_t i = 0; i < AOEI_HUB_ROOTS; i++) {
        aoei_free(root[i]);
        root[i] = NULL;
    }
}

char *aoei_hub_folder(const char *root, const char *id) {
    aoei_buffer b = {0};
    const size_t org = strcspn(id, "/");
    (void)aoei_buffer_printf(&b, "%s/models--%.*s%s%s", root, (int)org, id, id[org] ? "--" : "",
                             id[org] ? id + org + 1 : "");
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

int aoei_hub_commit(char commit[AOEI_HUB_COMMIT + 1], const char *folder, const char *revision) {
    aoei_buffer path = {0};
    char *text = NULL;
    size_t size = 0;
    if (aoei_is_hex(revision, AOEI_HUB_COMMIT)) {
        memcpy(commit, revision, AOEI_HUB_COMMIT + 1);
        return 1;
    }
    (void)aoei_buffer_printf(&path, "%s/refs/%s", folder, revision);
    if (path.failed || aoei_read_regular(&text, &size, path.data, 256, NULL))
        size = 0;
    while (size && strchr("\r\n ", text[size - 1]))
        text[--size] = 0;
    const int found = size == AOEI_HUB_COMMIT && aoei_is_hex(text, AOEI_HUB_COMMIT);
    if (found)
        memcpy(commit, text, AOEI_HUB_COMMIT + 1);
    aoei_free(text);
    aoei_buffer_free(&path);
    return found;
}

int aoei_hub_snapshot(char **dir, const aoei_hub_name *name, aoe_error *err) {
    char *root[AOEI_HUB_ROOTS], commit[AOEI_HUB_COMMIT + 1];
    int failed = aoei_hub_roots(root) != 0;
    *dir = NULL;
    for (size_t i = 0; i < AOEI_HUB_ROOTS && root[i] && !*dir && !failed; i++) {
        char *folder = aoei_hub_folder(root[i], name->id);
        aoei_buffer path = {0};
        if (folder && aoei_hub_commit(commit, folder, name->revision))
            (void)aoei_buffer_printf(&path, "%s/snapshots/%s", folder, commit);
        failed = !folder || path.failed;
        if (!failed && path.data && aoei_is_dir(path.data))
            *dir = path.data;
        else
            aoei_buffer_free(&path);
        aoei_free(folder);
    }
    aoei_hub_roots_free(root);
    return failed ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_hub_commits(char ***commits, size_t *n, const char *folder, aoe_error *err) {
    char *snapshots = aoei_path_join(folder, "snapshots");
    int rc = snapshots ? 0 : aoei_fail_nomem(err, strlen(folder));
    *commits = NULL;
    *n = 0;
    if (!rc && aoei_is_dir(snapshots))
        rc = aoei_list_dir(commits, n, snapshots, err);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (aoei_is_hex((*commits)[i], AOEI_HUB_COMMIT)) {
            char *commit = (*commits)[i];
            (*commits)[i] = (*commits)[kept];
            (*commits)[kept++] = commit;
        } else {
            aoei_free((*commits)[i]);
            (*commits)[i] = NULL;
        }
    }
    *n = kept;
    aoei_free(snapshots);
    return rc;
}

/* Moves *end before the last component of path[*end] and returns the length of this component, which begins at
 * *begin. */
static size_t take_component(const char *path, size_t *end, const char **begin) {
    while (*end > 0 && path[*end - 1] == '/')
        (*end)--;
    const size_t stop = *end;
    while (*end > 0 && path[*end - 1] != '/')
        (*end)--;
    *begin = path + *end;
    return stop - *end;
}

/* Reads the name from the last components of a path of the form models--ORG--NAME/snapshots/COMMIT. Returns 1 if it has
 * this form. */
static int name_of_path(aoei_hub_name *name, const char *path) {
    static const char prefix[] = "models--", middle[] = "snapshots";
    const char *commit, *snapshots, *folder;
    char text[AOEI_HUB_ID_MAX + AOEI_HUB_COMMIT + 8];
    size_t end = strlen(path);
    const size_t commit_len = take_component(path, &end, &commit), middle_len = take_component(path, &end, &snapshots),
                 folder_len = take_component(path, &end, &folder), prefix_len = sizeof prefix - 1;
    if (commit_len != AOEI_HUB_COMMIT || middle_len != sizeof middle - 1 ||
        memcmp(snapshots, middle, middle_len) != 0 || folder_len <= prefix_len ||
        folder_len > AOEI_HUB_ID_MAX + prefix_len || memcmp(folder, prefix, prefix_len) != 0)
        return 0;
    (void)snprintf(text, sizeof text, "%.*s@%.*s", (int)(folder_len - prefix_len), folder + prefix_len, (int)commit_len,
                   commit);
    char *separator = strstr(text, "--");
    if (separator) {
        *separator = '/';
        memmove(separator + 1, separator + 2, strlen(separator + 2) + 1);
    }
    return aoei_hub_name_parse(name, text) && aoei_is_hex(name->revision, AOEI_HUB_COMMIT);
}

int aoei_hub_name_of(aoei_hub_name *name, const char *path) {
    char *snapshot = NULL;
    if (!name_of_path(name, path)) {
        *name = (aoei_hub_name){.id = ""};
        return 0;
    }
    const int rc = aoei_hub_snapshot(&snapshot, name, NULL);
    if (rc || !aoei_same_path(snapshot, path)) /* a copy of a cache: its models are not found by their names */
        *name = (aoei_hub_name){.id = ""};
    aoei_free(snapshot);
    return rc;
}

char *aoei_hub_model_name(const char *path) {
    aoei_hub_name name;
    aoei_buffer b = {0};
    if (aoei_hub_name_of(&name, path))
        return NULL;
    if (!*name.id)
        return aoei_strdup(path);
    (void)aoei_buffer_printf(&b, "%s@%s", name.id, name.revision);
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

/* Returns 1 if FOLDER/trees/COMMIT.json exists and does not list the file. */
static int list_lacks(const char *folder, const char *commit, const char *file) {
    aoei_buffer path = {0}, quoted = {0};
    char *text = NULL;
    size_t size = 0;
    (void)aoei_buffer_printf(&path, "%s/trees/%s.json", folder, commit);
    (void)aoei_buffer_printf(&quoted, "\"%s\"", file);
    const int lacks = !path.failed && !quoted.failed && aoei_exists(path.data) &&
                      !aoei_read_regular(&text, &size, path.data, MAX_LIST, NULL) && !strstr(text, quoted.data);
    aoei_free(text);
    aoei_buffer_free(&path);
    aoei_buffer_free(&quoted);
    return lacks;
}

int aoei_hub_may_miss(aoei_hub_name *name, const char *path, const char *file) {
    const int rc = aoei_hub_name_of(name, path);
    if (rc || !*name->id)
        return rc;
    char *snapshots = aoei_path_parent(path), *folder = snapshots ? aoei_path_parent(snapshots) : NULL,
         *present = aoei_path_join(path, file);
    aoei_buffer absent = {0};
    (void)aoei_buffer_printf(&absent, "%s/.no_exist/%s/%s", folder ? folder : "", name->revision, file);
    const int failed = !folder || !present || absent.failed;
    if (failed || aoei_exists(present) || aoei_exists(absent.data) || list_lacks(folder, name->revision, file))
        *name = (aoei_hub_name){.id = ""};
    aoei_buffer_free(&absent);
    aoei_free(present);
    aoei_free(folder);
    aoei_free(snapshots);
    return failed ? AOE_ENOMEM : 0;
}

/* Returns 1 if `test` returns 1 for a file in the directory. levels: number of levels of subdirectories that are
 * searched. */
static int any_file(const char *dir, int levels, int (*test)(const char *path)) {
    char **names = NULL;
    size_t n = 0;
    int found = 0;
    if (aoei_list_dir(&names, &n, dir, NULL))
        return 0;
    for (size_t i = 0; i < n && !found; i++) {
        char *path = aoei_path_join(dir, names[i]);
        if (path && aoei_is_dir(path))
            found = levels > 0 && any_file(path, levels - 1, test);
        else
            found = path && test(path);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return found;
}

static int is_weight_file(const char *path) {
    return aoei_exists(path) && (aoei_name_ends_with(path, ".safetensors") || aoei_name_ends_with(path, ".bin"));
}

/* Returns 1 if `path` is a symbolic link to a missing file. */
static int is_broken_link(const char *path) {
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode) && stat(path, &st) != 0;
}

int aoei_hub_has_weights(const char *snapshot) {
    return any_file(snapshot, 1, is_weight_file);
}

int aoei_hub_is_complete(const char *snapshot) {
    return aoei_hub_has_weights(snapshot) && !any_file(snapshot, 1, is_broken_link);
}
