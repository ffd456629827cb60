/* SPDX-License-Identifier: MIT
 * Putting a model that was written in a staging folder into its directory, so
 * that the directory holds the older model, the new one or none, never a mixture.
 */
#ifndef AOEI_MODELDIR_PUBLISH_H
#define AOEI_MODELDIR_PUBLISH_H

#include "aoe.h"
#include "base/log.h"

/* Moves what `staging` (a folder of dir) holds into dir in the place of an older model, which stays in `staging`. On failure
 * the older one is back; where that failed too, *held is 1 and `staging` must stay. */
int aoei_publish(int *held, const char *dir, const char *staging, aoe_error *err);
/* Removes the staging folders of processes that are gone; an older model that one of them had moved aside goes back first. */
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
