/* SPDX-License-Identifier: MIT
 * covers: index/update_plan index/update_run index/update_source
 * Tests that an index survives every failure of aoe_index_update: a process that is killed at an operation that changes
 * the disk, and a full disk. Files are changed, renamed, added and removed, rows of a table change, all documents get
 * other names, and a source is removed. Afterwards the index is that of a commit of the update, and the next update
 * completes it: nothing is missing, nothing is there twice, and a document that the user removed stays out.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/sqlite_fault.h"
#include "../support/update_index.h"
#include "base/io_fault.h"

enum { PARTS = 2 /* maximum number of commits of an update */ };

typedef int (*change_fn)(aoe_index *index, aoe_error *e);

/* A change of the sources, and the update after it. */
typedef struct scenario {
    int has_table;         /* 1: the table is a source before the change */
    void (*edit)(void);    /* changes the sources; NULL: nothing */
    change_fn update;      /* the update that fails */
    change_fn part[PARTS]; /* changes with the same contents as each commit of the update; NULL: no commit */
    int has_more;          /* 1: the update has more commits */
    uint64_t least;        /* the update has more operations than this */
} scenario;

static char *state[PARTS + 1]; /* contents after the commits of the current scenario; state[0]: before the update */
static size_t n_states;

/* ------------------------------------------------------------------- sources */

static int update_source(aoe_index *index, const char *name, const aoe_index_update_options *o, aoe_error *e) {
    char *path = name ? test_path(base, name) : NULL;
    const aoe_index_source s = {.struct_size = sizeof s, .path = path};
    const int code = aoe_index_update(index, &s, name != NULL, o, NULL, e);
    free(path);
    return code;
}

/* Creates the sources and an index of them. */
static void create(const scenario *s) {
    delete (".aoe-index");
    delete ("docs");
    add("docs/a.md", "# A\n\na b c\n");
    add("docs/b.md", "---\nyear: 2020\n---\n# B\n\nb c d\n\n# C\n\nc d e\n");
    add("docs/c.txt", "c d e\n");
    add("docs/sub/d.md", "d e f\n");
    add("t.csv", "text,year\na b,1\nc d,2\ne f,3\n");
    add("more/x.md", "x y\n");
    open_index();
    check(update_source(index_, "docs", NULL, &err));
    if (s->has_table)
        check(update_source(index_, "t.csv", NULL, &err));
    aoe_index_close(index_);
}

static void edit_files(void) {
    add("docs/a.md", "# A\n\na b x\n\n# New\n\nc d e\n");
    move("docs/b.md", "docs/sub/b2.md");
    add("docs/c.txt", "c d e f\n");
    delete ("docs/sub/d.md");
    add("docs/f.md", "f g h\n");
}

/* Commits after every document. */
static int update_often(aoe_index *index, aoe_error *e) {
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.commit_seconds = 0;
    return update_source(index, NULL, &o, e);
}

/* Replaces a document by a large one, which is committed separately. It has few passages, so that the test is fast. */
static void add_large_file(void) {
    enum { SIZE = 100000 };
    char *text = malloc(SIZE);
    memset(text, '\n', SIZE - 1);
    memcpy(text, "# L\n\nl m n", 10);
    memcpy(text + SIZE - 8, "o p q\n\n", 8);
    add("docs/c.txt", text);
    free(text);
}

static void edit_table(void) {
    add("t.csv", "text,year\na b,1\nc d,4\ng h i,5\ne f,3\n");
}

static void edit_all(void) {
    edit_files();
    edit_table();
}

static int update_recorded(aoe_index *index, aoe_error *e) {
    return update_source(index, NULL, NULL, e);
}

static int update_files(aoe_index *index, aoe_error *e) {
    edit_files();
    return update_recorded(index, e);
}

static int update_large_file(aoe_index *index, aoe_error *e) {
    add_large_file();
    return update_often(index, e);
}

static int update_table(aoe_index *index, aoe_error *e) {
    edit_table();
    return update_recorded(index, e);
}

/* Adds the second source, because of which all documents get other names. */
static int add_source(aoe_index *index, aoe_error *e) {
    return update_source(index, "more", NULL, e);
}

/* Removes the second source, and a document whose file is still there. */
static int remove_table(aoe_index *index, aoe_error *e) {
    char *table = test_path(base, "t.csv");
    int code = aoe_index_remove_source(index, table, NULL, e);
    free(table);
    if (code == AOE_ENOENT) /* an earlier call removed it */
        code = 0;
    if (code == 0)
        code = aoe_index_remove(index, &(const char *){"docs/a.md"}, 1, NULL, e);
    return code ? code : aoe_index_commit(index, e);
}

/* The update after the removal gives all documents other names. */
static int remove_and_update(aoe_index *index, aoe_error *e) {
    const int code = remove_table(index, e);
    return code ? code : update_recorded(index, e);
}

/* ------------------------------------------------------------------ contents */

