/* SPDX-License-Identifier: MIT
 * Compressed copies of small texts, for tests of readers.
 */
#pragma once

#include <stddef.h>

/* test_gzip compresses `data` to one gzip member, and test_zstd to one zstd frame. *out_size is set to the size of the
 * result. The caller frees the result with free(). */
char *test_gzip(const void *data, size_t size, size_t *out_size);
char *test_zstd(const void *data, size_t size, size_t *out_size);
