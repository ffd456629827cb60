/* SPDX-License-Identifier: MIT
 * Finds the value of an option that is one of several names.
 */
#include "options/option.h"

#include <stdio.h>
#include <string.h>

size_t aoei_choose(const char *const *names, const char *text, const char *noun, aoe_error *err) {
    size_t n = 0;
    for (; names[n]; n++)
        if (strcmp(text, names[n]) == 0)
            return n;
    err->code = AOE_EARG;
    int at = snprintf(err->message, sizeof err->message, "unknown %s '%.100s'; choose", noun, text);
    for (size_t i = 0; i < n; i++)
        at += snprintf(err->message + at, sizeof err->message - (size_t)at, "%s%s",
                       i == 0       ? " "
                       : i + 1 == n ? " or "
                                    : ", ",
                       names[i]);
    return n;
}
