/* SPDX-License-Identifier: MIT
 * The writer of an index. A commit first syncs the vector files and then commits the SQLite transaction that names
 * their lengths, so a process that is killed at any point leaves the last commit. Rows after the last committed row are
 * overwritten by the next changes, and removed when an index is opened for writing.
 *
 * If COMMIT fails, its record may still be in the write-ahead log, and the next process that recovers the log would
 * find it. Its rows therefore stay until another commit, which replaces the record, was successful.
 *
 * The CRC-32 of the rows is stored per extent: a range of rows with the same checksums. Small commits extend the last
 * extent, so the number of extents does not grow with the number of commits.
 */
#include "index/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

enum {
    LOCK_SLEEP_MS = 10, /* time between two attempts to lock the directory */
    MIN_OPTIMIZE = 256, /* passages that must be removed before the word index is optimized */
};

/* --------------------------------------------------------------------- lock */

/* Writes the process id of the writer to the file AOEI_WRITER_FILE, for the message of another process. */
static void write_pid(const char *dir) {
    char *path = aoei_path_join(dir, AOEI_WRITER_FILE), text[32];
    if (path)
        (void)unlink(path); /* the directory may come from somebody else: a link, or a pipe that nobody reads */
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (fd >= 0) {
        if (write(fd, text, (size_t)n) != n)
            (void)unlink(path);
        (void)close(fd);
    }
    aoei_free(path);
}

static void remove_pid(const char *dir) {
    char *path = aoei_path_join(dir, AOEI_WRITER_FILE);
    if (path)
        (void)unlink(path);
    aoei_free(path);
}

static long read_pid(const char *dir) {
    char *path = aoei_path_join(dir, AOEI_WRITER_FILE), text[32] = "";
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd >= 0) {
        const ssize_t n = read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = 0;
        (void)close(fd);
    }
    aoei_free(path);
    return strtol(text, NULL, 10);
}

static int fail_locked(const char *dir, aoe_error *err) {
    char who[48] = "another process";
    const long pid = read_pid(dir);
    if (pid > 0)
        (void)snprintf(who, sizeof who, "another process (%ld)", pid);
    return aoei_fail(err, AOE_EEXIST,
                     "%s: %s is writing to the index; wait until it ends, or open the index for reading", dir, who);
}

int aoei_index_writer_attach(aoei_index_writer **out, const char *dir, int wait_ms, aoe_error *err) {
    *out = aoei_calloc(1, sizeof **out);
    if (!*out)
        return aoei_fail_nomem(err, sizeof **out);
    for (int i = 0; i < 3; i++)
        (*out)->file[i].fd = -1;
    int rc = AOE_EEXIST;
    for (int ms = 0; rc == AOE_EEXIST && ms <= wait_ms; ms += LOCK_SLEEP_MS) {
        if (ms)
            (void)usleep(LOCK_SLEEP_MS * 1000);
        rc = aoei_lock_dir(&(*out)->lock, dir, err);
    }
    if (rc == AOE_EEXIST)
        return fail_locked(dir, err);
    return rc;
}

/* -------------------------------------------------------------------- files */

/* Reads the last extent, to which the next rows are appended. */
static int read_extent(aoei_db *d, aoei_extent *e, uint64_t rows, aoe_error *err) {
    sqlite3_stmt *stmt;
    *e = (aoei_extent){.first_row = rows};
    int rc = aoei_db_prepare(d, "SELECT first_row, n, codes, signs, vals FROM extents ORDER BY first_row DESC LIMIT 1",
                             &stmt, err);
    if (rc || (rc = aoei_db_step(d, stmt, err)) <= 0)
        return rc;
    const int64_t first = sqlite3_column_int64(stmt, 0), n = sqlite3_column_int64(stmt, 1);
    const int ok = first >= 0 && n >= 0 && (uint64_t)first <= rows && (uint64_t)n == rows - (uint64_t)first;
    if (ok)
        *e = (aoei_extent){.first_row = (uint64_t)first, .n = (uint64_t)n};
    for (int i = 0; i < 3; i++)
        e->crc[i] = (uint32_t)sqlite3_column_int64(stmt, 2 + i);
    aoei_db_reset(stmt);
    return ok ? 0 : aoei_db_damaged(d, "the list of checksums does not end at the last vector", err);
}

