/* SPDX-License-Identifier: MIT
 * Tests the check of the files that a model directory may contain.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/path.h"

/* Checks `name` in test_dir. Returns the error code. message: fragment of the error; NULL: none is expected. */
static int check(const char *name, const char *message) {
    aoe_error err = {0};
    char *path = test_path(test_dir, name);
    const int rc = aoei_check_optional_file(path, &err);
    if (message)
        test_message(err.message, message);
    free(path);
    return rc;
}

static void accepts_files_and_missing_files(void **state) {
    (void)state;
    char *file = test_write_text(test_dir, "file", "x"), *link = test_path(test_dir, "link");
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(check("file", NULL), 0);
    assert_int_equal(check("link", NULL), 0);
    assert_int_equal(check("missing", NULL), 0);
    assert_int_equal(check("missing/file", NULL), 0);
    assert_int_equal(check("file/in-a-file", NULL), 0);
    free(file);
    free(link);
}

static void rejects_links_and_directories(void **state) {
    (void)state;
    char *broken = test_path(test_dir, "broken"), *loop = test_path(test_dir, "loop"),
         *folder = test_path(test_dir, "folder");
    assert_int_equal(symlink("nowhere", broken), 0);
    assert_int_equal(symlink("loop", loop), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(check("broken", "broken: this symbolic link leads to a missing file"), AOE_ENOENT);
    assert_int_equal(check("loop", "loop: this symbolic link leads to a missing file"), AOE_ENOENT);
    assert_int_equal(check("folder", "folder: this is a directory, but must be a file"), AOE_EFORMAT);
    free(broken);
    free(loop);
    free(folder);
}

/* A file whose existence is unknown is not a missing file. */
static void reports_other_errors(void **state) {
    (void)state;
    char name[400], *folder = test_path(test_dir, "closed");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(check(name, "File name too long"), AOE_EIO);
    assert_int_equal(check("loop/file", "Too many levels of symbolic links"), AOE_EIO);
    assert_int_equal(mkdir(folder, 0), 0);
    if (geteuid() != 0) /* the superuser may search every folder */
        assert_int_equal(check("closed/file", "Permission denied"), AOE_EIO);
    free(folder);
}

static void extensions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a/b.C", "c"},     {"a.b/c", ""}, {".profile", ""}, {"dir/.git.TXT", "txt"},
        {"x.tar.GZ", "gz"}, {"end.", ""},  {"", ""},         {"x.\xC3\x84Y", "\xC3\x84y"}};
    char ext[AOEI_EXTENSION_BYTES], name[AOEI_EXTENSION_BYTES + 3] = "a.";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoei_path_extension(cases[i][0], ext), *cases[i][1] != 0);
        assert_string_equal(ext, cases[i][1]);
    }
    memset(name + 2, 'x', AOEI_EXTENSION_BYTES);
    assert_int_equal(aoei_path_extension(name, ext), 0); /* too long */
    assert_string_equal(ext, "");
    name[AOEI_EXTENSION_BYTES + 1] = 0;
    assert_int_equal(aoei_path_extension(name, ext), 1);
    assert_string_equal(ext, name + 2);
}

/* Files of the user and of root are trusted; a link counts as well as its target. */
static void owners(void **state) {
    (void)state;
    char *file = test_write_text(test_dir, "owned", "x"), *link = test_path(test_dir, "link-to-owned");
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(symlink("owned", link), 0);
    assert_int_equal(aoei_has_other_owner(file, st.st_uid), 0);
    assert_int_equal(aoei_has_other_owner(link, st.st_uid), 0);
    assert_int_equal(aoei_has_other_owner("/", st.st_uid + 1), 0);
    assert_int_equal(aoei_has_other_owner("/nonexistent/file", st.st_uid + 1), 0);
    assert_int_equal(aoei_has_other_owner(file, st.st_uid + 1), st.st_uid != 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(file, 65534, 65534), 0);
        assert_int_equal(aoei_has_other_owner(file, 0), 1);
        assert_int_equal(aoei_has_other_owner(file, 65534), 0);
        assert_int_equal(aoei_has_other_owner(link, 0), 1);
        assert_int_equal(chown(file, 0, 0), 0);
        assert_int_equal(lchown(link, 65534, 65534), 0);
        assert_int_equal(aoei_has_other_owner(link, 0), 1);
        assert_int_equal(aoei_has_other_owner(link, 65534), 0);
    }
    free(file);
    free(link);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extensions), cmocka_unit_test(accepts_files_and_missing_files),
                                       cmocka_unit_test(rejects_links_and_directories),
                                       cmocka_unit_test(reports_other_errors), cmocka_unit_test(owners)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
