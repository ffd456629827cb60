/* SPDX-License-Identifier: MIT
 * Monotonic time and the peak memory of this process.
 */
#include "base/clock.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

double aoei_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t aoei_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Returns the peak resident memory (VmHWM) in kilobytes, or 0 if /proc is not available. getrusage is only the
 * fallback, because its value includes the peak of the program that ran in this process before exec. */
static size_t peak_from_proc(void) {
    FILE *f = fopen("/proc/self/status", "re");
    if (!f)
        return 0;
    char line[256];
    size_t kilobytes = 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %zu kB", &kilobytes) == 1)
            break;
    fclose(f);
    return kilobytes;
}

size_t aoei_peak_rss_bytes(void) {
    size_t kilobytes = peak_from_proc();
    struct rusage usage;
    if (kilobytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0)
        kilobytes = (size_t)usage.ru_maxrss;
    return kilobytes * 1024;
}
