/* SPDX-License-Identifier: MIT
 * Tests directory functions: creating, listing, renaming and removing directories, and checking that a directory is
 * writable. Removing must not follow symbolic links.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/path.h"

static void test_join(void **state) {
    (void)state;
    static const char *const cases[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
    for (size_t i = 0; i < 4; i++) {
        char *path = aoei_path_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        aoei_free(path);
    }
    aoei_alloc_fail_at(1);
    char *none = aoei_path_join("a", "b");
    aoei_alloc_fail_at(0);
    assert_null(none);
}

static void test_labels(void **state) {
    (void)state;
    static const char *const paths[] = {"a/dev.tsv", "b/dev.tsv", "b/test.tsv", "sts12/",
                                        "sts13//",   "c.tsv",     "c.tsv",      "/"};
    static const char *const labels[] = {"a/dev.tsv", "b/dev.tsv", "test.tsv", "sts12", "sts13", "c.tsv", "c.tsv", "/"};
    for (size_t i = 0; i < 8; i++) {
        char *label = aoei_path_label(paths, 8, i);
        assert_string_equal(label, labels[i]);
        aoei_free(label);
    }
    assert_string_equal(aoei_path_name("a/b.tsv"), "b.tsv");
    assert_string_equal(aoei_path_name("b.tsv"), "b.tsv");
    assert_string_equal(aoei_path_name("a/"), "");
}

static void test_make_dir(void **state) {
    (void)state;
    static const char *const names[] = {"a", "a/b/c", "a//b/c///", "x/y/", "./z/../z/w"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = test_path(test_dir, names[i]);
        assert_int_equal(aoei_make_dir(path, NULL), 0);
        assert_int_equal(aoei_make_dir(path, NULL), 0);
        assert_int_equal(aoei_is_dir(path), 1);
        free(path);
    }
    aoe_error err = {0};
    char *file = test_write_text(test_dir, "file", "x"), *below = test_path(test_dir, "file/below");
    assert_int_equal(aoei_make_dir(file, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, file));
    assert_int_equal(aoei_make_dir(below, &err), AOE_EEXIST);
    assert_int_equal(aoei_make_dir("", &err), AOE_EARG);
    assert_int_equal(aoei_make_dir("/", NULL), 0);
    assert_int_equal(aoei_exists(file), 1);
    assert_int_equal(aoei_is_dir(file), 0);
    assert_int_equal(aoei_exists(below), 0);
    free(file);
    free(below);
}

static void test_list(void **state) {
    (void)state;
    char **names;
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, test_dir, NULL), 0);
    assert_int_equal(n, 0);
    aoei_list_free(names, n);
    for (int i = 49; i >= 0; i--) {
        char name[16];
        snprintf(name, sizeof name, ".%02d", i);
        free(test_write_text(test_dir, name, ""));
    }
    assert_int_equal(aoei_list_dir(&names, &n, test_dir, NULL), 0);
    assert_int_equal(n, 50);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(atoi(names[i] + 1), i);
    aoei_list_free(names, n);
    aoe_error err = {0};
    assert_int_equal(aoei_list_dir(&names, &n, "/no/such/place", &err), AOE_ENOENT);
    assert_null(names);
    aoei_list_free(NULL, 0);
}

static void test_rename(void **state) {
    (void)state;
    char *from = test_path(test_dir, "from"), *to = test_path(test_dir, "to"), *inside = test_path(test_dir, "to/f");
    aoe_error err = {0};
    assert_int_equal(aoei_rename(from, to, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, from));
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    free(test_write_text(from, "f", "x"));
    assert_int_equal(aoei_rename(from, to, NULL), 0);
    assert_int_equal(aoei_exists(from), 0);
    assert_int_equal(aoei_exists(inside), 1);
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    assert_int_equal(aoei_rename(from, to, &err), AOE_EIO); /* fails because the target directory is not empty */
    assert_int_equal(aoei_exists(inside), 1);
    free(from);
    free(to);
    free(inside);
}

static void test_remove_tree(void **state) {
    (void)state;
    char *tree = test_path(test_dir, "tree"), *deep = test_path(test_dir, "tree/a/b/c/d/e");
    assert_int_equal(aoei_remove_tree(tree, NULL), 0); /* a missing tree is not an error */
    assert_int_equal(aoei_make_dir(deep, NULL), 0);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        free(test_write_text(i % 2 ? tree : deep, name, "x"));
    }
    assert_int_equal(aoei_remove_tree(tree, NULL), 0);
    assert_int_equal(aoei_exists(tree), 0);
    free(test_write_text(test_dir, "tree", "a file"));
    assert_int_equal(aoei_remove_tree(tree, NULL), 0);
    assert_int_equal(test_count_entries(test_dir), 0);
    free(tree);
    free(deep);
}

