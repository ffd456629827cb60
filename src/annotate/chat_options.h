/* SPDX-License-Identifier: MIT
 * Functions that the jobs with chat models share, other than their calls.
 */
#ifndef AOEI_ANNOTATE_CHAT_OPTIONS_H
#define AOEI_ANNOTATE_CHAT_OPTIONS_H

#include "aoe.h"

/* Checks that the output format can represent a text, before any request is paid for. Errors: AOE_EFORMAT with file and
 * line. */
int aoei_chat_check_writable(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err);

#endif
