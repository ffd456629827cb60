/* SPDX-License-Identifier: MIT
 * Tests readers while another process or connection changes the index: connections without locks notice a change
 * before, during and after a search, and a reader whose vector files a compaction removed reads the next commit.
 */
#include "index/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/clock.h"
#include "index/place.h"

/* ------------------------------------------------- an event during a statement */

/* Calls fire() once, when a connection begins statement number `countdown` that contains `sql`. */
static struct {
    const char *sql; /* NULL: off */
    int countdown;
    void (*fire)(void);
    int fired;
} event;

static int on_statement(unsigned kind, void *context, void *stmt, void *text) {
    (void)kind;
    (void)context;
    (void)stmt;
    if (event.sql && strstr(text, event.sql) && --event.countdown == 0) {
        event.sql = NULL;
        event.fired = 1;
        event.fire();
    }
    return 0;
}

static int trace(sqlite3 *db, char **message, const void *api) {
    (void)message;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, NULL);
}

static int begin(void **state) {
    (void)sqlite3_initialize();
    return sqlite3_auto_extension((void (*)(void))trace) == SQLITE_OK ? tiny_index_begin(state) : -1;
}

static int end(void **state) {
    sqlite3_reset_auto_extension();
    return tiny_index_end(state);
}

static void arm(const char *sql, int countdown, void (*fire)(void)) {
    event.sql = sql;
    event.countdown = countdown;
    event.fire = fire;
    event.fired = 0;
}

/* ---------------------------------------------------------------------- changes */

static const char *changed_path; /* index that the events change */
static aoe_index *changer;       /* its writer while it is open */
static uint32_t version;         /* version of its document */

/* Writes a new version of the document. */
static void write_version(void) {
    char text[32];
    snprintf(text, sizeof text, "x version%u", (unsigned)++version);
    check(tiny_index_add(changer, "a", text, &err));
    check(aoe_index_commit(changer, &err));
}

/* A writer on the machine that has the file system: it uses a write-ahead log. */
static void write_and_stay(void) {
    const int network = aoei_place_is_network(changed_path);
    aoei_place_assume_network(0);
    changer = tiny_index_open(changed_path, AOE_INDEX_WRITE, NULL);
    write_version();
    aoei_place_assume_network(network);
}

static void write_and_leave(void) {
    write_and_stay();
    aoe_index_close(changer);
    changer = NULL;
}

static void write_always(void) {
    write_and_leave();
    arm("aoe_postings", 1, write_always);
}

/* Creates an index with version 1 of its document. */
static char *new_index(void) {
    char *path = tiny_index_path();
    changed_path = path;
    version = 0;
    write_and_leave();
    return path;
}

/* Searches for a word of all versions. Returns the code of the search. If it succeeds, the hit must be the newest
 * version. */
static int search(aoe_index *index) {
    char want[32];
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_LEXICAL;
    aoe_index_hits hits = {.struct_size = sizeof hits};
    const int rc = aoe_index_search(index, aoe_text_of("x"), &o, &hits, &err);
    snprintf(want, sizeof want, "x version%u", (unsigned)version);
    if (!rc) {
        assert_int_equal(hits.n, 1);
        assert_string_equal(hits.hit[0].text.data, want);
    }
    aoe_index_hits_free(&hits);
    return rc;
}

/* ------------------------------------------------------------------------ tests */

/* A reader without locks repeats a search during which the index changed. */
static void test_change_during_search(void **state) {
    (void)state;
    char *path = new_index();
    aoei_place_assume_network(1);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    check(search(index));
    arm("aoe_postings", 1, write_and_leave);
    check(search(index));
    assert_true(event.fired && version == 2);
    arm("SELECT p.heading", 1, write_and_leave); /* the passages of the hits */
    check(search(index));
    assert_true(event.fired && version == 3);
    aoe_index_hits hits = {.struct_size = sizeof hits};
    arm("SELECT p.heading", 1, write_and_leave);
    check(aoe_index_get(index, "a", 0, 0, &hits, &err));
    assert_true(event.fired && version == 4);
    assert_string_equal(hits.hit[0].text.data, "x version4");
    aoe_index_hits_free(&hits);
    aoe_index_stats stats = {.struct_size = sizeof stats};
    arm("SELECT count(*) FROM documents", 1, write_and_leave);
    check(aoe_index_get_stats(index, &stats, &err));
    assert_true(event.fired && version == 5);
    assert_int_equal(stats.commits, 5);
    /* a log that stays: on a network file system, it cannot be read */
    arm("aoe_postings", 1, write_and_stay);
    assert_int_equal(search(index), AOE_EUNSUPPORTED);
    assert_true(event.fired);
    assert_message("journal");
    aoe_index_close(changer);
    check(search(index));
    /* a writer that does not stop */
    arm("aoe_postings", 1, write_always);
    assert_int_equal(search(index), AOE_EIO);
    event.sql = NULL;
    assert_message("changed while it was read");
    check(search(index));
    aoe_index_close(index);
    aoei_place_assume_network(0);
    free(path);
}

