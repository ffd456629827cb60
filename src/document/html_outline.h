/* SPDX-License-Identifier: MIT
 * The outline of HTML.
 */
#pragma once

#include "document/outline.h"

/* Replaces the HTML in o->text by its visible text, shortened by aoei_shorten_data, and fills the outline. Headings are
 * the elements h1 to h6; the contents of the element title are o->title. Lines have the line numbers of the HTML.
 * *shortened: bytes that were removed. Errors: see aoei_outline_lines. */
int aoei_html_outline(aoei_outline *o, size_t *shortened, aoe_error *err);
