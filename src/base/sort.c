/* SPDX-License-Identifier: MIT
 * Comparison functions, and a bottom-up merge sort of indices.
 */
#include "base/sort.h"

#include <string.h>

int aoei_compare_sizes(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

int aoei_compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int aoei_compare_strings(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Merges the sorted runs from[left, mid) and from[mid, right) into to[left, right). */
static void merge(const double *key, const size_t *from, size_t *to, size_t left, size_t mid, size_t right) {
    size_t a = left, b = mid;
    for (size_t i = left; i < right; i++) {
        if (a < mid && (b >= right || !(key[from[b]] < key[from[a]])))
            to[i] = from[a++];
        else
            to[i] = from[b++];
    }
}

void aoei_argsort(const double *key, size_t n, size_t *index, size_t *scratch) {
    size_t *from = index, *to = scratch;
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t left = 0; left < n; left += 2 * width) {
            size_t mid = left + width < n ? left + width : n;
            size_t right = left + 2 * width < n ? left + 2 * width : n;
            merge(key, from, to, left, mid, right);
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != index)
        memcpy(index, from, n * sizeof *index);
}
