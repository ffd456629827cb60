/* SPDX-License-Identifier: MIT
 * Copies and checks the options and result structs of the public API.
 */
#include "base/options.h"
#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

int aoei_options_read(void *full, const void *given, const aoei_struct_layout *layout, const char *function,
                      aoe_error *err) {
    const int code = given ? aoei_struct_check(given, layout, function, err) : 0;
    if (given && !code)
        aoei_struct_read(full, given, layout);
    return code;
}

void aoei_result_copy(const aoei_result *r) {
    if (r->given)
        aoei_struct_write(r->given, r->full, r->layout);
}

int aoei_options_array(void **full, const void *given, size_t n, const void *defaults, const aoei_struct_layout *layout,
                       const char *function, aoe_error *err) {
    size_t stride;
    char *copy = NULL;
    int code = 0;
    *full = NULL;
    if (!n)
        return 0;
    if (!given)
        return aoei_fail(err, AOE_EARG, "%s: the array of %s is NULL", function, layout->name);
    memcpy(&stride, given, sizeof stride);
    if (!(copy = aoei_malloc_array(n, layout->size)))
        return aoei_fail_nomem(err, layout->size);
    for (size_t i = 0; i < n && !code; i++) {
        memcpy(copy + i * layout->size, defaults, layout->size);
        code = aoei_options_read(copy + i * layout->size, (const char *)given + i * stride, layout, function, err);
    }
    if (code)
        aoei_free(copy);
    else
        *full = copy;
    return code;
}

void aoei_options_free(void **array) {
    aoei_free(*array);
}

int aoei_check_option(const char *name, double value, aoe_error *err) {
    return isnan(value) ? aoei_fail(err, AOE_EARG, "%s is not a number", name) : 0;
}
