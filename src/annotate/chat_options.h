/* SPDX-License-Identifier: MIT
 * Checks that the jobs with chat models share.
 */
#ifndef AOEI_ANNOTATE_CHAT_OPTIONS_H
#define AOEI_ANNOTATE_CHAT_OPTIONS_H

#include "aoe.h"

/* Checks that the output format can represent a text, before any request costs money. Errors: AOE_EFORMAT with file and
 * line. */
int aoei_check_tsv_text(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err);

#endif
