/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: base/atomic_write
 * Tests file functions: mapping and reading of regular files, pipes, devices and /proc files, and atomic writes. If any
 * step of an atomic write fails, the file must have its old or its complete new contents, and no temporary file may
 * remain in the directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/io_fault.h"
#include "base/path.h"

typedef struct fixture {
    char *dir;
    char *path; /* path of the file "out" in dir */
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->dir = test_dir_create();
    f->path = test_path(f->dir, "out");
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    test_dir_remove(f->dir);
    free(f->path);
    free(f);
    return 0;
}

static void expect_contents(const char *path, const char *want) {
    size_t size = 0;
    char *got = test_read(path, &size);
    assert_non_null(got);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(got, want, size);
    free(got);
}

static void test_map(void **state) {
    fixture *f = *state;
    aoei_map m;
    free(test_write(f->dir, "out", "a\0b", 3));
    assert_int_equal(aoei_map_open(&m, f->path, NULL), 0);
    assert_int_equal(m.size, 3);
    assert_memory_equal(m.data, "a\0b", 3);
    aoei_map_close(&m);
    aoei_map_close(&m);
    free(test_write_text(f->dir, "out", ""));
    assert_int_equal(aoei_map_open(&m, f->path, NULL), 0);
    assert_int_equal(m.size, 0);
    assert_null(m.data);
    aoei_map_close(&m);
}

static void test_map_rejected_paths(void **state) {
    fixture *f = *state;
    aoei_map m;
    aoe_error err = {0};
    assert_int_equal(aoei_map_open(&m, f->path, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, f->path));
    assert_null(m.data);
    assert_int_equal(aoei_map_open(&m, f->dir, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "is a directory"));
    aoei_map_close(&m);
}

/* Writes 20000 lines to the pipe whose path is arg. */
static void *feed(void *arg) {
    FILE *f = fopen(arg, "wb");
    for (int i = 0; f && i < 20000; i++)
        fprintf(f, "%09d\n", i);
    if (f)
        fclose(f);
    return NULL;
}

/* Tests that the functions that map or read a file accept a pipe, although a pipe cannot be mapped and its size is
 * unknown. */
static void test_pipe(void **state) {
    fixture *f = *state;
    pthread_t thread;
    assert_int_equal(mkfifo(f->path, 0600), 0);
    for (int mapped = 0; mapped < 2; mapped++) {
        aoei_map m = {0};
        char *data = NULL;
        size_t size = 0;
        assert_int_equal(pthread_create(&thread, NULL, feed, f->path), 0);
        int code = mapped ? aoei_map_open(&m, f->path, NULL) : aoei_read_file(&data, &size, f->path, 0, NULL);
        pthread_join(thread, NULL);
        assert_int_equal(code, 0);
        assert_int_equal(mapped ? m.size : size, 200000);
        assert_memory_equal((mapped ? (const char *)m.data : data) + 199990, "000019999\n", 10);
        aoei_free(data);
        aoei_map_close(&m);
    }
}

/* Tests that a pipe or a device is not accepted as the file of a model, and is not waited for, but a link to a file is.
 */
static void test_regular(void **state) {
    fixture *f = *state;
    char *link = test_path(f->dir, "link"), *data;
    size_t size;
    aoei_map m;
    aoe_error err = {0};
    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_int_equal(symlink("out", link), 0);
    for (int is_device = 0; is_device < 2; is_device++) {
        assert_int_equal(aoei_read_regular(&data, &size, link, 0, &err), AOE_EFORMAT);
        assert_null(data);
        assert_int_equal(aoei_map_regular(&m, link, &err), AOE_EFORMAT);
        assert_null(m.data);
        assert_non_null(strstr(err.message, link));
        assert_non_null(strstr(err.message, is_device ? "is a device" : "is a pipe"));
        assert_int_equal(unlink(link), 0);
        assert_int_equal(symlink(is_device ? "out" : "/dev/zero", link), 0);
    }
    assert_int_equal(unlink(f->path), 0);
    free(test_write(f->dir, "out", "12345", 5));
    assert_int_equal(aoei_read_regular(&data, &size, link, 0, NULL), 0);
    assert_int_equal(aoei_map_regular(&m, link, NULL), 0);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "12345", 6);
    assert_int_equal(m.size, 5);
    assert_memory_equal(m.data, "12345", 5);
    aoei_free(data);
    aoei_map_close(&m);
    free(link);
}

