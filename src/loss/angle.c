/* SPDX-License-Identifier: MIT
 * The angle score of two vectors that are interpreted as complex vectors (equations 3 to 6 of the AnglE paper), and its
 * gradient. The first half of the components of a vector are the real parts, and the second half are the imaginary
 * parts: z = a + bi for x, and w = c + di for y. For each complex component k, let h_k = z_k conj(w_k) = re_k + im_k i.
 * A higher score means more similar vectors. There are two forms of the score, which aoe_angle_form selects:
 * - the reference form is |sum_k re_k + sum_k im_k| / (|x||y|);
 * - the phase form is -(sum_k m_k |arg h_k|) / (sum_k m_k) with m_k = |z_k||w_k|.
 */
#include "loss/angle.h"

#include "aoe_objective.h"
#include "loss/cosine.h"

#include <math.h>

/* Sums over the complex components of a pair of vectors. Each sum consists of four partial sums. The term of component
 * k is added to partial sum k mod 4. */
typedef struct angle_sums {
    double xx[4], yy[4];      /* reference form: squared norms of x and of y */
    double inner[4];          /* reference form: sum of re_k + im_k */
    double weight[4];         /* phase form: sum of m_k = |z_k||w_k| */
    double weighted_angle[4]; /* phase form: sum of m_k |arg h_k| */
} angle_sums;

/* Returns the argument (angle) of h = (a + bi) conj(c + di) in (-pi, pi], or 0 if h is 0. Sets *m to the modulus of
 * h. */
static double phase_of(double a, double b, double c, double d, double *m) {
    *m = sqrt(a * a + b * b) * sqrt(c * c + d * d);
    /* + 0.0 changes -0.0 to 0.0, because atan2(-0.0, x) for negative x is -pi instead of pi */
    return *m == 0.0 ? 0.0 : atan2(b * c - a * d + 0.0, a * c + b * d);
}

static void add_component(angle_sums *s, size_t lane, aoe_angle_form form, double a, double b, double c, double d) {
    if (form == AOE_ANGLE_PHASE) {
        double m, arg = phase_of(a, b, c, d, &m);
        s->weight[lane] += m;
        s->weighted_angle[lane] += m * fabs(arg);
        return;
    }
    s->xx[lane] += a * a + b * b;
    s->yy[lane] += c * c + d * d;
    s->inner[lane] += (a * c + b * d) + (b * c - a * d);
}

static double score_of(const angle_sums *s, aoe_angle_form form) {
    if (form == AOE_ANGLE_PHASE) {
        double weight = aoei_sum_lanes(s->weight);
        return weight == 0.0 ? 0.0 : -aoei_sum_lanes(s->weighted_angle) / weight;
    }
    double norms = sqrt(aoei_sum_lanes(s->xx) * aoei_sum_lanes(s->yy));
    return norms == 0.0 ? 0.0 : fabs(aoei_sum_lanes(s->inner)) / norms;
}

static void add_pair(angle_sums *s, aoe_angle_form form, const double *x, const double *y, size_t half) {
    for (size_t k = 0; k < half; k++)
        add_component(s, k % 4, form, x[k], x[half + k], y[k], y[half + k]);
}

double aoei_angle_score(const double *x, const double *y, size_t D, aoe_angle_form form) {
    angle_sums s = {0};
    add_pair(&s, form, x, y, D / 2);
    return score_of(&s, form);
}

/* Adds `scale` times the gradient of the reference form g = |inner| / (|x||y|) to gx and gy. If inner is 0, g is not
 * differentiable, and the function uses the gradient 0. */
static void reference_grad(const double *x, const double *y, size_t half, double scale, double *gx, double *gy) {
    angle_sums s = {0};
    add_pair(&s, AOE_ANGLE_REFERENCE, x, y, half);
    double xx = aoei_sum_lanes(s.xx), yy = aoei_sum_lanes(s.yy), inner = aoei_sum_lanes(s.inner), norms = sqrt(xx * yy);
    if (norms == 0.0 || inner == 0.0)
        return;
    double cross = inner > 0.0 ? scale / norms : -scale / norms, g = fabs(inner) / norms;
    double radial_x = scale * g / xx, radial_y = scale * g / yy;
    for (size_t k = 0; k < half; k++) {
        double a = x[k], b = x[half + k], c = y[k], d = y[half + k];
        gx[k] += cross * (c - d) - radial_x * a;
        gx[half + k] += cross * (c + d) - radial_x * b;
        gy[k] += cross * (a + b) - radial_y * c;
        gy[half + k] += cross * (b - a) - radial_y * d;
    }
}

/* Adds `scale` times the gradient of the phase form to gx and gy. Let M = sum_k m_k, phi_k = arg h_k and D = (sum_k m_k
 * |phi_k|) / M. The score is -D, and the differential of D is dD = sum_k [(|phi_k| - D) dm_k + m_k sign(phi_k) dphi_k]
 * / M. */
static void phase_grad(const double *x, const double *y, size_t half, double scale, double *gx, double *gy) {
    angle_sums s = {0};
    add_pair(&s, AOE_ANGLE_PHASE, x, y, half);
    double M = aoei_sum_lanes(s.weight);
    if (M == 0.0)
        return;
    double D = aoei_sum_lanes(s.weighted_angle) / M;
    for (size_t k = 0; k < half; k++) {
        double a = x[k], b = x[half + k], c = y[k], d = y[half + k];
        double m, arg = phase_of(a, b, c, d, &m);
        if (m == 0.0)
            continue;
        double zz = a * a + b * b, ww = c * c + d * d;
        /* radial part of the gradient, which changes |z_k| and |w_k|: the gradient of z_k contains radial * z_k /
         * |z_k|^2, and the gradient of w_k contains radial * w_k / |w_k|^2 */
        double radial = -scale * m * (fabs(arg) - D) / M;
        /* part of the gradient that changes the angle: the gradient of z_k contains rotation * i z_k / |z_k|^2, and the
         * gradient of w_k contains -rotation * i w_k / |w_k|^2 */
        double rotation = arg == 0.0 ? 0.0 : arg > 0.0 ? -scale * m / M : scale * m / M;
        gx[k] += (radial * a - rotation * b) / zz;
        gx[half + k] += (radial * b + rotation * a) / zz;
        gy[k] += (radial * c + rotation * d) / ww;
        gy[half + k] += (radial * d - rotation * c) / ww;
    }
}

void aoei_angle_grad(const double *x, const double *y, size_t D, aoe_angle_form form, double scale, double *gx,
                     double *gy) {
    if (form == AOE_ANGLE_PHASE)
        phase_grad(x, y, D / 2, scale, gx, gy);
    else
        reference_grad(x, y, D / 2, scale, gx, gy);
}

double aoe_angle_score(const float *x, const float *y, size_t D, aoe_angle_form form) {
    if (!x || !y)
        return (double)NAN;
    if (D % 2 != 0)
        return NAN;
    angle_sums s = {0};
    for (size_t half = D / 2, k = 0; k < half; k++)
        add_component(&s, k % 4, form, (double)x[k], (double)x[half + k], (double)y[k], (double)y[half + k]);
    return score_of(&s, form);
}
