/* SPDX-License-Identifier: MIT
 * What the jobs over chat models have in common beside their calls.
 */
#ifndef AOEI_ANNOTATE_CHAT_OPTIONS_H
#define AOEI_ANNOTATE_CHAT_OPTIONS_H

#include "aoe.h"

/* Can the output hold this text? AOE_EFORMAT, with its place, before anything is paid for. */
int aoei_chat_check_writable(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err);

#endif
