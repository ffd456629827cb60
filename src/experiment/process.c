/* SPDX-License-Identifier: MIT
 * Runs jobs in child processes. Each child writes its progress and its error to a pipe that the parent reads. When the
 * child ends, the parent reads the end of file. A message is shorter than PIPE_BUF, so each write is atomic.
 */
#include "experiment/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#define TICK_MILLISECONDS 200
#define REPORT_SECONDS    0.1 /* minimum time between two progress reports in seconds */

/* A message from a child to the parent. */
typedef struct report {
    double done;     /* finished fraction of the job, from 0 to 1 */
    aoe_error error; /* error of the job; its code is 0 if there is none */
} report;

struct aoei_child {
    int fd;          /* write end of the pipe */
    double reported; /* time of the latest report in seconds */
};

/* A running child. */
typedef struct process {
    pid_t pid;         /* process id */
    int fd;            /* read end of the pipe */
    size_t job;        /* index of the job */
    double started_at; /* start time of the process in seconds */
    report newest;     /* latest message from the child */
} process;

/* State of aoei_processes_run. */
typedef struct scheduler {
    const aoei_processes *p; /* jobs, limits and callbacks; borrowed */
    process *running;        /* [n_running] running children; owned */
    struct pollfd *fds;      /* [n_running] arguments of poll; owned */
    size_t n_running;        /* number of running children */
    size_t memory;           /* estimated memory of the running jobs in bytes */
    size_t next;             /* index of the next job to start */
    int stop;                /* 1: no further jobs are started, and the running jobs were asked to stop */
    int code;                /* code of the first error; 0: none */
    aoe_error *error;        /* receives the first error; argument of aoei_processes_run; borrowed */
} scheduler;

/* ---- functions for the child */

static volatile sig_atomic_t stop_requested;

static void on_stop(int signal_number) {
    stop_requested = 1;
    signal(signal_number, SIG_DFL); /* restores the default action, so that a second signal ends the process
                                       immediately */
}

static const int stop_signals[] = {SIGTERM, SIGINT, SIGHUP};

static void set_handlers(void (*handler)(int)) {
    for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals; i++)
        signal(stop_signals[i], handler);
}

int aoei_child_stopped(void) {
    return stop_requested != 0;
}

void aoei_child_stop_at_once(void) {
    set_handlers(SIG_DFL);
    if (stop_requested)
        raise(SIGTERM);
}

void aoei_child_progress(aoei_child *c, double done) {
    const report r = {.done = done};
    const double now = aoei_now();
    if (now - c->reported < REPORT_SECONDS)
        return;
    c->reported = now;
    if (write(c->fd, &r, sizeof r) < 0) /* if the pipe is full or the parent has ended, the report is lost; this is
                                           harmless */
        return;
}

void aoei_child_log(const char *message) {
    dprintf(STDERR_FILENO, "%s\n", message);
}

static int redirect(const char *log) {
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    return in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
           dup2(out, STDERR_FILENO) < 0;
}

/* Runs job i in the child process, and then ends the process. fd: write end of the pipe. parent: process id of the
 * parent. before: signal mask to restore. */
static void run_child(const scheduler *s, size_t i, int fd, pid_t parent, const sigset_t *before) {
    const aoei_job *job = &s->p->job[i];
    aoei_child child = {.fd = fd};
    report last = {.done = 1};
    setpgid(0, 0);
    stop_requested = 0;
    set_handlers(on_stop);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    for (size_t k = 0; k < s->n_running; k++)
        close(s->running[k].fd);
    sigprocmask(SIG_SETMASK, before, NULL);
    int code = redirect(job->log) ? aoei_fail_errno(&last.error, errno, "cannot write %s", job->log)
                                  : s->p->run(s->p->user, i, &child, &last.error);
    if (code) {
        last.error.code = code;
        aoei_child_log(last.error.message);
    } else {
        last.error = (aoe_error){0};
    }
    fcntl(fd, F_SETFL, 0); /* makes the pipe blocking, so that write waits until there is space for the last message */
    if (write(fd, &last, sizeof last) < 0)
        code = AOE_EIO;
    _exit(code != 0);
}

/* ---- functions for the parent */

static int fail(scheduler *s, const char *what) {
    if (!s->code)
        s->code = aoei_fail_errno(s->error, errno,
                                  "cannot start a process (%s); reduce options.jobs or end other programs", what);
    return s->code;
}

/* Starts job i. Signals are blocked until the child has installed its handlers, so that no signal to the child is
 * lost. */
static int start_job(scheduler *s, size_t i) {
    const pid_t parent = getpid();
    sigset_t blocked, before;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return fail(s, "pipe");
    sigemptyset(&blocked);
    for (size_t k = 0; k < sizeof stop_signals / sizeof *stop_signals; k++)
        sigaddset(&blocked, stop_signals[k]);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(s, i, ends[1], parent, &before);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return fail(s, "fork");
    }
    setpgid(pid, pid); /* both parent and child call this, because either of them may run first */
    s->running[s->n_running++] = (process){.pid = pid, .fd = ends[0], .job = i, .started_at = aoei_now()};
    s->memory += s->p->job[i].memory;
    return 0;
}

