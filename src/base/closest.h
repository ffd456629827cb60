/* SPDX-License-Identifier: MIT
 * Suggestions for misspelled names.
 */
#pragma once

#include <stddef.h>

/* Returns the element of names[n] that is most similar to the word `typed`, or NULL if no element is similar enough to
 * be suggested. An element that starts with `typed` is similar. */
const char *aoei_closest(const char *typed, const char *const *names, size_t n);
