/* SPDX-License-Identifier: MIT
 * Checks of configuration values.
 */
#include "encoder/config.h"

#include <math.h>

#include "base/error.h"
#include "encoder/slot_layout.h"

aoei_lora_layer aoei_lora_of(const aoei_lora *l, size_t layer, size_t index) {
    const aoei_lora_layer equal = {l->targets >> index & 1 ? l->r : 0, l->alpha};
    return l->each && l->r ? l->each[layer * AOEI_ADAPTERS + index] : equal;
}

double aoei_lora_scale(const aoei_lora *l, size_t layer, size_t index) {
    return aoei_lora_factor(l, aoei_lora_of(l, layer, index));
}

double aoei_lora_factor(const aoei_lora *l, aoei_lora_layer a) {
    return a.alpha / (l->rank_stabilized ? sqrt((double)a.r) : (double)a.r);
}

int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err) {
    if (value >= min && value <= max)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %zu; it must be between %zu and %zu", file, key, value, min, max);
}

int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err) {
    if (p >= 0 && p < 1)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g; it must be at least 0 and below 1", file, key, p);
}

int aoei_check_epsilon(const char *key, double eps, const char *file, aoe_error *err) {
    if (eps > 0 && eps < 1)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g; it must be above 0 and below 1", file, key, eps);
}
