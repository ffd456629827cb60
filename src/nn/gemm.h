/* SPDX-License-Identifier: MIT
 * One matrix product on all threads of a context. The split is a grid over the
 * output that depends on shapes alone; every element is still the one chain
 * that kernels.h promises.
 */
#ifndef AOEI_NN_GEMM_H
#define AOEI_NN_GEMM_H

#include "nn/context.h"

/* Same meaning as the kernel's; M or N may be 0. */
void aoei_gemm(const aoe_context *ctx, const aoei_gemm_f32 *g);

#endif
