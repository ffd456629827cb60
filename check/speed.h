/* SPDX-License-Identifier: MIT
 * Speed of every kernel on one thread, at sizes that stay in the second-level cache, so that the figure is the
 * kernel's and not the memory's.
 */
#ifndef AOE_CHECK_SPEED_H
#define AOE_CHECK_SPEED_H

#include "kernels/kernel_table.h"
#include "kernels/kernels.h"

typedef struct check_speed {
    const char *unit; /* static: "GFLOP/s" or "GB/s"; NULL: the op does no work worth timing */
    double best;      /* of several runs */
    double median;
} check_speed;

/* Every op of kernels.def, in its order. */
extern const char *const check_ops[];
extern const size_t check_n_ops;
/* Whether a tier has a kernel of its own for op number i. */
int check_op_in_tier(size_t i, aoei_tier tier);
/* Times op number i with the kernels k. 0, or -1 without memory. */
int check_speed_op(check_speed *s, const aoei_kernels *k, size_t i);

#endif
