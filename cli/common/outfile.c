/* SPDX-License-Identifier: MIT
 * Result files: written beside their name and renamed when complete, so that a
 * failed or interrupted command leaves nothing behind and an old file whole. Devices and pipes are written in place.
 */
#include "cli/common/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/output.h"
#include "cli/common/words.h"

enum { MAX_PENDING = 64 };

/* The files to remove when a signal ends the program. */
static const char *volatile pending[MAX_PENDING];

/* Puts a path in the place of another one, NULL: a free one. */
static void set_pending(const char *before, const char *path) {
    for (size_t i = 0; i < MAX_PENDING; i++)
        if (pending[i] == before) {
            pending[i] = path;
            return;
        }
}

static void remove_pending(int number) {
    for (size_t i = 0; i < MAX_PENDING; i++) {
        const char *path = pending[i];
        if (path)
            unlink(path);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, action = {.sa_handler = remove_pending};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

int cli_is_seekable(FILE *f) {
    struct stat st;
    return fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
}

/* A link is followed to the file it stands for; a file that is not there yet has the name given. */
static char *resolve(const char *path) {
    char *target = realpath(path, NULL);
    if (!target) {
        target = cli_realloc(NULL, strlen(path) + 1);
        memcpy(target, path, strlen(path) + 1);
    }
    return target;
}

/* Puts the directory that holds path on the disk; a file system that cannot is left alone. */
static void sync_parent(const char *path) {
    const char *slash = strrchr(path, '/');
    char *dir = cli_realloc(NULL, strlen(path) + 2);
    snprintf(dir, strlen(path) + 2, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int cli_is_stdout(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

/* Of the folder that a path is in; -1: there is none. */
static int stat_folder(const char *path, struct stat *st) {
    const char *slash = strrchr(path, '/');
    char *folder = cli_format("%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    const int rc = stat(folder, st);
    free(folder);
    return rc;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int cli_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    const int no_a = stat(a, &x), no_b = stat(b, &y);
    if (no_a && no_b && (strcmp(base_name(a), base_name(b)) != 0 || stat_folder(a, &x) || stat_folder(b, &y)))
        return 0;
    return !no_a == !no_b && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cli_refuse_input(const char *output, const char *const *inputs, size_t n) {
    for (size_t i = 0; i < n && !cli_is_stdout(output); i++)
        if (strcmp(inputs[i], "-") != 0 && cli_is_same_file(output, inputs[i]))
            return cli_fail("%s is also an input and would be overwritten; choose another output with -o", output);
    return 0;
}

/* st: the file that will be replaced, or NULL; its permissions are kept. */
static int open_beside(cli_file *f, const struct stat *st) {
    f->target = resolve(f->path);
    size_t size = strlen(f->target) + 32;
    f->temp = cli_realloc(NULL, size);
    snprintf(f->temp, size, "%s.tmp-%ld", f->target, (long)getpid());
    int fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    f->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (f->file) {
        if (st && fchmod(fd, st->st_mode & 07777))
            cli_warn("%s: cannot keep the permissions of the existing file: %s", f->path, strerror(errno));
        set_pending(NULL, f->temp);
        watch_signals();
        return 0;
    }
    const char *slash = strrchr(f->target, '/');
    const int code =
        errno == ENOENT && slash && slash > f->target
            ? cli_fail("cannot write %s: directory %.*s does not exist; create it, or choose another output with -o", f->path,
                       (int)(slash - f->target), f->target)
            : cli_fail("cannot write %s: %s; choose another output with -o", f->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(f->temp);
    free(f->target);
    f->temp = f->target = NULL;
    return code;
}

int cli_file_open(cli_file *f, const char *path) {
    struct stat st;
    memset(f, 0, sizeof *f);
    if (cli_is_stdout(path)) {
        f->file = stdout;
        return 0;
    }
    f->path = path;
    const int there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return cli_fail("cannot write %s: it is a directory; give a file name with -o", path);
    if (!there || S_ISREG(st.st_mode))
        return open_beside(f, there ? &st : NULL);
    f->file = fopen(path, "wb");
    return f->file ? 0 : cli_fail("cannot write %s: %s; choose another output with -o", path, strerror(errno));
}

static int write_error(const cli_file *f, int errnum) {
    return cli_fail("cannot write %s: %s; free disk space or choose another output with -o", f->path,
                    errnum ? strerror(errnum) : "write error");
}

int cli_file_check(cli_file *f) {
    if (f->file == stdout)
        return cli_check_stdout();
    errno = 0;
    if (!fflush(f->file) && !ferror(f->file))
        return 0;
    return write_error(f, errno);
}

/* Puts all of a file on the disk, under its temporary name still. */
static int finish(cli_file *f) {
    if (cli_file_check(f))
        return 1;
    if (f->file == stdout)
        return 0;
    errno = 0;
    if (f->temp && fsync(fileno(f->file)))
        return write_error(f, errno);
    const int failed = fclose(f->file);
    f->file = NULL;
    return failed ? write_error(f, errno) : 0;
}

static int publish(cli_file *f) {
    errno = 0;
    if (f->temp && rename(f->temp, f->target))
        return write_error(f, errno);
    if (f->temp)
        set_pending(f->temp, NULL);
    if (f->target)
        sync_parent(f->target);
    free(f->temp);
    free(f->target);
    f->temp = f->target = NULL;
    return 0;
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
    if (f->file && f->file != stdout)
        fclose(f->file);
    if (f->temp) {
        unlink(f->temp);
        set_pending(f->temp, NULL);
    }
    free(f->temp);
    free(f->target);
    memset(f, 0, sizeof *f);
}
