/* SPDX-License-Identifier: MIT
 * Several jobs at once as child processes, within a budget of processes and
 * memory. A job is a function run in a fork of this process, not a new start of
 * the program: a long experiment is then done by one program though its file is
 * replaced by a new build, training and scoring share a process, and a child can
 * ask the kernel to be stopped when its parent is gone, however that ended. The
 * caller must have no other threads (contexts closed). The library starts no
 * processes; this is the program's.
 * SIGINT and SIGTERM stop the children, which get SIGTERM once; a second signal ends
 * this process at once, and the children with it.
 */
#ifndef AOE_CLI_EXPERIMENT_SCHEDULER_H
#define AOE_CLI_EXPERIMENT_SCHEDULER_H

#include <stddef.h>

typedef struct cli_job {
    size_t memory;            /* bytes it is planned to take */
    const char *out, *errors; /* paths of its standard output and error, borrowed; both replaced */
    int skip;                 /* 1: there is nothing to do */
} cli_job;

typedef struct cli_schedule {
    const cli_job *job; /* [n] */
    size_t n;
    size_t at_once; /* jobs */
    size_t memory;  /* bytes of all that run; a job that is alone may take more. 0: no limit */
    /* In the child; returns its exit code. SIGTERM asks for its end. */
    int (*run)(void *user, size_t i);
    /* In the parent, in the order of ending; status as waitpid has it. Not 0: no further job is started. */
    int (*ended)(void *user, size_t i, int status, double seconds);
    /* In the parent, a few times a second; running[k] for jobs under way. May be NULL. */
    void (*tick)(void *user, const size_t *running, size_t n_running);
    void *user;
} cli_schedule;

/* 0 when every job was started and ended, whatever it came to; 1 when a process could not be started (reported) or ended()
 * said so; 128 + the signal after an interruption, jobs under way having ended. */
int cli_schedule_run(const cli_schedule *s);

#endif
