/* SPDX-License-Identifier: MIT
 * Helpers of all test programs: temporary directories, small files, the shared material outside the repository,
 * failure injection, and declarations for the fuzz harnesses. A failure inside a helper ends the test (cmocka's
 * assertions), except in the fuzz driver.
 */
#ifndef AOE_TESTS_SUPPORT_H
#define AOE_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

/* 1: built with a sanitizer, which is slow; tests may then omit repetitions that only compare results. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* Creates a directory under $TMPDIR or /tmp and returns its path. test_dir_remove removes it with its contents and frees the
 * path. */
char *test_dir_create(void);
void test_dir_remove(char *dir);

/* One directory for all tests of a program, for cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down). */
extern char *test_dir;
int test_dir_set_up(void **state);
int test_dir_tear_down(void **state);

/* Returns "dir/name"; free() it. */
char *test_path(const char *dir, const char *name);

/* Write bytes or a text to dir/name, replacing the file, and return its path; free() it. */
char *test_write(const char *dir, const char *name, const void *data, size_t size);
char *test_write_text(const char *dir, const char *name, const char *text);

/* Returns the whole file, NUL-terminated, or NULL if it does not exist; free() it. size may be NULL. */
char *test_read(const char *path, size_t *size);

/* Returns the number of entries of a directory without "." and ".."; fails if it cannot be read. */
size_t test_count_entries(const char *dir);

/* Returns the directory of the shared material: $AOE_SHARED, otherwise ../shared next to the repository, otherwise NULL.
 * Borrowed. */
const char *test_shared(void);
/* Returns a path below test_shared(); free() it. Returns NULL after printing "SKIP: ..." if it does not exist; then skip the
 * test:
 *     char *path = test_shared_path("golden/bert"); if (!path) skip(); */
char *test_shared_path(const char *relative);

/* Calls fn(arg) repeatedly with the 1st, 2nd, 3rd... allocation failing, until no allocation fails, and returns the number
 * of allocations. fn returns an AOE code, which must be AOE_ENOMEM if an allocation failed and 0 at the end; every block
 * must be freed each time. If `dense` is not 0, only some of the allocations after number `dense` fail: the steps grow by a
 * sixteenth. */
typedef int (*test_fn)(void *arg);
uint64_t test_alloc_failures(test_fn fn, void *arg, uint64_t dense);
/* Like test_alloc_failures, for work that publishes a file: after publication, a failure of the cleanup may be ignored. fn
 * checks the file if its code is 0. */
uint64_t test_alloc_failures_published(test_fn fn, void *arg, uint64_t dense);

/* Like test_alloc_failures, with the 1st, 2nd, 3rd... I/O step of base/file.h failing with errnum. If a step failed, fn must
 * return AOE_ENOSPC for ENOSPC and AOE_EIO for other values. `after` (may be NULL) then checks the files on disk; code is
 * the return value of fn. */
typedef void (*test_after_fn)(void *arg, int code);
uint64_t test_io_failures(test_fn fn, test_after_fn after, void *arg, int errnum);

/* Fuzzing. A harness defines LLVMFuzzerTestOneInput and, if it needs preparation, LLVMFuzzerInitialize. It reports a failure
 * with abort(). tests/fuzz/driver.c runs it in `make check`, libFuzzer in `make fuzz`; both start from the files in
 * tests/fuzz/corpus/NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Number of mutated inputs that the driver runs: 5000 unless a slow harness defines a smaller number. */
extern const size_t fuzz_mutations;

#endif