static void test_read_file(void **state) {
    fixture *f = *state;
    char *data;
    size_t size;
    aoe_error err = {0};
    free(test_write(f->dir, "out", "12345", 5));
    assert_int_equal(aoei_read_file(&data, &size, f->path, 0, NULL), 0);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "12345\0", 6);
    aoei_free(data);
    assert_int_equal(aoei_read_file(&data, &size, f->path, 5, NULL), 0);
    aoei_free(data);
    assert_int_equal(aoei_read_file(&data, &size, f->path, 4, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "larger than 4 bytes"));
    assert_null(data);
    assert_int_equal(size, 0);
    free(test_write_text(f->dir, "out", ""));
    assert_int_equal(aoei_read_file(&data, &size, f->path, 0, NULL), 0);
    assert_int_equal(size, 0);
    assert_string_equal(data, "");
    aoei_free(data);
    /* stat reports the size 0 for this file, so aoei_read_file must ignore the size and read until the end of the
     * file */
    assert_int_equal(aoei_read_file(&data, &size, "/proc/self/status", 0, NULL), 0);
    assert_true(size > 10 && strlen(data) == size);
    aoei_free(data);
    assert_int_equal(aoei_read_file(&data, &size, f->dir, 0, &err), AOE_EARG);
}

static void test_write_and_replace(void **state) {
    fixture *f = *state;
    struct stat st;
    assert_int_equal(aoei_write_file(f->path, "one", 3, NULL), 0);
    expect_contents(f->path, "one");
    assert_int_equal(chmod(f->path, 0640), 0);
    assert_int_equal(aoei_write_file(f->path, "second", 6, NULL), 0);
    expect_contents(f->path, "second");
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(aoei_write_file(f->path, NULL, 0, NULL), 0);
    expect_contents(f->path, "");
    assert_int_equal(test_count_entries(f->dir), 1);
}

static void test_write_in_the_current_directory(void **state) {
    fixture *f = *state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(f->dir), 0);
    int code = aoei_write_file("out", "here", 4, NULL);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(code, 0);
    expect_contents(f->path, "here");
}

static void expect_link(const char *path, const char *want) {
    char text[64] = {0};
    assert_true(readlink(path, text, sizeof text - 1) > 0);
    assert_string_equal(text, want);
}

/* Tests that a write to a symbolic link follows all links and replaces the target file. If the target is missing, it is
 * created. */
static void test_write_follows_links(void **state) {
    fixture *f = *state;
    char *sub = test_path(f->dir, "sub"), *middle = test_path(sub, "middle"), *target = test_path(sub, "target");
    assert_int_equal(mkdir(sub, 0777), 0);
    assert_int_equal(symlink("sub/middle", f->path), 0);
    assert_int_equal(symlink("target", middle), 0);
    assert_int_equal(aoei_write_file(f->path, "first", 5, NULL), 0);
    expect_contents(target, "first");
    assert_int_equal(chmod(target, 0600), 0);
    assert_int_equal(aoei_write_file(f->path, "second", 6, NULL), 0);
    expect_contents(target, "second");
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    expect_link(f->path, "sub/middle");
    expect_link(middle, "target");
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(symlink(target, f->path), 0); /* an absolute link */
    assert_int_equal(aoei_write_file(f->path, "third", 5, NULL), 0);
    expect_contents(target, "third");
    assert_int_equal(test_count_entries(f->dir), 2);
    assert_int_equal(test_count_entries(sub), 2);
    free(sub);
    free(middle);
    free(target);
}

static void test_write_to_a_loop_of_links(void **state) {
    fixture *f = *state;
    aoe_error err = {0};
    assert_int_equal(symlink("out", f->path), 0);
    assert_int_equal(aoei_write_file(f->path, "x", 1, &err), AOE_EIO);
    assert_non_null(strstr(err.message, f->path));
    expect_link(f->path, "out");
}

