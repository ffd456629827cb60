/* SPDX-License-Identifier: MIT
 * A VFS of SQLite that passes all calls to the default VFS, after aoei_io_step for those that change the disk. Changes
 * of the shared memory are not counted, because they need no disk.
 */
#include "sqlite_fault.h"

#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/io_fault.h"

typedef struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* follows this struct */
} fault_file;

static sqlite3_vfs *real_vfs;
static int sync_fails; /* 1: each sync fails */
static int last_errno; /* errno of the last failed operation, for sqlite3_system_errno */

static sqlite3_file *real(sqlite3_file *f) {
    return ((fault_file *)f)->real;
}

/* Returns `code` or, if the operation must fail, the SQLite code for it. */
static int step(int code) {
    if (!aoei_io_step())
        return SQLITE_OK;
    last_errno = errno;
    return errno == ENOSPC ? SQLITE_FULL : code;
}

static int x_close(sqlite3_file *f) {
    return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK;
}

static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
    return real(f)->pMethods->xRead(real(f), p, n, at);
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
    const int code = step(SQLITE_IOERR_WRITE);
    return code ? code : real(f)->pMethods->xWrite(real(f), p, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size) {
    const int code = step(SQLITE_IOERR_TRUNCATE);
    return code ? code : real(f)->pMethods->xTruncate(real(f), size);
}

static int x_sync(sqlite3_file *f, int flags) {
    if (sync_fails) {
        last_errno = EIO;
        return SQLITE_IOERR_FSYNC;
    }
    const int code = step(SQLITE_IOERR_FSYNC);
    return code ? code : real(f)->pMethods->xSync(real(f), flags);
}

static int x_size(sqlite3_file *f, sqlite3_int64 *size) {
    return real(f)->pMethods->xFileSize(real(f), size);
}

static int x_lock(sqlite3_file *f, int level) {
    return real(f)->pMethods->xLock(real(f), level);
}

static int x_unlock(sqlite3_file *f, int level) {
    return real(f)->pMethods->xUnlock(real(f), level);
}

static int x_reserved(sqlite3_file *f, int *out) {
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int x_control(sqlite3_file *f, int op, void *arg) {
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int x_sector(sqlite3_file *f) {
    return real(f)->pMethods->xSectorSize(real(f));
}

static int x_features(sqlite3_file *f) {
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
    return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int x_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}

static void x_shm_barrier(sqlite3_file *f) {
    real(f)->pMethods->xShmBarrier(real(f));
}

static int x_shm_unmap(sqlite3_file *f, int delete_file) {
    return real(f)->pMethods->xShmUnmap(real(f), delete_file);
}

static int x_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **out) {
    return real(f)->pMethods->xFetch(real(f), at, n, out);
}

static int x_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p) {
    return real(f)->pMethods->xUnfetch(real(f), at, p);
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_size,
    .xLock = x_lock,
    .xUnlock = x_unlock,
    .xCheckReservedLock = x_reserved,
    .xFileControl = x_control,
    .xSectorSize = x_sector,
    .xDeviceCharacteristics = x_features,
    .xShmMap = x_shm_map,
    .xShmLock = x_shm_lock,
    .xShmBarrier = x_shm_barrier,
    .xShmUnmap = x_shm_unmap,
    .xFetch = x_fetch,
    .xUnfetch = x_unfetch,
};

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
    fault_file *x = (fault_file *)f;
    (void)vfs;
    x->real = (sqlite3_file *)(x + 1);
    x->base.pMethods = NULL;
    x->real->pMethods = NULL;
    if (name && (flags & SQLITE_OPEN_CREATE) && real_vfs->xAccess) {
        int exists = 0;
        if (real_vfs->xAccess(real_vfs, name, SQLITE_ACCESS_EXISTS, &exists) == SQLITE_OK && !exists) {
            const int code = step(SQLITE_CANTOPEN);
            if (code)
                return SQLITE_CANTOPEN;
        }
    }
    const int code = real_vfs->xOpen(real_vfs, name, x->real, flags, out);
    if (x->real->pMethods)
        x->base.pMethods = &methods;
    return code;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs;
    const int code = step(SQLITE_IOERR_DELETE);
    return code ? code : real_vfs->xDelete(real_vfs, name, sync);
}

static int v_error(sqlite3_vfs *vfs, int n, char *text) {
    (void)vfs;
    if (last_errno) {
        const int e = last_errno;
        last_errno = 0;
        return e;
    }
    return real_vfs->xGetLastError ? real_vfs->xGetLastError(real_vfs, n, text) : 0;
}

void test_sqlite_fault_sync(int on) {
    sync_fails = on;
}

void test_sqlite_fault_begin(void) {
    static sqlite3_vfs vfs;
    if (real_vfs)
        return;
    (void)sqlite3_initialize();
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs; /* functions without files, such as xAccess, only use fields that are copied */
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(fault_file) + real_vfs->szOsFile;
    vfs.xOpen = v_open;
    vfs.xDelete = v_delete;
    vfs.xGetLastError = v_error;
    (void)sqlite3_vfs_register(&vfs, 1);
}
