/* SPDX-License-Identifier: MIT
 * Checkpoints of a training run. OUTPUT/checkpoints/step-N is a complete model directory that also contains the state that is
 * needed to resume the run.
 */
#ifndef AOEI_TRAIN_CHECKPOINT_H
#define AOEI_TRAIN_CHECKPOINT_H

#include "base/log.h"
#include "train/trainer.h"

/* Writes the checkpoint OUTPUT/checkpoints/step-N of the current step N, and removes all checkpoints except the newest
 * o->keep_checkpoints. The directory is written under a temporary name and renamed when it is complete. Sets *path to the
 * directory, owned by the caller (aoei_free). */
int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err);
/* Sets *path to the newest complete checkpoint in an output directory, owned by the caller (aoei_free), or to NULL if there is
 * none. */
int aoei_checkpoint_find(char **path, const char *output, aoe_error *err);
/* Like aoei_checkpoint_find, but skips damaged checkpoints. A checkpoint is damaged if a file is missing, truncated or not
 * valid JSON. If an older checkpoint is intact, newer damaged checkpoints are renamed to damaged-step-N, and a warning is
 * logged. If no checkpoint is intact, the error message names the newest one and advises the user to delete it. Errors:
 * AOE_EFORMAT, AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_checkpoint_choose(char **path, const char *output, const aoei_log *log, aoe_error *err);
/* Restores the progress, the AdamW moments, the best weights and the training head from a checkpoint. The current weights are
 * not read here, because the caller has already opened the checkpoint as the model t->base. Errors: AOE_EARG (an option differs
 * from the checkpoint), AOE_EFORMAT (a file is damaged). */
int aoei_checkpoint_read(aoei_trainer *t, const char *path, aoe_error *err);
/* Returns the path of the checkpoints folder of an output directory, owned by the caller (aoei_free); NULL if memory runs
 * out. */
char *aoei_checkpoints_dir(const char *output);
/* Removes from the checkpoints folder `dir` the incomplete checkpoints of killed runs, and all complete checkpoints except the
 * newest `keep`. */
int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err);

#endif
