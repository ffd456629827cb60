/* SPDX-License-Identifier: MIT
 * Runs jobs in child processes, several at a time, within limits on the number of processes and their memory. This is the only
 * code of the library that forks.
 *
 * A job is a function that runs in a fork of the calling process, so all runs of a long experiment execute the same program
 * even if the program file is replaced meanwhile. After the fork, the child uses nothing of the parent except memory: it
 * creates its own aoe_context, writes messages to a file, and ends with _exit. Each child is the leader of a process group, so
 * that Ctrl-C in a terminal reaches only the parent. The kernel sends SIGTERM to the child when the parent dies.
 *
 * Requirements: the thread that calls aoei_processes_run must not end before the function returns. The caller may have
 * contexts, but no thread of the caller may hold a lock that a child needs (malloc and stdio are safe with glibc).
 */
#ifndef AOEI_EXPERIMENT_PROCESS_H
#define AOEI_EXPERIMENT_PROCESS_H

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_child aoei_child; /* the child's connection to the parent */

/* A job to run. */
typedef struct aoei_job {
    size_t memory;   /* bytes that the job is expected to use */
    const char *log; /* path of the file for messages, standard output and standard error, which is overwritten; borrowed */
    int skip;        /* 1: the job is not started */
} aoei_job;

/* The result of a job. */
typedef struct aoei_job_end {
    const aoe_error *error; /* error of the job; NULL: it succeeded; valid during the call */
    double seconds;         /* wall-clock time of the job */
} aoei_job_end;

/* The jobs, the limits and the callbacks. */
typedef struct aoei_processes {
    const aoei_job *job; /* [n] jobs, started in this order; borrowed */
    size_t n;            /* number of jobs */
    size_t at_once;      /* maximum number of processes at a time */
    size_t memory;       /* maximum bytes of all running jobs; a job that runs alone may exceed it; 0: no limit */
    /* Runs job i in the child. Returns 0, or an error code after setting err. Must return AOE_ECANCELLED if it stops because
     * of aoei_child_stopped. */
    int (*run)(void *user, size_t i, aoei_child *child, aoe_error *err);
    /* Called in the parent when job i has ended. Not called for jobs that were stopped. */
    void (*ended)(void *user, size_t i, const aoei_job_end *end);
    /* Called in the parent several times per second. running: number of running jobs; done: sum of their finished fractions.
     * Returns 0 to continue; if it returns non-zero, no further job starts, and the running jobs are asked to stop. */
    int (*tick)(void *user, size_t running, double done);
    void *user; /* first argument of the callbacks */
} aoei_processes;

/* Runs all jobs. Returns 0 when all have ended, even if some failed; AOE_ECANCELLED if tick stopped them. Errors: AOE_EIO (a
 * process cannot be started), AOE_ENOMEM; the running jobs are stopped before the function returns. */
int aoei_processes_run(const aoei_processes *p, aoe_error *err);

/* ---- functions for the child */

/* Reports the finished fraction of the job, from 0 to 1. */
void aoei_child_progress(aoei_child *c, double done);
/* Returns 1 if the parent, or a signal, asked the job to stop. */
int aoei_child_stopped(void);
/* Appends a line to the log file of the job. */
void aoei_child_log(const char *message);
/* After this call, a request to stop ends the process immediately. For work that has no state to save. */
void aoei_child_stop_at_once(void);

#endif
