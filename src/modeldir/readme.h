/* SPDX-License-Identifier: MIT
 * README.md of a model directory: the model card that model hubs show.
 */
#ifndef AOEI_MODELDIR_README_H
#define AOEI_MODELDIR_README_H

#include "modeldir/contents.h"

/* Write README.md of a complete model, or of a directory of adapters, to the existing directory `dir`. Absolute paths in the
 * training record are shortened to their last component. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_model_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);
int aoei_adapters_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
