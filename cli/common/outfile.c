/* SPDX-License-Identifier: MIT
 * Writes output files with base/atomic_write.h. In addition, this file supports stdout, checks parent directories,
 * prints error messages, and removes temporary files when a signal ends the program.
 */
#include "cli/common/outfile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/output.h"

enum { MAX_PENDING = 64 /* maximum number of temporary files that a signal handler removes */ };

/* Paths of the temporary files that are removed when a signal ends the program. Unused elements are NULL. */
static const char *volatile pending[MAX_PENDING];

/* Replaces the first element of `pending` that is equal to `before` by path. */
static void set_pending(const char *before, const char *path) {
    for (size_t i = 0; i < MAX_PENDING; i++)
        if (pending[i] == before) {
            pending[i] = path;
            return;
        }
}

/* Signal handler. Removes the temporary files and then ends the program with the signal. */
static void remove_pending(int signal_number) {
    for (size_t i = 0; i < MAX_PENDING; i++) {
        const char *path = pending[i];
        if (path)
            unlink(path);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Makes remove_pending the handler of the signals that have no other handler and are not ignored. */
static void watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, action = {.sa_handler = remove_pending};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

int cli_is_stdout(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

/* Calls stat() for the directory that contains `path`. Returns 0, or -1 if there is no such directory. */
static int stat_folder(const char *path, struct stat *st) {
    char *folder = aoei_path_parent(path);
    const int rc = folder ? stat(folder, st) : -1;
    aoei_free(folder);
    return rc;
}

int cli_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    const int no_a = stat(a, &x), no_b = stat(b, &y);
    if (no_a && no_b && (strcmp(aoei_path_name(a), aoei_path_name(b)) != 0 || stat_folder(a, &x) || stat_folder(b, &y)))
        return 0;
    return !no_a == !no_b && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cli_reject_input(const char *output, const char *const *inputs, size_t n) {
    for (size_t i = 0; i < n && !cli_is_stdout(output); i++)
        if (strcmp(inputs[i], "-") != 0 && cli_is_same_file(output, inputs[i]))
            return cli_fail("%s is also an input and would be overwritten; choose another output with -o", output);
    return 0;
}

int cli_check_parent(const char *path) {
    char *parent = cli_is_stdout(path) ? NULL : aoei_path_parent(path);
    int code = 0;
    if (parent && !aoei_is_dir(parent))
        code = cli_fail(aoei_exists(parent) ? "%s: %s is not a directory; correct the path"
                                            : "%s: the directory %s does not exist; create it, or correct the path",
                        path, parent);
    aoei_free(parent);
    return code;
}

void cli_note_parent(const char *dir) {
    char *parent = dir ? aoei_path_parent(dir) : NULL;
    if (parent && !aoei_exists(parent))
        cli_note("the directory %s does not exist and is created", parent);
    aoei_free(parent);
}

int cli_file_open(cli_file *f, const char *path) {
    aoe_error err;
    memset(f, 0, sizeof *f);
    if (cli_is_stdout(path)) {
        f->file = stdout;
        return 0;
    }
    f->path = path;
    if (cli_check_parent(path))
        return 1;
    if (aoei_writer_open_output(&f->writer, path, &err))
        return cli_fail("%s", err.message);
    f->file = f->writer.file;
    if (f->writer.temp_path) {
        set_pending(NULL, f->writer.temp_path);
        watch_signals();
    }
    return 0;
}

int cli_file_check(cli_file *f) {
    if (!f->file)
        return 0;
    if (f->file == stdout)
        return cli_check_stdout();
    errno = 0;
    if (!fflush(f->file) && !ferror(f->file))
        return 0;
    if (errno == EFBIG)
        return cli_fail("cannot write %s: the file size limit is reached; raise it (ulimit -f)", f->path);
    return cli_fail("cannot write %s: %s; free disk space or choose another output with -o", f->path,
                    errno ? strerror(errno) : "write error");
}

/* Syncs and closes a file that still has its temporary name. */
static int finish(cli_file *f) {
    aoe_error err;
    if (cli_file_check(f))
        return 1;
    if (!f->file || f->file == stdout)
        return 0;
    f->file = NULL;
    return aoei_writer_finish(&f->writer, &err) ? cli_fail("%s", err.message) : 0;
}

/* Renames a finished file to its final name. */
static int publish(cli_file *f) {
    aoe_error err;
    if (!f->path)
        return 0;
    if (f->writer.temp_path)
        set_pending(f->writer.temp_path, NULL);
    return aoei_writer_publish(&f->writer, &err) ? cli_fail("%s", err.message) : 0;
}

int cli_file_commit(cli_file *f) {
    return cli_files_commit(f, 1);
}

int cli_files_commit(cli_file *files, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (finish(&files[i]))
            return 1;
    for (size_t i = 0; i < n; i++)
        if (publish(&files[i]))
            return 1;
    return 0;
}

void cli_file_abort(cli_file *f) {
    if (f->writer.temp_path)
        set_pending(f->writer.temp_path, NULL);
    aoei_writer_abort(&f->writer);
    memset(f, 0, sizeof *f);
}
