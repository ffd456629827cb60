/* SPDX-License-Identifier: MIT
 * tags: threads network
 * covers: net/libraries
 * Tests the store of HTTP responses. Stored responses can be read by other threads, by other processes, and after the
 * process that stored them was killed. Files that are not stores must be rejected and must not be changed. The messages
 * for a full disk and for a damaged store must say what the user can do.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "net/libraries.h"
#include "net/store.h"

static aoei_store *open_store(const char *path) {
    aoei_store *s;
    if (aoei_store_open(&s, path, &err))
        fail_msg("%s", err.message);
    return s;
}

/* Stores a response under the key `key`. len: number of bytes of body. */
static int put(aoei_store *s, const char *key, const char *body, size_t len) {
    aoei_http_response r = {.status = 200, .url = (char *)(size_t) "https://example.com/x"};
    r.body.data = (char *)(size_t)body;
    r.body.len = len;
    return aoei_store_put(s, aoe_text_of(key), &r, 7, &err);
}

/* Returns 1 if the store has a response with this key and this body. */
static int has(aoei_store *s, const char *key, const char *body) {
    aoei_http_response r = {0};
    int64_t time;
    const int rc = aoei_store_get(s, aoe_text_of(key), &r, &time, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    const int equal = rc == 1 && r.body.len == strlen(body) && memcmp(r.body.data, body, r.body.len) == 0;
    aoei_http_response_free(&r);
    return equal;
}

/* Returns the first column of the first row of an SQL query; -1 if there is no row. */
static int64_t query(const char *path, const char *sql) {
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    const int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

/* ---------------------------------------------------------- stored responses */

/* Tests file permissions. A new store is readable only by its owner, for any umask. An existing file keeps its
 * permissions. */
static void test_private(void **state) {
    static const char *const endings[] = {"", "-wal", "-shm"};
    (void)state;
    char *path = test_path(test_dir, "private.store");
    struct stat st;
    for (mode_t mode = S_IRUSR | S_IWUSR; mode <= 0660; mode += 0060) {
        const mode_t mask = umask(0);
        aoei_store *s = open_store(path);
        assert_int_equal(put(s, "key", "body", 4), 0);
        (void)umask(mask);
        for (int i = 0; i < 3; i++) {
            char name[512];
            snprintf(name, sizeof name, "%s%s", path, endings[i]);
            assert_int_equal(stat(name, &st), 0);
            assert_int_equal(st.st_mode & 0777, mode);
        }
        aoei_store_close(s);
        assert_int_equal(chmod(path, 0660), 0);
    }
    free(path);
}

static void test_answers(void **state) {
    (void)state;
    char *path = test_path(test_dir, "answers.store");
    aoei_store *s = open_store(path);
    aoei_http_response in = {.status = 404, .moved = 1, .url = (char *)(size_t) "https://example.com/final?page=2"},
                       out = {0};
    int64_t time = 0;
    const aoe_text key = {"GET \0 key", 9};
    static const char *const lines[] = {"ETag: W/\"abc\"",
                                        "Link: <https://example.com/?page=3>; rel=\"next\"",
                                        "Set-Cookie: id=1",
                                        "X-Token: t",
                                        "Content-Type: application/json",
                                        "Link: <b>; rel=last"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(aoei_headers_add(&in.headers, lines[i], strlen(lines[i])), 0);
    assert_int_equal(aoei_buffer_append(&in.body, "a\0b", 3), 0);
    assert_int_equal(aoei_store_get(s, key, &out, &time, &err), 0);
    assert_int_equal(aoei_store_put(s, key, &in, 1234567890123, &err), 0);
    for (int again = 0; again < 2; again++) { /* before the second pass, the store is closed and opened again */
        assert_int_equal(aoei_store_get(s, key, &out, &time, &err), 1);
        assert_int_equal(out.status, 404);
        assert_int_equal(out.moved, 1);
        assert_string_equal(out.url, in.url);
        assert_int_equal(time, 1234567890123);
        assert_int_equal(out.body.len, 3);
        assert_memory_equal(out.body.data, "a\0b", 4);
        assert_string_equal(aoei_headers_get(&out.headers, "etag", 0), "W/\"abc\"");
        assert_string_equal(aoei_headers_get(&out.headers, "link", 1), "<b>; rel=last");
        assert_null(aoei_headers_get(&out.headers, "set-cookie", 0));
        assert_null(aoei_headers_get(&out.headers, "x-token", 0));
        aoei_store_close(s);
        s = open_store(path);
    }
    assert_int_equal(aoei_store_get(s, (aoe_text){"GET \0 kez", 9}, &out, &time, &err), 0);
    assert_null(out.url);
    assert_int_equal(aoei_store_touch(s, key, 99, &err), 0);
    assert_int_equal(aoei_store_get(s, key, &out, &time, &err), 1);
    assert_int_equal(time, 99);
    assert_int_equal(put(s, "", "", 0), 0);
    assert_true(has(s, "", ""));
    assert_int_equal(put(s, "", "new", 3), 0);
    assert_true(has(s, "", "new"));
    in.url = NULL;
    aoei_http_response_free(&in);
    aoei_http_response_free(&out);
    aoei_store_close(s);
    free(path);
}

static void test_large_answers_are_compressed(void **state) {
    (void)state;
    enum { BYTES = 3000000 };
    char *path = test_path(test_dir, "large.store"), *body = malloc(BYTES + 1);
    for (int i = 0; i < BYTES; i++)
        body[i] = "{\"title\": \"an issue\"}, "[i % 23];
    body[BYTES] = 0;
    aoei_store *s = open_store(path);
    assert_int_equal(put(s, "large", body, BYTES), 0);
    assert_true(has(s, "large", body));
    aoei_store_close(s);
    size_t size;
    char *file = test_read(path, &size);
    assert_true(size < 100000);
    free(file);
    free(body);
    free(path);
}

static void test_results(void **state) {
    (void)state;
    char *path = test_path(test_dir, "results.store");
    aoei_store *s = open_store(path);
    aoei_buffer value = {0};
    const aoe_text key = aoe_text_of("a sentence");
    assert_int_equal(aoei_store_result_get(s, "synonyms", key, &value, &err), 0);
    assert_int_equal(aoei_store_result_put(s, "synonyms", key, (aoe_text){"1\0002", 3}, &err), 0);
    assert_int_equal(aoei_store_result_put(s, "opposites", key, (aoe_text){NULL, 0}, &err), 0);
    assert_int_equal(aoei_store_result_get(s, "synonyms", key, &value, &err), 1);
    assert_int_equal(value.len, 3);
    assert_memory_equal(value.data, "1\0002", 4);
    assert_int_equal(aoei_store_result_get(s, "opposites", key, &value, &err), 1);
    assert_int_equal(value.len, 0);
    assert_non_null(value.data);
    assert_int_equal(aoei_store_result_get(s, "scores", key, &value, &err), 0);
    aoei_buffer_free(&value);
    aoei_store_close(s);
    free(path);
}

/* ------------------------------------------- files that are not valid stores */

static void execute_sql(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Asserts that opening the file fails with this code and message and does not change the file. */
static void assert_open_fails(const char *path, int code, const char *message) {
    size_t size, size_after;
    char *before = test_read(path, &size);
    aoei_store *s;
    assert_int_equal(aoei_store_open(&s, path, &err), code);
    assert_null(s);
    assert_message(message);
    assert_message(path);
    char *after = test_read(path, &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

static void test_other_files(void **state) {
    (void)state;
    aoei_store *s;
    char *text =
        test_write_text(test_dir, "text.store", "this is a text of more than sixteen bytes, and no database at all");
    assert_open_fails(text, AOE_EFORMAT, "move it away");
    char *other = test_path(test_dir, "other.store");
    execute_sql(other, "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')");
    assert_open_fails(other, AOE_EFORMAT, "the file is a database of another program; choose another file");
    char *newer = test_path(test_dir, "newer.store");
    aoei_store_close(open_store(newer));
    execute_sql(newer, "PRAGMA user_version = 2");
    assert_open_fails(newer, AOE_EUNSUPPORTED,
                      "the cache has schema version 2, but this version of aoe supports only version 1");
    char *bare = test_path(test_dir, "bare.store");
    aoei_store_close(open_store(bare));
    execute_sql(bare, "DROP TABLE results");
    assert_int_equal(aoei_store_open(&s, bare, &err), AOE_EFORMAT);
    assert_message("damaged");
    char *missing = test_path(test_dir, "no/such/folder.store");
    assert_int_equal(aoei_store_open(&s, missing, &err), AOE_ENOENT);
    assert_message("cannot open the cache: No such file or directory; check the path");
    assert_true(aoei_store_open(&s, test_dir, &err) < 0);
    assert_message("cannot open the cache");
    char *empty = test_write_text(test_dir, "empty.store", "");
    aoei_store_close(open_store(empty)); /* opening an empty file, such as one that mktemp created, must succeed */
    free(text);
    free(other);
    free(newer);
    free(bare);
    free(missing);
    free(empty);
}

static void test_damage(void **state) {
    (void)state;
    char *path = test_path(test_dir, "damaged.store"), key[32], body[600];
    aoei_http_response r = {0};
    int64_t time;
    aoei_store *s = open_store(path);
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key %d", i);
        for (size_t j = 0; j < sizeof body; j++)
            body[j] = (char)(rand() % 256);
        assert_int_equal(put(s, key, body, sizeof body), 0);
    }
    aoei_store_close(s);
    /* changes one byte of a body */
    execute_sql(
        path,
        "UPDATE answers SET body = CAST(substr(body, 1, 40) || x'00' || substr(body, 42) AS BLOB) WHERE key = 'key 7'");
    s = open_store(path);
    assert_int_equal(aoei_store_get(s, aoe_text_of("key 7"), &r, &time, &err), AOE_EFORMAT);
    assert_message("damaged");
    assert_message("move it away");
    assert_int_equal(aoei_store_get(s, aoe_text_of("key 8"), &r, &time, &err), 1);
    aoei_store_close(s);
    /* overwrites all database pages after the first four */
    size_t size;
    char *file = test_read(path, &size);
    for (size_t i = 4096 * 4; i < size; i++)
        file[i] = (char)(i * 31);
    free(test_write(test_dir, "damaged.store", file, size));
    int errors = 0;
    s = open_store(path);
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key %d", i);
        if (aoei_store_get(s, aoe_text_of(key), &r, &time, &err) < 0) {
            assert_int_equal(err.code, AOE_EFORMAT);
            assert_message("-wal and ");
            errors++;
        }
    }
    assert_true(errors > 0);
    aoei_store_close(s);
    /* truncates the file */
    free(test_write(test_dir, "damaged.store", file, 4096 + 100));
    assert_open_fails(path, AOE_EFORMAT, "damaged");
    aoei_http_response_free(&r);
    free(file);
    free(path);
}

/* --------------------------------------------------------- failing writes */

static sqlite3_vfs *default_vfs;               /* SQLite's default file system */
static sqlite3_io_methods real[2], failing[2]; /* file methods; [0]: of the database file; [1]: of its write-ahead
                                                  log */
static int writes_left = -1;                   /* number of writes before the first failure; -1: no write fails */
static int failure;                            /* SQLite error code that a failing write returns */

static int write_or_fail(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
    if (writes_left == 0)
        return failure;
    writes_left -= writes_left > 0;
    return real[f->pMethods == &failing[1]].xWrite(f, data, n, at);
}

static int open_failing(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
    const int rc = default_vfs->xOpen(vfs, name, f, flags, out), log = (flags & SQLITE_OPEN_WAL) != 0;
    if (rc == SQLITE_OK && (log || (flags & SQLITE_OPEN_MAIN_DB))) {
        real[log] = failing[log] = *f->pMethods;
        failing[log].xWrite = write_or_fail;
        f->pMethods = &failing[log];
    }
    return rc;
}

/* Stores 40 responses. For response n, the store is opened anew, and after n successful writes, the next write fails
 * with the SQLite error `code`. Asserts that the function that fails returns `expected`. Asserts that a response can be
 * read if and only if it was stored without an error. */
static void check_failing_writes(int code, int expected) {
    char *path = test_path(test_dir, "full.store");
    static char body[20000];
    for (size_t i = 0; i + 1 < sizeof body; i++)
        body[i] = (char)('a' + rand() % 26);
    failure = code;
    int failed = 0, stored = 0;
    for (int n = 0; n < 40; n++) {
        char key[32];
        aoei_store *s;
        writes_left = n;
        snprintf(key, sizeof key, "key %d", n);
        int rc = aoei_store_open(&s, path, &err);
        if (!rc)
            rc = put(s, key, body, strlen(body));
        writes_left = -1;
        if (rc) {
            assert_int_equal(rc, expected);
            assert_message(path);
            failed++;
        }
        aoei_store_close(s);
        s = open_store(path); /* checks whether the response was stored */
        stored += rc == 0;
        assert_int_equal(has(s, key, body), rc == 0);
        aoei_store_close(s);
    }
    assert_true(failed > 5 && stored > 5);
    assert_int_equal(query(path, "SELECT count(*) FROM answers"), stored);
    unlink(path);
    free(path);
}

static void test_disk_full(void **state) {
    (void)state;
    sqlite3_vfs vfs;
    assert_int_equal(aoei_start_sqlite(&err), 0);
    default_vfs = sqlite3_vfs_find(NULL);
    vfs = *default_vfs;
    vfs.zName = "failing";
    vfs.xOpen = open_failing;
    assert_int_equal(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
    check_failing_writes(SQLITE_FULL, AOE_ENOSPC);
    assert_message("free some space and run again");
    check_failing_writes(SQLITE_IOERR_WRITE, AOE_EIO);
    assert_message("check the disk");
    assert_int_equal(sqlite3_vfs_unregister(&vfs), SQLITE_OK);
    assert_ptr_equal(sqlite3_vfs_find(NULL), default_vfs);
}

/* ------------------------------------------------------ threads and processes */

typedef struct writer {
    aoei_store *store;
    int number, failures;
} writer;

static void *write_many(void *arg) {
    writer *w = arg;
    for (int i = 0; i < 50; i++) {
        char key[32], body[64];
        snprintf(key, sizeof key, "%d/%d", w->number, i);
        snprintf(body, sizeof body, "body of %d/%d", w->number, i);
        w->failures += put(w->store, key, body, strlen(body)) != 0;
        w->failures += !has(w->store, key, body);
        w->failures += put(w->store, "shared", body, strlen(body)) != 0;
    }
    return NULL;
}

static void assert_all_written(const char *path, int writers) {
    aoei_store *s = open_store(path);
    for (int n = 0; n < writers; n++)
        for (int i = 0; i < 50; i++) {
            char key[32], body[64];
            snprintf(key, sizeof key, "%d/%d", n, i);
            snprintf(body, sizeof body, "body of %d/%d", n, i);
            assert_true(has(s, key, body));
        }
    aoei_store_close(s);
    assert_int_equal(query(path, "SELECT count(*) FROM answers"), writers * 50 + 1);
}

static void test_threads(void **state) {
    (void)state;
    char *path = test_path(test_dir, "threads.store");
    aoei_store *s = open_store(path);
    pthread_t thread[4];
    writer w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (writer){s, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, write_many, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(w[i].failures, 0);
    }
    aoei_store_close(s);
    assert_all_written(path, 4);
    free(path);
}

static void test_processes(void **state) {
    (void)state;
    char *path = test_path(test_dir, "processes.store");
    pid_t child[4];
    for (int i = 0; i < 4; i++) { /* the processes run concurrently, so they also create the store concurrently */
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            writer w = {NULL, i, 0};
            if (aoei_store_open(&w.store, path, &err))
                _exit(1);
            write_many(&w);
            aoei_store_close(w.store);
            _exit(w.failures ? 2 : 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = 0;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    assert_all_written(path, 4);
    free(path);
}

/* Stores the responses first, first + 1, ... until the process is killed. Writes the number of each stored response to
 * the pipe. */
static void put_until_killed(const char *path, int first, int pipe_end) {
    aoei_store *s;
    if (aoei_store_open(&s, path, &err))
        _exit(1);
    for (int i = first;; i++) {
        char key[32];
        snprintf(key, sizeof key, "key %d", i);
        if (put(s, key, key, strlen(key)) || write(pipe_end, &i, sizeof i) != sizeof i)
            _exit(1);
    }
}

static void test_kill(void **state) {
    (void)state;
    char *path = test_path(test_dir, "killed.store"), key[32];
    int last = -1;
    for (int kills = 0; kills < 5; kills++) {
        int ends[2], status = 0;
        assert_int_equal(pipe(ends), 0);
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            put_until_killed(path, last + 1, ends[1]);
        close(ends[1]);
        for (int n = 0; n < 3 + kills * 7; n++)
            assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
        kill(pid, SIGKILL);
        /* reads the numbers that were written before the process ended */
        while (read(ends[0], &last, sizeof last) == sizeof last)
            continue;
        close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        aoei_store *s = open_store(path);
        for (int i = 0; i <= last; i++) {
            snprintf(key, sizeof key, "key %d", i);
            assert_true(has(s, key, key));
        }
        aoei_store_close(s);
    }
    assert_int_equal(query(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    const int64_t count = query(path, "SELECT count(*) FROM answers");
    /* the last process may have been killed after it stored a response and before it wrote the number of this response
     * to the pipe */
    assert_true(count == last + 1 || count == last + 2);
    free(path);
}

static void *unlock_later(void *arg) {
    usleep(200000);
    sqlite3_exec(arg, "COMMIT", NULL, NULL, NULL);
    return NULL;
}

static void test_waits_for_a_lock(void **state) {
    (void)state;
    char *path = test_path(test_dir, "locked.store");
    aoei_store *s = open_store(path);
    sqlite3 *db;
    pthread_t thread;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(pthread_create(&thread, NULL, unlock_later, db), 0);
    assert_int_equal(put(s, "a", "b", 1), 0);
    pthread_join(thread, NULL);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    aoei_store_close(s);
    free(path);
}

/* --------------------------------------------------------- failed allocations */

static int use_once(void *arg) {
    aoei_store *s;
    aoei_http_response r = {0};
    aoei_buffer value = {0};
    int64_t time;
    unlink(arg);
    int rc = aoei_store_open(&s, arg, &err);
    if (!rc)
        rc = put(s, "key", "body", 4);
    if (!rc)
        rc = aoei_store_get(s, aoe_text_of("key"), &r, &time, &err);
    if (rc == 1)
        rc = aoei_store_result_put(s, "kind", aoe_text_of("key"), aoe_text_of("value"), &err);
    if (!rc)
        rc = aoei_store_result_get(s, "kind", aoe_text_of("key"), &value, &err);
    if (rc == 1)
        rc = strcmp(value.data, "value") == 0 && strcmp(r.body.data, "body") == 0 ? 0 : AOE_EMISMATCH;
    if (rc)
        assert_message("out of memory");
    aoei_buffer_free(&value);
    aoei_http_response_free(&r);
    aoei_store_close(s);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    char *path = test_path(test_dir, "memory.store");
    assert_int_equal(use_once(path), 0);
    /* SQLite tolerates some failed allocations, so not every failure is reported */
    assert_true(test_alloc_failures_published(use_once, path, 100) > 100);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_private),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_large_answers_are_compressed),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_waits_for_a_lock),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
