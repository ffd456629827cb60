/* SPDX-License-Identifier: MIT
 * Interruption of long commands. The first SIGINT, SIGTERM or SIGHUP requests a stop; the command then saves its state
 * and ends. A second signal ends the program immediately.
 */
#pragma once

/* Installs handlers for these signals. Signals that were ignored when the program started remain ignored. */
void cli_watch_interrupts(void);
/* Also lets SIGUSR1 request a stop, which schedulers send before the time limit of a job, and which mpirun and srun
 * forward to all processes. A process may receive it several times, so a second SIGUSR1 does not end the program. */
void cli_watch_training_interrupts(void);
int cli_interrupted(void); /* returns the number of the signal that requested the stop, or 0 */
