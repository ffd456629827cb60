/* SPDX-License-Identifier: MIT
 * Connections of readers. A connection stays open after a search, so that the next search needs no files to be opened.
 *
 * A directory that this process cannot write, and a network file system, do not allow the shared memory of SQLite's
 * write-ahead log. A database without a log is then opened as immutable: without locks. If a writer elsewhere changes
 * the file or creates a log, their sizes, times or inodes change. This is checked before and after each search, and the
 * search is repeated with a new connection.
 */
#include "index/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/lexical.h"
#include "index/place.h"

enum {
    MAX_IDLE = 32,    /* open connections that no thread uses */
    TRIES = 20,       /* attempts to open the vector files during a compaction */
    REPEAT = 5,       /* attempts to read while the index changes */
    NETWORK_MS = 5000 /* minimum of aoei_reader_wait on a network file system */
};

/* Returns 1 if the header of the database says that it has a write-ahead log. */
static int uses_log(const char *path) {
    unsigned char h[20] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, h, sizeof h);
    (void)close(fd);
    return n == (ssize_t)sizeof h && h[18] == 2;
}

/* Sets stamp[4] to the size, the times and the inode of a file; zeros: there is no file. */
static void stamp_file(const char *path, uint64_t stamp[4]) {
    struct stat st;
    if (stat(path, &st))
        return;
    stamp[0] = (uint64_t)st.st_size;
    stamp[1] = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    stamp[2] = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
    stamp[3] = (uint64_t)st.st_ino;
}

static void read_stamp(const char *path, uint64_t stamp[8]) {
    const size_t size = strlen(path) + sizeof "-wal";
    char *log = aoei_malloc(size);
    memset(stamp, 0, 8 * sizeof *stamp);
    if (!log)
        return; /* the connection is opened again, which fails in the same way */
    (void)snprintf(log, size, "%s-wal", path);
    stamp_file(path, stamp);
    stamp_file(log, stamp + 4);
    aoei_free(log);
}

int aoei_reader_wait(const char *dir, int wait_ms) {
    return wait_ms < NETWORK_MS && aoei_place_is_network(dir) ? NETWORK_MS : wait_ms;
}

int aoei_reader_connect(aoei_db *db, const char *dir, const char *path, int wait_ms, int *immutable, aoe_error *err) {
    aoei_place_access access = aoei_place_access_of(dir, path);
    const int is_network = aoei_place_is_network(dir);
    if (is_network && uses_log(path)) {
        if (aoei_place_has_log(path))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: the index was changed on a local disk and is now on a network file system, where its "
                             "journal cannot be read; open it once for writing, or copy its directory to a local disk",
                             path);
        access = AOEI_PLACE_UNCHANGING;
    } else if (access == AOEI_PLACE_UNCHANGING && !uses_log(path)) {
        access = AOEI_PLACE_READ_ONLY; /* a rollback journal works without write access */
    }
    *immutable = access == AOEI_PLACE_UNCHANGING;
    return aoei_db_open(db, path,
                        access == AOEI_PLACE_SHARED      ? AOEI_DB_READ
                        : access == AOEI_PLACE_READ_ONLY ? AOEI_DB_READ_ONLY
                                                         : AOEI_DB_IMMUTABLE,
                        aoei_reader_wait(dir, wait_ms), err);
}

static void destroy(aoei_reader *r) {
    aoei_view_release(r->view);
    aoei_db_close(&r->db);
    aoei_free(r);
}

static int create(aoei_reader **out, aoe_index *index, aoe_error *err) {
    aoei_reader *r = aoei_calloc(1, sizeof *r);
    if (!r)
        return aoei_fail_nomem(err, sizeof *r);
    r->index = index;
    read_stamp(index->path, r->stamp);
    int rc = aoei_reader_connect(&r->db, index->dir, index->path, index->wait_ms, &r->immutable, err);
    if (!rc)
        rc = aoei_lexical_register(&r->db, err);
    if (rc) {
        destroy(r);
        return rc;
    }
    *out = r;
    return 0;
}

/* Returns 1 if the connection uses no locks and the files were changed since it was opened. */
static int has_changed(const aoei_reader *r) {
    uint64_t stamp[8];
    if (!r->immutable)
        return 0;
    read_stamp(r->index->path, stamp);
    return memcmp(stamp, r->stamp, sizeof stamp) != 0;
}

