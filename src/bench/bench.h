/* SPDX-License-Identifier: MIT
 * A prepared benchmark, run by run: for programs that measure several things in
 * turns. aoe_bench of the public header is built on the same.
 */
#ifndef AOEI_BENCH_BENCH_H
#define AOEI_BENCH_BENCH_H

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_bench aoei_bench;

/* Weights, batch and memory for the options; ctx and o->lengths are borrowed. Errors: those of aoe_bench. */
int aoei_bench_create(aoei_bench **b, aoe_context *ctx, const aoe_bench_options *o, aoe_error *err);
/* One run; *seconds is its time. Training goes on from where the run before left the weights. */
int aoei_bench_run(aoei_bench *b, double *seconds, aoe_error *err);
void aoei_bench_destroy(aoei_bench *b); /* NULL accepted */

#endif