static int write_once(void *user, const aoe_index_hit *passage, const float *vector, aoe_error *e) {
    (void)passage;
    (void)vector;
    (void)e;
    if ((*(int *)user)++ == 0)
        write_and_leave();
    return 0;
}

/* An iteration over all passages cannot be repeated, so it fails. */
static void test_change_during_each(void **state) {
    (void)state;
    char *path = new_index();
    int calls = 0;
    aoei_place_assume_network(1);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    assert_int_equal(aoe_index_each(index, write_once, &calls, &err), AOE_EIO);
    assert_message("changed while it was read");
    check(aoe_index_each(index, write_once, &calls, &err));
    assert_int_equal(calls, 2);
    aoe_index_close(index);
    aoei_place_assume_network(0);
    free(path);
}

static void compact(void) {
    check(aoe_index_compact(changer, &err));
}

/* A compaction between the beginning of the transaction of a reader and its opening of the vector files removes them.
 */
static void test_compaction_during_search(void **state) {
    (void)state;
    char *path = new_index();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
    check(search(index));
    write_and_stay(); /* so that the reader must open the files again */
    arm("SELECT value FROM meta", 2, compact);
    check(search(index));
    assert_true(event.fired);
    char *old = test_path(path, "vectors-1.codes"), *new = test_path(path, "vectors-2.codes");
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(new, F_OK), 0);
    check(search(index));
    aoe_index_close(changer);
    /* files that no commit replaces are a damage */
    assert_int_equal(unlink(new), 0);
    aoe_index *damaged;
    assert_int_equal(aoe_index_open(&damaged, path, AOE_INDEX_READ, NULL, NULL, &err), AOE_EFORMAT);
    assert_message("damaged");
    aoe_index_close(index);
    free(old);
    free(new);
    free(path);
}

/* Reads a byte that tells this process to continue, and answers. Returns 0 after an error. */
static int take_turn(int in) {
    char c;
    return read(in, &c, 1) == 1;
}

/* Searches as a user without write permission, before, while and after the owner writes. The exit code is the number of
 * the search that failed, counted from 1, or 0. */
static void search_as_other_user(const char *path, int in, int out) {
    aoe_index *index = NULL;
    if (setgid(65534) || setuid(65534))
        _exit(100);
    if (aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, &err)) {
        fprintf(stderr, "%s\n", err.message);
        _exit(101);
    }
    for (int i = 1; take_turn(in); i++) {
        version = (uint32_t)i;
        aoe_index_search_options o;
        aoe_index_search_options_defaults(&o);
        char want[32];
        snprintf(want, sizeof want, "x version%d", i);
        aoe_index_hits hits = {.struct_size = sizeof hits};
        err.message[0] = 0;
        if (aoe_index_search(index, aoe_text_of("x"), &o, &hits, &err) || hits.n != 1 ||
            strcmp(hits.hit[0].text.data, want) != 0) {
            fprintf(stderr, "search %d: %s\n", i, hits.n ? hits.hit[0].text.data : err.message);
            _exit(i);
        }
        aoe_index_hits_free(&hits);
        if (write(out, "x", 1) != 1)
            _exit(102);
    }
    aoe_index_close(index);
    _exit(0);
}

