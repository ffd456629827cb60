/* SPDX-License-Identifier: MIT
 * Copies and checks the options structs of the public API.
 */
#include "base/options.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

int aoei_options_copy(void *full, size_t size, const void *given, const char *function, const char *type,
                      aoe_error *err) {
    size_t given_size;
    if (!given)
        return 0;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size)
        return aoei_fail(err, AOE_EARG, "%s: struct_size of %s is not set; call %s_defaults first", function, type,
                         type);
    if (given_size > size)
        return aoei_fail(
            err, AOE_EARG,
            "%s: %s has %zu bytes, but this library supports at most %zu; compile the program with the headers of this "
            "library version",
            function, type, given_size, size);
    memcpy(full, given, given_size);
    memcpy(full, &size, sizeof size);
    return 0;
}

int aoei_check_option(const char *name, double value, aoe_error *err) {
    return isnan(value) ? aoei_fail(err, AOE_EARG, "%s is not a number", name) : 0;
}
