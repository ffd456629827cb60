/* SPDX-License-Identifier: MIT
 * Fault injection for tests: makes one operation that changes the disk fail.
 */
#pragma once

#include <stdint.h>

/* Makes the n-th operation that changes the disk after this call fail with errnum instead of being executed. These
 * operations are open for writing, write, flush, fsync, rename, link, mkdir and remove. If errnum is AOEI_IO_KILL, the
 * process is killed with SIGKILL instead. n = 0 turns fault injection off. */
#define AOEI_IO_KILL (-1)
void aoei_io_fail_at(uint64_t n, int errnum);
/* Returns the number of operations that change the disk since the last aoei_io_fail_at. */
uint64_t aoei_io_count(void);
/* The library calls this function before each operation that changes the disk. Returns 0, or -1 with errno set if the
 * caller must report the operation as failed instead of executing it. */
int aoei_io_step(void);