static char *dump(uint64_t n) {
    char *path = test_path(base, ".aoe-index"), *text = tiny_index_dump_path(path, &err);
    if (!text)
        fail_msg("operation %llu: %s", (unsigned long long)n, err.message);
    free(path);
    return text;
}

/* Sets the contents that the index has before the update and after each commit. */
static void find_states(const scenario *s) {
    create(s);
    state[0] = dump(0);
    open_index();
    for (n_states = 1; n_states <= PARTS && s->part[n_states - 1]; n_states++) {
        check(s->part[n_states - 1](index_, &err));
        state[n_states] = tiny_index_dump(index_);
        assert_string_not_equal(state[n_states], state[n_states - 1]);
    }
    aoe_index_close(index_);
}

static void free_states(void) {
    for (size_t i = 0; i < n_states; i++)
        free(state[i]);
}

/* Checks the index after a failure, and completes the update. is_done: 1: the update succeeded. */
static void recover(const scenario *s, int is_done, uint64_t n) {
    char *got = dump(n);
    size_t i = is_done ? n_states - 1 : 0;
    while (i < n_states && strcmp(got, state[i]) != 0)
        i++;
    if (i == n_states && (is_done || !s->has_more))
        fail_msg("operation %llu: the index contains\n%s", (unsigned long long)n, got);
    free(got);
    open_index();
    check(aoe_index_verify(index_, 0, &err));
    check(s->update(index_, &err));
    check(aoe_index_verify(index_, 0, &err));
    got = tiny_index_dump(index_);
    assert_string_equal(got, state[n_states - 1]);
    free(got);
    aoe_index_update_result r;
    int is_current;
    check(aoe_index_is_current(index_, NULL, &is_current, &err));
    assert_int_equal(is_current, 1);
    check(update(NULL, NULL, &r));
    assert_int_equal(r.added + r.changed + r.removed + r.passages, 0);
    aoe_index_close(index_);
}

/* ------------------------------------------------------------------ failures */

/* Runs the update in a child process that is killed at operation n. Returns 1 if it was killed. */
static int killed_at(const scenario *s, uint64_t n) {
    const pid_t child = fork();
    if (child == 0) {
        aoe_index *index;
        char *path = test_path(base, ".aoe-index");
        aoei_io_fail_at(n, AOEI_IO_KILL);
        int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, NULL);
        if (!rc)
            rc = s->update(index, NULL);
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

/* Operation n fails. The index object stays usable. Returns 1 if the update failed. */
static int fails_at(const scenario *s, uint64_t n) {
    aoe_index *index;
    char *path = test_path(base, ".aoe-index");
    aoei_io_fail_at(n, ENOSPC);
    int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &err);
    if (!rc)
        rc = s->update(index, &err);
    const int is_reached = n <= aoei_io_count();
    aoei_io_fail_at(0, 0);
    if (rc && (rc != AOE_ENOSPC || !strstr(err.message, path)))
        fail_msg("operation %llu: code %d, %s", (unsigned long long)n, rc, err.message);
    assert_true(is_reached || !rc);
    if (rc && index && n % 2)
        check(s->update(index, &err));
    aoe_index_close(index);
    free(path);
    return is_reached;
}

/* Lets the update fail at each of the first `dense` operations, and then at a part of the following ones. */
static void fail_everywhere(const scenario *s, int (*fails)(const scenario *s, uint64_t n), uint64_t dense) {
    base = test_path(tiny_index_dir, "work");
    check(aoei_make_dir(base, &err));
    find_states(s);
    uint64_t n = 1;
    for (int failed = 1; failed; n += n >= dense ? n / 8 + 1 : 1) {
        create(s);
        if (s->edit)
            s->edit();
        failed = fails(s, n);
        recover(s, !failed, n);
    }
    assert_true(n > s->least);
    free_states();
    free(base);
}

static const scenario files = {1, edit_all, update_recorded, {update_files, update_table}, 0, 60},
                      often = {1, edit_all, update_often, {update_files, update_table}, 1, 200},
                      large = {1, add_large_file, update_often, {update_large_file}, 1, 20},
                      names = {0, NULL, add_source, {add_source}, 0, 40},
                      removal = {1, NULL, remove_and_update, {remove_table, update_recorded}, 0, 60};

static void test_kill(void **unused) {
    (void)unused;
    fail_everywhere(&files, killed_at, 40);
    fail_everywhere(&often, killed_at, 40);
    fail_everywhere(&large, killed_at, 40);
    fail_everywhere(&names, killed_at, 40);
    fail_everywhere(&removal, killed_at, 40);
}

static void test_full_disk(void **unused) {
    (void)unused;
    fail_everywhere(&files, fails_at, 20);
    fail_everywhere(&often, fails_at, 20);
    fail_everywhere(&large, fails_at, 20);
    fail_everywhere(&names, fails_at, 20);
    fail_everywhere(&removal, fails_at, 20);
}

static int begin_faults(void **unused) {
    test_sqlite_fault_begin();
    return tiny_index_begin(unused);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill), cmocka_unit_test(test_full_disk)};
    return cmocka_run_group_tests(tests, begin_faults, tiny_index_end);
}
