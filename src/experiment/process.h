/* SPDX-License-Identifier: MIT
 * Jobs in child processes, several at a time, within a limit of processes and memory. This is the only place where the
 * library forks.
 *
 * A job is a function that runs in a fork of the calling process, so a long experiment is executed by one program even if
 * the program file is replaced meanwhile. After the fork the child uses nothing of the parent except memory: it creates its
 * own aoe_context, writes messages to a file, and leaves with _exit. Each child is the leader of a process group, so that
 * Ctrl-C in a terminal reaches only the parent, and the kernel sends it SIGTERM when the parent dies.
 *
 * Requirements: the calling thread lives until aoei_processes_run returns; contexts of the caller may exist, but no thread
 * of the caller holds a lock that a child needs (malloc and stdio are safe with glibc).
 */
#ifndef AOEI_EXPERIMENT_PROCESS_H
#define AOEI_EXPERIMENT_PROCESS_H

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_child aoei_child; /* the child's side of its connection to the parent */

typedef struct aoei_job {
    size_t memory;   /* bytes the job is expected to use */
    const char *log; /* path of the file for messages, standard output and standard error, borrowed; replaced */
    int skip;        /* 1: the job is not started */
} aoei_job;

typedef struct aoei_job_end {
    const aoe_error *error; /* NULL: the job succeeded; borrowed for the call */
    double seconds;         /* wall-clock time */
} aoei_job_end;

typedef struct aoei_processes {
    const aoei_job *job; /* [n] started in this order */
    size_t n;
    size_t at_once; /* processes at a time */
    size_t memory;  /* bytes for all running jobs; a job that runs alone may exceed it. 0: no limit */
    /* Runs job i in the child: 0, or an error code with err filled. AOE_ECANCELLED after aoei_child_stopped. */
    int (*run)(void *user, size_t i, aoei_child *child, aoe_error *err);
    /* Called in the parent when job i ends, in the order of ending. Not called for jobs that were stopped. */
    void (*ended)(void *user, size_t i, const aoei_job_end *end);
    /* Called in the parent several times per second. running: jobs in progress; done: the sum of their finished fractions.
     * Returns 0 to continue; otherwise no further job starts, and the running ones are asked to stop. */
    int (*tick)(void *user, size_t running, double done);
    void *user;
} aoei_processes;

/* Returns 0 when all jobs were started and have ended, whatever their results; AOE_ECANCELLED after tick stopped them.
 * Errors: AOE_EIO (a process cannot be started), AOE_ENOMEM; running jobs are stopped first. */
int aoei_processes_run(const aoei_processes *p, aoe_error *err);

/* ---- in the child */

/* Reports the finished fraction of the job, in [0, 1]. */
void aoei_child_progress(aoei_child *c, double done);
/* 1: the parent, or a signal, asked the job to stop. */
int aoei_child_stopped(void);
/* Appends a line to the log file of the job. */
void aoei_child_log(const char *message);
/* From now on a request to stop ends the process at once: for work that leaves nothing to save. */
void aoei_child_stop_at_once(void);

#endif
