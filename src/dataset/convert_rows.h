/* SPDX-License-Identifier: MIT
 * Copies the rows of a table to another file format for aoe_data_convert.
 */
#pragma once

#include "aoe.h"
#include "aoe_data.h"

/* Converts the file `path`. The options and errors are documented at aoe_data_convert. The caller zeroes *result
 * first. */
int aoei_convert_rows(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result,
                      aoe_error *err);
