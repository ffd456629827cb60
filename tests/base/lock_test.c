/* SPDX-License-Identifier: MIT
 * Tests the directory lock. At most one caller may hold the lock at a time, whether the callers are in one process or
 * in several. When the process that holds the lock ends, the lock is released.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../support/support.h"
#include "base/lock.h"
#include "base/path.h"

/* Tries to take the lock in a child process. Returns the negated error code, or 0 if the child got the lock. */
static int lock_in_child(const char *dir) {
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        aoei_lock lock;
        /* the child does not release the lock, because the lock ends with the process */
        _exit(-aoei_lock_dir(&lock, dir, NULL));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void one_holder_at_a_time(void **state) {
    (void)state;
    char *dir = test_dir_create();
    aoei_lock lock, second;
    aoe_error err;
    assert_int_equal(aoei_lock_dir(&lock, dir, &err), 0);
    assert_int_equal(aoei_lock_dir(&second, dir, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "another run"));
    assert_int_equal(lock_in_child(dir), -AOE_EEXIST);
    aoei_unlock(&second); /* `second` is not held, so the call has no effect */
    assert_int_equal(lock_in_child(dir), -AOE_EEXIST);
    aoei_unlock(&lock);
    assert_int_equal(lock_in_child(dir), 0);
    assert_int_equal(aoei_lock_dir(&lock, dir, &err), 0);
    aoei_unlock(&lock);
    test_dir_remove(dir);
}

static void needs_a_directory(void **state) {
    (void)state;
    aoei_lock lock = {.held = 1};
    aoe_error err;
    assert_int_equal(aoei_lock_dir(&lock, "/no/such/directory", &err), AOE_ENOENT);
    assert_int_equal(lock.held, 0);
}

static void compares_paths(void **state) {
    (void)state;
    assert_true(aoei_same_path("/", "/./"));
    assert_false(aoei_same_path("/", "/dev"));
    assert_false(aoei_same_path("/", NULL));
    assert_false(aoei_same_path("/no/such/place", "/no/such/place"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holder_at_a_time),
        cmocka_unit_test(needs_a_directory),
        cmocka_unit_test(compares_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
