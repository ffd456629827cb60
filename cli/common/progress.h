/* SPDX-License-Identifier: MIT
 * Shows the progress of a command on stderr. On a terminal, one line is drawn repeatedly. Otherwise, a new line is
 * printed every few seconds.
 */
#pragma once

#include <stddef.h>

typedef struct cli_progress {
    const char *what;    /* name of the activity, for example "embedding", borrowed */
    const char *unit;    /* name of the units that are counted, for example "texts", borrowed */
    double start, shown; /* start: time of the start; shown: time of the last output; both in seconds */
    size_t first;        /* number of units that a resumed run had completed before the start */
    int active;          /* 1: progress is shown */
} cli_progress;

/* Begins the progress display of an activity. what, unit, done: values of the fields `what`, `unit` and `first`. */
void cli_progress_begin(cli_progress *p, const char *what, const char *unit, size_t done);
/* Shows that `done` of `total` units are completed.
 * - total: 0 if the total number is unknown.
 * - rate_text: text that is shown instead of the number of units per second, or NULL.
 * - seconds_left: remaining time in seconds; if it is negative, the remaining time is estimated.
 * - extra: additional fields, separated by two spaces, or NULL. The most important field is first, because a narrow
 *   terminal shows only the first fields. */
void cli_progress_update(cli_progress *p, size_t done, size_t total, const char *rate_text, double seconds_left,
                         const char *extra);
double cli_progress_seconds(const cli_progress *p);    /* returns the time since the start in seconds */
void cli_progress_end(cli_progress *p);                /* removes the progress line */
void cli_format_seconds(char out[32], double seconds); /* writes, for example, "4 s", "2:05" or "1:02:05" */

/* Shortens a line to at most `width` bytes. The line consists of fields that are separated by two spaces; whole fields
 * are removed at the end. */
void cli_progress_fit(char *line, size_t width);
void cli_progress_clear(void);         /* clears the progress line if the terminal shows one */
void cli_progress_enable(int enabled); /* 0: the progress of later calls of cli_progress_begin is not shown */
