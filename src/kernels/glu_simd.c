/* SPDX-License-Identifier: MIT
 * The gated linear unit (Dauphin et al. 2017), vectorized for AVX2, AVX-512 and NEON.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

/* Returns the logistic function of x and sets *e to e^-x. */
static inline vf vf_logistic(vf x, vf *e) {
    const vf one = vf_set1(1.0f);
    *e = vf_exp(vf_sub(vf_zero(), x));
    return vf_div(one, vf_add(one, *e));
}

static inline vf vf_glu(vf t, vf g) {
    vf e;
    return vf_mul(t, vf_logistic(g, &e));
}

static inline void vf_glu_grad(vf *dt, vf *dg, vf dy, vf t, vf g) {
    vf e;
    const vf s = vf_logistic(g, &e);
    /* 1 - s is computed as e^-g s to avoid cancellation. If e^-g is infinity and s is 0, the product is NaN, and min
     * returns 1.
     */
    const vf rest = vf_min(vf_mul(e, s), vf_set1(1.0f));
    *dt = vf_mul(dy, s);
    *dg = vf_mul(vf_mul(dy, t), vf_mul(s, rest));
}

void AOEI_SIMD(glu_f32)(float *y, const float *t, const float *g, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_glu(vf_load(t + i), vf_load(g + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_glu(vf_load_part(t + i, n - i), vf_load_part(g + i, n - i)));
}

void AOEI_SIMD(glu_grad_f32)(float *dt, float *dg, const float *dy, const float *t, const float *g, size_t n) {
    vf a, b;
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) {
        vf_glu_grad(&a, &b, vf_load(dy + i), vf_load(t + i), vf_load(g + i));
        vf_store(dt + i, a);
        vf_store(dg + i, b);
    }
    if (i < n) {
        const size_t rest = n - i;
        vf_glu_grad(&a, &b, vf_load_part(dy + i, rest), vf_load_part(t + i, rest), vf_load_part(g + i, rest));
        vf_store_part(dt + i, rest, a);
        vf_store_part(dg + i, rest, b);
    }
}
