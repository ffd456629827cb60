/* SPDX-License-Identifier: MIT
 * Writes, finds and reads the checkpoints of a training run. OUTPUT/checkpoints/step-N is a complete model directory
 * that also contains the state from which the run can be resumed.
 */
#pragma once

#include "base/log.h"
#include "train/trainer.h"

/* Writes the checkpoint OUTPUT/checkpoints/step-N, where N is the current step. Then removes old checkpoints; the
 * newest t->o->keep_checkpoints remain. The directory is written with a temporary name and renamed when it is complete.
 * *path is set to the directory; the caller frees it with aoei_free. */
int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err);
/* Sets *path to the newest complete checkpoint in the output directory `output`, or to NULL if there is none. A
 * checkpoint is complete if its directory is named step-N. Its files are not checked. The caller frees *path with
 * aoei_free. */
int aoei_checkpoint_find(char **path, const char *output, aoe_error *err);
/* Sets *path to the newest checkpoint that is not damaged, or to NULL if there are no checkpoints. The caller frees
 * *path with aoei_free. A checkpoint is damaged if a file is missing, truncated or not valid JSON. Damaged checkpoints
 * that are newer than *path are renamed to damaged-step-N, and a warning is logged. If all checkpoints are damaged, the
 * function fails; the message names the newest one and advises the user to delete it. Errors: AOE_EFORMAT, AOE_ENOENT,
 * AOE_EIO, AOE_ENOMEM. */
int aoei_checkpoint_choose(char **path, const char *output, const aoei_log *log, aoe_error *err);
/* Compares the options of the run with a checkpoint, except AOEI_LATE_SETTING. Errors: as aoei_checkpoint_read. */
int aoei_checkpoint_check(const aoei_trainer *t, const char *path, aoe_error *err);
/* Restores the progress, the AdamW moments, the best weights and the training head from a checkpoint. The current
 * weights are not restored here, because the caller has already opened the checkpoint as the model t->base. Errors:
 * AOE_EARG if an option differs from the checkpoint, AOE_EFORMAT if a file is damaged. */
int aoei_checkpoint_read(aoei_trainer *t, const char *path, aoe_error *err);
/* Returns the path of the checkpoints folder in an output directory. The caller frees the path with aoei_free. Returns
 * NULL if out of memory. */
char *aoei_checkpoints_dir(const char *output);
/* Removes checkpoints from the checkpoints folder `dir`. The newest `keep` complete checkpoints remain. All other
 * complete checkpoints, and incomplete checkpoints of killed runs, are removed. */
int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err);
