/* SPDX-License-Identifier: MIT
 * Creates, locks and closes the output directory of a training run.
 */
#include "train/output_dir.h"

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

#include <string.h>
#include <unistd.h>

/* Extends a prefix of `path` by one path component. length: length of the prefix. Returns the length of the extended
 * prefix, or `length` if it is the whole path. */
static size_t next_prefix_length(const char *path, size_t length) {
    length += strspn(path + length, "/");
    return length + strcspn(path + length, "/");
}

/* Removes the directory `path`, then its parent directory, and so on, up to n directories in total. Stops at the first
 * directory that cannot be removed, for example because it is not empty. Overwrites the contents of path. */
static void remove_empty(char *path, size_t n) {
    for (; n > 0; n--) {
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/')
            path[--length] = 0;
        if (rmdir(path))
            return;
        while (length > 0 && path[length - 1] != '/')
            path[--length] = 0;
    }
}

static size_t count_missing(const char *path, aoe_error *err, int *code) {
    char *prefix = aoei_strdup(path);
    size_t missing = 0, path_length = strlen(path);
    *code = prefix ? AOE_OK : aoei_fail_nomem(err, path_length + 1);
    for (size_t length = next_prefix_length(path, 0); prefix && length > 0; length = next_prefix_length(path, length)) {
        prefix[length] = 0;
        missing += !aoei_exists(prefix);
        prefix[length] = path[length];
        if (length + strspn(path + length, "/") >= path_length)
            break;
    }
    aoei_free(prefix);
    return missing;
}

int aoei_output_dir_open(aoei_output_dir *d, const char *path, aoe_error *err) {
    *d = (aoei_output_dir){0};
    int code = aoei_check_writable_dir(path, err);
    if (code)
        return code;
    const size_t missing = count_missing(path, err, &code);
    if (!code)
        code = aoei_make_dir(path, err);
    if (code)
        return code;
    *d = (aoei_output_dir){.path = path, .created = missing};
    code = aoei_lock_dir(&d->lock, path, err);
    if (code)
        aoei_output_dir_close(d);
    return code;
}

void aoei_output_dir_close(aoei_output_dir *d) {
    char *path = d->created ? aoei_strdup(d->path) : NULL;
    if (path)
        remove_empty(path, d->created);
    aoei_free(path);
    aoei_unlock(&d->lock);
    *d = (aoei_output_dir){0};
}
