/* SPDX-License-Identifier: MIT
 * exp, the normal distribution function Phi and activation functions on vectors. The coefficients of the polynomials
 * were computed for this file by minimax approximation. docs/numerics.md lists the measured accuracy, which
 * tests/kernels/gelu_f32_test.c and softmax_f32_test.c verify. NaN gives NaN in every function. No instruction for
 * approximate reciprocals is used, so results do not depend on the CPU model.
 */
#pragma once

/* Returns exp(r) - 1 for the r with x = n ln 2 + r and |r| <= ln 2 / 2, and sets *n. exp(r) - 1 is computed as r + r^2
 * Q(r), where Q is a polynomial of degree 4. The relative error of this approximation of exp(r) is 1e-8. */
static inline vf vf_exp_rest(vf x, vf *n) {
    *n = vf_round(vf_mul(x, vf_set1(1.442695022e+00f)));
    vf r = vf_fnma(*n, vf_set1(6.931471825e-01f), x);
    r = vf_fnma(*n, vf_set1(-1.904654212e-09f), r);
    vf q = vf_fma(vf_set1(1.390128746e-03f), r, vf_set1(8.363146335e-03f));
    q = vf_fma(q, r, vf_set1(4.166685417e-02f));
    q = vf_fma(q, r, vf_set1(1.666657776e-01f));
    q = vf_fma(q, r, vf_set1(5.000000000e-01f));
    return vf_fma(vf_mul(r, r), q, r);
}

/* Returns e^x for every float. The result underflows gradually to 0 and overflows to infinity. The formula is exp(x) =
 * 2^n exp(r) with n = round(x / ln 2). */
static inline vf vf_exp(vf x) {
    /* for x outside [-104, 89], the result is 0 or infinity; if x is NaN, vf_max and vf_min return it, because it is
     * their second operand */
    vf n;
    const vf q = vf_exp_rest(vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.0f), x)), &n);
    return vf_scale2(vf_add(q, vf_set1(1.0f)), n);
}

/* Returns the upper tail of the standard normal distribution, 1 - Phi(|x|). The relative error is a few eps, except for
 * subnormal results. Sets *density to e^(-x^2 / 2), the normal density without its constant factor. With a = |x|, r = 1
 * / (a +
 * 4) and t = a r, the formula is 1 - Phi(a) = e^(-a^2 / 2) r P(t). P is a polynomial of degree 9 with P(0) = 2 and
 * relative error 1e-8 for a in [0, 14.5]. For larger a, the result is 0. */
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
    /* a^2 = h + l, where l is the rounding error of h; e^(-(h + l) / 2) is about e^(-h / 2) (1 - l / 2) */
    const vf half = vf_set1(0.5f);
    const vf h = vf_mul(a, a);
    const vf l = vf_fms(a, a, h);
    const vf e = vf_exp(vf_mul(h, vf_set1(-0.5f)));
    *density = vf_fnma(e, vf_mul(l, half), e);
    return vf_mul(vf_mul(p, r), *density);
}

/* Returns x Phi(x). */
static inline vf vf_gelu(vf x) {
    vf density;
    const vf tail = vf_normal_tail(x, &density);
    /* x Phi(x) = x - x (1 - Phi(x)). For x = infinity, min replaces the factor x, because infinity times 0 would be
     * NaN; the result is infinity */
    const vf above = vf_fnma(vf_min(vf_set1(14.5f), x), tail, x);
    return vf_if_negative(x, vf_mul(x, tail), above);
}

/* Returns x Phi(x) with an absolute error of at most 1e-4, for the epilogue of int8 matmuls, whose results are
 * quantized again. Phi(x) is max(1/2 + y P(y^2), 0), where y is x limited to [-4.25, 4.25]. The polynomial P of degree
 * 7 minimizes the largest error of x Phi(x) under the condition Phi(4.25) = 1. In float32, 1/2 + y P(y^2) is -3e-7 for
 * x <= -4.25, so Phi(x) is 0. */
static inline vf vf_gelu_short(vf x) {
    const vf limit = vf_set1(4.25f), y = vf_min(vf_max(x, vf_set1(-4.25f)), limit), t = vf_mul(y, y);
    vf p = vf_fma(t, vf_set1(-0x1.d11c90p-31f), vf_set1(0x1.452992p-24f));
    p = vf_fma(t, p, vf_set1(-0x1.8a6fecp-19f));
    p = vf_fma(t, p, vf_set1(0x1.12d6ecp-14f));
    p = vf_fma(t, p, vf_set1(-0x1.ed107cp-11f));
    p = vf_fma(t, p, vf_set1(0x1.2f5c2ep-7f));
    p = vf_fma(t, p, vf_set1(-0x1.0c18f4p-4f));
    p = vf_fma(t, p, vf_set1(0x1.97fb6cp-2f));
    return vf_mul(x, vf_max(vf_fma(y, p, vf_set1(0.5f)), vf_zero()));
}

