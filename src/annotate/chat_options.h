/* SPDX-License-Identifier: MIT
 * Option defaults and checks shared by aoe_annotate and aoe_score.
 */
#pragma once

#include "aoe.h"
#include "aoe_annotate.h"

/* If the output file is a TSV file, checks that the text contains no TAB and no line end. The caller checks all texts
 * before it sends requests, which cost money. output: name of the output file; if it is NULL, nothing is checked. file,
 * line: position of the text, for the error message. Errors: AOE_EFORMAT. */
int aoei_check_tsv_text(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err);

/* Checks that `name` and `write` (options.name and options.write) are not NULL. A dry run writes nothing, so it needs
 * neither. Errors: AOE_EARG. */
int aoei_check_output(const aoe_chat_options *chat, const char *name, aoe_write_fn write, aoe_error *err);
