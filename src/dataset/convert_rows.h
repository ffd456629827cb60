/* SPDX-License-Identifier: MIT
 * The two halves of aoe_data_convert: rows as they are, and rows in another form.
 */
#ifndef AOEI_DATASET_CONVERT_ROWS_H
#define AOEI_DATASET_CONVERT_ROWS_H

#include "aoe.h"

/* Both as aoe_data_convert; result is zeroed. */
int aoei_convert_rows(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result, aoe_error *err);
int aoei_convert_form(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result, aoe_error *err);

#endif