/* Starts jobs in order until p->at_once jobs are running. If the next job and the running jobs together would exceed
 * p->memory, neither this job nor a later job is started. If no job is running, the next job is started for any memory
 * limit. */
static int start_jobs(scheduler *s) {
    const aoei_processes *p = s->p;
    while (!s->stop && s->n_running < p->at_once && s->next < p->n) {
        const size_t more = p->job[s->next].memory;
        if (p->job[s->next].skip) {
            s->next++;
            continue;
        }
        if (p->memory && s->n_running && (s->memory > p->memory || more > p->memory - s->memory))
            return 0;
        const int code = start_job(s, s->next);
        if (code)
            return code;
        s->next++;
    }
    return 0;
}

static void stop_jobs(scheduler *s) {
    if (s->stop)
        return;
    s->stop = 1;
    for (size_t k = 0; k < s->n_running; k++)
        kill(s->running[k].pid, SIGTERM);
}

/* Reads the messages of a child. Returns 1 at the end of file, which means that the child has ended. */
static int read_reports(process *c) {
    report r;
    for (;;) {
        const ssize_t n = read(c->fd, &r, sizeof r);
        if (n == (ssize_t)sizeof r)
            c->newest = r;
        else if (n == 0)
            return 1;
        else if (n > 0 || errno != EINTR)
            return 0;
    }
}

/* Sets *err to an error that describes the exit status of a child. It is called for a child that ended without
 * reporting an error. */
static void set_status_error(int status, const char *log, aoe_error *err) {
    if (WIFSIGNALED(status))
        aoei_fail(err, AOE_EIO, "the process was ended by signal %d (%s)%s", WTERMSIG(status),
                  strsignal(WTERMSIG(status)),
                  WTERMSIG(status) == SIGKILL ? "; if memory ran out, reduce options.jobs or options.memory" : "");
    else
        aoei_fail(err, AOE_EIO, "the process ended with exit code %d and without a message; see %s",
                  WEXITSTATUS(status), log);
}

static void remove_process(scheduler *s, size_t k) {
    const aoei_processes *p = s->p;
    process c = s->running[k];
    int status = 0;
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(c.fd);
    memmove(&s->running[k], &s->running[k + 1], (s->n_running - k - 1) * sizeof *s->running);
    s->n_running--;
    s->memory -= p->job[c.job].memory;
    if (status && s->stop)
        return;
    if (status && !c.newest.error.code)
        set_status_error(status, p->job[c.job].log, &c.newest.error);
    const aoei_job_end end = {.error = status ? &c.newest.error : NULL, .seconds = aoei_now() - c.started_at};
    p->ended(p->user, c.job, &end);
}

/* Waits until a child reports or ends, or until the next call of tick is due. Returns 1 if a child has ended. */
static int wait_for_reports(scheduler *s) {
    int ended = 0;
    for (size_t k = 0; k < s->n_running; k++)
        s->fds[k] = (struct pollfd){.fd = s->running[k].fd, .events = POLLIN};
    if (poll(s->fds, s->n_running, TICK_MILLISECONDS) <= 0)
        return 0;
    for (size_t k = s->n_running; k-- > 0;) {
        if (s->fds[k].revents && read_reports(&s->running[k])) {
            remove_process(s, k);
            ended = 1;
        }
    }
    return ended;
}

static int tick(const scheduler *s) {
    double done = 0;
    for (size_t k = 0; k < s->n_running; k++)
        done += s->running[k].newest.done;
    return s->p->tick(s->p->user, s->n_running, done);
}

int aoei_processes_run(const aoei_processes *p, aoe_error *err) {
    scheduler s = {.p = p, .error = err};
    double last_tick = 0;
    int cancelled = 0;
    s.running = aoei_malloc_array(p->at_once, sizeof *s.running);
    s.fds = aoei_malloc_array(p->at_once, sizeof *s.fds);
    if (!s.running || !s.fds)
        s.code = aoei_fail_nomem(err, p->at_once * sizeof *s.running);
    while (!s.code || s.n_running) {
        if (!s.code && start_jobs(&s))
            stop_jobs(&s);
        if (!s.n_running)
            break;
        wait_for_reports(&s);
        if (aoei_now() - last_tick < 1e-3 * TICK_MILLISECONDS)
            continue;
        last_tick = aoei_now();
        if (tick(&s)) {
            cancelled = 1;
            stop_jobs(&s);
        }
    }
    aoei_free(s.running);
    aoei_free(s.fds);
    if (!s.code && cancelled)
        return aoei_fail(err, AOE_ECANCELLED, "stopped by the caller");
    return s.code;
}
