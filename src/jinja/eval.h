/* SPDX-License-Identifier: MIT
 * Renders a parsed chat template.
 */
#pragma once

#include "jinja/parse.h"
#include "jinja/run.h"

/* Appends the rendered template to `out`. variables: the variables of the template. r->rc must be 0. Errors:
 * AOE_EUNSUPPORTED (names the construct), AOE_EFORMAT (the template is wrong or rejects the conversation),
 * AOE_ENOMEM. */
int aoei_jinja_render(aoei_jinja_run *r, aoei_buffer *out, const aoei_jinja_node *statements,
                      const aoei_jinja_dict *variables);
