/* SPDX-License-Identifier: MIT
 * Tests that an index survives every failure of a commit: a process that is killed at each operation that changes the
 * disk, including those of SQLite, a full disk, an I/O error, a file size limit, and failed allocations. Afterwards the
 * index has the contents of the last commit or, if the commit succeeded, the new ones, and the change can be repeated.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/sqlite_fault.h"
#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/alloc.h"
#include "base/io_fault.h"
#include "index/place.h"

/* Allocations that must fail one by one before some are skipped. */
#define DENSE 300

/* A change of an index: replaces, adds and removes documents, and commits. */
static int change(aoe_index *index, aoe_error *e) {
    int rc = tiny_index_add(index, "a", "e f g", e);
    if (!rc)
        rc = tiny_index_add(index, "new", "a b c\n\nd e f", e);
    if (!rc)
        rc = aoe_index_remove(index, &(const char *){"b"}, 1, NULL, e);
    return rc ? rc : aoe_index_commit(index, e);
}

static int change_and_compact(aoe_index *index, aoe_error *e) {
    const int rc = change(index, e);
    return rc ? rc : aoe_index_compact(index, e);
}

/* Writes an index with three documents to path, which must not exist. */
static void create(const char *path) {
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "a", "a b c", &err));
    check(tiny_index_add(index, "b", "b c d", &err));
    check(tiny_index_add(index, "c", "c d e", &err));
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
}

typedef int (*change_fn)(aoe_index *index, aoe_error *e);

/* The contents before and after a change. */
typedef struct contents {
    char *before, *after;
} contents;

static contents contents_of(change_fn fn) {
    contents c;
    char *path = tiny_index_path();
    create(path);
    c.before = tiny_index_dump_path(path, &err);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(fn(index, &err));
    aoe_index_close(index);
    c.after = tiny_index_dump_path(path, &err);
    assert_string_not_equal(c.before, c.after);
    free(path);
    return c;
}

static void free_contents(contents *c) {
    free(c->before);
    free(c->after);
}

/* Checks the index after a failure, and repeats the change. ok: 1: the change must have been committed. */
static void recover(const char *path, const contents *c, change_fn fn, int ok, uint64_t n) {
    char *got = tiny_index_dump_path(path, &err);
    if (!got)
        fail_msg("operation %llu: %s", (unsigned long long)n, err.message);
    if (strcmp(got, c->after) != 0 && (ok || strcmp(got, c->before) != 0))
        fail_msg("operation %llu: the index contains\n%s", (unsigned long long)n, got);
    free(got);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(aoe_index_verify(index, 0, &err));
    check(fn(index, &err));
    check(aoe_index_verify(index, 0, &err));
    aoe_index_close(index);
    got = tiny_index_dump_path(path, &err);
    assert_non_null(got);
    assert_string_equal(got, c->after);
    free(got);
}

