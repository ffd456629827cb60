/* SPDX-License-Identifier: MIT
 * Fault injection for tests: makes one step that changes the disk fail.
 */
#ifndef AOEI_BASE_IO_FAULT_H
#define AOEI_BASE_IO_FAULT_H

#include <stdint.h>

/* The n-th step from now that changes the disk (open for writing, write, flush, fsync, rename, mkdir, remove) fails with
 * errnum and is not executed. n = 0 turns fault injection off. */
void aoei_io_fail_at(uint64_t n, int errnum);
/* The number of steps since the last aoei_io_fail_at. */
uint64_t aoei_io_count(void);
/* Code that changes the disk calls this function before each step: 0, or -1 with errno set if the step must fail. */
int aoei_io_step(void);

#endif