static void test_other_user(void **state) {
    (void)state;
    if (getuid() != 0) {
        printf("SKIP: reading the index of another user needs a test that root runs\n");
        skip();
    }
    char *path = new_index();
    int to[2], from[2], status;
    assert_int_equal(pipe(to) | pipe(from), 0);
    assert_int_equal(chmod(tiny_index_dir, 0755), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(to[1]);
        close(from[0]);
        search_as_other_user(path, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    for (int turn = 1; turn <= 5; turn++) {
        if (turn == 2)
            write_and_stay(); /* a log appears */
        else if (turn == 3)
            write_version();
        else if (turn > 3) { /* the log disappears */
            aoe_index_close(changer);
            write_and_leave();
        }
        if (write(to[1], "x", 1) != 1 || !take_turn(from[0]))
            break;
    }
    close(to[1]);
    close(from[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(version, 5);
    free(path);
}

/* A copy of an index in use contains a log. Without write permission it cannot be read, which is reported. */
static void test_left_log(void **state) {
    (void)state;
    if (getuid() != 0) {
        printf("SKIP: reading the index of another user needs a test that root runs\n");
        skip();
    }
    char *path = new_index(), *copy = tiny_index_path(), *memory = test_path(copy, "index.db-shm");
    write_and_stay();
    assert_int_equal(mkdir(copy, 0755), 0);
    test_copy_dir(path, copy);
    aoe_index_close(changer);
    (void)unlink(memory);
    assert_int_equal(chmod(tiny_index_dir, 0755), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        aoe_index *index;
        if (setgid(65534) || setuid(65534))
            _exit(100);
        const int code = aoe_index_open(&index, copy, AOE_INDEX_READ, NULL, NULL, &err);
        if (code != AOE_EUNSUPPORTED || !strstr(err.message, "journal")) {
            fprintf(stderr, "%d: %s\n", code, err.message);
            _exit(1);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    changed_path = copy; /* after it was opened with write permission, it can be read */
    write_and_leave();
    aoe_index *index = tiny_index_open(copy, AOE_INDEX_READ, NULL);
    check(search(index));
    assert_int_equal(version, 3);
    aoe_index_close(index);
    free(memory);
    free(copy);
    free(path);
}

/* Opens the index while another program has locked its database. */
static void open_locked(const char *path, aoe_index_access access, int code) {
    aoe_index *index;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.wait = 0.2;
    const double start = aoei_now();
    const int found = aoe_index_open(&index, path, access, tiny_index_embedder, &o, &err);
    const double seconds = aoei_now() - start;
    assert_int_equal(found, code);
    if (code) {
        assert_message("another program has locked the index");
        assert_true(seconds >= 0.2 && seconds < 2.5); /* the default is 3 s */
    }
    aoe_index_close(index);
}

/* A program that is not aoe can lock the database. Opening the index waits no longer than options.wait. */
static void test_foreign_lock(void **state) {
    (void)state;
    static const struct {
        const char *sql;
        int read, write; /* expected codes */
    } cases[] = {{"BEGIN; SELECT count(*) FROM meta", 0, 0},
                 {"BEGIN IMMEDIATE", 0, AOE_EIO},
                 {"BEGIN EXCLUSIVE; CREATE TABLE t (a)", 0, AOE_EIO},
                 {"PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", AOE_EIO, AOE_EIO}};
    char *path = new_index(), *db = test_path(path, "index.db");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sqlite3 *c;
        assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
        assert_int_equal(sqlite3_exec(c, cases[i].sql, NULL, NULL, NULL), SQLITE_OK);
        open_locked(path, AOE_INDEX_READ, cases[i].read);
        open_locked(path, AOE_INDEX_WRITE, cases[i].write);
        assert_int_equal(sqlite3_close(c), SQLITE_OK);
    }
    aoe_index *index;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    for (int i = 0; i < 3; i++) {
        o.wait = i == 0 ? -1 : i == 1 ? NAN : 3601;
        assert_int_equal(aoe_index_open(&index, path, AOE_INDEX_READ, NULL, &o, &err), AOE_EARG);
        assert_message("options.wait");
    }
    assert_int_equal(aoei_reader_wait(path, 100), 100);
    aoei_place_assume_network(1);
    assert_true(aoei_reader_wait(path, 100) == 5000 && aoei_reader_wait(path, 6000) == 6000);
    aoei_place_assume_network(0);
    free(db);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_change_during_search),
                                       cmocka_unit_test(test_change_during_each),
                                       cmocka_unit_test(test_compaction_during_search),
                                       cmocka_unit_test(test_other_user),
                                       cmocka_unit_test(test_left_log),
                                       cmocka_unit_test(test_foreign_lock)};
    return cmocka_run_group_tests(tests, begin, end);
}
