/* SPDX-License-Identifier: MIT
 * Portable C kernels of the gated linear unit (Dauphin et al. 2017): y = t sigma(g), where sigma is the logistic
 * function. Results are computed in double with functions of the C library and rounded once to float32.
 */
#include <math.h>

#include "kernels/kernels.h"

static double logistic(double z) {
    return 1 / (1 + exp(-z));
}

void aoei_glu_f32_c(float *y, const float *t, const float *g, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)t[i] * logistic((double)g[i]));
}

void aoei_glu_grad_f32_c(float *dt, float *dg, const float *dy, const float *t, const float *g, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double d = (double)dy[i], v = (double)t[i], z = (double)g[i], s = logistic(z);
        dt[i] = (float)(d * s);
        dg[i] = (float)(d * v * (s * logistic(-z)));
    }
}
