/* SPDX-License-Identifier: MIT
 * Checks pointer arguments of public functions.
 */
#include "base/check.h"
#include "base/error.h"

#include <string.h>

int aoei_check_pointers(const char *function, const char *names, const void *const *pointer, size_t n, aoe_error *err) {
    for (size_t i = 0; i < n; i++) {
        const size_t length = strcspn(names, ",");
        if (!pointer[i])
            return aoei_fail(err, AOE_EARG, "%s: argument '%.*s' is NULL", function, (int)length, names);
        names += length + strspn(names + length, ", ");
    }
    return 0;
}
