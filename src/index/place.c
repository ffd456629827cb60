/* SPDX-License-Identifier: MIT
 * Finds out where a directory is with statfs and statx.
 */
#include "index/place.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"

static _Atomic int assume_network;

/* f_type of statfs (man 2 statfs, and linux/magic.h). */
static const unsigned long network_types[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xfe534d42, /* SMB2 */
    0xff534d42, /* CIFS */
    0x65735546, /* FUSE, such as sshfs */
    0x01021997, /* 9P */
    0x5346414f, /* AFS (OpenAFS) */
    0x6b414653, /* AFS (kernel) */
    0x73757245, /* Coda */
    0x00c36400, /* Ceph */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
    0x7461636f, /* OCFS2 */
    0x01161970, /* GFS2 */
    0xaad7aaea, /* PanFS */
    0x786f4256, /* folders shared by VirtualBox */
};

int aoei_place_is_network(const char *dir) {
    struct statfs fs;
    if (atomic_load(&assume_network))
        return 1;
    if (statfs(dir, &fs))
        return 0;
    for (size_t i = 0; i < sizeof network_types / sizeof *network_types; i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == network_types[i])
            return 1;
    return 0;
}

void aoei_place_assume_network(int on) {
    atomic_store(&assume_network, on);
}

int aoei_place_has_log(const char *path) {
    const size_t size = strlen(path) + sizeof "-wal";
    char *wal = aoei_malloc(size);
    struct stat st;
    if (!wal)
        return 1;
    (void)snprintf(wal, size, "%s-wal", path);
    const int has_log = stat(wal, &st) == 0 && st.st_size > 0;
    aoei_free(wal);
    return has_log;
}

aoei_place_access aoei_place_access_of(const char *dir, const char *path) {
    if (access(dir, W_OK) == 0 && access(path, W_OK) == 0)
        return AOEI_PLACE_SHARED;
    return aoei_place_has_log(path) ? AOEI_PLACE_READ_ONLY : AOEI_PLACE_UNCHANGING;
}

int aoei_place_is_foreign(const char *dir, const char *path) {
    return aoei_has_other_owner(dir, geteuid()) || aoei_has_other_owner(path, geteuid());
}

char *aoei_place_identity(const char *dir) {
    struct statx st;
    char text[128] = "unknown";
    if (statx(AT_FDCWD, dir, 0, STATX_BASIC_STATS | STATX_BTIME, &st) == 0)
        (void)snprintf(text, sizeof text, "%x:%x:%llu:%lld.%09u", st.stx_dev_major, st.stx_dev_minor,
                       (unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
    return aoei_strdup(text);
}
