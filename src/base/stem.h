/* SPDX-License-Identifier: MIT
 * Reduces English words to their stems by the rules of M. F. Porter (An algorithm for suffix stripping, 1980), with the
 * same result as the tokenizer "porter" of SQLite FTS5, by which an index with stems compares words.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Replaces word[n], the code points of a word in small letters, by its stem, and returns the length of the stem. Words
 * of less than 3 or more than 64 characters are their own stems. Letters other than a to z count as consonants. */
size_t aoei_stem(uint32_t *word, size_t n);
