/* SPDX-License-Identifier: MIT
 * Counts the operations that change the disk and makes one of them fail.
 */
#include "base/io_fault.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

static _Atomic uint64_t steps;   /* number of operations since the last aoei_io_fail_at */
static _Atomic uint64_t fail_at; /* the value of `steps` at which an operation fails; 0: never */
static _Atomic int fail_errno;   /* errno of the failed operation */

void aoei_io_fail_at(uint64_t n, int errnum) {
    atomic_store(&steps, 0);
    atomic_store(&fail_errno, errnum);
    atomic_store(&fail_at, n);
}

uint64_t aoei_io_count(void) {
    return atomic_load(&steps);
}

int aoei_io_step(void) {
    if (atomic_fetch_add(&steps, 1) + 1 != atomic_load(&fail_at))
        return 0;
    const int errnum = atomic_load(&fail_errno);
    if (errnum == AOEI_IO_KILL)
        (void)raise(SIGKILL);
    errno = errnum;
    return -1;
}
