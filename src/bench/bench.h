/* SPDX-License-Identifier: MIT
 * A benchmark of an encoder. The caller creates a benchmark once and runs it several times. aoe_bench uses these
 * functions. Programs that run several benchmarks in alternation also use them.
 */
#pragma once

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_bench aoei_bench;

/* Creates a benchmark: its weights, its batch of texts, and its buffers. ctx and o->lengths must remain valid until *b
 * is destroyed. Errors: the same as aoe_bench. */
int aoei_bench_create(aoei_bench **b, aoe_context *ctx, const aoe_bench_options *o, aoe_error *err);
/* Executes one run and sets *seconds to its duration. A training run starts with the weights that the previous run has
 * computed. */
int aoei_bench_run(aoei_bench *b, double *seconds, aoe_error *err);
void aoei_bench_destroy(aoei_bench *b); /* accepts NULL */
