/* SPDX-License-Identifier: MIT
 * Renders chat templates without a conversation, for the tests of src/jinja.
 */
#pragma once

#include "aoe.h"
#include "base/buffer.h"

/* Renders a template without variables and appends the text to `out`. Returns the code of the error. */
int template_render(aoei_buffer *out, aoe_error *err, const char *source);
/* Fails the test unless the template renders `expected`. */
void template_output(const char *source, const char *expected);
/* Fails the test unless the template has the error `code`, whose message contains `part`. */
void template_error(const char *source, int code, const char *part);
