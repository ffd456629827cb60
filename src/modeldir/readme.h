/* SPDX-License-Identifier: MIT
 * Writes the file README.md of a model directory. This is the model card that model hubs display.
 */
#pragma once

#include "modeldir/contents.h"

/* Writes README.md of a complete model to the directory `dir`, which must exist. Absolute paths in the training record
 * are shortened to their last component. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_model_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);
/* Writes README.md of an adapter directory. Parameters and errors: see aoei_model_readme. */
int aoei_adapters_readme(const aoei_model_contents *m, const char *dir, aoe_error *err);
/* Returns why other programs compute different tokens for a model with this configuration and tokenizer, as a clause in
 * static memory, or NULL if they compute the same tokens. t: NULL if the model has no tokenizer. */
const char *aoei_tokenizer_limit(const aoei_encoder_config *c, const aoe_tokenizer *t);
