/* SPDX-License-Identifier: MIT
 * The cell of an LSTM and its gradients in portable C. Every function value is computed in double with functions of the
 * C library and rounded once to float32.
 */
#include <math.h>

#include "kernels/kernels.h"

static float logistic(float x) {
    return (float)(1 / (1 + exp(-(double)x)));
}

void aoei_lstm_f32_c(float *h, float *c, float *gates, const float *recurrent, const float *before, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const float i = logistic(gates[k] + recurrent[k]), f = logistic(gates[n + k] + recurrent[n + k]);
        const float g = (float)tanh((double)(gates[2 * n + k] + recurrent[2 * n + k]));
        const float o = logistic(gates[3 * n + k] + recurrent[3 * n + k]);
        gates[k] = i;
        gates[n + k] = f;
        gates[2 * n + k] = g;
        gates[3 * n + k] = o;
        c[k] = (float)((double)f * (double)before[k] + (double)i * (double)g);
        h[k] = (float)((double)o * tanh((double)c[k]));
    }
}

void aoei_lstm_grad_f32_c(float *gates, float *dc, const float *dh, const float *c, const float *before, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double i = (double)gates[k], f = (double)gates[n + k], g = (double)gates[2 * n + k],
                     o = (double)gates[3 * n + k];
        const double t = tanh((double)c[k]), d = (double)dc[k] + (double)dh[k] * o * (1 - t * t);
        gates[k] = (float)(d * g * i * (1 - i));
        gates[n + k] = (float)(d * (double)before[k] * f * (1 - f));
        gates[2 * n + k] = (float)(d * i * (1 - g * g));
        gates[3 * n + k] = (float)((double)dh[k] * t * o * (1 - o));
        dc[k] = (float)(d * f);
    }
}
