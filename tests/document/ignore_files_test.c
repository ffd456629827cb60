/* SPDX-License-Identifier: MIT
 * Tests which ignore files are valid in a folder: those of the folders above it up to the top of its git repository,
 * their priority, and .git/info/exclude.
 *
 * covers: document/read_unchanged
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "document/folder.h"
#include "document/ignore_files.h"

static char *base; /* folder of the current test, below test_dir */

static void begin(const char *name) {
    base = test_path(test_dir, name);
    assert_int_equal(aoei_make_dir(base, NULL), 0);
}

static void add(const char *name, const char *text) {
    char *path = test_path(base, name), *slash = strrchr(path, '/');
    *slash = 0;
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(test_write_text(path, slash + 1, text));
    free(path);
}

/* Lists a folder below `base` and compares the paths, separated by '|'. */
static void check_files(const char *folder, const char *expected) {
    const aoei_folder_options none = {.exclude = NULL};
    aoei_folder *f;
    aoe_error err = {0};
    char found[4096] = "";
    char *path = test_path(base, folder);
    if (aoei_folder_open(&f, path, &none, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < f->n; i++) {
        const size_t len = strlen(found);
        snprintf(found + len, sizeof found - len, i ? "|%s" : "%s", f->file[i].path);
    }
    assert_string_equal(found, expected);
    aoei_folder_close(f);
    free(path);
}

static void honors_folders_above(void **state) {
    (void)state;
    begin("above");
    add("src/a.c", "");
    add("src/a.o", "");
    add("src/gen/b.c", "");
    add("src/sub/gen/c.c", "");
    add("src/sub/keep.o", "");
    add("src/sub/d.tmp", "");
    add("src/sub/e.md", "");
    add(".gitignore", "*.o\n/src/gen/\n*.tmp\n");
    add("src/.gitignore", "!keep.o\n");
    add(".aoeignore", "src/**/e.md\n");
    /* without .git, only the folder itself counts */
    check_files("src", "a.c|a.o|gen/b.c|sub/d.tmp|sub/e.md|sub/gen/c.c|sub/keep.o");
    add(".git/HEAD", "ref: refs/heads/main\n");
    check_files("src", "a.c|sub/gen/c.c|sub/keep.o");
    check_files("src/sub", "gen/c.c|keep.o");
    check_files(".", "src/a.c|src/sub/gen/c.c|src/sub/keep.o");
    /* a folder that is excluded can be walked; patterns for what is below it are valid there */
    check_files("src/gen", "b.c");
    add(".gitignore", "/src/gen/*\n");
    check_files("src/gen", "");
    free(base);
}

static void stops_at_the_top_of_the_repository(void **state) {
    (void)state;
    begin("top");
    add(".git/HEAD", "");
    add(".gitignore", "*.txt\n");
    add("inner/.git", "gitdir: elsewhere\n"); /* a worktree or a submodule */
    add("inner/.gitignore", "*.log\n");
    add("inner/docs/a.txt", "");
    add("inner/docs/a.log", "");
    add("inner/docs/a.md", "");
    check_files("inner/docs", "a.md|a.txt");
    check_files("inner", "docs/a.md|docs/a.txt");
    free(base);
}

static void honors_the_list_of_git(void **state) {
    (void)state;
    begin("info");
    add(".git/info/exclude", "# comment\n*.bak\n/notes/private/\n*.org\n");
    add("notes/a.bak", "");
    add("notes/b.org", "");
    add("notes/private/c.md", "");
    add("notes/d.md", "");
    add("notes/.gitignore", "!b.org\n"); /* .gitignore has priority */
    check_files("notes", "b.org|d.md");
    check_files(".", "notes/b.org|notes/d.md");
    /* a list that may not be read is ignored, like a file with the name of a folder */
    char *git = test_path(base, ".git");
    assert_int_equal(chmod(git, 0), 0);
    if (access(git, R_OK))
        check_files("notes", "a.bak|b.org|d.md|private/c.md");
    assert_int_equal(chmod(git, 0700), 0);
    free(git);
    free(base);
}

static void rejects_bad_files_above(void **state) {
    (void)state;
    const aoei_folder_options none = {.exclude = NULL};
    aoei_folder *f;
    aoe_error err = {0};
    begin("bad");
    char *text = malloc(6000);
    memset(text, 'x', 5999);
    text[5999] = 0;
    add(".gitignore", text);
    free(text);
    add(".git/HEAD", "");
    add("a/b/c.md", "");
    char *path = test_path(base, "a/b");
    assert_int_equal(aoei_folder_open(&f, path, &none, &err), AOE_EFORMAT);
    assert_null(f);
    assert_non_null(strstr(err.message, "bad: .gitignore:1: a pattern has 5999 bytes"));
    free(path);
    free(base);
}

/* Reads the files above the folder `arg` and compares three names. */
static int read_above(void *arg) {
    const aoei_ignore_level *above;
    aoei_ignore_files f = {.root = NULL};
    const int code = aoei_ignore_files_begin(&f, arg, &above, NULL);
    if (code == 0) {
        assert_int_equal(aoei_ignore_files_find(&f, above, "x.o", 0), AOEI_IGNORE_EXCLUDED);
        assert_int_equal(aoei_ignore_files_find(&f, above, "x.a", 0), AOEI_IGNORE_EXCLUDED);
        assert_int_equal(aoei_ignore_files_find(&f, above, "x.c", 0), AOEI_IGNORE_NONE);
    }
    aoei_ignore_files_free(&f);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    begin("memory");
    add(".git/HEAD", "");
    add(".gitignore", "*.o\n");
    add("a/.gitignore", "*.a\n");
    add("a/b/c.md", "");
    char *path = test_path(base, "a/b"), *full = realpath(path, NULL);
    assert_true(test_alloc_failures(read_above, full, 0) > 6);
    free(full);
    free(path);
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honors_folders_above),        cmocka_unit_test(stops_at_the_top_of_the_repository),
        cmocka_unit_test(honors_the_list_of_git),      cmocka_unit_test(rejects_bad_files_above),
        cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
