/* SPDX-License-Identifier: MIT
 * Compares the training losses and their gradients with golden cases (outputs of a reference implementation), without a
 * model.
 */
#pragma once

#include "bench/check.h"

/* Checks the losses with the golden cases in a file objectives.json. A check that fails is reported and counted in *v,
 * but the function returns 0. Errors: AOE_EFORMAT, and the errors of reading a file. */
int aoei_verify_objectives(aoei_verify *v, const char *path, aoe_error *err);