/* Returns the derivative of x Phi(x), which is Phi(x) + x phi(x), where phi is the normal density. */
static inline vf vf_gelu_derivative(vf x) {
    vf density;
    const vf tail = vf_normal_tail(x, &density);
    const vf phi = vf_if_negative(x, tail, vf_sub(vf_set1(1.0f), tail));
    return vf_fma(x, vf_mul(density, vf_set1(3.989422917e-01f)), phi);
}

/* Returns z = 2 sqrt(2 / pi) (x + 0.044715 x^3). The tanh approximation of GELU is x / (1 + e^-z), because 0.5 (1 +
 * tanh u) = 1 / (1 + e^(-2 u)). */
static inline vf vf_gelu_tanh_argument(vf x) {
    return vf_mul(x, vf_fma(vf_mul(x, x), vf_set1(7.135481283e-02f), vf_set1(1.595769122e+00f)));
}

/* Returns the tanh approximation of GELU, x / (1 + e^-z) with z = vf_gelu_tanh_argument(x). */
static inline vf vf_gelu_tanh(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), vf_gelu_tanh_argument(x))), one = vf_set1(1.0f);
    return vf_mul(x, vf_div(one, vf_add(one, e)));
}

/* Returns the derivative of vf_gelu_tanh, s + x z' s (1 - s) with s = 1 / (1 + e^-z). 1 - s is computed as e^-z s to
 * avoid cancellation. For |x| >= 16, s (1 - s) is 0. x^2 is limited to 256, so that z' is finite and its product with 0
 * is not NaN. */
static inline vf vf_gelu_tanh_derivative(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), vf_gelu_tanh_argument(x))), one = vf_set1(1.0f);
    const vf s = vf_div(one, vf_add(one, e));
    const vf rest = vf_min(vf_mul(e, s), one); /* if e is infinity and s is 0, their product is NaN, and min returns
                                                  1 */
    const vf derivative =
        vf_fma(vf_min(vf_set1(256.0f), vf_mul(x, x)), vf_set1(2.140644385e-01f), vf_set1(1.595769122e+00f));
    return vf_fma(x, vf_mul(derivative, vf_mul(s, rest)), s);
}

/* Returns x / (1 + e^(-scale x)). If scale is 1, this is SiLU. */
static inline vf vf_swish(vf x, float scale) {
    const vf e = vf_exp(vf_mul(x, vf_set1(-scale))), one = vf_set1(1.0f);
    return vf_mul(x, vf_div(one, vf_add(one, e)));
}

/* Returns the derivative of vf_swish, s + scale x s (1 - s) with s = 1 / (1 + e^(-scale x)). 1 - s is computed as
 * e^(-scale x) s to avoid cancellation. */
static inline vf vf_swish_derivative(vf x, float scale) {
    const vf e = vf_exp(vf_mul(x, vf_set1(-scale))), one = vf_set1(1.0f);
    const vf s = vf_div(one, vf_add(one, e));
    const vf rest = vf_min(vf_mul(e, s), one); /* if e is infinity and s is 0, their product is NaN, and min returns
                                                  1 */
    return vf_fma(x, vf_mul(vf_mul(s, rest), vf_set1(scale)), s);
}

/* Returns sigma(x) = 1 / (1 + e^-x), the logistic function. */
static inline vf vf_sigma(vf x) {
    const vf one = vf_set1(1.0f);
    return vf_div(one, vf_add(one, vf_exp(vf_sub(vf_zero(), x))));
}

/* Returns tanh(x). With a = |x| and m = e^(2 a) - 1, the formula is tanh(a) = m / (m + 2). m is computed as 2^n q +
 * (2^n - 1) with the result q of vf_exp_rest, so that its relative error is small for small x. For a >= 10, the result
 * is 1. */
static inline vf vf_tanh(vf x) {
    vf n;
    const vf q = vf_exp_rest(vf_mul(vf_set1(2.0f), vf_min(vf_set1(10.0f), vf_abs(x))), &n);
    const vf power = vf_scale2(vf_set1(1.0f), n), m = vf_fma(power, q, vf_sub(power, vf_set1(1.0f)));
    const vf t = vf_div(m, vf_add(m, vf_set1(2.0f)));
    return vf_if_negative(x, vf_sub(vf_zero(), t), t);
}

/* Returns max(x, 0). */
static inline vf vf_relu(vf x) {
    return vf_max(vf_zero(), x);
}

/* Returns 1 if x > 0, otherwise 0; NaN if x is NaN. */
static inline vf vf_relu_derivative(vf x) {
    const vf positive = vf_if_negative(vf_sub(vf_zero(), x), vf_set1(1.0f), vf_zero());
    return vf_add(positive, vf_min(vf_zero(), vf_relu(x))); /* the second term is 0, or NaN if x is NaN */
}
