/* SPDX-License-Identifier: MIT
 * Models that consist of the first layers of another model.
 */
#pragma once

#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Checks that the first `layers` layers of the model `c` in the directory `dir` are a model that computes the pooled
 * vectors of their output. All layers of a model are always accepted. Errors: AOE_EARG (the model has fewer layers),
 * AOE_EUNSUPPORTED. */
int aoei_first_layers_check(const aoei_encoder_config *c, size_t layers, const char *dir, aoe_error *err);

/* Sets c->layers to `layers` after the check above. 0: all layers. */
int aoei_first_layers_select(aoei_encoder_config *c, size_t layers, const char *dir, aoe_error *err);

/* Checks the option options.dims: at most the embedding size of the model `c` with the settings `s`, or 0 for all.
 * Errors: AOE_EARG (fewer components, or a cross-encoder). */
int aoei_first_dims_check(const aoei_settings *s, const aoei_encoder_config *c, size_t dims, const char *dir,
                          aoe_error *err);