/* Takes an idle connection, or opens one. */
static int take(aoei_reader **out, aoe_index *index, aoe_error *err) {
    for (;;) {
        aoei_mutex_lock(&index->lock);
        aoei_reader *r = index->idle;
        if (r) {
            index->idle = r->next;
            index->n_idle--;
        }
        aoei_mutex_unlock(&index->lock);
        if (!r)
            return create(out, index, err);
        if (!has_changed(r)) {
            *out = r;
            return 0;
        }
        destroy(r);
    }
}

/* Loads the view of the current transaction, and stores it in the index for the next reader. */
static int load_view(aoei_reader *r, aoe_error *err) {
    aoe_index *index = r->index;
    aoei_mutex_lock(&index->lock);
    aoei_view *last = index->view ? aoei_view_keep(index->view) : NULL;
    aoei_mutex_unlock(&index->lock);
    const int rc = aoei_view_load(&r->view, last, &r->db, index->dir, &index->settings, index->repair, err);
    aoei_view *old = NULL;
    if (!rc && r->view != last) {
        aoei_mutex_lock(&index->lock);
        if (!index->view || index->view->commits <= r->view->commits) {
            old = index->view;
            index->view = aoei_view_keep(r->view);
        }
        aoei_mutex_unlock(&index->lock);
    }
    aoei_view_release(old);
    aoei_view_release(last);
    return rc;
}

int aoei_reader_begin_damaged(aoei_reader **out, aoe_index *index, aoe_error *err) {
    *out = NULL;
    for (int i = 0;; i++) {
        aoei_reader *r = NULL;
        int rc = take(&r, index, err);
        if (rc)
            return rc;
        rc = aoei_db_run(&r->db, "BEGIN", err);
        if (!rc)
            rc = load_view(r, err);
        if (!rc) {
            *out = r;
            return 0;
        }
        const int changed = has_changed(r);
        destroy(r);
        if ((rc != AOE_ENOENT && !changed) || i == TRIES) {
            aoe_error e = {.message = ""};
            if (err)
                e = *err;
            return rc == AOE_ENOENT ? aoei_fail(err, AOE_EFORMAT, "the index is damaged: %s", e.message) : rc;
        }
        /* a compaction has removed the vector files of the commit after this transaction began */
        (void)sqlite3_sleep(10);
    }
}

int aoei_reader_begin(aoei_reader **r, aoe_index *index, aoe_error *err) {
    const int rc = aoei_reader_begin_damaged(r, index, err);
    if (rc || !(*r)->view->damaged)
        return rc;
    aoei_reader_end(*r);
    *r = NULL;
    return aoei_fail(err, AOE_EFORMAT, "%s: the vectors of the index are damaged; repair it first", index->dir);
}

void aoei_reader_end(aoei_reader *r) {
    if (!r)
        return;
    aoe_index *index = r->index;
    for (size_t i = 0; i < r->db.n; i++)
        aoei_db_reset(r->db.cached[i].stmt);
    const int ok = sqlite3_exec(r->db.db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
    aoei_view_release(r->view);
    r->view = NULL;
    aoei_mutex_lock(&index->lock);
    const int keep = ok && index->n_idle < MAX_IDLE;
    if (keep) {
        r->next = index->idle;
        index->idle = r;
        index->n_idle++;
    }
    aoei_mutex_unlock(&index->lock);
    if (!keep)
        destroy(r);
}

int aoei_reader_finish(aoei_reader *r, int code, int *changed, aoe_error *err) {
    aoe_index *index = r->index;
    *changed = has_changed(r);
    if (*changed) { /* the view may contain numbers of two commits */
        aoei_mutex_lock(&index->lock);
        aoei_view *old = index->view;
        index->view = NULL;
        aoei_mutex_unlock(&index->lock);
        aoei_view_release(old);
    }
    aoei_reader_end(r);
    return !*changed ? code
                     : aoei_fail(err, AOE_EIO,
                                 "%s: the index was changed while it was read without locks, because its directory "
                                 "cannot be written; try again",
                                 index->dir);
}

int aoei_reader_run(aoe_index *index, int damaged, aoei_read_fn fn, void *user, aoe_error *err) {
    int code = 0, changed = 1;
    for (int i = 0; changed && i < REPEAT; i++) {
        aoei_reader *r;
        code = damaged ? aoei_reader_begin_damaged(&r, index, err) : aoei_reader_begin(&r, index, err);
        if (code)
            return code;
        code = aoei_reader_finish(r, fn(user, r, err), &changed, err);
    }
    return code;
}

void aoei_readers_close(aoe_index *index) {
    while (index->idle) {
        aoei_reader *r = index->idle;
        index->idle = r->next;
        destroy(r);
    }
    index->n_idle = 0;
}
