/* SPDX-License-Identifier: MIT
 * Checkpoints of a training run: OUTPUT/checkpoints/step-N, a model directory with the state that resuming needs.
 */
#ifndef AOEI_TRAIN_CHECKPOINT_H
#define AOEI_TRAIN_CHECKPOINT_H

#include "base/log.h"
#include "train/trainer.h"

/* Writes OUTPUT/checkpoints/step-N and removes checkpoints in excess of o->keep_checkpoints. The directory appears only when
 * it is complete. *path: its name, owned by the caller (aoei_free). */
int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err);
/* *path: the newest complete checkpoint of an output directory, owned by the caller (aoei_free); NULL if there is none. */
int aoei_checkpoint_find(char **path, const char *output, aoe_error *err);
/* As aoei_checkpoint_find, but skips damaged checkpoints: files that are missing, truncated or not valid JSON. If an older
 * checkpoint is intact, damaged newer ones are renamed to damaged-step-N, with a warning in the log. If none is intact, the
 * error names the newest and says to delete it. Errors: AOE_EFORMAT, AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_checkpoint_choose(char **path, const char *output, const aoei_log *log, aoe_error *err);
/* Restores progress, AdamW moments and best weights. The weights themselves come with t->base. Errors: AOE_EARG (an option
 * differs from that of the checkpoint), AOE_EFORMAT (a file is damaged). */
int aoei_checkpoint_read(aoei_trainer *t, const char *path, aoe_error *err);
/* The checkpoints folder of an output directory, owned by the caller (aoei_free); NULL: out of memory. */
char *aoei_checkpoints_dir(const char *output);
/* Removes incomplete checkpoints of killed runs and every step-N except the `keep` newest. */
int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err);

#endif
