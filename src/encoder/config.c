/* SPDX-License-Identifier: MIT
 * Values of a configuration.
 */
#include "encoder/config.h"

#include <math.h>

#include "base/error.h"

double aoei_lora_scale(const aoei_lora *l) {
    return l->alpha / (l->rank_stabilized ? sqrt((double)l->r) : (double)l->r);
}

int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err) {
    if (value >= min && value <= max)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %zu, allowed are %zu to %zu; correct the value", file, key, value, min,
                     max);
}

int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err) {
    if (p >= 0 && p < 1)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g, allowed is 0 to below 1; correct the value", file, key, p);
}

int aoei_check_epsilon(const char *key, double eps, const char *file, aoe_error *err) {
    if (eps > 0 && eps < 1)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g, allowed is above 0 to below 1; correct the value", file, key, eps);
}
