/* SPDX-License-Identifier: MIT
 * Moves a new model from a temporary folder, the staging folder, into its model directory, and restores the previous
 * model after an interruption. At any time, the directory contains the previous model, the new model or no model, but
 * never a mixture of two models.
 */
#pragma once

#include "aoe.h"
#include "base/log.h"

/* Moves the previous model, if there is one, from dir to `staging`, a folder inside dir. Then moves the new model from
 * `staging` to dir. If this fails, the previous model is restored. If restoring also fails, `staging` contains files of
 * the previous model and must not be removed; *keep_staging is then set to 1, and otherwise to 0. */
int aoei_publish(int *keep_staging, const char *dir, const char *staging, aoe_error *err);
/* Removes the staging folders in dir that no running process uses. If such a folder contains a previous model and dir
 * contains no complete model, first restores the previous model and writes a warning to `log`.
 */
int aoei_publish_recover(const aoei_log *log, const char *dir, aoe_error *err);
/* Sets *where to the folder to which an interrupted save moved the previous model, as a path relative to DIR. If there
 * is no such folder, sets *where to NULL. The caller frees *where with aoei_free. */
int aoei_find_previous_model(char **where, const char *dir, aoe_error *err);
/* Returns AOE_EEXIST if DIR contains a file or folder that would be replaced if a model were saved in DIR. The message
 * names the first such file. Also returns AOE_EEXIST if DIR contains the previous model of an interrupted save. If
 * force is 1, returns AOE_EEXIST only if DIR contains such a file but no model: a README.md or config.json of the user
 * is not replaced. */
int aoei_model_dir_check(const char *dir, int force, aoe_error *err);
/* Returns the path of the staging folder of this process in `dir`, or NULL if out of memory. The caller frees the path
 * with aoei_free. */
char *aoei_model_staging(const char *dir);
