/* SPDX-License-Identifier: MIT
 * Moves a new model from a temporary folder, the staging folder, into its directory, and restores the previous model after an
 * interruption. At any time the directory contains the previous model, the new model or no model, but never a mixture.
 */
#ifndef AOEI_MODELDIR_PUBLISH_H
#define AOEI_MODELDIR_PUBLISH_H

#include "aoe.h"
#include "base/log.h"

/* Moves the files in `staging` (a folder inside dir) to dir, and a previous model from dir to `staging`. On failure the
 * previous model is restored. *keep_staging is set to 1 if restoring fails: `staging` then contains files of the previous model
 * and must not be removed; otherwise to 0. */
int aoei_publish(int *keep_staging, const char *dir, const char *staging, aoe_error *err);
/* Removes the staging folders in dir of processes that no longer exist. If one of them contains a previous model that
 * publishing moved and dir contains no complete model, the previous model is restored first, and a warning is written to `log`.
 */
int aoei_publish_recover(const aoei_log *log, const char *dir, aoe_error *err);
/* Sets *where to the folder, relative to DIR, to which an interrupted save moved the previous model, or to NULL if there is
 * none. The caller frees *where with aoei_free. */
int aoei_find_previous_model(char **where, const char *dir, aoe_error *err);
/* Fails with AOE_EEXIST if DIR contains a file or folder that saving a model there would replace; the message names the
 * first one. Also fails if the staging folder of an interrupted save contains a previous model. If force is 1, nothing is
 * checked. */
int aoei_model_dir_check(const char *dir, int force, aoe_error *err);
/* Returns the path of the staging folder of this process in `dir`; the caller frees it with aoei_free. NULL: out of memory. */
char *aoei_model_staging(const char *dir);

#endif
