/* SPDX-License-Identifier: MIT
 * Helpers shared by the tests: temporary directories, small files, the shared
 * material outside the repository, failures on demand, and the regression
 * driver of the fuzz harnesses. Linked with every test program.
 * Failures inside a helper end the test (cmocka's assertions), except in the fuzz driver.
 */
#ifndef AOE_TESTS_SUPPORT_H
#define AOE_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

/* 1: built with a sanitizer, which looks for wrong accesses and makes everything slow: repetitions that only compare results
 * can be left out. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* A new directory under $TMPDIR or /tmp. test_dir_remove removes it with its contents and frees the name. */
char *test_dir_create(void);
void test_dir_remove(char *dir);

/* One directory for all tests of a program: cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down). */
extern char *test_dir;
int test_dir_set_up(void **state);
int test_dir_tear_down(void **state);

/* "dir/name"; free() it. */
char *test_path(const char *dir, const char *name);

/* Writes bytes to dir/name, replacing it; returns the path; free() it. */
char *test_write(const char *dir, const char *name, const void *data, size_t size);
char *test_write_text(const char *dir, const char *name, const char *text);

/* Whole file, NUL-terminated, size may be NULL; free() it. NULL when it does not exist. */
char *test_read(const char *path, size_t *size);

/* Entries of a directory without "." and ".."; fails the test when it cannot be read. */
size_t test_count_entries(const char *dir);

/* The shared material: $AOE_SHARED, else ../shared beside the repository, else NULL. Borrowed. */
const char *test_shared(void);
/* A path below it, or NULL after printing "SKIP: ..." when it is not there; then skip the test:
 *     char *path = test_shared_path("golden/bert"); if (!path) skip();
 * free() it. */
char *test_shared_path(const char *relative);

/* Runs fn(arg) with the 1st, 2nd, 3rd... allocation failing until it gets through untouched, and returns how many
 * allocations there were. fn returns an AOE code; it must be AOE_ENOMEM whenever an allocation failed and 0 in the end,
 * and every block must be freed each time. After `dense` failures the steps grow by a sixteenth (0: never). */
typedef int (*test_fn)(void *arg);
uint64_t test_alloc_failures(test_fn fn, void *arg, uint64_t dense);
/* The same of work that publishes something: once it is in place tidying up may fail unseen. fn checks it when its code is 0.
 */
uint64_t test_alloc_failures_published(test_fn fn, void *arg, uint64_t dense);

/* The same with the 1st, 2nd, 3rd... I/O step of base/file.h failing with errnum. fn must return AOE_ENOSPC for ENOSPC,
 * else AOE_EIO, whenever a step failed; `after` (may be NULL) then checks what is left on the disk: code is what fn returned.
 */
typedef void (*test_after_fn)(void *arg, int code);
uint64_t test_io_failures(test_fn fn, test_after_fn after, void *arg, int errnum);

/* Fuzzing. A harness defines LLVMFuzzerTestOneInput and, where it needs preparation, LLVMFuzzerInitialize. It reports a
 * failure with abort(). tests/fuzz/driver.c runs it in `make check`, libFuzzer in `make fuzz`; both start from the files in
 * tests/fuzz/corpus/NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* The number of mutated inputs that the driver runs: 5000 unless a slow harness defines a smaller number. */
extern const size_t fuzz_mutations;

#endif
