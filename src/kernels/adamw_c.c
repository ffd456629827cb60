/* SPDX-License-Identifier: MIT
 * AdamW in portable C. Every operation is rounded separately, so results are bit-identical on all instruction sets.
 */
#include <math.h>

#include "kernels/kernels.h"

void aoei_adamw_f32_c(float *w, float *grad, float *m, float *v, const aoei_adamw_f32 *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float g = grad[i] * a->grad_scale;
        const float decayed = w[i] - a->lr_decay * w[i];
        m[i] = a->beta1 * m[i] + a->one_minus_beta1 * g;
        v[i] = a->beta2 * v[i] + a->one_minus_beta2 * (g * g);
        const float root = sqrtf(v[i]) / a->sqrt_bias2 + a->eps;
        w[i] = decayed - a->step_size * m[i] / root;
        grad[i] = 0;
    }
}
