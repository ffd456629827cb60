/* SPDX-License-Identifier: MIT
 * Helpers for all test programs: temporary directories, small files, the shared data outside the repository, failure
 * injection, and declarations for the fuzz harnesses. If a helper fails, the test fails with a cmocka assertion; a fuzz
 * harness exits.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

/* 1: the tests are compiled with a sanitizer, which makes them slow. Tests may then omit repetitions that only compare
 * results. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* Creates a temporary directory in $TMPDIR or /tmp and returns its path. test_dir_remove removes the directory and its
 * contents, and frees the path. */
char *test_dir_create(void);
void test_dir_remove(char *dir);

/* A temporary directory for all tests of a program. A program that uses it calls cmocka_run_group_tests(tests,
 * test_dir_set_up, test_dir_tear_down). */
extern char *test_dir;
int test_dir_set_up(void **state);
int test_dir_tear_down(void **state);

/* Returns "dir/name". The caller frees it. */
char *test_path(const char *dir, const char *name);

/* Both functions write a file dir/name, replace an existing file, and return the path. The caller frees the path. */
char *test_write(const char *dir, const char *name, const void *data, size_t size);
char *test_write_text(const char *dir, const char *name, const char *text);

/* Returns the contents of a file, followed by a NUL, or NULL if the file does not exist. The caller frees them. *size
 * is set to the number of bytes without the NUL; size may be NULL. */
char *test_read(const char *path, size_t *size);

/* Copies the files and subdirectories of `from` to the directory `to`, which must exist. */
void test_copy_dir(const char *from, const char *to);

/* Returns the number of entries of a directory without "." and "..". Fails if the directory cannot be read. */
size_t test_count_entries(const char *dir);

/* Returns the directory of the shared data. It is $AOE_SHARED or, if this variable is not set, ../shared. Returns NULL
 * if the directory does not exist. The caller must not free the result. */
const char *test_shared(void);
/* Returns the path test_shared()/relative. The caller frees it. If this path does not exist, prints "SKIP: ..." and
 * returns NULL, and the test must be skipped:
 *     char *path = test_shared_path("golden/bert"); if (!path) skip(); */
char *test_shared_path(const char *relative);

/* Calls fn(arg) repeatedly. One allocation fails in each call: allocation 1 in the first call, allocation 2 in the
 * second, and so on. fn must then return AOE_ENOMEM. The last call is the first one that makes so few allocations that
 * none fails; it must return 0. fn must free every block in each call. test_alloc_failures returns the number of
 * allocations in the last call. If `dense` is not 0, some allocations are skipped to save time: after a call in which
 * allocation n >= `dense` failed, allocation n + n / 16 + 1 fails in the next call. */
typedef int (*test_fn)(void *arg);
uint64_t test_alloc_failures(test_fn fn, void *arg, uint64_t dense);
/* Makes libcurl use the allocation functions of base/alloc.h, so that test_alloc_failures also makes its allocations
 * fail. It must be called before the first request of the process; test_server_start calls it. */
void test_count_curl(void);
/* Like test_alloc_failures, for a function fn that writes a file. fn may also return 0 if an allocation failed in the
 * clean-up after the file was renamed to its final name. In this case, fn must check that the file is complete. */
uint64_t test_alloc_failures_published(test_fn fn, void *arg, uint64_t dense);

/* Like test_alloc_failures, but in call n, the n-th operation that changes the disk (base/io_fault.h) fails with
 * errnum. fn must then return AOE_ENOSPC if errnum is ENOSPC, and AOE_EIO otherwise. Leaked blocks are not detected.
 * After each call of fn, `after` checks the files on disk; its argument `code` is the return value of fn. `after` may
 * be NULL. */
typedef void (*test_after_fn)(void *arg, int code);
uint64_t test_io_failures(test_fn fn, test_after_fn after, void *arg, int errnum);

/* Fuzzing. A harness defines LLVMFuzzerTestOneInput, and may define LLVMFuzzerInitialize to prepare for the calls. It
 * calls abort() to report a failure. `make check` runs the harness with tests/fuzz/driver.c, and `make fuzz` runs it
 * with libFuzzer. Both start from the files in tests/fuzz/corpus/NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Number of mutated inputs that tests/fuzz/driver.c runs. The default is 20000. A slow harness defines a smaller
 * number. */
extern const size_t fuzz_mutations;