/* Opens a writer in a child process that is killed before it commits, so that its temporary file remains. */
static void leave_temporary_file(const char *path) {
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        aoei_writer w;
        if (aoei_writer_open(&w, path, NULL) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* Tests that a writer removes the temporary files of killed writers of the same path, and no other files. */
static void test_stale_temporary_files(void **state) {
    fixture *f = *state;
    char *other = test_path(f->dir, "other");
    leave_temporary_file(f->path);
    leave_temporary_file(f->path); /* this second writer removes the temporary file of the first */
    leave_temporary_file(other);
    free(test_write_text(f->dir, ".out.tmp-notes", "a file of the user"));
    assert_int_equal(test_count_entries(f->dir), 3);
    aoei_writer running;
    assert_int_equal(aoei_writer_open(&running, f->path, NULL), 0); /* removes the temporary file of the second
                                                                       writer */
    assert_int_equal(test_count_entries(f->dir), 3);
    assert_int_equal(aoei_write_file(f->path, "second", 6, NULL), 0); /* must not remove the temporary file of
                                                                         `running` */
    expect_contents(f->path, "second");
    assert_int_equal(test_count_entries(f->dir), 4);
    fputs("first", running.file);
    assert_int_equal(aoei_writer_commit(&running, NULL), 0);
    expect_contents(f->path, "first");
    assert_int_equal(aoei_write_file(other, "x", 1, NULL), 0);
    assert_int_equal(test_count_entries(f->dir), 3);
    free(other);
}

/* Tests that writing fails with a message if the file grows beyond the size limit of the process, and that no file
 * remains. */
static void test_file_size_limit(void **state) {
    fixture *f = *state;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static const char text[8192];
        aoe_error err = {0};
        signal(SIGXFSZ, SIG_IGN); /* the program aoe also ignores this signal, so that write() returns an error */
        const int limited = setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) == 0;
        const int code = aoei_write_file(f->path, text, sizeof text, &err);
        _exit(!(limited && code == AOE_EIO && strstr(err.message, "ulimit -f") && strstr(err.message, f->path)));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(test_count_entries(f->dir), 0);
}

/* Tests that two files can be published together: both are complete before one of them appears under its final name. */
static void test_finish_and_publish(void **state) {
    fixture *f = *state;
    char *other = test_path(f->dir, "other");
    aoei_writer a, b;
    assert_int_equal(aoei_writer_open_output(&a, f->path, NULL), 0);
    assert_int_equal(aoei_writer_open_output(&b, other, NULL), 0);
    fputs("a", a.file);
    fputs("b", b.file);
    assert_int_equal(aoei_writer_finish(&a, NULL), 0);
    assert_int_equal(aoei_writer_finish(&b, NULL), 0);
    assert_false(aoei_exists(f->path) || aoei_exists(other));
    assert_int_equal(aoei_writer_publish(&a, NULL), 0);
    assert_int_equal(aoei_writer_publish(&b, NULL), 0);
    expect_contents(f->path, "a");
    expect_contents(other, "b");
    free(other);
}

/* Tests that aoei_writer_open_output writes to a device or a pipe without replacing it, even if the path is a symbolic
 * link to the device or the pipe. */
static void test_write_in_place(void **state) {
    fixture *f = *state;
    aoei_writer w;
    assert_int_equal(aoei_writer_open_output(&w, "/dev/null", NULL), 0);
    assert_null(w.temp_path);
    assert_int_equal(aoei_writer_write(&w, "x", 1, NULL), 0);
    assert_int_equal(aoei_writer_commit(&w, NULL), 0);
    assert_int_equal(symlink("/dev/null", f->path), 0);
    assert_int_equal(aoei_writer_open_output(&w, f->path, NULL), 0);
    assert_int_equal(aoei_writer_commit(&w, NULL), 0);
    assert_int_equal(aoei_writer_open_output(&w, f->dir, NULL), AOE_EARG);
    expect_link(f->path, "/dev/null");
}

static void test_writer_rejected_paths(void **state) {
    fixture *f = *state;
    aoe_error err = {0};
    assert_int_equal(aoei_write_file(f->dir, "x", 1, &err), AOE_EARG);
    assert_int_equal(aoei_write_file("/dev/null", "x", 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "/dev/null"));
    char *missing = test_path(f->dir, "no/such/file");
    assert_int_equal(aoei_write_file(missing, "x", 1, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, missing));
    free(missing);
    assert_int_equal(test_count_entries(f->dir), 0);
}

static void test_writer_long_name(void **state) {
    fixture *f = *state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    char *path = test_path(f->dir, name);
    assert_int_equal(aoei_write_file(path, "x", 1, NULL), 0);
    expect_contents(path, "x");
    free(path);
    assert_int_equal(test_count_entries(f->dir), 1);
}

static void test_writer_abort(void **state) {
    fixture *f = *state;
    aoei_writer w = {0};
    aoei_writer_abort(&w);
    free(test_write_text(f->dir, "out", "old"));
    assert_int_equal(aoei_writer_open(&w, f->path, NULL), 0);
    fputs("half of the new", w.file);
    fflush(w.file);
    assert_int_equal(test_count_entries(f->dir), 2);
    aoei_writer_abort(&w);
    aoei_writer_abort(&w);
    assert_int_equal(test_count_entries(f->dir), 1);
    expect_contents(f->path, "old");
}

/* Tests that aoei_writer_commit reports a full disk, even if the caller did not check the stream for errors. */
static void test_disk_full(void **state) {
    fixture *f = *state;
    if (access("/dev/full", W_OK) != 0) {
        printf("SKIP: no /dev/full\n");
        skip();
    }
    aoei_writer w;
    aoe_error err = {0};
    assert_int_equal(aoei_writer_open(&w, f->path, NULL), 0);
    assert_non_null(freopen("/dev/full", "wb", w.file));
    fputs("some text", w.file);
    assert_int_equal(aoei_writer_commit(&w, &err), AOE_ENOSPC);
    assert_non_null(strstr(err.message, "No space left on device; free some space"));
    assert_non_null(strstr(err.message, f->path));
    aoei_writer_abort(&w);
    assert_int_equal(test_count_entries(f->dir), 0);
}

static const char old_text[] = "the old contents";
static const char new_text[] = "the new contents, which are longer";

static int replace_file(void *arg) {
    fixture *f = arg;
    aoe_error err = {0};
    int code = aoei_write_file(f->path, new_text, sizeof new_text - 1, &err);
    assert_int_equal(code, err.code);
    if (code && code != AOE_ENOMEM)
        assert_non_null(strstr(err.message, f->dir));
    return code;
}

/* Asserts that the output is the only file in the directory and has either the old or the new contents. If code is 0,
 * asserts that the output has the new contents. */
static void old_or_new_file(void *arg, int code) {
    fixture *f = arg;
    assert_int_equal(test_count_entries(f->dir), 1);
    char *got = test_read(f->path, NULL);
    assert_non_null(got);
    if (code == 0)
        assert_string_equal(got, new_text);
    else
        assert_true(strcmp(got, old_text) == 0 || strcmp(got, new_text) == 0);
    free(got);
}

/* Asserts that the directory is empty or contains only the complete new file. Removes this file. */
static void no_file_or_new_file(void *arg, int code) {
    fixture *f = arg;
    if (code && aoei_exists(f->path)) /* the file exists despite the error, so the failed step was the one after the
                                         rename */
        expect_contents(f->path, new_text);
    assert_int_equal(test_count_entries(f->dir), aoei_exists(f->path));
    assert_true(code != 0 || aoei_exists(f->path));
    unlink(f->path);
}

static void test_every_io_failure(void **state) {
    fixture *f = *state;
    static const int errors[] = {ENOSPC, EIO, EDQUOT};
    assert_int_equal(test_io_failures(replace_file, no_file_or_new_file, f, ENOSPC), 6);
    for (size_t i = 0; i < 2; i++) {
        free(test_write_text(f->dir, "out", old_text));
        assert_int_equal(test_io_failures(replace_file, old_or_new_file, f, errors[i]), 6);
    }
    /* if any of the first 5 I/O operations fails, the old file remains; the sixth operation is after the rename */
    for (uint64_t n = 1; n <= 5; n++) {
        free(test_write_text(f->dir, "out", old_text));
        aoei_io_fail_at(n, errors[2]);
        assert_int_equal(aoei_write_file(f->path, new_text, sizeof new_text - 1, NULL), AOE_ENOSPC);
        aoei_io_fail_at(0, 0);
        expect_contents(f->path, old_text);
        assert_int_equal(test_count_entries(f->dir), 1);
    }
}

static void test_every_allocation_failure(void **state) {
    fixture *f = *state;
    free(test_write_text(f->dir, "out", old_text));
    assert_int_equal(test_alloc_failures(replace_file, f, 0), 5);
    expect_contents(f->path, new_text);
    assert_int_equal(test_count_entries(f->dir), 1);
}

static int read_and_list(void *arg) {
    fixture *f = arg;
    char *data = NULL, **names = NULL;
    size_t size, n = 0;
    aoei_map m = {0};
    aoe_error err = {0};
    int code = aoei_read_file(&data, &size, f->path, 0, &err);
    if (code == 0)
        code = aoei_map_open(&m, "/proc/self/status", &err);
    if (code == 0)
        code = aoei_list_dir(&names, &n, f->dir, &err);
    assert_int_equal(code, err.code);
    aoei_free(data);
    aoei_map_close(&m);
    aoei_list_free(names, n);
    return code;
}

static void test_reading_without_memory(void **state) {
    fixture *f = *state;
    free(test_write_text(f->dir, "out", "text"));
    assert_in_range(test_alloc_failures(read_and_list, f, 0), 4, 8);
}

int main(void) {
#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DIR(test_map),
        WITH_DIR(test_map_rejected_paths),
        WITH_DIR(test_pipe),
        WITH_DIR(test_regular),
        WITH_DIR(test_read_file),
        WITH_DIR(test_write_and_replace),
        WITH_DIR(test_write_in_the_current_directory),
        WITH_DIR(test_write_follows_links),
        WITH_DIR(test_write_to_a_loop_of_links),
        WITH_DIR(test_stale_temporary_files),
        WITH_DIR(test_file_size_limit),
        WITH_DIR(test_finish_and_publish),
        WITH_DIR(test_write_in_place),
        WITH_DIR(test_writer_rejected_paths),
        WITH_DIR(test_writer_long_name),
        WITH_DIR(test_writer_abort),
        WITH_DIR(test_disk_full),
        WITH_DIR(test_every_io_failure),
        WITH_DIR(test_every_allocation_failure),
        WITH_DIR(test_reading_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
