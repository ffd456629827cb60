/* SPDX-License-Identifier: MIT
 * A symbolic link gets its temporary name in the directory of the blobs, where the lock of the blob protects it, so
 * that an interrupted program leaves no unknown entry in a snapshot.
 */
#include "hub/hub_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/io_fault.h"
#include "base/path.h"

/* Makes the parent directory of a path. */
static int make_parent(const char *path, aoe_error *err) {
    char *dir = aoei_path_parent(path);
    const int rc = dir ? aoei_make_dir(dir, err) : aoei_fail_nomem(err, strlen(path));
    aoei_free(dir);
    return rc;
}

/* ---------------------------------------------------------------- snapshot */

int aoei_hub_is_placed(const aoei_hub_place *p) {
    struct stat entry, file;
    char target[4096];
    if (lstat(p->path, &entry) || stat(p->path, &file) || !S_ISREG(file.st_mode) || (uint64_t)file.st_size != p->size)
        return 0;
    if (!S_ISLNK(entry.st_mode))
        return 1;
    const ssize_t n = readlink(p->path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    return strcmp(aoei_path_name(target), p->etag) == 0;
}

/* Returns 1 if the error says that the file system has no symbolic links or that this user may not create them. */
static int is_unsupported(int errnum) {
    return errnum == EPERM || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

/* Creates the symbolic link `temporary` to the blob, as seen from p->path. Returns 0, 1 if symbolic links are not
 * supported, or an error. */
static int make_link(const aoei_hub_place *p, const char *temporary, aoe_error *err) {
    aoei_buffer to = {0};
    (void)aoei_buffer_printf(&to, "../../");
    for (size_t i = 0; i < p->depth; i++)
        (void)aoei_buffer_printf(&to, "../");
    (void)aoei_buffer_printf(&to, "blobs/%s", p->etag);
    int rc = to.failed ? aoei_fail_nomem(err, 0) : 0;
    if (!rc && (aoei_io_step() || symlink(to.data, temporary)))
        rc = is_unsupported(errno) ? 1 : aoei_fail_errno(err, errno, "cannot create %s", temporary);
    aoei_buffer_free(&to);
    return rc;
}

/* Copies the blob to the file `temporary`. */
static int copy_blob(const aoei_hub_place *p, const char *temporary, aoe_error *err) {
    char data[1 << 16];
    aoei_writer w = {0};
    FILE *from = fopen(p->blob, "rbe");
    int rc = from ? aoei_writer_open(&w, temporary, err) : aoei_fail_errno(err, errno, "cannot open %s", p->blob);
    for (size_t n = 1; !rc && n;) {
        n = fread(data, 1, sizeof data, from);
        if (n)
            rc = aoei_writer_write(&w, data, n, err);
        else if (ferror(from))
            rc = aoei_fail_errno(err, errno, "cannot read %s", p->blob);
    }
    if (!rc)
        rc = aoei_writer_commit(&w, err);
    aoei_writer_abort(&w);
    if (from)
        (void)fclose(from);
    return rc;
}

int aoei_hub_place_file(const aoei_hub_place *p, int fresh, aoe_error *err) {
    aoei_buffer temporary = {0};
    (void)aoei_buffer_printf(&temporary, "%s.link", p->blob);
    int rc = temporary.failed ? aoei_fail_nomem(err, 0) : make_parent(p->path, err);
    if (rc) {
        aoei_buffer_free(&temporary);
        return rc;
    }
    (void)unlink(temporary.data); /* of an interrupted program */
    const int no_links = p->no_links || (rc = make_link(p, temporary.data, err)) > 0;
    if (no_links)
        rc = fresh ? 0 : copy_blob(p, temporary.data, err);
    if (!rc)
        rc = aoei_rename(no_links && fresh ? p->blob : temporary.data, p->path, err);
    if (rc)
        (void)unlink(temporary.data);
    aoei_buffer_free(&temporary);
    return rc;
}

/* --------------------------------------------------------------- references */

int aoei_hub_write_ref(const char *folder, const char *revision, const char *commit, aoe_error *err) {
    aoei_buffer path = {0};
    char now[AOEI_HUB_COMMIT + 1];
    if (aoei_hub_commit(now, folder, revision) && strcmp(now, commit) == 0)
        return 0;
    (void)aoei_buffer_printf(&path, "%s/refs/%s", folder, revision);
    int rc = path.failed ? aoei_fail_nomem(err, 0) : make_parent(path.data, err);
    if (!rc)
        rc = aoei_write_file(path.data, commit, AOEI_HUB_COMMIT, err);
    aoei_buffer_free(&path);
    return rc;
}

int aoei_hub_write_absent(const char *folder, const char *commit, const char *name, aoe_error *err) {
    aoei_buffer path = {0};
    (void)aoei_buffer_printf(&path, "%s/.no_exist/%s/%s", folder, commit, name);
    int rc = path.failed ? aoei_fail_nomem(err, 0) : 0;
    if (!rc && !aoei_exists(path.data) && !(rc = make_parent(path.data, err))) {
        const int fd = aoei_io_step() ? -1 : open(path.data, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0)
            rc = aoei_fail_errno(err, errno, "cannot create %s", path.data);
        else
            close(fd);
    }
    aoei_buffer_free(&path);
    return rc;
}

int aoei_hub_write_tag(const char *root, aoe_error *err) {
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This file marks the directory as a cache (https://bford.info/cachedir/).\n";
    char *path = aoei_path_join(root, "CACHEDIR.TAG");
    int rc = path ? 0 : aoei_fail_nomem(err, strlen(root));
    if (!rc && !aoei_exists(path))
        rc = aoei_write_file(path, text, sizeof text - 1, err);
    aoei_free(path);
    return rc;
}
