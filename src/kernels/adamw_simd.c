/* SPDX-License-Identifier: MIT
 * AdamW, vectorized for AVX2, AVX-512 and NEON. Every operation is rounded separately, so results are bit-identical on
 * all instruction sets.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"

void AOEI_SIMD(adamw_f32)(float *w, float *grad, float *m, float *v, const aoei_adamw_f32 *a, size_t n) {
    const vf lr_decay = vf_set1(a->lr_decay), eps = vf_set1(a->eps), step = vf_set1(a->step_size);
    const vf beta1 = vf_set1(a->beta1), beta2 = vf_set1(a->beta2), bias2 = vf_set1(a->sqrt_bias2);
    const vf rest1 = vf_set1(a->one_minus_beta1), rest2 = vf_set1(a->one_minus_beta2), scale = vf_set1(a->grad_scale);
    for (size_t i = 0; i < n; i += VF_LANES) {
        const size_t part = n - i < VF_LANES ? n - i : VF_LANES;
        const vf g = vf_mul(vf_load_part(grad + i, part), scale);
        const vf w0 = vf_load_part(w + i, part);
        const vf w1 = vf_sub(w0, vf_mul(lr_decay, w0));
        const vf m1 = vf_add(vf_mul(beta1, vf_load_part(m + i, part)), vf_mul(rest1, g));
        const vf v1 = vf_add(vf_mul(beta2, vf_load_part(v + i, part)), vf_mul(rest2, vf_mul(g, g)));
        const vf root = vf_add(vf_div(vf_sqrt(v1), bias2), eps);
        vf_store_part(grad + i, part, vf_zero());
        vf_store_part(w + i, part, vf_sub(w1, vf_div(vf_mul(step, m1), root)));
        vf_store_part(m + i, part, m1);
        vf_store_part(v + i, part, v1);
    }
}
