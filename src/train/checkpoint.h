/* SPDX-License-Identifier: MIT
 * Checkpoints of a training run. OUTPUT/checkpoints/step-N is a model directory that also contains the state needed to resume.
 */
#ifndef AOEI_TRAIN_CHECKPOINT_H
#define AOEI_TRAIN_CHECKPOINT_H

#include "base/log.h"
#include "train/trainer.h"

/* Writes OUTPUT/checkpoints/step-N, and removes all but the newest o->keep_checkpoints checkpoints. The directory appears only
 * when it is complete. Sets *path to the directory, owned by the caller (aoei_free). */
int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err);
/* Sets *path to the newest complete checkpoint of an output directory, owned by the caller (aoei_free), or to NULL if there is
 * none. */
int aoei_checkpoint_find(char **path, const char *output, aoe_error *err);
/* Like aoei_checkpoint_find, but skips damaged checkpoints (a file is missing, truncated or not valid JSON). If an older
 * checkpoint is intact, newer damaged checkpoints are renamed to damaged-step-N, with a warning in the log. If no checkpoint is
 * intact, the error message names the newest one and advises to delete it. Errors: AOE_EFORMAT, AOE_ENOENT, AOE_EIO,
 * AOE_ENOMEM. */
int aoei_checkpoint_choose(char **path, const char *output, const aoei_log *log, aoe_error *err);
/* Restores progress, AdamW moments, best weights and the head. The current weights are part of t->base. Errors: AOE_EARG (an
 * option differs from the checkpoint), AOE_EFORMAT (a file is damaged). */
int aoei_checkpoint_read(aoei_trainer *t, const char *path, aoe_error *err);
/* The checkpoints folder of an output directory, owned by the caller (aoei_free); NULL: out of memory. */
char *aoei_checkpoints_dir(const char *output);
/* Removes incomplete checkpoints of killed runs and all checkpoints except the newest `keep`. */
int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err);

#endif
