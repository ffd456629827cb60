/* SPDX-License-Identifier: MIT
 * Tests the walk of a folder: order, ignore files, symbolic links, special files, names, and files that change. No file
 * outside the folder may be read, and no special file may be opened.
 *
 * covers: document/beneath
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "document/beneath.h"
#include "document/folder.h"

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

static void add_link(const char *name, const char *target) {
    char *path = test_path(base, name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

/* Lists `base` and compares the paths, separated by '|'. A file that is not read is followed by the number of its
 * reason in parentheses. */
static void check_files(const aoei_folder_options *o, const char *expected) {
    const aoei_folder_options none = {.exclude = NULL};
    aoei_folder *f;
    aoe_error err = {0};
    char found[4096] = "";
    if (aoei_folder_open(&f, base, o ? o : &none, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < f->n; i++) {
        const size_t len = strlen(found);
        snprintf(found + len, sizeof found - len, i ? "|%s" : "%s", f->file[i].path);
        if (f->file[i].skip)
            snprintf(found + strlen(found), sizeof found - strlen(found), "(%d)", (int)f->file[i].skip);
    }
    assert_string_equal(found, expected);
    aoei_folder_close(f);
    free(base);
}

static void lists_in_the_order_of_paths(void **state) {
    (void)state;
    begin("order");
    add("b.md", "");
    add("a/z", "");
    add("a-b", "");
    add("a/b/c", "");
    add("B", "");
    add(".hidden", "");
    add(".dir/x", "");
    add("a/.x/y", "");
    add("CVS/Root", "");
    add("index/index.db", "");
    char *skip = test_path(base, "index");
    check_files(&(aoei_folder_options){.skip = skip}, "B|a-b|a/b/c|a/z|b.md");
    free(skip);
}

static void honors_ignore_files(void **state) {
    (void)state;
    begin("ignore");
    add(".gitignore", "*.log\n/build/\n!keep.log\nsecret*\n");
    add("a.log", "");
    add("keep.log", "");
    add("build/x", "");
    add("sub/build/x", "");
    add("sub/a.log", "");
    add("sub/.gitignore", "!a.log\n*.tmp\n");
    add("sub/b.tmp", "");
    add("b.tmp", "");
    add("secret/readme", "");
    add("other/secret.md", "");
    /* .aoeignore has priority over all .gitignore files */
    add(".aoeignore", "!secret.md\nsub/build\nc.md\n");
    add("c.md", "");
    add("d/c.md", "");
    add("d/.aoeignore", "!c.md\n");
    add("e.md", "");
    const char *const exclude[] = {"e.*", "/d/x/"};
    add("d/x/y", "");
    /* a file inside an excluded folder stays excluded */
    add("build/.aoeignore", "!x\n");
    check_files(&(aoei_folder_options){.exclude = exclude, .n_exclude = 2},
                "b.tmp|d/c.md|keep.log|other/secret.md|sub/a.log");
}

static void rejects_bad_ignore_files(void **state) {
    (void)state;
    aoei_folder *f;
    aoe_error err = {0};
    const aoei_folder_options none = {.exclude = NULL};
    begin("badignore");
    char *text = malloc(6000);
    memset(text, 'x', 5999);
    text[5999] = 0;
    add("sub/.gitignore", text);
    free(text);
    assert_int_equal(aoei_folder_open(&f, base, &none, &err), AOE_EFORMAT);
    assert_null(f);
    assert_non_null(strstr(err.message, "sub: .gitignore:1: a pattern has 5999 bytes"));
    char *path = test_path(base, "sub/.gitignore");
    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    assert_int_equal(aoei_folder_open(&f, base, &none, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "sub/.gitignore has more than 1048576 bytes"));
    /* links and folders with this name are ignored, as git does; a FIFO is not opened for reading */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/zero", path), 0);
    free(path);
    path = test_path(base, ".gitignore");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    path = test_path(base, ".aoeignore");
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    add("a", "");
    check_files(NULL, "a");
}

static void follows_links_inside_the_folder(void **state) {
    (void)state;
    begin("links");
    add("real/a.md", "a");
    add("ignored/b.md", "b");
    add("ignored/sub/c.md", "c");
    add(".gitignore", "ignored/\n");
    add(".git/config", "x");
    add(".notes/n.md", "n");
    add_link("zlink.md", "real/a.md"); /* also reachable without the link */
    add_link("loop", ".");             /* the folder itself */
    add_link("real/up", "..");
    add_link("shown", "ignored");     /* reachable only through the link */
    add_link("again", "ignored/sub"); /* the first link in the order of paths counts */
    add_link("b2.md", "ignored/b.md");
    add_link("notes", ".notes"); /* hidden */
    add_link("n.md", ".notes/n.md");
    add_link("self", "self");
    add_link("missing", "nothing");
    add_link("config", ".git/config");
    add_link("git", ".git");
    add_link("passwd", "/etc/passwd");
    add_link("etc", "/etc");
    add_link("dots", "../../../../../../etc/passwd");
    add_link("tty", "/dev/zero");
    check_files(NULL, "again/c.md|b2.md|config(4)|dots(4)|etc(4)|git(4)|missing(4)|passwd(4)|real/a.md|"
                      "self(4)|tty(4)");
}

/* An absolute link into the folder is followed, and a folder whose name begins with the name of the folder is outside.
 */
static void compares_whole_components(void **state) {
    (void)state;
    char inside[600], outside[600];
    begin("whole");
    add("x/h/a.md", "");
    add(".gitignore", "h/\n");
    snprintf(inside, sizeof inside, "%s/x/h/a.md", base);
    char *other = test_path(test_dir, "whole2");
    assert_int_equal(aoei_make_dir(other, NULL), 0);
    free(test_write_text(other, "b.md", "secret"));
    snprintf(outside, sizeof outside, "%s/b.md", other);
    add_link("in.md", inside);
    add_link("out.md", outside);
    free(other);
    check_files(NULL, "in.md|out.md(4)");
}

static void does_not_open_special_files(void **state) {
    (void)state;
    begin("special");
    add("a.md", "a");
    char *path = test_path(base, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    path = test_path(base, "socket");
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    free(path);
    add_link("link", "fifo");
    check_files(NULL, "a.md|fifo(3)|link(3)|socket(3)");
    close(s);
}

static void skips_bad_names(void **state) {
    (void)state;
    begin("names");
    add("two\nlines", "");
    add("esc\x1b[31m", "");
    add("latin\xfc", "");
    add("gr\xc3\xbc\xc3\x9f e.md", "");
    add("c1\xc2\x9b", "");
    add("bad\xff/x", ""); /* a folder */
    add("-rf", "");
    check_files(NULL, "-rf|bad\xff(2)|c1\xc2\x9b(2)|esc\x1b[31m(2)|gr\xc3\xbc\xc3\x9f e.md|latin\xfc(2)|two\nlines(2)");
}

/* A tree whose paths are longer than PATH_MAX. */
static void survives_deep_trees(void **state) {
    (void)state;
    aoei_folder *f;
    const aoei_folder_options none = {.exclude = NULL};
    begin("deep");
    int at = open(base, O_RDONLY | O_DIRECTORY);
    size_t depth = 0;
    for (; depth < 520; depth++) {
        assert_int_equal(mkdirat(at, "folder1", 0700), 0);
        const int next = openat(at, "folder1", O_RDONLY | O_DIRECTORY),
                  file = openat(at, "file123", O_CREAT | O_WRONLY, 0600);
        assert_true(next >= 0 && file >= 0);
        close(file);
        close(at);
        at = next;
    }
    close(at);
    assert_int_equal(aoei_folder_open(&f, base, &none, NULL), 0);
    /* 512 files have paths with at most 4,095 bytes; the next file and the next folder have longer paths */
    size_t too_long = 0;
    for (size_t i = 0; i < f->n; i++)
        too_long += f->file[i].skip == AOEI_SKIP_NAME;
    assert_int_equal(f->n, 514);
    assert_int_equal(too_long, 2);
    aoei_folder_close(f);
    assert_int_equal(aoei_remove_tree(base, NULL), 0);
    free(base);
}

static void reads_files(void **state) {
    (void)state;
    aoei_folder *f;
    char *data;
    const aoei_folder_options none = {.exclude = NULL};
    begin("read");
    add("a.md", "text");
    add("d/b.md", "");
    add("d/c.md", "c");
    add("e.md", "e");
    assert_int_equal(aoei_folder_open(&f, base, &none, NULL), 0);
    assert_int_equal(f->n, 4);
    assert_int_equal(aoei_folder_read(f, &f->file[0], &data, NULL), 0);
    assert_string_equal(data, "text");
    assert_int_equal(f->file[0].size, 4);
    assert_int_equal(f->file[0].skip, AOEI_SKIP_NONE);
    aoei_free(data);
    assert_int_equal(aoei_folder_read(f, &f->file[1], &data, NULL), 0);
    assert_string_equal(data, "");
    aoei_free(data);
    char *full = aoei_folder_full_path(f, &f->file[1]);
    assert_string_equal(full + strlen(full) - 12, "/read/d/b.md");
    aoei_free(full);
    /* after the walk, the file is replaced by a link, and the folder by a link to another folder */
    char *path = test_path(base, "e.md"), *dir = test_path(base, "d"), *moved = test_path(base, "moved");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(rename(dir, moved), 0);
    assert_int_equal(symlink("moved", dir), 0);
    assert_int_equal(aoei_folder_read(f, &f->file[3], &data, NULL), 0);
    assert_null(data);
    assert_int_equal(f->file[3].skip, AOEI_SKIP_LINK);
    assert_int_equal(aoei_folder_read(f, &f->file[2], &data, NULL), 0);
    assert_null(data);
    assert_int_equal(f->file[2].skip, AOEI_SKIP_UNREADABLE);
    /* a FIFO is not opened */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(aoei_folder_read(f, &f->file[3], &data, NULL), 0);
    assert_null(data);
    assert_int_equal(f->file[3].skip, AOEI_SKIP_SPECIAL);
    free(path);
    free(dir);
    free(moved);
    aoei_folder_close(f);
    free(base);
}

/* As the superuser can read all files, unreadable files are tested only as another user. */
static void counts_unreadable_files(void **state) {
    (void)state;
    begin("unreadable");
    add("a.md", "a");
    add("closed/b.md", "b");
    char *dir = test_path(base, "closed"), *file = test_path(base, "a.md"), *data;
    assert_int_equal(chmod(dir, 0), 0);
    assert_int_equal(chmod(file, 0), 0);
    assert_int_equal(chmod(test_dir, 0755), 0);
    if (geteuid() == 0 && setegid(65534) + seteuid(65534))
        skip();
    aoei_folder *f;
    const int code = aoei_folder_open(&f, base, &(aoei_folder_options){.exclude = NULL}, NULL);
    if (code == 0) {
        assert_int_equal(f->n, 2);
        assert_string_equal(f->file[1].path, "closed/");
        assert_int_equal(f->file[1].skip, AOEI_SKIP_UNREADABLE);
        assert_int_equal(f->file[1].errnum, EACCES);
        assert_int_equal(aoei_folder_read(f, &f->file[0], &data, NULL), 0);
        assert_null(data);
        assert_int_equal(f->file[0].skip, AOEI_SKIP_UNREADABLE);
        assert_int_equal(f->file[0].errnum, EACCES);
        aoei_folder_close(f);
    }
    if (getuid() == 0)
        assert_int_equal(seteuid(0) + setegid(0), 0);
    assert_int_equal(code, 0);
    assert_int_equal(chmod(dir, 0700), 0);
    free(dir);
    free(file);
    free(base);
}

typedef struct writer {
    char *path;
    _Atomic int stop;
} writer;

static void *write_again_and_again(void *arg) {
    writer *w = arg;
    const int fd = open(w->path, O_WRONLY | O_APPEND);
    while (!w->stop)
        if (write(fd, "x", 1) != 1)
            break;
    close(fd);
    return NULL;
}

/* A file to which another thread appends is read completely, or is left out with a reason. */
static void detects_changes_while_reading(void **state) {
    (void)state;
    aoei_folder *f;
    char *data;
    begin("changing");
    add("log", "");
    writer w = {.path = test_path(base, "log")};
    assert_int_equal(truncate(w.path, 32 << 20), 0);
    assert_int_equal(aoei_folder_open(&f, base, &(aoei_folder_options){.exclude = NULL}, NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_again_and_again, &w), 0);
    size_t changing = 0;
    for (const double end = aoei_now() + 30; !changing && aoei_now() < end;) {
        assert_int_equal(aoei_folder_read(f, &f->file[0], &data, NULL), 0);
        assert_int_equal(data == NULL, f->file[0].skip == AOEI_SKIP_CHANGING);
        changing += data == NULL;
        aoei_free(data);
    }
    w.stop = 1;
    pthread_join(thread, NULL);
    assert_true(changing);
    assert_int_equal(aoei_folder_read(f, &f->file[0], &data, NULL), 0);
    assert_non_null(data);
    aoei_free(data);
    free(w.path);
    aoei_folder_close(f);
    free(base);
}

static void opens_single_files(void **state) {
    (void)state;
    aoei_folder *f;
    aoe_error err = {0};
    begin("single");
    add("a.md", "a");
    add("b.md", "b");
    add_link("link.md", "a.md");
    char *path = test_path(base, "link.md"), *fifo = test_path(base, "fifo"), *none = test_path(base, "none");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(aoei_folder_open_file(&f, path, &err), 0);
    assert_int_equal(f->n, 1);
    assert_string_equal(f->file[0].path, "a.md");
    assert_int_equal(f->file[0].size, 1);
    aoei_folder_close(f);
    assert_int_equal(aoei_folder_open_file(&f, fifo, &err), AOE_EARG);
    assert_null(f);
    assert_int_equal(aoei_folder_open_file(&f, base, &err), AOE_EARG);
    assert_int_equal(aoei_folder_open_file(&f, none, &err), AOE_ENOENT);
    assert_int_equal(aoei_folder_open(&f, none, &(aoei_folder_options){.exclude = NULL}, &err), AOE_ENOENT);
    assert_int_equal(aoei_folder_open(&f, path, &(aoei_folder_options){.exclude = NULL}, &err), AOE_EARG);
    assert_null(f);
    free(path);
    free(fifo);
    free(none);
    free(base);
}

static void opens_only_beneath(void **state) {
    (void)state;
    begin("beneath");
    add("a/b/c", "x");
    add_link("a/link", "b");
    add_link("a/b/up", "../b/c");
    const int dir = open(base, O_RDONLY | O_DIRECTORY);
    const struct {
        const char *path;
        int errnum;
    } cases[] = {{"a/b/c", 0},      {"", 0},           {"a/..", EXDEV}, {"../x", EXDEV},     {"a/link/c", ENOTDIR},
                 {"a/link", ELOOP}, {"a/b/up", ELOOP}, {"a/x", ENOENT}, {"a/b/c/d", ENOTDIR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errno = 0;
        const int fd = aoei_open_beneath(dir, cases[i].path, O_RDONLY);
        if (fd >= 0)
            close(fd);
        assert_int_equal(fd < 0 ? errno : 0, cases[i].errnum);
    }
    close(dir);
    free(base);
}

static int stop(void *user, size_t files) {
    (void)files;
    return ++*(int *)user > 2;
}

static void can_be_cancelled(void **state) {
    (void)state;
    aoei_folder *f;
    int calls = 0;
    begin("cancel");
    add("a/b/c/d", "");
    const aoei_folder_options o = {.progress = stop, .user = &calls};
    assert_int_equal(aoei_folder_open(&f, base, &o, NULL), AOE_ECANCELLED);
    assert_null(f);
    assert_int_equal(calls, 3);
    free(base);
}

static int walk(void *arg) {
    aoei_folder *f;
    char *data = NULL;
    aoe_error err = {0};
    const char *const exclude[] = {"*.o"};
    int code = aoei_folder_open(&f, arg, &(aoei_folder_options){.exclude = exclude, .n_exclude = 1}, &err);
    assert_int_equal(code, err.code);
    if (code == 0 && (code = aoei_folder_read(f, &f->file[0], &data, &err)) == 0)
        aoei_free(data);
    aoei_folder_close(f);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    begin("alloc");
    add(".gitignore", "x\n");
    add(".h/b", "b");
    add("a/b.md", "b");
    add_link("link", ".h");
    assert_true(test_alloc_failures(walk, base, 0) > 10);
    free(base);
}

/* Lists 10,000 files. The time is printed, because it depends on the machine. */
static void lists_many_files(void **state) {
    (void)state;
    aoei_folder *f;
    char name[64];
    begin("many");
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "d%02d/file%04d.md", i / 100, i);
        if (i % 100 == 0) {
            add(name, "");
        } else {
            char *path = test_path(base, name);
            close(open(path, O_CREAT | O_WRONLY, 0600));
            free(path);
        }
    }
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        const double start = aoei_now();
        assert_int_equal(aoei_folder_open(&f, base, &(aoei_folder_options){.exclude = NULL}, NULL), 0);
        best = aoei_now() - start < best ? aoei_now() - start : best;
        assert_int_equal(f->n, 10000);
        aoei_folder_close(f);
    }
    print_message("10,000 files: %.1f ms\n", best * 1e3);
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_in_the_order_of_paths),
        cmocka_unit_test(honors_ignore_files),
        cmocka_unit_test(rejects_bad_ignore_files),
        cmocka_unit_test(follows_links_inside_the_folder),
        cmocka_unit_test(compares_whole_components),
        cmocka_unit_test(does_not_open_special_files),
        cmocka_unit_test(skips_bad_names),
        cmocka_unit_test(survives_deep_trees),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(counts_unreadable_files),
        cmocka_unit_test(detects_changes_while_reading),
        cmocka_unit_test(opens_single_files),
        cmocka_unit_test(opens_only_beneath),
        cmocka_unit_test(can_be_cancelled),
        cmocka_unit_test(survives_failed_allocations),
        cmocka_unit_test(lists_many_files),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
