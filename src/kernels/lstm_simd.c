/* SPDX-License-Identifier: MIT
 * The cell of an LSTM and its gradients, vectorized for AVX2, AVX-512 and NEON.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

/* Returns the argument of component k of gate `gate`. */
static inline vf argument(const float *gates, const float *recurrent, size_t gate, size_t k, size_t n, size_t part) {
    return vf_add(vf_load_part(gates + gate * n + k, part), vf_load_part(recurrent + gate * n + k, part));
}

void AOEI_SIMD(lstm_f32)(float *h, float *c, float *gates, const float *recurrent, const float *before, size_t n) {
    for (size_t k = 0; k < n; k += VF_LANES) {
        const size_t part = n - k < VF_LANES ? n - k : VF_LANES;
        const vf i = vf_sigma(argument(gates, recurrent, 0, k, n, part));
        const vf f = vf_sigma(argument(gates, recurrent, 1, k, n, part));
        const vf g = vf_tanh(argument(gates, recurrent, 2, k, n, part));
        const vf o = vf_sigma(argument(gates, recurrent, 3, k, n, part));
        const vf state = vf_fma(f, vf_load_part(before + k, part), vf_mul(i, g));
        vf_store_part(gates + k, part, i);
        vf_store_part(gates + n + k, part, f);
        vf_store_part(gates + 2 * n + k, part, g);
        vf_store_part(gates + 3 * n + k, part, o);
        vf_store_part(c + k, part, state);
        vf_store_part(h + k, part, vf_mul(o, vf_tanh(state)));
    }
}

/* Returns y (1 - y), the derivative of the logistic function with the value y. */
static inline vf logistic_slope(vf y) {
    return vf_mul(y, vf_sub(vf_set1(1.0f), y));
}

/* Returns 1 - y^2, the derivative of tanh with the value y. */
static inline vf tanh_slope(vf y) {
    return vf_fnma(y, y, vf_set1(1.0f));
}

void AOEI_SIMD(lstm_grad_f32)(float *gates, float *dc, const float *dh, const float *c, const float *before, size_t n) {
    for (size_t k = 0; k < n; k += VF_LANES) {
        const size_t part = n - k < VF_LANES ? n - k : VF_LANES;
        const vf i = vf_load_part(gates + k, part), f = vf_load_part(gates + n + k, part);
        const vf g = vf_load_part(gates + 2 * n + k, part), o = vf_load_part(gates + 3 * n + k, part);
        const vf t = vf_tanh(vf_load_part(c + k, part)), out = vf_load_part(dh + k, part);
        const vf d = vf_fma(vf_mul(out, o), tanh_slope(t), vf_load_part(dc + k, part));
        vf_store_part(gates + k, part, vf_mul(vf_mul(d, g), logistic_slope(i)));
        vf_store_part(gates + n + k, part, vf_mul(vf_mul(d, vf_load_part(before + k, part)), logistic_slope(f)));
        vf_store_part(gates + 2 * n + k, part, vf_mul(vf_mul(d, i), tanh_slope(g)));
        vf_store_part(gates + 3 * n + k, part, vf_mul(vf_mul(out, t), logistic_slope(o)));
        vf_store_part(dc + k, part, vf_mul(d, f));
    }
}