/* Runs the change in a child process that is killed at operation n. Returns 1 if it was killed. */
static int killed_at(const char *path, change_fn fn, uint64_t n) {
    const pid_t child = fork();
    if (child == 0) {
        aoe_index *index;
        aoei_io_fail_at(n, AOEI_IO_KILL);
        int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, NULL);
        if (!rc)
            rc = fn(index, NULL);
        aoe_index_close(index);
        _exit(rc ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 1;
    assert_int_equal(status, 0);
    return 0;
}

static void kill_everywhere(change_fn fn, int network, uint64_t least) {
    contents c = contents_of(fn);
    uint64_t n = 1;
    aoei_place_assume_network(network);
    for (;; n++) {
        char *path = tiny_index_path();
        create(path);
        const int killed = killed_at(path, fn, n);
        recover(path, &c, fn, !killed, n);
        test_dir_remove(path);
        if (!killed)
            break;
    }
    aoei_place_assume_network(0);
    assert_true(n > least);
    free_contents(&c);
}

static void test_kill_commit(void **state) {
    (void)state;
    kill_everywhere(change, 0, 20);
}

static void test_kill_compaction(void **state) {
    (void)state;
    kill_everywhere(change_and_compact, 0, 40);
}

static void test_kill_rollback_journal(void **state) {
    (void)state;
    kill_everywhere(change, 1, 20);
}

/* A process that is killed while it creates an index leaves a directory in which the index can be created. */
static void test_kill_creation(void **state) {
    (void)state;
    uint64_t n = 1;
    for (int killed = 1; killed; n++) {
        char *path = tiny_index_path();
        killed = killed_at(path, change, n);
        aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
        check(change(index, &err));
        check(aoe_index_verify(index, 0, &err));
        aoe_index_close(index);
        test_dir_remove(path);
    }
    assert_true(n > 20);
}

/* Operation n fails with an error. The index object stays usable: the change can be repeated with it. */
static void fail_everywhere(change_fn fn, int errnum, uint64_t least) {
    contents c = contents_of(fn);
    uint64_t n = 1;
    for (int done = 0; !done; n++) {
        char *path = tiny_index_path();
        aoe_index *index;
        create(path);
        aoei_io_fail_at(n, errnum);
        int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err);
        if (!rc)
            rc = fn(index, &err);
        done = n > aoei_io_count();
        aoei_io_fail_at(0, 0);
        if (rc && rc != (errnum == ENOSPC ? AOE_ENOSPC : AOE_EIO))
            fail_msg("operation %llu: code %d, %s", (unsigned long long)n, rc, err.message);
        if (rc && !strstr(err.message, path))
            fail_msg("operation %llu: no path in the message: %s", (unsigned long long)n, err.message);
        assert_true(!done || !rc);
        if (rc && index) {
            check(fn(index, &err));
            rc = 0;
        }
        aoe_index_close(index);
        recover(path, &c, fn, !rc, n);
        test_dir_remove(path);
    }
    assert_true(n > least);
    free_contents(&c);
}

static void test_full_disk(void **state) {
    (void)state;
    fail_everywhere(change_and_compact, ENOSPC, 40);
}

static void test_io_error(void **state) {
    (void)state;
    fail_everywhere(change_and_compact, EIO, 40);
}

/* COMMIT cannot sync, but its record is in the write-ahead log. compact: 1: the COMMIT of a compaction. continues: 1:
 * the same object repeats the change. has_reader: 1: a reader keeps the shared memory of the log. */
static void sync_fails(int compact, int continues, int has_reader) {
    contents c = contents_of(change_and_compact);
    char *path = tiny_index_path();
    create(path);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL), *reader = NULL;
    check(tiny_index_add(index, "d", "a d g", &err)); /* so that closing has to copy pages from the log */
    check(aoe_index_remove(index, &(const char *){"d"}, 1, NULL, &err));
    check(aoe_index_commit(index, &err));
    if (compact)
        check(change(index, &err));
    if (has_reader) {
        reader = tiny_index_open(path, AOE_INDEX_READ, NULL);
        free(tiny_index_dump(reader));
    }
    const change_fn fn = compact ? aoe_index_compact : change;
    test_sqlite_fault_sync(1);
    assert_int_equal(fn(index, &err), AOE_EIO);
    assert_non_null(strstr(err.message, "may be lost"));
    if (continues) {
        assert_int_equal(fn(index, &err), AOE_EIO);
        test_sqlite_fault_sync(0);
        check(fn(index, &err));
    }
    aoe_index_close(index);
    test_sqlite_fault_sync(0);
    if (reader) {
        index = tiny_index_open(path, AOE_INDEX_WRITE, NULL); /* removes rows and files that no commit names */
        aoe_index_close(index);
        free(tiny_index_dump(reader));
        aoe_index_close(reader);
    }
    /* without a reader, closing cannot empty the log, so the next process finds the record */
    recover(path, &c, change_and_compact, compact || continues || !has_reader, 0);
    free_contents(&c);
    test_dir_remove(path);
}

