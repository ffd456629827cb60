/* SPDX-License-Identifier: MIT
 * The option `views`: two transformations of the copies of a text. The targets of the functions are
 * aoe_view[AOE_VIEWS].
 */
#pragma once

#include "aoe_train.h"
#include "options/option.h"

extern const char *const aoei_view_names[]; /* names of the values of aoe_view_kind, NULL-terminated */

int aoei_view_has_rate(const aoe_view *view);

/* Parses two views, such as "feature-cut:0.2,shuffle". */
int aoei_views_parse(void *target, const char *text, aoe_error *err);
/* Returns the list of two views, or NULL if neither of them is a transformation. */
const char *aoei_views_text(char out[AOEI_NAME_SIZE], const void *target);
/* Returns the views for records, or NULL if out of memory. */
json_t *aoei_views_json(const void *target);
