/* SPDX-License-Identifier: MIT
 * The error of the calls in a test program, and assertions about it. Each program that includes this file has its own
 * `err`, which the tests pass to the functions of the library.
 */
#pragma once

#include <string.h>

#include "aoe.h"
#include "support.h"

static aoe_error err;

/* Fails the test with the message of `err` if a function failed. */
static inline void check(int rc) {
    if (rc)
        fail_msg("%s", err.message);
}

static inline void assert_message(const char *part) {
    if (!strstr(err.message, part))
        fail_msg("the message \"%s\" does not contain \"%s\"", err.message, part);
}
