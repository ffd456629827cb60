/* SPDX-License-Identifier: MIT
 * exp, the normal distribution function Phi and GELU on vectors. Include simd_avx2.h or
 * simd_avx512.h first. The coefficients are our own minimax fits; measured accuracy is in
 * docs/numerics.md and held by tests/kernels/gelu_f32_test.c and softmax_f32_test.c.
 *
 * NaN comes out as NaN everywhere. No approximate reciprocal: the bits depend on the
 * tier, not on the make of the CPU.
 */
#ifndef AOEI_KERNELS_SIMD_MATH_H
#define AOEI_KERNELS_SIMD_MATH_H

/* e^x for every float: gradual underflow to 0, overflow to infinity. exp(x) = 2^n exp(r) with n = round(x / ln 2) and
 * |r| <= ln 2 / 2; exp(r) = 1 + (r + r^2 Q(r)), Q of degree 4 with relative error 1e-8 of exp. */
static inline vf vf_exp(vf x) {
    /* outside, the result is 0 or infinity; max and min pass a NaN in their second operand on */
    x = vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.0f), x));
    const vf n = vf_round(vf_mul(x, vf_set1(1.442695022e+00f)));
    vf r = vf_fnma(n, vf_set1(6.931471825e-01f), x);
    r = vf_fnma(n, vf_set1(-1.904654212e-09f), r);
    vf q = vf_fma(vf_set1(1.390128746e-03f), r, vf_set1(8.363146335e-03f));
    q = vf_fma(q, r, vf_set1(4.166685417e-02f));
    q = vf_fma(q, r, vf_set1(1.666657776e-01f));
    q = vf_fma(q, r, vf_set1(5.000000000e-01f));
    q = vf_fma(vf_mul(r, r), q, r);
    return vf_scale2(vf_add(q, vf_set1(1.0f)), n);
}

/* Upper tail of the standard normal distribution, 1 - Phi(|x|), to a relative accuracy of a few eps down to where it is
 * subnormal; *density = e^(-x^2 / 2). With a = |x|, r = 1 / (a + 4), t = a r: 1 - Phi(a) = e^(-a^2 / 2) r P(t),
 * P of degree 9 with P(0) = 2, relative error 1e-8 on a in [0, 14.5]; the tail is 0 beyond. */
static inline vf vf_normal_tail(vf x, vf *density) {
    const vf a = vf_min(vf_set1(14.5f), vf_abs(x));
    const vf r = vf_div(vf_set1(1.0f), vf_add(a, vf_set1(4.0f)));
    const vf t = vf_mul(a, r);
    vf p = vf_fma(vf_set1(-6.619211286e-02f), t, vf_set1(3.447020948e-01f));
    p = vf_fma(p, t, vf_set1(-5.822953582e-01f));
    p = vf_fma(p, t, vf_set1(9.516141564e-02f));
    p = vf_fma(p, t, vf_set1(6.391107440e-01f));
    p = vf_fma(p, t, vf_set1(3.119412661e-01f));
    p = vf_fma(p, t, vf_set1(-3.194330931e+00f));
    p = vf_fma(p, t, vf_set1(5.233970642e+00f));
    p = vf_fma(p, t, vf_set1(-4.383079052e+00f));
    p = vf_fma(p, t, vf_set1(2.0f));
    /* the rounding of a^2 is put back: e^-(h + l)/2 = e^(-h/2) (1 - l/2) */
    const vf half = vf_set1(0.5f);
    const vf h = vf_mul(a, a);
    const vf l = vf_fms(a, a, h);
    const vf e = vf_exp(vf_mul(h, vf_set1(-0.5f)));
    *density = vf_fnma(e, vf_mul(l, half), e);
    return vf_mul(vf_mul(p, r), *density);
}

/* x Phi(x) */
static inline vf vf_gelu(vf x) {
    vf density;
    const vf tail = vf_normal_tail(x, &density);
    const vf above = vf_fnma(vf_min(vf_set1(14.5f), x), tail, x); /* min: infinity stays infinity */
    return vf_if_negative(x, vf_mul(x, tail), above);
}

/* d/dx x Phi(x) = Phi(x) + x phi(x) */
static inline vf vf_gelu_slope(vf x) {
    vf density;
    const vf tail = vf_normal_tail(x, &density);
    const vf phi = vf_if_negative(x, tail, vf_sub(vf_set1(1.0f), tail));
    return vf_fma(x, vf_mul(density, vf_set1(3.989422917e-01f)), phi);
}

/* 2 sqrt(2 / pi) (x + 0.044715 x^3): GELU's tanh form is x times the logistic function of it, because 0.5 (1 + tanh u) is
 * that of 2 u. */
static inline vf vf_gelu_tanh_argument(vf x) {
    return vf_mul(x, vf_fma(vf_mul(x, x), vf_set1(7.135481283e-02f), vf_set1(1.595769122e+00f)));
}

/* x / (1 + e^-z) */
static inline vf vf_gelu_tanh(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), vf_gelu_tanh_argument(x))), one = vf_set1(1.0f);
    return vf_mul(x, vf_div(one, vf_add(one, e)));
}

/* s + x z' s (1 - s) with s = 1 / (1 + e^-z), and 1 - s = e^-z s without cancellation. From |x| = 16 on s (1 - s) is 0; z',
 * kept finite there, and x come after it. */
static inline vf vf_gelu_tanh_slope(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), vf_gelu_tanh_argument(x))), one = vf_set1(1.0f);
    const vf s = vf_div(one, vf_add(one, e));
    const vf rest = vf_min(vf_mul(e, s), one); /* infinity times 0: the second operand */
    const vf slope = vf_fma(vf_min(vf_set1(256.0f), vf_mul(x, x)), vf_set1(2.140644385e-01f), vf_set1(1.595769122e+00f));
    return vf_fma(x, vf_mul(slope, vf_mul(s, rest)), s);
}

#endif
