/* SPDX-License-Identifier: MIT
 * Redacts secrets. Each byte of a secret is replaced by one '#', so that lengths do not change and JSON stays valid.
 */
#include "net/secret.h"

#include <string.h>

int aoei_redact(char *s, size_t len, const char *secret) {
    const size_t n = secret ? strlen(secret) : 0;
    int found = 0;
    for (char *at = s; n && at && (at = memmem(at, len - (size_t)(at - s), secret, n)) != NULL; at += n) {
        memset(at, '#', n);
        found = 1;
    }
    return found;
}
