/* SPDX-License-Identifier: MIT
 * Recognizes Git LFS pointers by their first line, which the Git LFS specification defines.
 */
#include "base/git_lfs.h"

#include <string.h>

#include "base/error.h"

int aoei_git_lfs_check(const void *data, size_t size, const char *path, aoe_error *err) {
    static const char first_line[] = "version https://git-lfs.github.com/spec/v1";
    const size_t length = sizeof first_line - 1;
    if (size < length || memcmp(data, first_line, length) != 0)
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: this is a Git LFS pointer, not the file itself; run 'git lfs pull' in the repository, or download "
        "the file",
        path);
}
