/* SPDX-License-Identifier: MIT
 * The outline of source code, for any programming language that indents the bodies of definitions.
 */
#pragma once

#include "document/outline.h"

/* Fills the outline of the source code in o->text. The sections are definitions, such as a class and its methods: a
 * line that is followed by lines with more indentation, and that is not a control statement. A break is better the
 * smaller the indentation of the next line; comments and decorators stay with the definition below them, and closing
 * braces with the lines above them. Errors: see aoei_outline_lines. */
int aoei_code_outline(aoei_outline *o, aoe_error *err);
