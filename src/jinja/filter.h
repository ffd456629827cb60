/* SPDX-License-Identifier: MIT
 * The filters, tests and methods of chat templates.
 */
#pragma once

#include "jinja/run.h"

/* Sets *out to the result of the filter `name`. Errors: AOE_EUNSUPPORTED (names the filter), AOE_EFORMAT. */
int aoei_jinja_filter(aoei_jinja_run *r, aoei_jinja_value *out, aoe_text name, const aoei_jinja_value *v,
                      const aoei_jinja_arguments *arguments);
/* Sets *result to 1 if v passes the test `name`. Errors: as above. */
int aoei_jinja_test(aoei_jinja_run *r, int *result, aoe_text name, const aoei_jinja_value *v,
                    const aoei_jinja_arguments *arguments);
/* Sets *out to the result of the method `name` of v. Errors: as above. */
int aoei_jinja_method(aoei_jinja_run *r, aoei_jinja_value *out, aoe_text name, const aoei_jinja_value *v,
                      const aoei_jinja_arguments *arguments);
