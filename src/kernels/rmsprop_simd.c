/* SPDX-License-Identifier: MIT
 * RMSprop and SGD, vectorized for AVX2, AVX-512 and NEON. Every operation is rounded separately, so results are
 * bit-identical on all instruction sets.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"

void AOEI_SIMD(rmsprop_f32)(float *w, float *grad, float *v, const aoei_rmsprop_f32 *a, size_t n) {
    const vf lr_decay = vf_set1(a->lr_decay), eps = vf_set1(a->eps), lr = vf_set1(a->lr);
    const vf rho = vf_set1(a->rho), rest = vf_set1(a->one_minus_rho), scale = vf_set1(a->grad_scale);
    for (size_t i = 0; i < n; i += VF_LANES) {
        const size_t part = n - i < VF_LANES ? n - i : VF_LANES;
        const vf g = vf_mul(vf_load_part(grad + i, part), scale);
        const vf w0 = vf_load_part(w + i, part);
        const vf w1 = vf_sub(w0, vf_mul(lr_decay, w0));
        const vf v1 = vf_add(vf_mul(rho, vf_load_part(v + i, part)), vf_mul(rest, vf_mul(g, g)));
        vf_store_part(grad + i, part, vf_zero());
        vf_store_part(w + i, part, vf_sub(w1, vf_div(vf_mul(lr, g), vf_add(vf_sqrt(v1), eps))));
        vf_store_part(v + i, part, v1);
    }
}

void AOEI_SIMD(sgd_f32)(float *w, float *grad, const aoei_rmsprop_f32 *a, size_t n) {
    const vf lr_decay = vf_set1(a->lr_decay), lr = vf_set1(a->lr), scale = vf_set1(a->grad_scale);
    for (size_t i = 0; i < n; i += VF_LANES) {
        const size_t part = n - i < VF_LANES ? n - i : VF_LANES;
        const vf g = vf_mul(vf_load_part(grad + i, part), scale);
        const vf w0 = vf_load_part(w + i, part);
        vf_store_part(grad + i, part, vf_zero());
        vf_store_part(w + i, part, vf_sub(vf_sub(w0, vf_mul(lr_decay, w0)), vf_mul(lr, g)));
    }
}
