/* SPDX-License-Identifier: MIT
 * Shows the progress of a command on stderr. On a terminal, a progress bar is drawn repeatedly. Otherwise, a new line
 * is printed every few seconds.
 */
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define BAR_SECONDS  0.1 /* minimum time in seconds between two updates of the progress bar */
#define LINE_SECONDS 5.0 /* minimum time in seconds between two lines if stderr is not a terminal */

static int enabled = 1;
static int bar_drawn; /* 1: the progress bar is shown, and the cursor is in its line */

void cli_progress_clear(void) {
    if (bar_drawn)
        fputs("\r\033[K", stderr);
    bar_drawn = 0;
}

void cli_progress_enable(int on) {
    enabled = on;
}

void cli_format_seconds(char out[32], double seconds) {
    unsigned long long s = seconds > 0 && seconds < 1e9 ? (unsigned long long)(seconds + 0.5) : 0;
    if (s < 60)
        snprintf(out, 32, "%llu s", s);
    else if (s < 3600)
        snprintf(out, 32, "%llu:%02llu", s / 60, s % 60);
    else
        snprintf(out, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
}

static size_t terminal_width(void) {
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
}

static void format_bar(char *out, size_t size, size_t done, size_t total) {
    enum { CELLS = 12 };
    size_t full = total ? (size_t)((double)CELLS * (double)done / (double)total) : 0;
    char cells[CELLS + 1];
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = i < full ? '#' : '.';
    cells[CELLS] = 0;
    snprintf(out, size, " [%s]", cells);
}

void cli_progress_begin(cli_progress *p, const char *what, const char *unit, size_t done) {
    *p = (cli_progress){.what = what, .unit = unit, .start = aoei_now(), .first = done, .active = enabled};
    p->shown = p->start;
}

static double seconds_to_go(const cli_progress *p, size_t done, size_t total, double t) {
    size_t units = done - p->first;
    return total > done && units ? (t - p->start) * (double)(total - done) / (double)units : 0;
}

void cli_progress_fit(char *line, size_t width) {
    const size_t length = strlen(line);
    size_t end = width;
    if (length <= width)
        return;
    while (end > 0 && !(line[end] == ' ' && line[end + 1] == ' ')) /* searches for the last separator of two fields at
                                                                      or before `width` */
        end--;
    line[end] = 0;
}

void cli_progress_update(cli_progress *p, size_t done, size_t total, const char *rate_text, double seconds_left,
                         const char *extra) {
    char line[512], bar[64] = "", rate[64], left[32], count[64];
    double t = aoei_now();
    int terminal = isatty(STDERR_FILENO);
    if (!p->active || t - p->shown < (terminal ? BAR_SECONDS : LINE_SECONDS))
        return;
    p->shown = t;
    if (total)
        snprintf(count, sizeof count, "%zu/%zu", done, total);
    else
        snprintf(count, sizeof count, "%zu", done);
    snprintf(rate, sizeof rate, "%.0f %s/s", (double)(done - p->first) / (t - p->start), p->unit);
    if (!(seconds_left >= 0))
        seconds_left = seconds_to_go(p, done, total, t);
    cli_format_seconds(left, seconds_left);
    snprintf(line, sizeof line, "%s %s%s%s  %s%s%s", count, p->unit, total ? "  left " : "", total ? left : "",
             rate_text ? rate_text : rate, extra ? "  " : "", extra ? extra : "");
    if (!terminal) {
        fprintf(stderr, "%s %s\n", p->what, line);
        return;
    }
    const size_t width = terminal_width(), used = strlen(p->what) + 1;
    if (total)
        format_bar(bar, sizeof bar, done, total);
    if (used + strlen(bar) + strlen(line) >= width)
        bar[0] = 0; /* if the terminal is too narrow, the bar is omitted */
    cli_progress_fit(line, width > used ? width - used - 1 : 0);
    fprintf(stderr, "\r%s%s %s\033[K", p->what, bar, line);
    fflush(stderr);
    bar_drawn = 1;
}

double cli_progress_seconds(const cli_progress *p) {
    return aoei_now() - p->start;
}

void cli_progress_end(cli_progress *p) {
    p->active = 0;
    cli_progress_clear();
}
