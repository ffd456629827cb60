/* SPDX-License-Identifier: MIT
 * SiLU (Elfwing et al. 2017) in portable C: x times the logistic function of x. Results are computed in double with functions
 * of the C library and rounded once to float32.
 */
#include <math.h>

#include "kernels/kernels.h"

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

void aoei_silu_f32_c(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)x[i] * logistic((double)x[i]));
}

void aoei_silu_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        dx[i] = (float)((double)dy[i] * (logistic(v) + v * (logistic(v) * logistic(-v))));
    }
}
