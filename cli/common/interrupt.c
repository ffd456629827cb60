/* SPDX-License-Identifier: MIT
 * Signal handlers that record requests to stop.
 */
#include "cli/common/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted; /* number of the signal that requested the stop; 0: no signal was received */

static void on_signal(int number) {
    interrupted = number;
    if (number != SIGUSR1)
        signal(number, SIG_DFL); /* a second signal ends the program immediately */
}

/* Makes on_signal the handler of a signal. Does nothing if the signal was ignored when the program started, as in a
 * background job. */
static void watch_signal(int number) {
    struct sigaction old, action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_watch_interrupts(void) {
    watch_signal(SIGINT);
    watch_signal(SIGTERM);
    watch_signal(SIGHUP);
}

void cli_watch_training_interrupts(void) {
    cli_watch_interrupts();
    watch_signal(SIGUSR1);
}

int cli_interrupted(void) {
    return (int)interrupted;
}
