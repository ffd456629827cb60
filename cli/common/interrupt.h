/* SPDX-License-Identifier: MIT
 * Interruption of long commands. The first SIGINT, SIGTERM or SIGHUP requests a stop; the command then saves its state
 * and ends. A second signal ends the program immediately.
 */
#pragma once

/* Installs handlers for these signals. Signals that were ignored when the program started remain ignored. */
void cli_watch_interrupts(void);
int cli_interrupted(void); /* returns the number of the signal that requested the stop, or 0 */
