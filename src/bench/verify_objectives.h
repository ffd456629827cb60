/* SPDX-License-Identifier: MIT
 * Golden cases of the training objectives, without a model.
 */
#ifndef AOEI_BENCH_VERIFY_OBJECTIVES_H
#define AOEI_BENCH_VERIFY_OBJECTIVES_H

#include "bench/check.h"

/* Runs the cases of the file objectives.json. Errors: AOE_EFORMAT, errors of reading. A failed check is not an error. */
int aoei_verify_objectives(aoei_verify *v, const char *path, aoe_error *err);

#endif
