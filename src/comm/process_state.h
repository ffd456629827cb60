/* SPDX-License-Identifier: MIT
 * Keeps the state of the process and of the calling thread while another library is loaded or initialized: signal
 * handlers, umask, locale, working directory and the floating-point environment. An MPI may install signal handlers,
 * and a library that was linked with -ffast-math makes the thread that loads it flush subnormal numbers to zero, which
 * would change results.
 */
#pragma once

#include <fenv.h>
#include <signal.h>
#include <sys/types.h>

#include "aoe.h"

typedef struct aoei_process_state {
    struct sigaction action[NSIG];
    unsigned char has_action[NSIG]; /* 1: the signal exists */
    char *locale;                   /* owned */
    int dir;                        /* file descriptor of the working directory; owned; -1: it cannot be opened */
    mode_t mask;
    fenv_t environment; /* rounding and treatment of subnormal numbers */
} aoei_process_state;

/* Saves the state. The caller calls aoei_process_restore, also after an error. Errors: AOE_ENOMEM. */
int aoei_process_save(aoei_process_state *s, aoe_error *err);
/* Restores everything that has changed since aoei_process_save. Returns the number of kinds of state that differed,
 * without the floating-point environment. */
int aoei_process_restore(aoei_process_state *s);
