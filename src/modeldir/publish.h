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

#endif
