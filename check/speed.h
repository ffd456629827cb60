/* SPDX-License-Identifier: MIT
 * Measures the speed of kernels on one thread. The operands fit in the second-level cache, so that the speed does not
 * depend on the transfer rate of memory.
 */
#ifndef AOE_CHECK_SPEED_H
#define AOE_CHECK_SPEED_H

#include "kernels/kernel_table.h"
#include "kernels/kernels.h"

typedef struct check_speed {
    const char *unit; /* unit of the speeds, "GFLOP/s" or "GB/s" (a static string); NULL: the op is not measured */
    double best;      /* speed of the fastest run */
    double median;    /* median speed of the runs */
} check_speed;

/* [check_n_ops] names of the ops (operations) in kernels.def, in the order of this file. */
extern const char *const check_ops[];
extern const size_t check_n_ops;
/* Returns 1 if the tier (instruction set) has its own kernel for check_ops[i]. */
int check_op_in_tier(size_t i, aoei_tier tier);
/* Measures check_ops[i] with the kernels k and sets *s. Returns 0, or -1 if memory allocation failed. */
int check_speed_op(check_speed *s, const aoei_kernels *k, size_t i);

#endif
