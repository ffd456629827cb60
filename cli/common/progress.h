/* SPDX-License-Identifier: MIT
 * Progress on stderr: on a terminal, one line that is redrawn; otherwise, a new line every few seconds.
 */
#ifndef AOE_CLI_COMMON_PROGRESS_H
#define AOE_CLI_COMMON_PROGRESS_H

#include <stddef.h>

typedef struct cli_progress {
    const char *what;    /* name of the activity, for example "embedding", borrowed */
    const char *unit;    /* name of the units that are counted, for example "texts", borrowed */
    double start, shown; /* times of the start and of the last output in seconds */
    size_t first;        /* number of units done before the start, for resumed runs */
    int active;          /* 1: progress is shown */
} cli_progress;

void cli_progress_begin(cli_progress *p, const char *what, const char *unit, size_t done);
/* Shows that `done` of `total` units are done; total is 0 if unknown. rate_text: text that is shown instead of units per
 * second, or NULL. seconds_left: remaining time; if it is negative, the remaining time is estimated. extra: additional
 * fields, or NULL. They are separated by two spaces, and the most important field is first, because a narrow terminal shows
 * only the first fields. */
void cli_progress_update(cli_progress *p, size_t done, size_t total, const char *rate_text, double seconds_left,
                         const char *extra);
void cli_progress_end(cli_progress *p);                /* removes the bar */
void cli_format_seconds(char out[32], double seconds); /* for example "4 s", "2:05", "1:02:05" */

/* Shortens a line of fields that are separated by two spaces to at most `width` bytes, by removing whole fields at the end. */
void cli_progress_fit(char *line, size_t width);
void cli_progress_clear(void);         /* clears the progress line of the terminal, if one is shown */
void cli_progress_enable(int enabled); /* 0: cli_progress_begin starts progress that is not shown */

#endif