static void test_sync_fails(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++)
        sync_fails(i & 1, i >> 1 & 1, i >> 2 & 1);
}

/* A file size limit of the process, in steps from the size of nothing to a size that is sufficient. */
static void test_file_size_limit(void **state) {
    (void)state;
    contents c = contents_of(change);
    int failures = 0, successes = 0;
    for (rlim_t limit = 0; !successes; limit += limit < 2048 ? 256 : 4096) {
        char *path = tiny_index_path();
        create(path);
        const pid_t child = fork();
        if (child == 0) {
            const struct rlimit r = {limit, limit};
            aoe_index *index;
            aoe_error e = {0};
            signal(SIGXFSZ, SIG_IGN);
            if (setrlimit(RLIMIT_FSIZE, &r))
                _exit(3);
            int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &e);
            if (!rc)
                rc = change(index, &e);
            aoe_index_close(index);
            _exit(rc == 0 ? 0 : rc == AOE_EIO || rc == AOE_ENOSPC ? 1 : 2);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        successes += WEXITSTATUS(status) == 0;
        failures += WEXITSTATUS(status) == 1;
        recover(path, &c, change, WEXITSTATUS(status) == 0, limit);
        test_dir_remove(path);
    }
    assert_true(failures > 5);
    free_contents(&c);
}

/* Every allocation fails in turn. SQLite continues without some of its allocations. */
static void test_allocations(void **state) {
    (void)state;
    contents c = contents_of(change);
    uint64_t n = 1;
    for (int done = 0; !done; n += n >= DENSE ? n / 64 + 1 : 1) {
        char *path = tiny_index_path();
        aoe_index *index;
        create(path);
        aoei_alloc_fail_at(n);
        int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err);
        if (!rc)
            rc = change(index, &err);
        done = n > aoei_alloc_count();
        aoei_alloc_fail_at(0);
        if (rc && rc != AOE_ENOMEM)
            fail_msg("allocation %llu: code %d, %s", (unsigned long long)n, rc, err.message);
        assert_true(!done || !rc);
        if (rc && index) {
            check(change(index, &err));
            rc = 0;
        }
        aoe_index_close(index);
        recover(path, &c, change, !rc, n);
        test_dir_remove(path);
    }
    assert_true(n > 500);
    free_contents(&c);
}

/* After the first use, no block stays allocated when an index is closed after a failed allocation. */
static int open_add_close(void *path) {
    aoe_index *index;
    int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err);
    if (!rc)
        rc = tiny_index_add(index, "a", "x y z", &err);
    if (!rc)
        rc = tiny_index_add(index, "b", "d e\n\nf g", &err);
    aoe_index_close(index);
    return rc;
}

static void test_leaks(void **state) {
    (void)state;
    char *path = tiny_index_path();
    create(path);
    check(open_add_close(path));
    const int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n += n >= DENSE ? n / 16 + 1 : 1) {
        aoei_alloc_fail_at(n);
        (void)open_add_close(path);
        const int done = n > aoei_alloc_count();
        aoei_alloc_fail_at(0);
        if (aoei_alloc_live() > live)
            fail_msg("allocation %llu: %lld blocks were leaked", (unsigned long long)n,
                     (long long)(aoei_alloc_live() - live));
        if (done)
            break;
    }
    free(path);
}

static int begin(void **state) {
    test_sqlite_fault_begin();
    return tiny_index_begin(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_commit),   cmocka_unit_test(test_kill_compaction),
        cmocka_unit_test(test_kill_creation), cmocka_unit_test(test_kill_rollback_journal),
        cmocka_unit_test(test_full_disk),     cmocka_unit_test(test_io_error),
        cmocka_unit_test(test_sync_fails),    cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_allocations),   cmocka_unit_test(test_leaks)};
    return cmocka_run_group_tests(tests, begin, tiny_index_end);
}
