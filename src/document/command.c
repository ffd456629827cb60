/* SPDX-License-Identifier: MIT
 * Runs a program with fork and execve. Between these calls, the child calls only functions that are safe in the child
 * of a process with several threads (POSIX calls them async-signal-safe). posix_spawn cannot set limits of resources,
 * and a limit that is set after the start is too late for programs that reserve memory at once.
 */
#include "document/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    POLL_MS = 50,       /* time between two tests of the limits */
    MAX_READS = 16,     /* reads between two tests of the limits */
    MAX_ENVIRONMENT = 8 /* variables of the child */
};

typedef struct pipes {
    int out[2], errors[2]; /* standard output and error: [0] is read here, [1] is written by the child */
    int start[2];          /* the child writes errno to [1] if execve fails; closed by a successful execve */
} pipes;

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(pipes *p) {
    close_fd(&p->out[0]);
    close_fd(&p->out[1]);
    close_fd(&p->errors[0]);
    close_fd(&p->errors[1]);
    close_fd(&p->start[0]);
    close_fd(&p->start[1]);
}

static int open_pipes(pipes *p) {
    *p = (pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->out, O_CLOEXEC) || pipe2(p->errors, O_CLOEXEC) || pipe2(p->start, O_CLOEXEC))
        return -1;
    /* the descriptors must not be 0 to 2, which the child replaces */
    int *const fds[] = {&p->out[1], &p->errors[1], &p->start[1]};
    for (size_t i = 0; i < 3; i++) {
        const int fd = fcntl(*fds[i], F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
            return -1;
        close(*fds[i]);
        *fds[i] = fd;
    }
    return fcntl(p->out[0], F_SETFL, O_NONBLOCK) || fcntl(p->errors[0], F_SETFL, O_NONBLOCK);
}

/* ------------------------------------------------------------------------- child */

static int set_limit(int resource, size_t value) {
    struct rlimit old;
    if (getrlimit(resource, &old))
        return -1;
    const rlim_t new_value = old.rlim_max < value ? old.rlim_max : value;
    return setrlimit(resource, &(struct rlimit){new_value, new_value});
}

/* Prepares the new process. Returns -1 with errno set on failure. */
static int prepare_child(const aoei_command *c, const pipes *p, pid_t parent) {
    /* The program gets a session of its own, so that it cannot read passwords from the terminal. It is killed when the
     * thread that started it ends, and therefore also when this process is killed. */
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        return -1;
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) || chdir("/"))
        return -1;
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->errors[1], 2) < 0)
        return -1;
    if (null > 2)
        close(null);
    /* the limit of CPU time ends a program that ignores signals of a dead parent, such as one that changed its user */
    return set_limit(RLIMIT_CORE, 0) || set_limit(RLIMIT_AS, c->memory) || set_limit(RLIMIT_CPU, (size_t)c->seconds + 5)
               ? -1
               : 0;
}

/* Runs in the new process; never returns. */
static void run_child(const aoei_command *c, const pipes *p, char **environment, pid_t parent) {
    if (prepare_child(c, p, parent) == 0)
        execve(c->program, (char *const *)c->argv, environment);
    const int errnum = errno;
    (void)!write(p->start[1], &errnum, sizeof errnum);
    _exit(127);
}

/* ------------------------------------------------------------------------ parent */

/* Fills list[MAX_ENVIRONMENT] with the environment of the child. Strings that are built here are stored in `memory`. */
static int make_environment(const char **list, aoei_buffer *memory, aoe_error *err) {
    static const char *const copied[] = {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "USER"};
    size_t offset[MAX_ENVIRONMENT], n = 0, m = 0;
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const char *value = getenv(copied[i]);
        if (!value)
            continue;
        offset[m++] = memory->len;
        aoei_buffer_printf(memory, "%s=%s", copied[i], value);
        aoei_buffer_putc(memory, 0);
    }
    if (memory->failed)
        return aoei_fail_nomem(err, memory->len);
    for (; n < m; n++)
        list[n] = memory->data + offset[n];
    list[n++] = "LC_ALL=C.UTF-8";
    list[n] = NULL;
    return 0;
}

/* Appends what the program wrote to its standard output. Returns 1 at the end of the output or at the limit (which sets
 * c->end), 0 if there may be more, or AOE_ENOMEM. */
