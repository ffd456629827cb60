/* SPDX-License-Identifier: MIT
 * The outline of Markdown and of plain text.
 */
#pragma once

#include "document/outline.h"

/* Fills the outline of the Markdown in o->text: headings (# and underlined) outside code blocks, fenced and indented
 * code blocks, tables, lists and horizontal rules. Front matter (YAML between lines "---" or TOML between lines "+++"
 * at the beginning) provides o->title and is no part of the outline, unless the document has no other text. Errors: see
 * aoei_outline_lines. */
int aoei_markdown_outline(aoei_outline *o, aoe_error *err);

/* Fills the outline of the plain text in o->text. A line after a blank line, with a line of punctuation characters of
 * the same length below it, is a heading, as in reStructuredText. The order in which the characters occur in the
 * document determines their levels. Errors: see aoei_outline_lines. */
int aoei_text_outline(aoei_outline *o, aoe_error *err);
