/* SPDX-License-Identifier: MIT
 * Runs gnuplot. The script draws into temporary files, which are renamed when both are complete. Paths in gnuplot
 * commands begin with ./ or /, because gnuplot executes names that begin with < or | as commands.
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

#include "cli/common/output.h"
#include "cli/plot/quote.h"

extern char **environ;

const char *cli_gnuplot_base(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* The commands that run before the script: they set the working directory and the output name. Owned by the caller. */
static char *prologue(const char *name, const char *suffix, int characters) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    const char *base = cli_gnuplot_base(name);
    char *folder = cli_strdup(name), *path = cli_realloc(NULL, strlen(name) + strlen(suffix) + 3);
    folder[base - name] = 0;
    if (*folder) {
        sprintf(path, "%s%s", *folder == '/' ? "" : "./", folder);
        fputs("cd ", f);
        cli_gp_path(f, path);
        fputs("; ", f);
    }
    sprintf(path, "./%s%s", base, suffix);
    fputs("out = ", f);
    cli_gp_path(f, path);
    if (characters)
        fputs("; characters = 1", f);
    free(folder);
    free(path);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* Reads a pipe to its end and keeps the first size - 1 bytes in text[size], terminated by NUL. */
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

/* Starts gnuplot with stderr redirected to the descriptor `messages`. Returns 0, or an errno value. */
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
    sigaddset(&piped, SIGPIPE); /* restore the default, because this program ignores SIGPIPE */
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

/* The last line of gnuplot's messages that contains text: it follows the echoed command and a caret. */
static const char *reason(char *text) {
    const char *last = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[strspn(line, " \t^")] && !strstr(line, "Fontconfig"))
            last = line;
    return last ? last + strspn(last, " \t") : "gnuplot printed no message";
}

static int fail_start(const char *name, int error) {
    if (error == ENOENT || error == EACCES || error == ENOTDIR)
        return cli_fail("gnuplot is not installed; %s.gp and %s.dat are written: install gnuplot (Debian: apt-get install "
                        "gnuplot-nox) and run gnuplot on the .gp file in its folder",
                        cli_gnuplot_base(name), cli_gnuplot_base(name));
    return cli_fail("cannot start gnuplot: %s; %s.gp and .dat are written", strerror(error), name);
}

static int run(const char *name, char *commands, int *status, char *messages, size_t size) {
    static char program[] = "gnuplot", defaults[] = "-d", before[] = "-e";
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC))
        return cli_fail("cannot start gnuplot: %s", strerror(errno));
    char *script = cli_realloc(NULL, strlen(name) + 6);
    sprintf(script, "./%s.gp", cli_gnuplot_base(name));
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

static int is_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

static int publish(const char *const *drawn, const char *const *target) {
    for (int i = 0; i < 2; i++)
        if (rename(drawn[i], target[i]))
            return cli_fail("cannot write %s: %s; choose another output with -o", target[i], strerror(errno));
    return 0;
}

int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters) {
    char suffix[32], messages[4096] = "";
    int status = 0;
    snprintf(suffix, sizeof suffix, ".tmp-%ld", (long)getpid());
    char *commands = prologue(name, suffix, characters);
    if (!commands)
        return cli_fail("out of memory while writing the plot");
    const size_t length = strlen(name) + strlen(suffix) + 5;
    char *drawn_svg = cli_realloc(NULL, length), *drawn_png = cli_realloc(NULL, length);
    const char *const drawn[] = {drawn_svg, drawn_png}, *const target[] = {svg, png};
    snprintf(drawn_svg, length, "%s%s.svg", name, suffix);
    snprintf(drawn_png, length, "%s%s.png", name, suffix);
    cli_flush_stdout();
    int failed = run(name, commands, &status, messages, sizeof messages);
    if (!failed && (status != 0 || !is_there(drawn_svg) || !is_there(drawn_png)))
        failed = cli_fail("gnuplot could not draw %s.gp: %s; the script and %s.dat are kept", name, reason(messages), name);
    if (!failed)
        failed = publish(drawn, target);
    unlink(drawn_svg);
    unlink(drawn_png);
    free(commands);
    free(drawn_svg);
    free(drawn_png);
    return failed;
}
