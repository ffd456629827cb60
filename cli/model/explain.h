/* SPDX-License-Identifier: MIT
 * Prints the settings of a model with their sources (`aoe info --explain`).
 */
#pragma once

#include <jansson.h>

#include "aoe.h"

/* Prints a table of the settings. The paths of files in the directory `dir` are printed relative to it. Returns the
 * exit code. */
int cli_explain_print(const aoe_model *m, const char *dir);
/* Returns an array with an object for each setting, or NULL after printing an error. */
json_t *cli_explain_json(const aoe_model *m);
