/* SPDX-License-Identifier: MIT
 * Runs several jobs at a time in child processes. The number of processes and their total memory are limited. No other
 * file of the library calls fork.
 * A job is a function that runs in a fork of the calling process. Therefore, all runs of a long experiment execute the
 * same program, even if the program file is replaced. After the fork, the child uses only the memory of the parent: it
 * creates its own aoe_context, writes messages to a file, and ends with _exit. Each child is the leader of a process
 * group, so that Ctrl-C in a terminal only reaches the parent. If the parent dies, the kernel sends SIGTERM to the
 * child.
 * Requirements: the thread that calls aoei_processes_run must not end before the function returns. The caller may have
 * contexts, but none of its threads may hold a lock that a child needs. The locks of malloc and stdio are safe with
 * glibc.
 */
#pragma once

#include <stddef.h>

#include "aoe_train.h"

typedef struct aoei_child aoei_child; /* connection of a child to its parent */

/* A job to run. */
typedef struct aoei_job {
    size_t memory;   /* estimated memory of the job in bytes */
    const char *log; /* path of the log file, which receives messages, standard output and standard error; an existing
                        file is overwritten; borrowed */
    int skip;        /* 1: do not start the job */
} aoei_job;

/* The result of a job. */
typedef struct aoei_job_end {
    const aoe_error *error; /* error of the job, valid during the call; NULL if the job succeeded */
    double seconds;         /* wall-clock time of the job */
} aoei_job_end;

/* The jobs to run, limits, and callbacks. */
typedef struct aoei_processes {
    const aoei_job *job; /* [n] jobs, started in this order; borrowed */
    size_t n;            /* number of jobs */
    size_t at_once;      /* maximum number of running processes */
    size_t memory; /* maximum memory of all running jobs in bytes; 0: no limit. A job that needs more is run alone */
    /* Runs job i in the child. Returns 0, or sets *err and returns an error code. If the job stops because
     * aoei_child_stopped returned 1, it must return AOE_ECANCELLED. */
    int (*run)(void *user, size_t i, aoei_child *child, aoe_error *err);
    /* Called in the parent after job i has ended. It is not called for a job that was stopped. */
    void (*ended)(void *user, size_t i, const aoei_job_end *end);
    /* Called in the parent several times per second. running: number of running jobs. done: sum of their finished
     * fractions. Returns 0 to continue. If it returns a nonzero value, no further jobs are started and the running jobs
     * are asked to stop. */
    int (*tick)(void *user, size_t running, double done);
    void *user; /* first argument of all callbacks */
} aoei_processes;

/* Runs all jobs. Returns 0 after all jobs have ended, even if some of them failed. Returns AOE_ECANCELLED if tick
 * stopped the jobs. Other errors: AOE_EIO if a process cannot be started, AOE_ENOMEM. After such an error, the running
 * jobs are stopped before the function returns. */
int aoei_processes_run(const aoei_processes *p, aoe_error *err);

/* ---- functions for the child */

/* Reports the finished fraction of the job, from 0 to 1. */
void aoei_child_progress(aoei_child *c, double done);
/* Returns 1 if the parent or a signal has requested the job to stop. */
int aoei_child_stopped(void);
/* Appends a line to the log file of the job. */
void aoei_child_log(const char *message);
/* After this call, a request to stop ends the process immediately. If a stop was already requested, this call ends the
 * process. A job calls the function before work that has no state to save. */
void aoei_child_stop_at_once(void);
