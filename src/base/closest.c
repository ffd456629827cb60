/* SPDX-License-Identifier: MIT
 * Finds the name that is most similar to a misspelled name.
 */
#include "base/closest.h"

#include <string.h>

enum { MAX_NAME = 64 }; /* maximum length in bytes of names that are compared */

/* Returns the minimum number of edits that change a into b, or MAX_NAME if a or b is longer than MAX_NAME. An edit
 * inserts, deletes or replaces a letter, or exchanges two adjacent letters. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    size_t row[3][MAX_NAME + 1];
    if (n > MAX_NAME || m > MAX_NAME)
        return MAX_NAME;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            /* the exchange of two adjacent letters is one edit */
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *aoei_closest(const char *typed, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t length = strlen(typed);
    size_t limit = length < 3 ? 1 : length < 7 ? 2 : 3;
    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(typed, names[i]);
        if (distance <= limit && distance < strlen(names[i])) {
            best = names[i];
            limit = distance - (distance > 0);
            if (distance == 0)
                break;
        } else if (!best && length >= 3 && strncmp(typed, names[i], length) == 0) {
            best = names[i];
        }
    }
    return best;
}