/* Removes the vector files of other generations, which an interrupted compaction left. */
static void remove_others(const char *dir, const aoei_index_writer *w) {
    char **names;
    size_t n;
    if (aoei_list_dir(&names, &n, dir, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        int used = strncmp(names[i], "vectors-", 8) != 0;
        for (size_t k = 0; k < w->n_files; k++)
            used |= !w->file[k].path || strcmp(aoei_path_name(w->file[k].path), names[i]) == 0;
        char *path = used ? NULL : aoei_path_join(dir, names[i]);
        if (path)
            (void)unlink(path);
        aoei_free(path);
    }
    aoei_list_free(names, n);
}

/* Returns 1 if the directory contains rows or files of vectors that the last commit does not name. */
static int has_leftovers(const char *dir, const aoei_index_writer *w, const aoei_vector_header *h, size_t n_files) {
    char **names;
    size_t n;
    int any = 0;
    if (aoei_list_dir(&names, &n, dir, NULL))
        return 1;
    for (size_t i = 0; !any && i < n; i++) {
        if (strncmp(names[i], "vectors-", 8) != 0)
            continue;
        any = 1;
        for (size_t k = 0; k < n_files; k++) {
            char *path = aoei_vector_path(dir, h[k].type, w->committed.state.generation);
            struct stat st;
            if (path && strcmp(aoei_path_name(path), names[i]) == 0 && stat(path, &st) == 0)
                any = (uint64_t)st.st_size > AOEI_VECTORS_HEADER + w->committed.state.rows * h[k].stride;
            aoei_free(path);
        }
    }
    aoei_list_free(names, n);
    return any;
}

/* Commits the current state again, which replaces the record of a failed COMMIT in the write-ahead log. */
static int commit_again(aoei_index_writer *w, aoe_error *err) {
    const int rc =
        aoei_db_run(&w->db, "BEGIN IMMEDIATE; UPDATE meta SET value = value + 1 WHERE key = 'commits'; COMMIT", err);
    if (rc && !sqlite3_get_autocommit(w->db.db))
        (void)sqlite3_exec(w->db.db, "ROLLBACK", NULL, NULL, NULL);
    return rc ? rc : aoei_index_state_read(&w->db, &w->committed.state, err);
}

static void close_files(aoei_index_writer *w) {
    for (int i = 0; i < 3; i++)
        aoei_vector_file_close(&w->file[i]);
}

int aoei_index_writer_open_files(aoe_index *index, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    aoei_vector_header h[3];
    close_files(w);
    w->n_checked = 0;
    if (!w->announced)
        write_pid(index->dir);
    w->announced = 1;
    int rc = aoei_index_state_read(&w->db, &w->committed.state, err);
    w->n_files = rc ? 0 : aoei_view_headers(h, &index->settings, w->committed.state.generation);
    if (!rc && has_leftovers(index->dir, w, h, w->n_files))
        rc = commit_again(w, err);
    if (!rc)
        rc = read_extent(&w->db, &w->committed.extent, w->committed.state.rows, err);
    w->now = w->committed;
    for (size_t i = 0; !rc && i < w->n_files; i++) {
        char *path = aoei_vector_path(index->dir, h[i].type, w->now.state.generation);
        rc = path ? aoei_vector_file_open(&w->file[i], path, &h[i], (size_t)w->now.state.rows, err)
                  : aoei_fail_nomem(err, 0);
        aoei_free(path);
        if (rc && rc != AOE_ENOMEM && index->repair) {
            aoei_vector_file_close(&w->file[i]); /* changes fail until the index is repaired */
            rc = 0;
        }
    }
    if (rc == AOE_ENOENT)
        rc = aoei_db_damaged(&w->db, "a file of vectors is missing", err);
    if (!rc)
        remove_others(index->dir, w);
    return rc;
}

void aoei_index_writer_detach(aoei_index_writer *w, const char *dir) {
    if (!w)
        return;
    close_files(w);
    aoei_db_close(&w->db);
    if (w->announced)
        remove_pid(dir);
    aoei_unlock(&w->lock);
    aoei_buffer_free(&w->words);
    aoei_free(w->dead);
    aoei_free(w->checked);
    aoei_free(w);
}

/* ------------------------------------------------------------- transactions */

int aoei_index_writer_settle(aoe_index *index, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    const int rc = w->uncertain ? aoei_index_writer_open_files(index, err) : 0;
    w->uncertain &= rc != 0;
    return rc;
}

int aoei_index_writer_begin(aoe_index *index, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    if (!w)
        return aoei_fail(err, AOE_EARG, "%s: the index was opened for reading; open it with AOE_INDEX_WRITE",
                         index->dir);
    if (w->in_transaction)
        return 0;
    int rc = aoei_index_writer_settle(index, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < w->n_files; i++)
        if (!w->file[i].path)
            return aoei_db_damaged(&w->db, "a file of vectors is missing or damaged", err);
    if (w->reload) /* after a failed allocation, FTS5 would use numbers of the transaction that was rolled back */
        rc = aoei_db_run(&w->db, "PRAGMA writable_schema = RESET", err);
    w->reload &= rc != 0;
    if (!rc)
        rc = aoei_db_run(&w->db, "BEGIN IMMEDIATE", err);
    w->in_transaction = !rc;
    w->changes_before = sqlite3_total_changes(w->db.db);
    return rc;
}

void aoei_index_writer_rollback(aoe_index *index) {
    aoei_index_writer *w = index->writer;
    if (!w || !w->in_transaction)
        return;
    for (size_t i = 0; i < w->db.n; i++)
        aoei_db_reset(w->db.cached[i].stmt);
    if (!sqlite3_get_autocommit(w->db.db))
        (void)sqlite3_exec(w->db.db, "ROLLBACK", NULL, NULL, NULL);
    w->now = w->committed;
    w->in_transaction = 0;
    w->reload = 1;
    /* Frees the space of a full disk. A failure changes nothing. */
    for (size_t i = 0; !w->uncertain && i < w->n_files; i++)
        if (w->file[i].path)
            (void)aoei_vector_file_truncate(&w->file[i], (size_t)w->now.state.rows, NULL);
}

int aoei_index_writer_save(aoe_index *index, aoei_write_mark *mark, aoe_error *err) {
    int rc = aoei_index_writer_begin(index, err);
    if (rc)
        return rc;
    aoei_index_writer *w = index->writer;
    *mark = w->now;
    rc = aoei_db_run(&w->db, "SAVEPOINT part", err);
    if (rc && sqlite3_get_autocommit(w->db.db)) {
        aoei_index_writer_rollback(index);
        (void)aoei_error_prefix(err, "the changes since the last commit are lost");
    }
    return rc;
}

int aoei_index_writer_keep(aoe_index *index, aoe_error *err) {
    return aoei_db_run(&index->writer->db, "RELEASE part", err);
}

int aoei_index_writer_undo(aoe_index *index, const aoei_write_mark *mark, int code, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    for (size_t i = 0; i < w->db.n; i++)
        aoei_db_reset(w->db.cached[i].stmt);
    if (!sqlite3_get_autocommit(w->db.db) &&
        sqlite3_exec(w->db.db, "ROLLBACK TO part; RELEASE part", NULL, NULL, NULL) == SQLITE_OK) {
        w->now = *mark;
        return code;
    }
    aoei_index_writer_rollback(index);
    (void)aoei_error_prefix(err, "the changes since the last commit are lost");
    return code;
}

/* Writes an extent into the database. */
static int write_extent(aoei_db *d, const aoei_extent *e, aoe_error *err) {
    sqlite3_stmt *stmt;
    if (e->n == 0)
        return 0;
    const int rc = aoei_db_prepare(
        d, "REPLACE INTO extents (first_row, n, codes, signs, vals) VALUES (?1, ?2, ?3, ?4, ?5)", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)e->first_row);
    (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)e->n);
    for (int i = 0; i < 3; i++)
        (void)sqlite3_bind_int64(stmt, 3 + i, e->crc[i]);
    return aoei_db_finish(d, stmt, err);
}

