/* SPDX-License-Identifier: MIT
 * Option defaults and checks shared by aoe_annotate and aoe_score.
 */
#ifndef AOEI_ANNOTATE_CHAT_OPTIONS_H
#define AOEI_ANNOTATE_CHAT_OPTIONS_H

#include "aoe.h"
#include "aoe_annotate.h"

/* Checks that the format of the output file can represent a text: TSV cannot contain TABs and line ends. Called before any
 * request costs money. output: name of the output file; if it is NULL, nothing is checked. file, line: position of the text
 * for the message. Errors: AOE_EFORMAT. */
int aoei_check_tsv_text(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err);

/* Checks that options.name and options.write are given, unless this is a dry run, which writes nothing. Errors: AOE_EARG. */
int aoei_check_output(const aoe_chat_options *chat, const char *name, aoe_write_fn write, aoe_error *err);

#endif
