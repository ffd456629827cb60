/* SPDX-License-Identifier: MIT
 * Makes patterns absolute. A folder in a pattern may be a symbolic link, but the index contains paths as they were
 * found from the real path of the indexed folder; so both forms are added.
 */
#include "cli/search/path_patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/output.h"
#include "cli/common/words.h"

/* Adds a pattern, unless it was added before. Takes ownership of `text`. */
static void take(cli_path_patterns *p, char *text) {
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->item[i], text) == 0) {
            free(text);
            return;
        }
    if (p->n == p->capacity) {
        p->capacity = 2 * p->capacity + 8;
        p->item = cli_realloc(p->item, p->capacity * sizeof *p->item);
    }
    p->item[p->n++] = text;
}

/* Removes the components "", "." and ".." of an absolute path in place. A slash at its end remains. */
static void simplify(char *path) {
    size_t n = 0; /* length of the result, which has no slash at its end */
    const size_t len = strlen(path);
    const char *last = aoei_path_name(path);
    const int is_folder = strcmp(last, "") == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
    for (size_t at = 0; at < len;) {
        const char *c = path + at + 1; /* after a slash */
        const size_t k = strcspn(c, "/");
        if (k == 2 && c[0] == '.' && c[1] == '.') {
            while (n && path[--n] != '/')
                ;
        } else if (k && !(k == 1 && c[0] == '.')) {
            memmove(path + n, path + at, k + 1);
            n += k + 1;
        }
        at += k + 1;
    }
    if (is_folder || !n)
        path[n++] = '/';
    path[n] = 0;
}

/* Adds an absolute pattern, and the one in which links are resolved in the part without wildcards. Takes ownership of
 * `path`. */
static void add_absolute(cli_path_patterns *p, const char *sign, char *path) {
    simplify(path);
    size_t fixed = strcspn(path, "*?");
    while (path[fixed] && fixed && path[fixed - 1] != '/')
        fixed--; /* to the folder before the first component with a wildcard */
    char *start = cli_format("%.*s", (int)fixed, path), *real = aoei_full_path(start);
    const int is_folder = !path[fixed] && fixed && path[fixed - 1] != '/' && aoei_is_dir(start);
    const char *slash = is_folder ? "/" : "";
    take(p, cli_format("%s%s%s", sign, path, slash));
    if (real && *real == '/') {
        const size_t n = strlen(real);
        const int needs = n && real[n - 1] != '/' && fixed && path[fixed - 1] == '/';
        take(p, cli_format("%s%s%s%s%s", sign, real, needs ? "/" : "", path + fixed, slash));
    }
    aoei_free(real);
    free(start);
    free(path);
}

/* Returns 1 if a relative path has a component "..": it is no name of a document. */
static int goes_up(const char *path) {
    for (const char *c = path; *c; c += *c == '/') {
        const size_t k = strcspn(c, "/");
        if (k == 2 && memcmp(c, "..", 2) == 0)
            return 1;
        c += k;
    }
    return 0;
}

void cli_path_patterns_add(cli_path_patterns *p, const char *text, size_t len, const char *const *folder) {
    const char *sign = len && *text == '!' ? "!" : "";
    const size_t skip = strlen(sign);
    char *path = cli_format("%.*s", (int)(len - skip), text + skip);
    if (*path == '/') {
        add_absolute(p, sign, path);
        return;
    }
    const char *name = path;
    while (name[0] == '.' && name[1] == '/')
        name += 2 + strspn(name + 2, "/");
    if (!folder || !*path || (*name && strcmp(name, ".") != 0 && !goes_up(name)))
        take(p, cli_format("%s%s", sign, name));
    for (; *path && folder && *folder; folder++)
        add_absolute(p, sign, cli_format("%s/%s", *folder, path));
    free(path);
}

void cli_path_patterns_add_list(cli_path_patterns *p, const char *text, const char *const *folder) {
    while (*text) {
        const size_t n = strcspn(text, ",");
        size_t start = strspn(text, " \t\n"), end = n;
        start = start < n ? start : n;
        while (end > start && strchr(" \t\n", text[end - 1]))
            end--;
        if (end > start)
            cli_path_patterns_add(p, text + start, end - start, folder);
        text += n + (text[n] == ',');
    }
}

void cli_path_patterns_free(cli_path_patterns *p) {
    for (size_t i = 0; i < p->n; i++)
        free(p->item[i]);
    free(p->item);
    *p = (cli_path_patterns){0};
}
