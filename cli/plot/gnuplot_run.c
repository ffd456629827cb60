/* SPDX-License-Identifier: MIT
 * Runs gnuplot, which draws two images into temporary files (cli_file). The files are renamed to their final names
 * after both images are complete. Paths in gnuplot commands begin with "./" or "/", because gnuplot executes a name
 * that begins with '<' or '|' as a shell command.
 */
#include "cli/plot/gnuplot_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/words.h"
#include "cli/plot/quote.h"

extern char **environ;

/* Returns the gnuplot commands that are executed before the script. They change to the directory of the script and set
 * the variables svg, png and characters. The caller frees the text with free(). Returns NULL if memory allocation
 * failed. */
static char *prologue(const char *name, const char *svg, const char *png, int characters) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    char *folder = aoei_path_parent(name), *path = cli_format("%s%s", *name == '/' ? "" : "./", folder ? folder : ".");
    fputs("cd ", f);
    cli_gp_path(f, path);
    fputs("; svg = ", f);
    cli_gp_path(f, svg);
    fputs("; png = ", f);
    cli_gp_path(f, png);
    if (characters)
        fputs("; characters = 1", f);
    aoei_free(folder);
    free(path);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* Reads a pipe to its end and stores its first size - 1 bytes and a NUL in text[size]. */
static void read_all(int fd, char *text, size_t size) {
    char rest[512];
    size_t n = 0;
    for (;;) {
        const int keep = n + 1 < size;
        const ssize_t got = keep ? read(fd, text + n, size - 1 - n) : read(fd, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += keep ? (size_t)got : 0;
    }
    text[n] = 0;
}

/* Starts gnuplot with its stderr redirected to the file descriptor `messages`. Returns 0, or the errno value of the
 * failure. */
static int start(pid_t *pid, char *const *argv, int messages) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t piped;
    if (posix_spawn_file_actions_init(&actions))
        return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigemptyset(&piped);
    sigaddset(&piped, SIGPIPE); /* gnuplot gets the default action for SIGPIPE, which aoe ignores */
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, messages, 2);
    if (!error)
        error = posix_spawnattr_setsigdefault(&attributes, &piped);
    if (!error)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Returns the last line of gnuplot's output that is not blank. The last line is the error message: gnuplot prints the
 * command that failed, a line with a caret, and then the message. */
static const char *reason(char *text) {
    const char *last = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[strspn(line, " \t^")] && !strstr(line, "Fontconfig"))
            last = line;
    return last ? last + strspn(last, " \t") : "gnuplot printed no message";
}

/* Reports that gnuplot could not be started. error: errno value of the failure. */
static int fail_start(const char *name, int error) {
    if (error == ENOENT || error == EACCES || error == ENOTDIR)
        return cli_fail(
            "gnuplot is not installed; install gnuplot (Debian: apt-get install gnuplot-nox) and run gnuplot '%s.gp' "
            "in the directory that contains this script and '%s.dat'",
            aoei_path_name(name), aoei_path_name(name));
    return cli_fail("cannot start gnuplot: %s; the script %s.gp and the data %s.dat were written", strerror(error),
                    name, name);
}

/* Runs gnuplot on the script, in the directory of the script, and waits until it ends. Sets *status to its exit status,
 * and stores its output on stderr in messages[size]. */
static int run(const char *name, char *commands, int *status, char *messages, size_t size) {
    static char program[] = "gnuplot", defaults[] = "-d", before[] = "-e";
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC))
        return cli_fail("cannot start gnuplot: %s", strerror(errno));
    char *script = cli_format("./%s.gp", aoei_path_name(name));
    char *const argv[] = {program, defaults, before, commands, script, NULL};
    const int error = start(&pid, argv, ends[1]);
    close(ends[1]);
    if (!error) {
        read_all(ends[0], messages, size);
        while (waitpid(pid, status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    free(script);
    return error ? fail_start(name, error) : 0;
}

/* Returns 1 if gnuplot wrote the file. For devices and pipes, always returns 1, because their size does not show
 * whether they were written. */
static int is_drawn(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0);
}

/* Returns the absolute path of the file into which gnuplot draws. The caller frees the path with aoei_free. Returns
 * NULL if memory allocation failed. */
static char *drawing_path(const cli_file *f) {
    return aoei_full_path(f->writer.temp_path ? f->writer.temp_path : f->path);
}

/* Runs gnuplot and checks that it wrote both image files. */
static int draw(const char *name, const char *svg, const char *png, int characters) {
    char messages[4096] = "";
    int status = 0;
    char *commands = svg && png ? prologue(name, svg, png, characters) : NULL;
    if (!commands)
        return cli_fail("out of memory while writing the plot");
    cli_flush_stdout();
    int failed = run(name, commands, &status, messages, sizeof messages);
    if (!failed && (status != 0 || !is_drawn(svg) || !is_drawn(png)))
        failed =
            cli_fail("gnuplot could not draw %s.gp: %s; the script and %s.dat are kept", name, reason(messages), name);
    free(commands);
    return failed;
}

int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters) {
    cli_file files[2] = {{0}};
    int failed = cli_file_open(&files[0], svg) || cli_file_open(&files[1], png);
    if (!failed) {
        char *drawn_svg = drawing_path(&files[0]), *drawn_png = drawing_path(&files[1]);
        failed = draw(name, drawn_svg, drawn_png, characters) || cli_files_commit(files, 2);
        aoei_free(drawn_svg);
        aoei_free(drawn_png);
    }
    cli_file_abort(&files[0]);
    cli_file_abort(&files[1]);
    return failed;
}
