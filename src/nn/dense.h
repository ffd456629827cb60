/* SPDX-License-Identifier: MIT
 * Dense layers, which are applied to pooled vectors. They always compute in float32, because they need little time, and
 * because a dense layer that whitens the vectors amplifies rounding errors.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Activation functions of dense layers: f(z) = z, tanh(z), max(z, 0), 1 / (1 + exp(-z)), z (1 + erf(z / sqrt(2))) / 2
 * and z / (1 + exp(-z)). The values 0 and 1 also mean "without tanh" and "with tanh". */
typedef enum aoei_dense_activation {
    AOEI_DENSE_IDENTITY,
    AOEI_DENSE_TANH,
    AOEI_DENSE_RELU,
    AOEI_DENSE_SIGMOID,
    AOEI_DENSE_GELU,
    AOEI_DENSE_SILU
} aoei_dense_activation;

/* Returns 1 if the gradient of the activation function is computed from z. Returns 0 if it is computed from f(z). */
static inline int aoei_dense_needs_input(aoei_dense_activation f) {
    return f >= AOEI_DENSE_GELU;
}
/* Computes y = f(z) for each element, in double precision. y and z are contiguous float32 tensors; y may be z. If
 * `accumulate` is 1, f(z) is added to y instead. */
void aoei_dense_activate(const aoe_context *ctx, aoei_tensor y, aoei_tensor z, aoei_dense_activation f, int accumulate);
/* Computes dz = dy f'(z) for each element. If z is absent, f'(z) is computed from y = f(z); otherwise y is not used and
 * may be absent. z must be present if aoei_dense_needs_input(f) is 1. dz may be dy or z. All tensors are float32 and
 * contiguous. */
void aoei_dense_activate_backward(const aoe_context *ctx, aoei_tensor dz, aoei_tensor dy, aoei_tensor y, aoei_tensor z,
                                  aoei_dense_activation f);
