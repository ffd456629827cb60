/* SPDX-License-Identifier: MIT
 * Golden cases of one architecture. Hidden states, pooled vectors, losses, gradients, optimizer steps and adapters of a small
 * model are compared with the results of an independent implementation in float64.
 */
#ifndef AOEI_BENCH_VERIFY_MODEL_H
#define AOEI_BENCH_VERIFY_MODEL_H

#include "bench/check.h"

/* Runs the cases of dir, which contains cases.json, expected.safetensors and a model. name: the group in the report.
 * Errors: AOE_EUNSUPPORTED (architecture), AOE_EFORMAT, errors of opening a model. A failed check is not an error. */
int aoei_verify_model(aoei_verify *v, const char *dir, const char *name, aoe_error *err);

#endif
