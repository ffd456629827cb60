/* SPDX-License-Identifier: MIT
 * Opens model directories for inference, training or saving. The public function aoe_model_open opens for inference.
 */
#pragma once

#include "model/model.h"
#include "model/open_mode.h"

/* Opens the model directory `dir` in the given mode. If `o` is NULL, the default options are used. The caller frees *m
 * with aoe_model_close. Errors: see aoe_model_open; AOE_EUNSUPPORTED if the architecture does not support a masked-LM
 * head or adapters. */
int aoei_model_open_for(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o,
                        const aoei_open_mode *mode, aoe_error *err);
/* Opens the model directory `dir` for training all weights. */
int aoei_model_open_trainable(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o,
                              aoe_error *err);
/* Opens the model directory `dir` for pretraining. If the directory contains no masked-LM head, a new head is
 * initialized with random values from `seed`. */
int aoei_model_open_mlm(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, uint64_t seed,
                        aoe_error *err);
/* Returns 1 if the masked-LM head of a model that was opened with aoei_open_mode.mlm is in its files. */
int aoei_model_has_mlm_head(const aoe_model *m);
