/* SPDX-License-Identifier: MIT
 * Failure injection for tests. Calls a function repeatedly. In call n, allocation n or I/O operation n fails. The last
 * call is the first one that makes fewer than n allocations or I/O operations, so that none fails.
 */
#include <errno.h>
#include <stdio.h>

#include "aoe.h"
#include "base/alloc.h"
#include "base/io_fault.h"
#include "support.h"

static uint64_t each_allocation(test_fn fn, void *arg, uint64_t dense, int may_succeed) {
    int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n += dense && n >= dense ? n / 16 + 1 : 1) {
        aoei_alloc_fail_at(n);
        int code = fn(arg);
        uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        int64_t left = aoei_alloc_live() - live;
        if (left != 0)
            fail_msg("call %llu, in which allocation %llu should fail: %lld blocks were leaked", (unsigned long long)n,
                     (unsigned long long)n, (long long)left);
        int expected = n <= count ? AOE_ENOMEM : AOE_OK;
        if (code != expected && !(may_succeed && code == AOE_OK))
            fail_msg("allocation %llu should fail, %llu were made: the code is %d, expected %d", (unsigned long long)n,
                     (unsigned long long)count, code, expected);
        if (n > count)
            return count;
    }
}

uint64_t test_alloc_failures(test_fn fn, void *arg, uint64_t dense) {
    return each_allocation(fn, arg, dense, 0);
}

uint64_t test_alloc_failures_published(test_fn fn, void *arg, uint64_t dense) {
    return each_allocation(fn, arg, dense, 1);
}

uint64_t test_io_failures(test_fn fn, test_after_fn after, void *arg, int errnum) {
    for (uint64_t n = 1;; n++) {
        aoei_io_fail_at(n, errnum);
        int code = fn(arg);
        uint64_t count = aoei_io_count();
        aoei_io_fail_at(0, 0);
        int expected = n > count ? AOE_OK : errnum == ENOSPC ? AOE_ENOSPC : AOE_EIO;
        if (code != expected)
            fail_msg("I/O operation %llu should fail, %llu were made: the code is %d, expected %d",
                     (unsigned long long)n, (unsigned long long)count, code, expected);
        if (after)
            after(arg, code);
        if (n > count)
            return count;
    }
}
