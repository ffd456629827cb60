/* SPDX-License-Identifier: MIT
 * Functions that copy and check the options structs of the public API. Each struct begins with `size_t struct_size`,
 * which its defaults function sets, so that a newer version of the library can append fields. Fields that the caller's
 * struct does not have keep their defaults. */
#pragma once

#include "aoe.h"

/* `o` is the pointer to the caller's options, or NULL. The macro replaces it by a pointer to a complete copy, which is
 * valid until the end of the enclosing block. Returns from the function with AOE_EARG if struct_size is invalid. */
#define AOEI_OPTIONS(type, o, err)                                                                                     \
    type o##_copy_;                                                                                                    \
    type##_defaults(&o##_copy_);                                                                                       \
    const int o##_code_ = aoei_options_copy(&o##_copy_, sizeof o##_copy_, o, __func__, #type, err);                    \
    if (o##_code_)                                                                                                     \
        return o##_code_;                                                                                              \
    o = &o##_copy_

/* `full` points to a struct of `size` bytes that contains the defaults. The function copies the options `given` over
 * it. The first field of *given is the size of *given in bytes; the first field of *full remains `size`. If given is
 * NULL, the defaults are unchanged. `function` and `type` are names for messages. Errors: AOE_EARG if struct_size is
 * smaller than the field itself or larger than `size`. */
int aoei_options_copy(void *full, size_t size, const void *given, const char *function, const char *type,
                      aoe_error *err);

/* Checks that a floating-point option is not NaN. name: "options.FIELD". Errors: AOE_EARG. */
int aoei_check_option(const char *name, double value, aoe_error *err);

/* Returns 1 if a floating-point option is AOE_AUTO. Integer options can be compared with == instead. */
static inline int aoei_is_auto(double option) {
    return option >= AOE_AUTO && option <= AOE_AUTO;
}