static void test_remove_tree_does_not_follow_links(void **state) {
    (void)state;
    char *outside = test_path(test_dir, "outside"), *tree = test_path(test_dir, "tree");
    char *link_in_tree = test_path(tree, "link"), *dangling = test_path(tree, "dangling"),
         *link_to = test_path(test_dir, "link");
    char *with_slash = test_path(test_dir, "link//");
    assert_int_equal(aoei_make_dir(outside, NULL), 0);
    assert_int_equal(aoei_make_dir(tree, NULL), 0);
    char *kept = test_write_text(outside, "kept", "x");
    assert_int_equal(symlink("../outside", link_in_tree), 0);
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(symlink("outside", link_to), 0);
    assert_int_equal(aoei_remove_tree(tree, NULL), 0);
    assert_int_equal(aoei_exists(tree), 0);
    assert_int_equal(aoei_exists(kept), 1);
    assert_int_equal(aoei_remove_tree(with_slash, NULL), 0); /* removes the link, but not the directory to which it
                                                                points */
    assert_int_equal(aoei_exists(link_to), 0);
    assert_int_equal(aoei_exists(kept), 1);
    char *const all[] = {outside, tree, link_in_tree, dangling, link_to, with_slash, kept};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Tests that dangerous paths are rejected. An injected failure ensures that nothing is removed if the function wrongly
 * accepts a path. */
static void test_remove_tree_rejected_paths(void **state) {
    (void)state;
    char *dot = test_path(test_dir, "."), *up = test_path(test_dir, "sub/..");
    assert_int_equal(aoei_make_dir(up, NULL), 0);
    const char *const names[] = {"", "/", "//", "/../", ".", "..", "../", dot, up};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        aoe_error err = {0};
        aoei_io_fail_at(1, EIO);
        int code = aoei_remove_tree(names[i], &err);
        aoei_io_fail_at(0, 0);
        assert_int_equal(code, AOE_EARG);
        assert_non_null(strstr(err.message, "cannot remove"));
    }
    assert_int_equal(test_count_entries(test_dir), 1);
    free(dot);
    free(up);
}

static void test_writable_dir(void **state) {
    (void)state;
    aoe_error err = {0};
    char *deep = test_path(test_dir, "not/yet/there"), *file = test_write_text(test_dir, "file", "x"),
         *below = test_path(file, "x/y");
    char *dangling = test_path(test_dir, "dangling"), *below_dangling = test_path(dangling, "x");
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(aoei_check_writable_dir(test_dir, NULL), 0);
    assert_int_equal(aoei_check_writable_dir(deep, NULL), 0);
    assert_int_equal(test_count_entries(test_dir), 2); /* the check leaves no file */
    assert_int_equal(aoei_check_writable_dir(file, &err), AOE_EEXIST);
    assert_int_equal(aoei_check_writable_dir(below, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, file));
    assert_true(aoei_check_writable_dir(dangling, &err) < 0);
    assert_true(aoei_check_writable_dir(below_dangling, &err) < 0);
    assert_true(aoei_check_writable_dir("/proc/no-such-directory", &err) < 0); /* not even root can write there */
    aoei_io_fail_at(1, EROFS);
    int code = aoei_check_writable_dir(test_dir, &err);
    aoei_io_fail_at(0, 0);
    assert_int_equal(code, AOE_EIO);
    assert_non_null(strstr(err.message, "choose a file system that is writable"));
    char *const all[] = {deep, file, below, dangling, below_dangling};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_read_only_dir(void **state) {
    (void)state;
    if (geteuid() == 0) {
        printf("SKIP: root ignores permissions\n");
        skip();
    }
    aoe_error err = {0};
    char *sub = test_path(test_dir, "sub");
    assert_int_equal(mkdir(sub, 0500), 0);
    assert_int_equal(aoei_check_writable_dir(sub, &err), AOE_EIO);
    assert_non_null(strstr(err.message, "check its permissions"));
    free(sub);
}

/* Replaces the directory sub/final in the way in which training replaces a checkpoint: creates the new directory under
 * a temporary name, writes its file, removes the old directory and renames the new one. Returns 0 or an error code. */
static int write_directory(void *arg) {
    const char *dir = arg;
    char *temp = test_path(dir, "sub/.new"), *file = test_path(temp, "file"), *final = test_path(dir, "sub/final");
    aoe_error err = {0};
    int code = aoei_make_dir(temp, &err);
    if (code == 0)
        code = aoei_write_file(file, "x", 1, &err);
    if (code == 0)
        code = aoei_remove_tree(final, &err);
    if (code == 0)
        code = aoei_rename(temp, final, &err);
    assert_int_equal(code, err.code);
    free(temp);
    free(file);
    free(final);
    return code;
}

/* Asserts that the directory sub/final, if it exists, contains the complete file. If code is 0, also asserts that it
 * exists. */
static void final_is_complete(void *arg, int code) {
    const char *dir = arg;
    char *final = test_path(dir, "sub/final"), *file = test_path(final, "file");
    if (code == 0)
        assert_true(aoei_is_dir(final));
    if (aoei_is_dir(final)) {
        char *got = test_read(file, NULL);
        assert_non_null(got);
        assert_string_equal(got, "x");
        free(got);
    }
    free(final);
    free(file);
}

static void test_every_failure(void **state) {
    (void)state;
    assert_int_equal(test_io_failures(write_directory, final_is_complete, test_dir, ENOSPC), 10);
    assert_int_equal(test_io_failures(write_directory, final_is_complete, test_dir, EIO), 10);
    assert_in_range(test_alloc_failures(write_directory, test_dir, 0), 6, 12);
}

int main(void) {
#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, test_dir_set_up, test_dir_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_labels),
        WITH_DIR(test_make_dir),
        WITH_DIR(test_list),
        WITH_DIR(test_rename),
        WITH_DIR(test_remove_tree),
        WITH_DIR(test_remove_tree_does_not_follow_links),
        WITH_DIR(test_remove_tree_rejected_paths),
        WITH_DIR(test_writable_dir),
        WITH_DIR(test_read_only_dir),
        WITH_DIR(test_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
