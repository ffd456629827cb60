/* SPDX-License-Identifier: MIT
 * Compares the outputs of a small model with golden cases, which are the outputs of a reference implementation in
 * float64. The compared outputs are hidden states, embeddings, losses, gradients and optimizer steps, also with LoRA
 * adapters.
 */
#pragma once

#include "bench/check.h"

/* Checks a model with the golden cases in a directory. dir: directory with cases.json, expected.safetensors and a
 * model; name: first part of the names of the checks. A check that fails is reported and counted in *v, but the
 * function returns 0. Errors: AOE_EUNSUPPORTED (the architecture), AOE_EFORMAT, and the errors of opening a model. */
int aoei_verify_model(aoei_verify *v, const char *dir, const char *name, aoe_error *err);
