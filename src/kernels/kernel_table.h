/* SPDX-License-Identifier: MIT
 * The kernel tables: one constant table per CPU tier (the set of instruction set extensions that the CPU supports),
 * with one function pointer per op (kernels.h). If a tier has no kernel for an op, its table contains the kernel of the
 * next lower tier that has one.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"

/* The kernels of a tier. For each op, the struct has a function pointer field with the name of the op. */
typedef struct aoei_kernels {
    aoei_tier tier;
#define AOEI_OP(op, tolerance) aoei_##op##_fn *op;
#define AOEI_KERNEL(op, TIER, suffix)
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
} aoei_kernels;

/* The kernel tables, indexed by tier. */
extern const aoei_kernels *const aoei_kernel_tables[AOEI_TIER_COUNT];

/* Returns the kernel table of the tier that ctx uses. */
static inline const aoei_kernels *aoei_kernels_of(const aoe_context *ctx) {
    return aoei_kernel_tables[ctx->tier];
}
