/* SPDX-License-Identifier: MIT
 * RMSprop and SGD in portable C. Every operation is rounded separately, so results are bit-identical on all instruction
 * sets.
 */
#include <math.h>

#include "kernels/kernels.h"

void aoei_rmsprop_f32_c(float *w, float *grad, float *v, const aoei_rmsprop_f32 *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float g = grad[i] * a->grad_scale;
        const float decayed = w[i] - a->lr_decay * w[i];
        v[i] = a->rho * v[i] + a->one_minus_rho * (g * g);
        w[i] = decayed - a->lr * g / (sqrtf(v[i]) + a->eps);
        grad[i] = 0;
    }
}

void aoei_sgd_f32_c(float *w, float *grad, const aoei_rmsprop_f32 *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float g = grad[i] * a->grad_scale;
        w[i] = w[i] - a->lr_decay * w[i] - a->lr * g;
        grad[i] = 0;
    }
}