static void set_bits(uint64_t *bitmap, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++)
        bitmap[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Sets *dead to the bitmap of removed rows with the changes since the last commit. */
static int read_dead(aoei_index_writer *w, uint64_t **dead, aoe_error *err) {
    const size_t words = (size_t)((w->now.state.rows + 63) / 64);
    if (!(*dead = aoei_calloc(words + 1, sizeof **dead)))
        return aoei_fail_nomem(err, words * sizeof **dead);
    if (w->all_live)
        return 0;
    const int rc = aoei_dead_read(&w->db, *dead, (size_t)w->committed.state.rows, err);
    for (size_t i = 0; !rc && i < w->now.n_dead; i++)
        set_bits(*dead, w->dead[i].first, w->dead[i].n);
    return rc;
}

int aoei_index_writer_live(aoe_index *index, uint64_t **live, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    const int rc = read_dead(w, live, err);
    if (rc) {
        aoei_free(*live);
        *live = NULL;
        return rc;
    }
    const uint64_t rows = w->now.state.rows;
    for (uint64_t i = 0; i < (rows + 63) / 64; i++)
        (*live)[i] = ~(*live)[i] & (i == rows / 64 ? ((uint64_t)1 << (rows % 64)) - 1 : UINT64_MAX);
    return 0;
}

/* Writes the state after all changes into the open transaction. */
static int write_state(aoei_index_writer *w, aoe_error *err) {
    uint64_t *dead = NULL;
    int rc = 0;
    if (w->now.state.deleted_words > MIN_OPTIMIZE && w->now.state.deleted_words > w->now.state.live / 2) {
        rc = aoei_db_run(&w->db, "INSERT INTO words (words) VALUES ('optimize')", err);
        w->now.state.deleted_words = 0;
    }
    if (!rc)
        rc = read_dead(w, &dead, err);
    if (!rc)
        rc = aoei_dead_write(&w->db, dead, (size_t)w->now.state.rows, err);
    aoei_free(dead);
    if (!rc)
        rc = write_extent(&w->db, &w->now.extent, err);
    w->now.state.commits++;
    aoei_time_now(w->now.state.updated);
    return rc ? rc : aoei_index_state_write(&w->db, &w->now.state, err);
}

int aoei_index_writer_commit(aoe_index *index, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    if (!w)
        return aoei_index_writer_begin(index, err);
    if (!w->in_transaction)
        return 0;
    if (!w->all_live && sqlite3_total_changes(w->db.db) == w->changes_before) {
        aoei_index_writer_rollback(index);
        w->reload = 0;
        return 0;
    }
    int rc = write_state(w, err);
    const int has_rows = w->all_live || w->now.state.rows != w->committed.state.rows;
    for (size_t i = 0; !rc && has_rows && i < w->n_files; i++)
        rc = aoei_vector_file_sync(&w->file[i], err);
    if (!rc) {
        rc = aoei_db_run(&w->db, "COMMIT", err);
        w->uncertain = rc && sqlite3_get_autocommit(w->db.db); /* otherwise, COMMIT has not begun */
    }
    if (rc) {
        aoei_index_writer_rollback(index);
        (void)aoei_error_prefix(err, w->uncertain ? "the changes since the last commit may be lost"
                                                  : "the changes since the last commit are lost");
        return rc;
    }
    w->now.n_dead = 0;
    w->committed = w->now;
    w->in_transaction = 0;
    return 0;
}

/* --------------------------------------------------------------------- rows */

int aoei_index_writer_append(aoe_index *index, const void *const rows[3], size_t n, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    if (n > UINT32_MAX - 1 - w->now.state.rows)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the index has too many vectors", index->dir);
    for (size_t done = 0, now; done < n; done += now) {
        aoei_extent *e = &w->now.extent;
        if (e->n >= AOEI_EXTENT_ROWS) {
            const int rc = write_extent(&w->db, e, err);
            if (rc)
                return rc;
            *e = (aoei_extent){.first_row = w->now.state.rows};
        }
        now = n - done < AOEI_EXTENT_ROWS - e->n ? n - done : (size_t)(AOEI_EXTENT_ROWS - e->n);
        for (size_t i = 0; i < w->n_files; i++) {
            const unsigned char *data = (const unsigned char *)rows[i] + done * w->file[i].stride;
            const int rc = aoei_vector_file_write(&w->file[i], (size_t)w->now.state.rows, data, now, err);
            if (rc)
                return rc;
            e->crc[i] = (uint32_t)crc32_z(e->crc[i], data, now * w->file[i].stride);
        }
        e->n += now;
        w->now.state.rows += now;
        w->now.state.live += now;
    }
    return 0;
}

int aoei_index_writer_kill(aoe_index *index, uint64_t first, uint64_t n, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    if (n == 0)
        return 0;
    if (first > w->now.state.rows || n > w->now.state.rows - first || n > w->now.state.live)
        return aoei_db_damaged(&w->db, "a document has vectors that do not exist", err);
    if (aoei_grow((void **)&w->dead, &w->dead_capacity, w->now.n_dead, sizeof *w->dead))
        return aoei_fail_nomem(err, sizeof *w->dead);
    w->dead[w->now.n_dead++] = (aoei_row_range){first, n};
    w->now.state.live -= n;
    return 0;
}
