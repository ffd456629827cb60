/* SPDX-License-Identifier: MIT
 * A benchmark that is created once and run several times. It is used by aoe_bench, and by programs that alternate between
 * several benchmarks.
 */
#ifndef AOEI_BENCH_BENCH_H
#define AOEI_BENCH_BENCH_H

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_bench aoei_bench;

/* Creates weights, batch and buffers. ctx and o->lengths are borrowed. Errors: as for aoe_bench. */
int aoei_bench_create(aoei_bench **b, aoe_context *ctx, const aoe_bench_options *o, aoe_error *err);
/* Performs one run and sets *seconds to its duration. Training continues with the weights of the previous run. */
int aoei_bench_run(aoei_bench *b, double *seconds, aoe_error *err);
void aoei_bench_destroy(aoei_bench *b); /* accepts NULL */

#endif
