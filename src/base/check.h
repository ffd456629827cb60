/* SPDX-License-Identifier: MIT
 * Checks pointer arguments at the entry of public functions.
 */
#pragma once

#include "aoe.h"

/* Checks the pointers after `err`, for example AOEI_CHECK(err, ctx, model). If one of them is NULL, the macro returns
 * from the calling function with AOE_EARG and the message "FUNCTION: argument 'NAME' is NULL", which names the first
 * NULL pointer. */
#define AOEI_CHECK(err, ...)                                                                                           \
    do {                                                                                                               \
        const void *const pointers_[] = {__VA_ARGS__};                                                                 \
        const int code_ =                                                                                              \
            aoei_check_pointers(__func__, #__VA_ARGS__, pointers_, sizeof pointers_ / sizeof *pointers_, err);         \
        if (code_)                                                                                                     \
            return code_;                                                                                              \
    } while (0)

#if defined(__clang_analyzer__)
/* The static analyzer reads one file at a time. This definition of AOEI_CHECK tells it that the first pointer is not
 * NULL after the check. */
#undef AOEI_CHECK
#define AOEI_FIRST(first, ...) (first)
#define AOEI_CHECK(err, ...)                                                                                           \
    do {                                                                                                               \
        (void)(err);                                                                                                   \
        if (!AOEI_FIRST(__VA_ARGS__, NULL))                                                                            \
            return -1;                                                                                                 \
    } while (0)
#endif

/* Returns 0 if no pointer is NULL. pointer: [n] arguments of `function`. names: the names of these arguments, in this
 * order, separated by ", ". Errors: AOE_EARG. */
int aoei_check_pointers(const char *function, const char *names, const void *const *pointer, size_t n, aoe_error *err);
