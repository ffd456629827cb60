/* SPDX-License-Identifier: MIT
 * Moves a model from a staging folder into its directory. At any time the directory contains the older model, the new model or
 * no model, but never a mixture of both.
 */
#ifndef AOEI_MODELDIR_PUBLISH_H
#define AOEI_MODELDIR_PUBLISH_H

#include "aoe.h"
#include "base/log.h"

/* Moves the files in `staging` (a folder of dir) to dir, and an older model to `staging`. On failure the older model is
 * restored. If restoring fails too, *held is 1 and `staging` must be kept. */
int aoei_publish(int *held, const char *dir, const char *staging, aoe_error *err);
/* Removes the staging folders of processes that no longer exist, after restoring an older model that one of them had moved. */
int aoei_publish_recover(const aoei_log *log, const char *dir, aoe_error *err);
/* *where: the folder, relative to DIR, in which an interrupted save left the model that it was replacing (aoei_free); NULL if
 * there is none. */
int aoei_model_stranded(char **where, const char *dir, aoe_error *err);
/* AOE_EEXIST, unless `force`, if DIR holds an entry that saving a model there would replace (the message names the first one),
 * or a model that an interrupted save moved aside. */
int aoei_model_dir_check(const char *dir, int force, aoe_error *err);
/* Path of the folder in `dir` in which this process stages what it writes (aoei_free); NULL: out of memory. */
char *aoei_model_staging(const char *dir);

#endif
