/* SPDX-License-Identifier: MIT
 * Secrets blotted out. Bytes are replaced one for one, so that JSON stays JSON and lengths stay right.
 */
#include "net/secret.h"

#include <string.h>

int aoei_blot_out(char *s, size_t len, const char *secret) {
    const size_t n = secret ? strlen(secret) : 0;
    int found = 0;
    for (char *at = s; n && at && (at = memmem(at, len - (size_t)(at - s), secret, n)) != NULL; at += n) {
        memset(at, '#', n);
        found = 1;
    }
    return found;
}
