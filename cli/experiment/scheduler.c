/* SPDX-License-Identifier: MIT
 * Child processes: see scheduler.h. Children are in process groups of their own,
 * so that a terminal's Ctrl-C reaches this process alone, which passes it on once.
 */
#include "cli/experiment/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/train/training_args.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/progress.h"

typedef struct child {
    pid_t pid;
    size_t job;
    double start;
} child;

typedef struct scheduler {
    const cli_schedule *s;
    child *running; /* [n_running] */
    size_t *job;    /* [n_running] of these, for tick */
    size_t n_running;
    size_t memory;     /* planned of these */
    size_t next;       /* job to start */
    sigset_t before;   /* signal mask of the caller */
    int stop, stopped; /* no further job is started; children were told */
} scheduler;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_child(int number) {
    (void)number; /* only to end a wait */
}

static int redirect(const char *path, int to) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, to) < 0)
        return -1;
    close(fd);
    return 0;
}

/* The child's life. Its messages go to a file, and its end runs no exit handlers of the parent's. */
static void live(const scheduler *c, size_t i, pid_t parent) {
    const cli_job *job = &c->s->job[i];
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || redirect(job->out, STDOUT_FILENO) || redirect(job->errors, STDERR_FILENO))
        _exit(cli_fail("cannot write %s: %s; make room or choose another -o", job->errors, strerror(errno)));
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
    int code = c->s->run(c->s->user, i);
    if (cli_check_stdout() && !code)
        code = 1;
    _exit(code);
}

static int start(scheduler *c, size_t i) {
    const pid_t parent = getpid();
    cli_flush_stdout();
    cli_progress_clear(); /* of which the child knows nothing */
    const pid_t pid = fork();
    if (pid < 0)
        return cli_fail("cannot start a process: %s; give fewer --jobs, or end other programs", strerror(errno));
    if (pid == 0)
        live(c, i, parent);
    setpgid(pid, pid); /* whoever comes first */
    c->running[c->n_running++] = (child){pid, i, now()};
    c->memory += c->s->job[i].memory;
    return 0;
}

/* Starts what fits. Jobs keep their order: one that does not fit yet is waited for. */
static int start_some(scheduler *c) {
    const cli_schedule *s = c->s;
    while (!c->stop && c->n_running < s->at_once && c->next < s->n) {
        if (s->job[c->next].skip) {
            c->next++;
            continue;
        }
        const size_t more = s->job[c->next].memory;
        if (s->memory && c->n_running && (c->memory > s->memory || more > s->memory - c->memory))
            return 0;
        if (start(c, c->next))
            return 1;
        c->next++;
    }
    return 0;
}

static void tell_children(scheduler *c) {
    if (c->stopped)
        return;
    c->stop = c->stopped = 1;
    for (size_t k = 0; k < c->n_running; k++)
        kill(c->running[k].pid, SIGTERM);
}

/* Takes leave of the children that have ended; returns whether one had. */
static int reap(scheduler *c, int *code) {
    int any = 0;
    for (size_t k = 0; k < c->n_running;) {
        int status = 0;
        const child was = c->running[k];
        const pid_t pid = waitpid(was.pid, &status, WNOHANG);
        if (pid == 0 || (pid < 0 && errno == EINTR)) {
            k++;
            continue;
        }
        memmove(&c->running[k], &c->running[k + 1], (c->n_running - k - 1) * sizeof *c->running);
        c->n_running--;
        c->memory -= c->s->job[was.job].memory;
        any = 1;
        if (c->s->ended(c->s->user, was.job, status, now() - was.start)) {
            *code = 1;
            c->stop = 1;
        }
    }
    return any;
}

static void wait_a_while(scheduler *c) {
    const struct timespec while_ = {.tv_nsec = 200000000};
    sigset_t open_mask = c->before;
    sigdelset(&open_mask, SIGCHLD);
    sigdelset(&open_mask, SIGINT);
    sigdelset(&open_mask, SIGTERM);
    ppoll(NULL, 0, &while_, &open_mask);
    if (c->s->tick) {
        for (size_t k = 0; k < c->n_running; k++)
            c->job[k] = c->running[k].job;
        c->s->tick(c->s->user, c->job, c->n_running);
    }
}

int cli_schedule_run(const cli_schedule *s) {
    scheduler c = {.s = s};
    struct sigaction action = {.sa_handler = on_child}, old;
    sigset_t blocked;
    int code = 0;
    c.running = cli_realloc(NULL, (s->at_once + 1) * sizeof *c.running);
    c.job = cli_realloc(NULL, (s->at_once + 1) * sizeof *c.job);
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, &old);
    cli_watch_interrupts();
    /* signals arrive in wait_a_while alone, so that none is missed and none meets a child before it is on its own */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &c.before);
    for (;;) {
        if (cli_interrupted())
            tell_children(&c);
        if (start_some(&c)) {
            code = 1;
            tell_children(&c);
        }
        if (!c.n_running)
            break;
        if (!reap(&c, &code))
            wait_a_while(&c);
    }
    sigprocmask(SIG_SETMASK, &c.before, NULL);
    sigaction(SIGCHLD, &old, NULL);
    free(c.running);
    free(c.job);
    return cli_interrupted() ? 128 + cli_interrupted() : code;
}
