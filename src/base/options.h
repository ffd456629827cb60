/* SPDX-License-Identifier: MIT
 * Functions that set, copy and check the options and result structs of the public API. Fields that the struct of a
 * program does not have, because it was compiled with older headers, keep their defaults. */
#pragma once

#include "base/compiler.h"
#include "base/struct_layout.h"

/* Defines the function aoe_NAME_fill of a struct: AOEI_DEFAULTS(aoe_NAME) { statements }. The statements set all fields
 * of the library's struct *o except its struct_size. */
#define AOEI_DEFAULTS(type)                                                                                            \
    static void type##_set(type *o);                                                                                   \
    void type##_fill(type *given) {                                                                                    \
        type full;                                                                                                     \
        if (!given)                                                                                                    \
            return;                                                                                                    \
        type##_set(&full);                                                                                             \
        aoei_struct_write(given, &full, &aoei_layout_##type);                                                          \
    }                                                                                                                  \
    static void type##_set(type *o)

/* `o` is the pointer to the caller's options, or NULL. The macro replaces it by a pointer to a complete copy, which is
 * valid until the end of the enclosing block. Returns from the function with AOE_EARG if struct_size is invalid. */
#define AOEI_OPTIONS(type, o, err)                                                                                     \
    type o##_copy_;                                                                                                    \
    type##_defaults(&o##_copy_);                                                                                       \
    const int o##_code_ = aoei_options_read(&o##_copy_, o, &aoei_layout_##type, __func__, err);                        \
    if (o##_code_)                                                                                                     \
        return o##_code_;                                                                                              \
    o = &o##_copy_

/* Replaces the array `o->field`, whose elements a program may have compiled with older headers, by a complete copy,
 * which is valid until the end of the enclosing block. The macro follows AOEI_OPTIONS, at most once per block. field,
 * count: fields of *o; element: pointer to an element with default values. Returns from the function with an error
 * code if it fails. */
#define AOEI_ARRAY(type, o, field, count, element, err)                                                                \
    AOEI_CLEANUP(aoei_options_free) void *array_memory_ = NULL;                                                        \
    const int array_code_ =                                                                                            \
        aoei_options_array(&array_memory_, o->field, o->count, element, &aoei_layout_##type, __func__, err);           \
    if (array_code_)                                                                                                   \
        return array_code_;                                                                                            \
    o##_copy_.field = array_memory_

/* `r` is the pointer to the caller's result struct, or NULL. The macro replaces it by a pointer to a complete struct
 * whose fields are 0. At the end of the enclosing block, its fields are copied to the caller's struct, as far as it has
 * them. Returns from the function with AOE_EARG if struct_size is invalid. */
#define AOEI_RESULT(type, r, err)                                                                                      \
    type r##_full_ = {.struct_size = sizeof(type)};                                                                    \
    const int r##_code_ = r ? aoei_struct_check(r, &aoei_layout_##type, __func__, err) : 0;                            \
    if (r##_code_)                                                                                                     \
        return r##_code_;                                                                                              \
    AOEI_CLEANUP(aoei_result_copy) const aoei_result r##_copy_ = {r, &r##_full_, &aoei_layout_##type};                 \
    r = &r##_full_

/* A result struct of the caller and the complete struct from which it is copied. */
typedef struct aoei_result {
    void *given; /* NULL: the caller needs no result */
    const void *full;
    const aoei_struct_layout *layout;
} aoei_result;

void aoei_result_copy(const aoei_result *r); /* copies the fields of r->full to r->given, unless it is NULL */

/* Copies the options `given` over the defaults in `full`, which has this layout. If given is NULL, the defaults are
 * unchanged. function: name for messages. Errors: AOE_EARG (see aoei_struct_check). */
int aoei_options_read(void *full, const void *given, const aoei_struct_layout *layout, const char *function,
                      aoe_error *err);
/* Sets *full to a new array that contains the n elements of the program's array `given`, with all fields of the layout;
 * aoei_free frees it. The elements of the program's array may be smaller; all of them have the struct_size of the first
 * one. defaults: an element with default values. Sets *full to NULL if n is 0. Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_options_array(void **full, const void *given, size_t n, const void *defaults, const aoei_struct_layout *layout,
                       const char *function, aoe_error *err);

void aoei_options_free(void **array); /* frees the array *array */

/* Checks that a floating-point option is not NaN. name: "options.FIELD". Errors: AOE_EARG. */
int aoei_check_option(const char *name, double value, aoe_error *err);

/* Returns 1 if a floating-point option is AOE_AUTO. Integer options can be compared with == instead. */
static inline int aoei_is_auto(double option) {
    return option >= AOE_AUTO && option <= AOE_AUTO;
}
