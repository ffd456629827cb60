/* SPDX-License-Identifier: MIT
 * The visible text of HTML, with the line of the source for each of its lines.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_html_line {
    uint32_t source_line; /* line of the first character in the source, counted from 1 */
    uint32_t block;       /* number of the table or preformatted text that contains the line; 0: none */
    uint8_t level;        /* level of the heading, 1 to 6; 0: not a heading */
    uint8_t is_item;      /* 1: the line begins an item of a list */
    uint8_t is_rule;      /* 1: a horizontal rule is above the line */
} aoei_html_line;

typedef struct aoei_html_text { /* a zeroed struct is empty */
    aoei_buffer text;           /* visible text in UTF-8; lines end with LF */
    aoei_html_line *line;       /* [n_lines] one for each line of `text`, also for blank lines */
    size_t n_lines, capacity;
    uint32_t n_blocks;
    aoei_buffer title; /* contents of the element title */
} aoei_html_text;

/* Extracts the visible text of clean HTML (aoei_clean_text). Malformed HTML never fails: unknown tags are ignored, and
 * missing end tags are added as browsers do. The time is linear in the length.
 * - Block elements begin and end lines; paragraphs, headings, lists and tables have a blank line around them. White
 *   space is one space, or one newline where the source has one. Preformatted text keeps its white space.
 * - A row of a table is a line whose cells are separated by " | ". An item of a list begins with "- ".
 * - Images are replaced by their alternative texts.
 * - Scripts, styles, comments, templates, SVG, frames, and elements with the attribute `hidden` or the style
 *   "display:none" are left out.
 * - Character references are decoded.
 * Errors: AOE_ENOMEM. */
int aoei_html_text_read(aoei_html_text *h, aoe_text html, aoe_error *err);
void aoei_html_text_free(aoei_html_text *h);
