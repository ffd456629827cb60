/* SPDX-License-Identifier: MIT
 * Compressed copies of small texts, for tests of readers.
 */
#ifndef AOE_TESTS_COMPRESS_H
#define AOE_TESTS_COMPRESS_H

#include <stddef.h>

/* Return `data` as one gzip member or one zstd frame, which has *out_size bytes. The caller frees it with free(). */
char *test_gzip(const void *data, size_t size, size_t *out_size);
char *test_zstd(const void *data, size_t size, size_t *out_size);

#endif
