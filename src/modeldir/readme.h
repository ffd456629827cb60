/* SPDX-License-Identifier: MIT
 * Writes README.md of a model directory, the model card that model hubs show.
 */
#ifndef AOEI_MODELDIR_README_H
#define AOEI_MODELDIR_README_H

#include "modeldir/contents.h"

/* Writes README.md of a complete model to the existing directory `dir`. Absolute paths in the training record are shortened to
 * their last component. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_model_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);
/* Like aoei_model_readme, for a directory of adapters. */
int aoei_adapters_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
