/* SPDX-License-Identifier: MIT
 * Passes messages for users to the caller's log callback (aoe_log_fn). The library itself never prints.
 */
#pragma once

#include "aoe.h"
#include "base/compiler.h"

typedef struct aoei_log {
    aoe_log_fn fn; /* callback; NULL: messages are dropped */
    void *user;    /* argument that is passed to fn */
} aoei_log;

void aoei_log_write(const aoei_log *log, aoe_log_level level, const char *fmt, ...) AOEI_PRINTF(3, 4);
