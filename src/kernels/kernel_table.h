/* SPDX-License-Identifier: MIT
 * The kernel tables: one constant table per CPU tier, with one function per op. A tier without a
 * kernel of its own for an op uses the kernel of the next lower tier that has one.
 */
#ifndef AOEI_KERNELS_KERNEL_TABLE_H
#define AOEI_KERNELS_KERNEL_TABLE_H

#include "base/context.h"
#include "kernels/kernels.h"

/* The tier and one function pointer per op, named after the op. */
typedef struct aoei_kernels {
    aoei_tier tier;
#define AOEI_OP(op, tolerance) aoei_##op##_fn *op;
#define AOEI_KERNEL(op, TIER, suffix)
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
} aoei_kernels;

/* One table per tier. On a CPU other than x86-64, every table holds the portable C kernels. */
extern const aoei_kernels *const aoei_kernel_tables[AOEI_TIER_COUNT];

/* The kernels of the tier that a context uses. */
static inline const aoei_kernels *aoei_kernels_of(const aoe_context *ctx) {
    return aoei_kernel_tables[ctx->tier];
}

#endif
