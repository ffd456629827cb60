/* SPDX-License-Identifier: MIT
 * Progress on stderr: one line that is redrawn on a terminal, otherwise a plain line every few seconds.
 */
#ifndef AOE_CLI_COMMON_PROGRESS_H
#define AOE_CLI_COMMON_PROGRESS_H

#include <stddef.h>

typedef struct cli_progress {
    const char *what; /* "embedding", borrowed */
    const char *unit; /* "texts", borrowed */
    double start, shown;
    size_t first; /* units done before the start (resumed runs) */
    int active;
} cli_progress;

void cli_progress_begin(cli_progress *p, const char *what, const char *unit, size_t done);
/* total: number of units, 0 if not known. rate_text: printed instead of units per second, may be NULL. extra: fields
 * separated by two spaces, the most important first, may be NULL: a narrow terminal shows only the first of them. */
void cli_progress_update(cli_progress *p, size_t done, size_t total, const char *rate_text, double seconds_left,
                         const char *extra);
void cli_progress_end(cli_progress *p);                /* removes the bar */
void cli_format_seconds(char out[32], double seconds); /* "4 s", "2:05", "1:02:05" */

/* Shortens a line of fields separated by two spaces to at most `width` bytes: fields that do not fit are left out whole. */
void cli_progress_fit(char *line, size_t width);
void cli_progress_clear(void);         /* clears the progress line of the terminal, if one is shown */
void cli_progress_enable(int enabled); /* 0: progress that begins from now on is not shown */

#endif
