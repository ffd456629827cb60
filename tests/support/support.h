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

/* Creates a temporary directory in $TMPDIR or /tmp and returns its path. test_dir_remove removes the directory with its
 * contents and frees the path. */
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

/* Returns the directory of the shared material. It is $AOE_SHARED if this is set, otherwise ../shared next to the repository.
 * Returns NULL if neither exists. The caller must not free the result. */
const char *test_shared(void);
/* Returns a path below test_shared(); free() it. Returns NULL after printing "SKIP: ..." if it does not exist; then skip the
 * test:
 *     char *path = test_shared_path("golden/bert"); if (!path) skip(); */
char *test_shared_path(const char *relative);

/* Calls fn(arg) repeatedly, until no allocation fails, and returns the number of allocations. In call n, the n-th allocation
 * fails. fn returns an AOE code, which must be AOE_ENOMEM if an allocation failed and 0 in the last call. fn must free every
 * block in each call. If `dense` is not 0, only some of the allocations after number `dense` fail: the distance between them is
 * a sixteenth of the number. */
typedef int (*test_fn)(void *arg);
uint64_t test_alloc_failures(test_fn fn, void *arg, uint64_t dense);
/* Like test_alloc_failures, for a function that publishes a file. If an allocation fails in the clean-up after publication, fn
 * may return 0; it must then check that the file is complete. */
uint64_t test_alloc_failures_published(test_fn fn, void *arg, uint64_t dense);

/* Like test_alloc_failures, but in call n the n-th I/O step of base/file.h fails with errnum. If a step failed, fn must return
 * AOE_ENOSPC if errnum is ENOSPC, and AOE_EIO otherwise. After each call, `after` (may be NULL) checks the files on disk; its
 * argument code is the return value of fn. */
typedef void (*test_after_fn)(void *arg, int code);
uint64_t test_io_failures(test_fn fn, test_after_fn after, void *arg, int errnum);

/* Fuzzing. A harness defines LLVMFuzzerTestOneInput and, if it needs preparation, LLVMFuzzerInitialize. The harness calls
 * abort() to report a failure. `make check` runs it with tests/fuzz/driver.c, and `make fuzz` with libFuzzer. Both start from
 * the files in tests/fuzz/corpus/NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Number of mutated inputs that the driver runs: 5000 unless a slow harness defines a smaller number. */
extern const size_t fuzz_mutations;

#endif