static int read_output(aoei_command *c, int fd, aoe_error *err) {
    char data[65536];
    for (int i = 0; i < MAX_READS; i++) {
        const ssize_t n = read(fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : 1;
        if (n == 0)
            return 1;
        if ((size_t)n > c->output_limit - c->output.len) {
            c->end = AOEI_COMMAND_OUTPUT;
            return 1;
        }
        if (aoei_buffer_append(&c->output, data, (size_t)n))
            return aoei_fail_nomem(err, c->output.len + (size_t)n);
    }
    return 0;
}

/* Keeps the end of what the program wrote to its standard error. Returns 1 at its end, otherwise 0. */
static int read_errors(aoei_command *c, int fd) {
    char data[4096];
    for (int i = 0; i < MAX_READS; i++) {
        const ssize_t n = read(fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno != EAGAIN;
        const size_t room = sizeof c->errors - 1, have = strlen(c->errors);
        size_t more = 0;
        for (size_t k = 0; k < (size_t)n; k++) /* a NUL would end the text */
            data[k] = data[k] ? data[k] : ' ';
        more = (size_t)n < room ? (size_t)n : room;
        const size_t keep = have < room - more ? have : room - more;
        memmove(c->errors, c->errors + have - keep, keep);
        memcpy(c->errors + keep, data + n - more, more);
        c->errors[keep + more] = 0;
    }
    return 0;
}

/* Returns 1 if the process has ended. It is not reaped, so that the number of its group stays valid. */
static int has_ended(pid_t pid) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

static int is_readable(int fd) {
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0;
}

/* Reads the output until the program ends or a limit is exceeded. Sets c->end. */
static int watch_child(aoei_command *c, pipes *p, pid_t pid, aoe_error *err) {
    const double end = aoei_now() + c->seconds;
    c->end = AOEI_COMMAND_EXITED;
    for (;;) {
        const int ended = has_ended(pid); /* then it wrote everything before this test */
        struct pollfd fds[2] = {{.fd = p->out[0], .events = POLLIN}, {.fd = p->errors[0], .events = POLLIN}};
        if (!ended)
            (void)poll(fds, 2, p->out[0] < 0 && p->errors[0] < 0 ? 1 : POLL_MS);
        if (p->out[0] >= 0) {
            const int code = read_output(c, p->out[0], err);
            if (code < 0)
                return code;
            if (code)
                close_fd(&p->out[0]);
            else if (ended && is_readable(p->out[0]))
                continue;
        }
        if (p->errors[0] >= 0 && read_errors(c, p->errors[0]))
            close_fd(&p->errors[0]);
        if (ended || c->end != AOEI_COMMAND_EXITED)
            return 0;
        if (aoei_now() > end) {
            c->end = AOEI_COMMAND_TIME;
            return 0;
        }
        if (c->cancelled && c->cancelled(c->user))
            return aoei_fail(err, AOE_ECANCELLED, "cancelled while %s was running", c->program);
    }
}

/* Waits until the child has called execve. Returns 0, or the error number with which the start failed. */
static int wait_for_start(const pipes *p) {
    int errnum = 0;
    ssize_t n;
    do
        n = read(p->start[0], &errnum, sizeof errnum);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof errnum ? errnum : 0;
}

static int start_and_watch(aoei_command *c, pipes *p, char **environment, aoe_error *err) {
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return aoei_fail_errno(err, errno, "cannot start %s", c->program);
    if (pid == 0)
        run_child(c, p, environment, parent);
    close_fd(&p->out[1]);
    close_fd(&p->errors[1]);
    close_fd(&p->start[1]);
    const int errnum = wait_for_start(p); /* then the process group exists */
    const int code = errnum ? 0 : watch_child(c, p, pid, err);
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    int status = 0;
    pid_t done;
    do
        done = waitpid(pid, &status, 0);
    while (done < 0 && errno == EINTR);
    c->status = done == pid ? status : 0; /* if SIGCHLD is ignored, the status is not available */
    if (errnum) {
        c->end = AOEI_COMMAND_NO_START;
        c->status = errnum;
    }
    return code;
}

int aoei_command_run(aoei_command *c, aoe_error *err) {
    const char *environment[MAX_ENVIRONMENT];
    aoei_buffer memory = {.len = 0};
    pipes p;
    int code = make_environment(environment, &memory, err);
    c->errors[0] = 0;
    if (open_pipes(&p) && code == 0)
        code = aoei_fail_errno(err, errno, "cannot create a pipe for %s", c->program);
    if (code == 0)
        code = start_and_watch(c, &p, (char **)environment, err);
    close_pipes(&p);
    aoei_buffer_free(&memory);
    return code;
}
